/** Writes what follows from an operator and its kinds, or begins what its author goes on with. */
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeFolder } from '../system/folder.ts'
import { MusterError } from '../kube/errors.ts'
import { type Command, defineCommand, type FlagValues, type Invocation } from './command.ts'
import type { Made } from './generate/made.ts'
import { writing } from './named-file.ts'
import { readNamespaces, readObjectName } from './namespace-flag.ts'
import { nearest } from '../kube/nearest.ts'

const flags = {
  out: {
    type: 'string',
    value: 'PATH',
    help: 'folder to write to (default: standard output); resource: the file (default: beside its owner’s kind)',
  },
  from: { type: 'string', value: 'FILE', help: 'resource: a manifest to begin with; what a server set is left out' },
  for: {
    type: 'string',
    value: 'MODULE#KIND',
    help: 'resource: the kind whose CRs it is kept for (default: the one in src/kind.ts)',
  },
  crd: { type: 'string', value: 'FILE', help: 'resource: the CRD of KIND, where it is not built in' },
  stdout: { type: 'boolean', help: 'resource: show it, write nothing' },
  name: { type: 'string', value: 'NAME', help: 'rbac: of service account and roles (default: as the operator)' },
  namespace: {
    type: 'string',
    short: 'n',
    value: 'NAME,…',
    help: 'rbac: the namespaces that are served, with a Role in each (default: all, with a ClusterRole)',
  },
  account: {
    type: 'string',
    value: 'NAMESPACE',
    help: 'rbac: where the service account is (default: the first that is served, else default)',
  },
  file: { type: 'string', short: 'f', value: 'FILE', help: 'rbac: the configuration of the manager that runs it' },
  set: {
    type: 'string',
    value: 'PATH=VALUE',
    multiple: true,
    help: 'rbac: a setting of that manager; may be repeated',
  },
  configmap: { type: 'string', value: 'NAMESPACE/NAME', help: 'rbac: the ConfigMap that the manager follows' },
} as const

type GenerateFlags = FlagValues<typeof flags>

interface Generator {
  /** How its argument is called. */
  readonly takes: string
  readonly flags: readonly (keyof typeof flags)[]
  run(argument: string, invocation: Invocation<typeof flags>): Promise<void>
}

// Each is loaded when it is asked for.
const generators: Readonly<Record<string, Generator>> = {
  crd: {
    takes: 'MODULE',
    flags: ['out'],
    run: async (module, { flags: { out }, out: print }) =>
      put(await (await import('./generate/crd.ts')).crdFiles(module), out, print),
  },
  types: {
    takes: 'FILE',
    flags: ['out'],
    run: async (file, { flags: { out }, out: print }) =>
      put(await (await import('./generate/types.ts')).typeFiles(file), out, print),
  },
  docs: {
    takes: 'MODULE',
    flags: ['out'],
    run: async (module, { flags: { out }, out: print }) =>
      put(await (await import('./generate/docs.ts')).docsFiles(module), out, print),
  },
  rbac: {
    takes: 'MODULE',
    flags: ['out', 'name', 'namespace', 'account', 'file', 'set', 'configmap'],
    async run(module, { flags: { out, name, namespace, account, file, set, configmap }, out: print }) {
      const { rbacFiles } = await import('./generate/rbac.ts')
      const configMap = configmap === undefined ? undefined : readObjectName('configmap', configmap)
      const namespaces = readNamespaces(namespace)
      put(await rbacFiles(module, { name, account, namespaces, file, set, configMap }), out, print)
    },
  },
  resource: { takes: 'KIND', flags: ['out', 'from', 'for', 'crd', 'stdout'], run: resource },
}

const command: Command = defineCommand({
  usage: 'crd MODULE | types FILE | docs MODULE | rbac MODULE | resource KIND',
  details: `crd       the CustomResourceDefinitions of the kinds that a module, or its operator, has
types     TypeScript types of a kind that others define, from a file with its CRD
docs      reference pages of those kinds, in Markdown
rbac      a service account and the smallest roles that will do: one for the operator of a module, one for the manager
          that runs it. What the manager needs follows from its configuration (--file, --set); without one, it may lead
resource  a file with a resource to fill in. KIND is a kind or a short name, with its apiVersion where there are several:
          Service, deploy, events.k8s.io/v1/Event. What is there already is never overwritten.`,
  flags,
  async run(invocation) {
    const [what = '', argument, ...rest] = invocation.positionals
    const generator = Object.hasOwn(generators, what) ? generators[what] : undefined
    if (!generator) throw unknownGenerator(what)
    if (argument === undefined || rest.length > 0) {
      throw new MusterError('InvalidFlag', `generate ${what} takes one ${generator.takes}.`)
    }
    checkFlags(what, generator, invocation.flags)
    await generator.run(argument, invocation)
    return 0
  },
})

function unknownGenerator(what: string): MusterError {
  const names = Object.keys(generators)
  const near = nearest(what, names)
  const hint = near === undefined ? '' : ` Did you mean "${near}"?`
  const asked = what === '' ? 'say what to generate' : `nothing called "${what}" is generated`
  return new MusterError('InvalidFlag', `${asked}: ${names.join(', ')}.${hint}`)
}

function checkFlags(what: string, generator: Generator, given: GenerateFlags): void {
  const foreign = (Object.keys(given) as (keyof typeof flags)[]).find((name) => !generator.flags.includes(name))
  if (foreign !== undefined) throw new MusterError('InvalidFlag', `generate ${what} has no --${foreign}.`)
}

/** These are made anew each time: what was made before may be written over. */
function put(made: readonly Made[], folder: string | undefined, print: (line: string) => void): void {
  for (const { name, text } of made) {
    if (folder === undefined) print(text.trimEnd())
    else {
      writing('out', folder, () => {
        makeFolder(folder)
        writeFileSync(path.join(folder, name), text)
      })
      print(path.join(folder, name))
    }
  }
}

async function resource(kind: string, { flags: given, out, err }: Invocation<typeof flags>): Promise<void> {
  const owner = given.for ?? usualOwner()
  const { generateResource, writeResource } = await import('./generate/resource.ts')
  const { from, crd, out: file } = given
  const made = await generateResource({ kind, from, crd, owner, file })
  for (const note of made.notes) err(`note: ${note}`)
  if (given.stdout) {
    out(made.text.trimEnd())
    return
  }
  for (const written of await writeResource(made)) out(written)
  err(`Fill it in, and add ${made.name} to the resources of your controller.`)
}

/** Where `muster init` puts the kind. */
function usualOwner(): string {
  const usual = path.join('src', 'kind.ts')
  if (existsSync(usual)) return usual
  throw new MusterError('InvalidFlag', 'say whose CRs the resource is kept for: --for MODULE#KIND.')
}

export default command

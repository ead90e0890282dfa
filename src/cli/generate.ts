/** `muster generate`: files that derive from an operator and its kinds, and stubs of dependents. */
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
  from: {
    type: 'string',
    value: 'FILE',
    help: 'resource: a manifest to start from; fields set by the server are dropped',
  },
  for: {
    type: 'string',
    value: 'MODULE#KIND',
    help: 'resource: the kind of the owning CRs (default: the one in src/kind.ts)',
  },
  crd: { type: 'string', value: 'FILE', help: 'resource: the CRD of KIND, if it is not built in' },
  stdout: { type: 'boolean', help: 'resource: print it, write nothing' },
  name: {
    type: 'string',
    value: 'NAME',
    help: 'rbac: name of the service account and roles (default: that of the operator)',
  },
  namespace: {
    type: 'string',
    short: 'n',
    value: 'NAME,…',
    help: 'rbac: namespaces of the operator, with a Role in each (default: all, with a ClusterRole)',
  },
  account: {
    type: 'string',
    value: 'NAMESPACE',
    help: 'rbac: namespace of the service account (default: the first of --namespace, else default)',
  },
  file: { type: 'string', short: 'f', value: 'FILE', help: 'rbac: the configuration of the manager' },
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
  /** The name of its argument. */
  readonly takes: string
  readonly flags: readonly (keyof typeof flags)[]
  run(argument: string, invocation: Invocation<typeof flags>): Promise<void>
}

// Each generator is loaded when it is used.
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
  details: `crd       the CustomResourceDefinitions of the kinds of a module or its operator
types     TypeScript types of a kind of another project, from a file with its CRD
docs      reference pages of those kinds, in Markdown
rbac      a service account and minimal roles: one for the operator of a module, one for its manager. The role of the
          manager derives from its configuration (--file, --set); without one it allows leader election
resource  the source of a dependent, to be completed. KIND is a kind or a short name, with its apiVersion if it is ambiguous:
          Service, deploy, events.k8s.io/v1/Event. Existing files are never overwritten.`,
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

/** Derived files: they are overwritten each time. */
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

/** The file in which `muster init` puts the kind. */
function usualOwner(): string {
  const usual = path.join('src', 'kind.ts')
  if (existsSync(usual)) return usual
  throw new MusterError('InvalidFlag', 'say whose CRs the resource is kept for: --for MODULE#KIND.')
}

export default command

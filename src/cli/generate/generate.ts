/** `muster generate`: files that derive from an operator and its kinds, and stubs of dependents. */
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeFolder } from '../../system/folder.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type Command, defineCommand, type FlagValues, type Invocation } from '../command/command.ts'
import type { GeneratorOutput } from './generator-output.ts'
import { writing } from '../command/named-file.ts'
import { connectionFlags, connectionOptions } from '../command/connection-flags.ts'
import { readNamespaces, readObjectName } from '../command/namespace-flag.ts'
import { nearest } from '../../kube/text/nearest.ts'

const flags = {
  out: {
    type: 'string',
    value: 'PATH',
    help: 'folder to write to (default: standard output; deploy: the folder deploy); dependent: the file (default: beside its owner’s kind)',
  },
  from: {
    type: 'string',
    value: 'FILE',
    help: 'dependent: a manifest to start from; fields set by the server are dropped',
  },
  for: {
    type: 'string',
    value: 'MODULE#KIND',
    help: 'dependent: the kind of the owning CRs (default: the one in src/kind.ts)',
  },
  crd: { type: 'string', value: 'FILE', help: 'dependent: the CRD of KIND, if it is not built in' },
  stdout: { type: 'boolean', help: 'dependent: print it, write nothing' },
  name: {
    type: 'string',
    value: 'NAME',
    help: 'rbac: name of the service account and roles (default: that of the operator); deploy: of the chart and its objects (default: that of package.json)',
  },
  namespace: {
    type: 'string',
    short: 'n',
    value: 'NAME,…',
    help: 'rbac: namespaces of the operator, with a Role in each (default: all, with a ClusterRole); deploy: the namespace of the manager (default: NAME-system)',
  },
  account: {
    type: 'string',
    value: 'NAMESPACE',
    help: 'rbac: namespace of the service account (default: the first of --namespace, else default)',
  },
  file: {
    type: 'string',
    short: 'f',
    value: 'FILE',
    help: 'rbac, deploy: the configuration of the manager (deploy: default muster.yaml, if there are no MODULEs)',
  },
  set: {
    type: 'string',
    value: 'PATH=VALUE',
    multiple: true,
    help: 'rbac: a setting of that manager; may be repeated',
  },
  configmap: { type: 'string', value: 'NAMESPACE/NAME', help: 'rbac: the ConfigMap that the manager follows' },
  image: {
    type: 'string',
    value: 'REPOSITORY:TAG',
    help: 'deploy: the image, or REPOSITORY@sha256:DIGEST (default: NAME:VERSION)',
  },
  diff: {
    type: 'boolean',
    help: 'deploy: show what applying the manifests would change in the cluster; write nothing',
  },
  ...connectionFlags,
} as const

type GenerateFlags = FlagValues<typeof flags>

interface Generator {
  /** The name of its argument. */
  readonly takes: string
  readonly flags: readonly (keyof typeof flags)[]
  /** Takes any number of arguments, also none. @default false: exactly one */
  readonly takesAny?: boolean
  /** Resolves to the exit code, if that is another than 0. */
  run(argument: string, invocation: Invocation<typeof flags>): Promise<number | void>
}

// Each generator is loaded when it is used.
const generators: Readonly<Record<string, Generator>> = {
  crd: {
    takes: 'MODULE',
    flags: ['out'],
    run: async (module, { flags: { out }, out: print }) =>
      put(await (await import('./crd.ts')).crdFiles(module), out, print),
  },
  types: {
    takes: 'FILE',
    flags: ['out'],
    run: async (file, { flags: { out }, out: print }) =>
      put(await (await import('./types.ts')).typeFiles(file), out, print),
  },
  docs: {
    takes: 'MODULE',
    flags: ['out'],
    run: async (module, { flags: { out }, out: print }) =>
      put(await (await import('./docs.ts')).docsFiles(module), out, print),
  },
  rbac: {
    takes: 'MODULE',
    flags: ['out', 'name', 'namespace', 'account', 'file', 'set', 'configmap'],
    async run(module, { flags: { out, name, namespace, account, file, set, configmap }, out: print }) {
      const { rbacFiles } = await import('./rbac.ts')
      const configMap = configmap === undefined ? undefined : readObjectName('configmap', configmap)
      const namespaces = readNamespaces(namespace)
      put(await rbacFiles(module, { name, account, namespaces, file, set, configMap }), out, print)
    },
  },
  deploy: {
    takes: 'MODULE',
    flags: ['out', 'name', 'namespace', 'file', 'image', 'diff', 'kubeconfig', 'context'],
    takesAny: true,
    run: deploy,
  },
  dependent: { takes: 'KIND', flags: ['out', 'from', 'for', 'crd', 'stdout'], run: dependent },
}

const command: Command = defineCommand({
  usage: 'crd MODULE | types FILE | docs MODULE | rbac MODULE | deploy [MODULE…] | dependent KIND',
  details: `crd        the CustomResourceDefinitions of the kinds of a module or its operator
types      TypeScript types of a kind of another project, from a file with its CRD
docs       reference pages of those kinds, in Markdown
rbac       a service account and minimal roles: one for the operator of a module, one for its manager. The role of the
           manager derives from its configuration (--file, --set); without one it allows leader election
deploy     how a manager with these operators is installed: Helm chart, kustomize base, manifests, Grafana dashboard, alert rules, and
           a Containerfile if there is none. Files that you changed stay as they are. --diff: exit code 0 nothing would change in
           the cluster, 2 something would
dependent  the source of a dependent, to be completed. KIND is a kind or a short name, with its apiVersion if it is ambiguous:
           Service, deploy, events.k8s.io/v1/Event. Existing files are never overwritten.`,
  flags,
  async run(invocation) {
    const [what = '', argument, ...rest] = invocation.positionals
    const generator = Object.hasOwn(generators, what) ? generators[what] : undefined
    if (!generator) throw unknownGenerator(what)
    if (!generator.takesAny && (argument === undefined || rest.length > 0)) {
      throw new MusterError(flagErrors.InvalidFlag, `generate ${what} takes one ${generator.takes}.`)
    }
    checkFlags(what, generator, invocation.flags)
    return (await generator.run(argument ?? '', invocation)) ?? 0
  },
})

function unknownGenerator(what: string): MusterError {
  const names = Object.keys(generators)
  const near = nearest(what, names)
  const hint = near === undefined ? '' : ` Did you mean "${near}"?`
  const asked = what === '' ? 'say what to generate' : `nothing called "${what}" is generated`
  return new MusterError(flagErrors.InvalidFlag, `${asked}: ${names.join(', ')}.${hint}`)
}

function checkFlags(what: string, generator: Generator, given: GenerateFlags): void {
  const foreign = (Object.keys(given) as (keyof typeof flags)[]).find((name) => !generator.flags.includes(name))
  if (foreign !== undefined) throw new MusterError(flagErrors.InvalidFlag, `generate ${what} has no --${foreign}.`)
}

/** Derived files: they are overwritten each time. */
function put(made: readonly GeneratorOutput[], folder: string | undefined, print: (line: string) => void): void {
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

async function dependent(kind: string, { flags: given, out, err }: Invocation<typeof flags>): Promise<void> {
  const owner = given.for ?? usualOwner()
  const { generateDependent, writeDependent } = await import('./dependent.ts')
  const { from, crd, out: file } = given
  const made = await generateDependent({ kind, from, crd, owner, file })
  for (const note of made.notes) err(`note: ${note}`)
  if (given.stdout) {
    out(made.text.trimEnd())
    return
  }
  for (const written of await writeDependent(made)) out(written)
  err(`Fill it in, and add ${made.name} to the dependents of your controller.`)
}

async function deploy(
  _: string,
  { flags: given, positionals, out, err, signal }: Invocation<typeof flags>,
): Promise<number> {
  const { describeProject } = await import('./deploy.ts')
  const description = await describeProject(positionals.slice(1), given)
  if (given.diff) {
    const { connect } = await import('../../client/connect.ts')
    const { deployDiff } = await import('./deploy-diff.ts')
    const client = await connect(connectionOptions(given))
    try {
      const lines = await deployDiff(description, client, signal)
      for (const { text } of lines) out(text)
      return lines.length > 0 ? 2 : 0
    } finally {
      await client.close()
    }
  }
  const { installationFiles } = await import('../../deploy/files.ts')
  const { ignoredByImages, projectContainerfile } = await import('../../deploy/image.ts')
  const { writeKeptFiles } = await import('./kept-files.ts')
  const { written, removed, kept } = writeKeptFiles(given.out ?? 'deploy', installationFiles(description))
  for (const file of written) out(file)
  for (const file of removed) err(`removed ${file}: it is no longer part of the installation`)
  for (const file of kept)
    err(`kept ${file}: it was changed since it was generated. Delete it to get the generated one`)
  if (!existsSync('Containerfile') && !existsSync('Dockerfile')) {
    writeFileSync('Containerfile', projectContainerfile(description.name))
    if (!existsSync('.dockerignore')) writeFileSync('.dockerignore', `${ignoredByImages.join('\n')}\n`)
    out('Containerfile')
  }
  return 0
}

/** The file in which `muster init` puts the kind. */
function usualOwner(): string {
  const usual = path.join('src', 'kind.ts')
  if (existsSync(usual)) return usual
  throw new MusterError(flagErrors.InvalidFlag, 'say whose CRs the dependent is kept for: --for MODULE#KIND.')
}

export default command

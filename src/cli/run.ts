/** Runs one operator, on a cluster or on an embedded one beside it. */
import path from 'node:path'
import type { SharedCache } from '../cache/shared-cache.ts'
import type { Client } from '../client/client.ts'
import { systemClock } from '../clock/system-clock.ts'
import { isConditionTrue } from '../kube/condition.ts'
import { formatTime } from '../kube/duration.ts'
import { MusterError } from '../kube/errors.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { CustomResourceDefinition } from '../kube/types/apiextensions/v1.ts'
import type { Operator } from '../operator/operator.ts'
import { type Command, defineCommand } from './command.ts'
import { connectionFlags, connectionOptions } from './connection-flags.ts'
import { fileOf, loadOperator } from './module.ts'
import { readNamespaces } from './namespace-flag.ts'
import { loadOwnMuster, type OwnMuster, translated } from './own-muster.ts'

export const command: Command = defineCommand({
  usage: 'MODULE',
  details: `MODULE is a TypeScript or JavaScript file that exports an operator: as "operator", as default, or as NAME with
FILE#NAME. Prints one line when it is ready; what the operator does goes to standard error, one JSON object a line.
Ctrl-C ends it: what is under way is finished first.`,
  flags: {
    ...connectionFlags,
    namespace: { type: 'string', short: 'n', value: 'NAME,…', help: 'serve these namespaces (default: all)' },
    install: { type: 'boolean', help: 'install the kinds that the operator defines (server-side apply)' },
    embedded: {
      type: 'boolean',
      help: 'start an embedded cluster and run there; its kubeconfig: .muster/kubeconfig',
    },
  },
  async run({ flags, positionals, out, err, signal }) {
    const [module] = positionals
    if (module === undefined || positionals.length > 1) {
      throw new MusterError('InvalidFlag', 'run takes one MODULE, such as src/operator.ts.')
    }
    const namespaces = readNamespaces(flags.namespace)
    const operator = await loadOperator(module)
    const muster = await loadOwnMuster(fileOf(module))
    const running = { operator, muster, namespaces, out, err, signal }
    if (!flags.embedded) {
      await run({ ...running, install: flags.install ?? false, connection: connectionOptions(flags) })
      return 0
    }
    if (flags.kubeconfig !== undefined || flags.context !== undefined) {
      throw new MusterError(
        'InvalidFlag',
        '--embedded brings a cluster of its own: leave --kubeconfig and --context out.',
      )
    }
    await withEmbeddedCluster(out, (kubeconfig) => run({ ...running, install: true, connection: { kubeconfig } }))
    return 0
  },
})

interface Running {
  readonly operator: Operator
  readonly muster: OwnMuster
  readonly namespaces: readonly string[] | undefined
  readonly install: boolean
  readonly connection: ReturnType<typeof connectionOptions>
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  readonly signal: AbortSignal
}

async function run({ operator, muster, namespaces, install, connection, out, err, signal }: Running): Promise<void> {
  const log = (line: object): void => err(JSON.stringify({ time: formatTime(systemClock.now()), ...line }))
  const client = await muster.connect(connection)
  const cache = telling(muster.createSharedCache({ client }), (resource, problem) => {
    log({ operator: operator.name, resource: formatResource(resource), problem })
  })
  try {
    if (install) await installKinds(client, operator, signal)
    const host = muster.hostOperator({ operator, client, cache, log, ...(namespaces && { namespaces }) })
    await Promise.race([host.start(), aborted(signal)])
    if (!signal.aborted) {
      for (const line of await missingKinds(client, operator)) err(line)
      out(`${operator.name} is running${namespaces ? ` in ${namespaces.join(', ')}` : ''}`)
      await aborted(signal)
    }
    await host.stop()
  } catch (error) {
    if (!signal.aborted) throw translated(error)
  } finally {
    cache.close()
    await client.close()
  }
}

/** The cluster starts before the operator and ends after it. */
async function withEmbeddedCluster(
  out: (line: string) => void,
  work: (kubeconfig: string) => Promise<void>,
): Promise<void> {
  const { runEmbeddedCluster } = await import('./embedded-cluster.ts')
  const kubeconfig = path.resolve('.muster', 'kubeconfig')
  const end = new AbortController()
  const ready = Promise.withResolvers<void>()
  const cluster = runEmbeddedCluster({
    port: undefined,
    kubeconfig,
    folder: undefined,
    nodes: '3',
    signal: end.signal,
    ready({ url, use }) {
      out(`an embedded cluster is ready on ${url}; to use it: ${use}`)
      ready.resolve()
    },
  })
  try {
    await Promise.race([ready.promise, cluster])
    await work(kubeconfig)
  } finally {
    end.abort()
    await cluster
  }
}

/** A cache that says why it is behind: an operator that may not read what it declares would else wait in silence. */
function telling(cache: SharedCache, tell: (resource: Resource, problem: string) => void): SharedCache {
  return {
    ...cache,
    subscribe: (resource, options) =>
      cache.subscribe(resource, {
        ...options,
        onFreshness(freshness) {
          options.onFreshness?.(freshness)
          if (freshness.reason !== undefined) tell(resource, freshness.reason)
        },
      }),
  }
}

const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** Not by force: a CRD that somebody else keeps in another shape is theirs, and the conflict names them. */
async function installKinds(client: Client, { name, kinds }: Operator, signal: AbortSignal): Promise<void> {
  for (const kind of kinds) {
    const crd = kind.crd() as CustomResourceDefinition & { readonly metadata: { readonly name: string } }
    await client.apply(crds, crd, { fieldManager: name, signal })
    const fieldSelector = `metadata.name=${crd.metadata.name}`
    for await (const { type, object } of client.watch<CustomResourceDefinition>(crds, { fieldSelector, signal })) {
      if (type === 'ERROR' || type === 'BOOKMARK') continue
      if (isConditionTrue(object.status?.conditions as Parameters<typeof isConditionTrue>[0], 'Established')) break
    }
  }
  client.discovery.invalidate()
}

/** An operator whose kinds are missing waits for them; a person should know. */
async function missingKinds(client: Client, { inputs, kinds }: Operator): Promise<readonly string[]> {
  const lines = inputs.map(async (resource) => {
    if (await client.discovery.resourceFor(resource)) return []
    const isOwn = kinds.some((kind) => formatResource(kind) === formatResource(resource))
    const cure = isOwn ? 'run with --install to install it' : 'install what brings it'
    return [`waiting for ${resource.kind} (${formatResource(resource)}), which the cluster does not serve: ${cure}`]
  })
  return (await Promise.all(lines)).flat()
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

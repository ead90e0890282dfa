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
import type { WebhookAddress } from '../manager/webhooks/webhook-host.ts'
import type { Webhooks } from '../manager/webhooks/webhooks.ts'
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
    webhooks: {
      type: 'string',
      value: 'URL|NAMESPACE/SERVICE',
      help: 'where API servers reach its webhooks (default: with --embedded on loopback, else nobody serves them)',
    },
    'webhook-port': { type: 'string', value: 'PORT', help: 'what webhooks listen on (default: the URL’s, else 9443)' },
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
    const webhooks = readWebhooks(flags.webhooks, flags['webhook-port'])
    const running = { operator, muster, namespaces, webhooks, out, err, signal }
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
    const onLoopback = webhooks ?? { address: { url: 'https://127.0.0.1:0' }, listen: { host: '127.0.0.1', port: 0 } }
    await withEmbeddedCluster(out, (kubeconfig) =>
      run({ ...running, webhooks: onLoopback, install: true, connection: { kubeconfig } }),
    )
    return 0
  },
})

interface Running {
  readonly operator: Operator
  readonly muster: OwnMuster
  readonly namespaces: readonly string[] | undefined
  readonly webhooks: WebhookPlace | undefined
  readonly install: boolean
  readonly connection: ReturnType<typeof connectionOptions>
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  readonly signal: AbortSignal
}

async function run(running: Running): Promise<void> {
  const { operator, muster, namespaces, install, connection, out, err, signal } = running
  const log = (line: object): void => err(JSON.stringify({ time: formatTime(systemClock.now()), ...line }))
  const client = await muster.connect(connection)
  const cache = telling(muster.createSharedCache({ client }), (resource, problem) => {
    log({ operator: operator.name, resource: formatResource(resource), problem })
  })
  let webhooks: Webhooks | undefined
  try {
    if (install) await installKinds(client, operator, signal)
    webhooks = await serveWebhooks(running, client, cache, log)
    const host = muster.hostOperator({
      operator,
      client,
      cache,
      log,
      ...(webhooks && { webhooks }),
      ...(namespaces && { namespaces }),
    })
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
    await webhooks?.close()
    cache.close()
    await client.close()
  }
}

/** Where webhooks are found, and where they listen. */
interface WebhookPlace {
  readonly address: WebhookAddress
  readonly listen: { readonly host?: string; readonly port: number }
}

const usualPort = 9443

function readWebhooks(place: string | undefined, port: string | undefined): WebhookPlace | undefined {
  const given = port === undefined ? undefined : Number(port)
  if (given !== undefined && !(Number.isInteger(given) && given >= 0 && given < 65_536)) {
    throw new MusterError('InvalidFlag', `--webhook-port ${port}: it must be a port, 0 for a free one.`)
  }
  if (place === undefined) return undefined
  if (place.startsWith('https://') && URL.canParse(place)) {
    const url = new URL(place)
    return { address: { url: place }, listen: { port: given ?? Number(url.port || 443) } }
  }
  const [namespace, name, ...rest] = place.split('/')
  if (!namespace || !name || rest.length > 0 || place.includes(':')) {
    throw new MusterError('InvalidFlag', `--webhooks ${place}: write https://HOST:PORT, or NAMESPACE/SERVICE.`)
  }
  return { address: { service: { namespace, name } }, listen: { port: given ?? usualPort } }
}

/** Only for an operator that has some, and only where API servers can find them. */
async function serveWebhooks(
  { operator, muster, webhooks: place, err }: Running,
  client: Client,
  cache: SharedCache,
  log: (line: object) => void,
): Promise<Webhooks | undefined> {
  if (operator.webhooks.length + operator.conversions.length === 0) return undefined
  if (!place) {
    err(`${operator.name} declares webhooks, which nobody will ask: say with --webhooks where API servers reach them.`)
    return undefined
  }
  const tell = (where: string, error: unknown): void =>
    log({ operator: operator.name, webhooks: where, problem: error instanceof Error ? error.message : String(error) })
  return await muster.startWebhooks({
    host: muster.createWebhookHost({
      clock: systemClock,
      onFailure: (failure) => log({ ...failure, error: String(failure.error) }),
    }),
    clock: systemClock,
    cluster: { client, cache },
    secret: { namespace: 'default', name: `${operator.name}-webhook-certificates` },
    ...place,
    onProblem: tell,
  })
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

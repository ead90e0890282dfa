/**
 * A trial: an operator on an embedded cluster of its own, in virtual time. Nothing is mocked but the clock, the
 * randomness and the wire, and the wire is counted: what an operator asks of a server is part of what it does.
 */
import { seededRandom } from '../../clock/random.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { type ApiServer, createApiServer } from '../../apiserver/server/api-server.ts'
import { simulatedWorkloads } from '../../apiserver/simulated/simulation.ts'
import { createSharedCache, type SharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { Transport, TransportRequest } from '../../transport/transport.ts'
import { MusterError } from '../../kube/errors.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Ledger } from '../../operator/ledger.ts'
import type { Operator } from '../../operator/operator.ts'
import { type OperatorHost, hostOperator, type OperatorHostOptions } from '../hosting/host.ts'
import { createWebhookHost, inProcessWebhooks } from '../webhooks/webhook-host.ts'
import { startWebhooks, type Webhooks } from '../webhooks/webhooks.ts'

export interface TestEnvironmentOptions extends Pick<OperatorHostOptions, 'config' | 'concurrency' | 'live' | 'log'> {
  /** Pods are scheduled and run, Deployments make them. @default false */
  readonly workloads?: boolean
  /** @default 1 */
  readonly seed?: number
  /** The operator is not started yet. @default false */
  readonly stopped?: boolean
  /** Its kinds are not installed yet. @default false */
  readonly bare?: boolean
  /** What the operator's requests go through: where they are lost, refused or held up. @default straight to the server */
  readonly wire?: (transport: Transport) => Transport
}

/** A request that the operator sent. */
export interface SentRequest {
  readonly method: string
  readonly path: string
}

export interface TestEnvironment {
  readonly clock: VirtualClock
  readonly server: ApiServer
  /** Somebody else's, whose requests are not counted: a person with kubectl. */
  readonly client: Client
  /** What the operator did, one a reconcile. */
  readonly ledgers: readonly Ledger[]
  /** What the operator has sent, the watches that keep its caches aside. */
  readonly sent: readonly SentRequest[]
  /** Of those, the ones that ask for a change. Events are told apart from what is being done: they are not among them. */
  readonly writes: readonly SentRequest[]
  /** Runs until nothing moves any more: no reconcile is due within `horizonMs`. @default 2000 */
  settle(horizonMs?: number): Promise<void>
  /** As if the process had ended, and another had begun. */
  restart(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
  /** Installs the operator's kinds. */
  install(): Promise<void>
  create(resource: Resource, object: UntypedObject): Promise<UntypedObject>
  close(): Promise<void>
}

interface Served {
  readonly webhooks: Webhooks
  readonly cache: SharedCache
}

/** Nobody listens there: the server asks in process. */
const address = { url: 'https://webhooks.trial' }

const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

export async function openTestEnvironment(
  operator: Operator,
  options: TestEnvironmentOptions = {},
): Promise<TestEnvironment> {
  const { seed = 1, workloads = false, wire = (transport) => transport } = options
  const clock = virtualClock()
  const random = seededRandom(seed)
  const declares = operator.webhooks.length + operator.conversions.length > 0
  const answering = createWebhookHost({ clock })
  const server = createApiServer({
    clock,
    random,
    ...(declares && { webhooks: inProcessWebhooks(answering, address) }),
    ...(workloads && { workloads: simulatedWorkloads() }),
  })
  const client = createClient({ transport: inProcessTransport(server), clock, random })
  const ledgers: Ledger[] = []
  const sent: SentRequest[] = []
  let running:
    | {
        readonly host: OperatorHost
        readonly cache: SharedCache
        readonly client: Client
        readonly webhooks: Served | undefined
      }
    | undefined

  const start = async (): Promise<void> => {
    if (running) throw new MusterError('InvalidController', `${operator.name} is running already.`)
    const own = createClient({ transport: wire(counted(inProcessTransport(server), sent)), clock, random })
    const cache = createSharedCache({ client: own, clock, random })
    const webhooks = declares ? await serve() : undefined
    const host = hostOperator({
      ...options,
      ...(webhooks && { webhooks: webhooks.webhooks }),
      operator,
      client: own,
      cache,
      clock,
      onLedger: (ledger) => void ledgers.push(ledger),
    })
    running = { host, cache, client: own, webhooks }
    let isStarted = false
    const starting = host.start().then(() => (isStarted = true))
    await clock.until(() => isStarted)
    await starting
  }

  /** What is done about webhooks is the manager's, and not counted. */
  const serve = async (): Promise<Served> => {
    const cache = createSharedCache({ client, clock, random })
    const secret = { namespace: 'default', name: 'webhook-certificates' }
    let isStarted = false
    const starting = startWebhooks({ host: answering, clock, cluster: { client, cache }, secret, address })
    const noting = starting.then(() => (isStarted = true))
    await clock.until(() => isStarted)
    await noting
    return { webhooks: await starting, cache }
  }

  const stop = async (): Promise<void> => {
    const { host, cache, client: own, webhooks } = running ?? {}
    running = undefined
    if (!host) return
    let isStopped = false
    const stopping = host.stop().then(() => (isStopped = true))
    await clock.until(() => isStopped)
    await stopping
    await webhooks?.webhooks.close()
    webhooks?.cache.close()
    cache?.close()
    await own?.close()
  }

  const install = async (): Promise<void> => {
    for (const kind of operator.kinds) await client.create(crds, kind.crd() as unknown as UntypedObject)
    await clock.settle()
  }

  const trial: TestEnvironment = {
    clock,
    server,
    client,
    ledgers,
    sent,
    get writes() {
      return sent.filter(({ method, path }) => method !== 'GET' && !/\/events(?:\/|$|\?)/.test(path))
    },
    async settle(horizonMs = 2000) {
      await clock.advance(horizonMs)
      let isIdle = false
      const waiting = running?.host.idle().then(() => (isIdle = true))
      if (!waiting) return
      await clock.until(() => isIdle)
      await waiting
      await clock.settle()
    },
    start,
    stop,
    async restart() {
      await stop()
      await start()
    },
    install,
    create: (resource, object) => client.create(resource, object),
    async close() {
      await stop()
      await client.close()
    },
  }
  if (!options.bare) await install()
  if (!options.stopped) await start()
  return trial
}

/** Watches and lists are how caches are kept; whatever else goes over the wire is counted. */
function counted(transport: Transport, sent: SentRequest[]): Transport {
  return {
    ...transport,
    send(request: TransportRequest) {
      const { method, path } = request
      if (!/[?&]watch=/.test(path)) sent.push({ method, path })
      return transport.send(request)
    },
  }
}

/**
 * A test environment: an operator on an embedded cluster of its own, in virtual time. Only the clock, randomness and
 * the wire are replaced, and requests are recorded: the load on the API server is part of an operator's behaviour.
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
import { operatorErrors } from '../../operator/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { checkKind } from '../../operator/kind/kind-check.ts'
import type { Ledger } from '../../operator/ledger.ts'
import type { Operator } from '../../operator/operator.ts'
import { type OperatorHost, hostOperator, type OperatorHostOptions } from '../hosting/host.ts'
import type { Log } from '../logging/log-line.ts'
import { createTaskRunner, type TaskRunner } from '../tasks/task-runner.ts'
import { createWebhookHost } from '../webhooks/webhook-host.ts'
import { inProcessWebhooks } from './in-process-webhooks.ts'
import { authorMistakes } from './author-mistakes.ts'
import { startWebhooks, type Webhooks } from '../webhooks/webhooks.ts'

export interface TestEnvironmentOptions extends Pick<OperatorHostOptions, 'config' | 'concurrency' | 'live'> {
  /** One line for each reconcile. @default mistakes of author code are printed to standard error */
  readonly log?: Log
  /**
   * Runs a scheduler, a kubelet and workload controllers: Deployments create Pods, and Pods become ready. @default
   * false
   */
  readonly workloads?: boolean
  /** @default 1 */
  readonly seed?: number
  /** Does not start the operator. @default false */
  readonly stopped?: boolean
  /** Does not install its CRDs. @default false */
  readonly bare?: boolean
  /** Wraps the operator's transport, to drop, refuse or delay requests. @default no change */
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
  /** A second client, as a user with kubectl has it; its requests are not recorded. */
  readonly client: Client
  /** The ledgers of the operator's reconciles. */
  readonly ledgers: readonly Ledger[]
  /** The operator's requests, except lists and watches of its caches. */
  readonly sent: readonly SentRequest[]
  /** The write requests among them, except Events. */
  readonly writes: readonly SentRequest[]
  /** Advances time until no reconcile is due within `horizonMs`. @default 2000 */
  settle(horizonMs?: number): Promise<void>
  /** As if the process had crashed and another one had started. */
  restart(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
  /** Installs the operator's CRDs. @throws InvalidKind */
  install(): Promise<void>
  /** As a user with kubectl does. */
  create(resource: Resource, object: KubeObject | UntypedObject): Promise<UntypedObject>
  close(): Promise<void>
}

interface Served {
  readonly webhooks: Webhooks
  readonly cache: SharedCache
}

/** No socket: the embedded server calls webhooks in process. */
const address = { url: 'https://webhooks.trial' }

const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** @throws InvalidKind when an API server would reject the CRD of one of its kinds */
export async function openTestEnvironment(
  operator: Operator,
  options: TestEnvironmentOptions = {},
): Promise<TestEnvironment> {
  const { seed = 1, workloads = false, wire = (transport) => transport } = options
  const log = options.log ?? authorMistakes((line) => void process.stderr.write(`${line}\n`))
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
        readonly tasks: TaskRunner
        readonly webhooks: Served | undefined
      }
    | undefined

  const start = async (): Promise<void> => {
    if (running) throw new MusterError(operatorErrors.InvalidController, `${operator.name} is running already.`)
    const own = createClient({ transport: wire(counted(inProcessTransport(server), sent)), clock, random })
    const cache = createSharedCache({ client: own, clock, random })
    const webhooks = declares ? await serve() : undefined
    const tasks = createTaskRunner({ clock, runBlocking: (_key, work) => clock.hold(work()) })
    const host = hostOperator({
      ...options,
      log,
      tasks,
      ...(webhooks && { webhooks: webhooks.webhooks }),
      operator,
      client: own,
      cache,
      clock,
      onLedger: (ledger) => void ledgers.push(ledger),
    })
    running = { host, cache, client: own, tasks, webhooks }
    let isStarted = false
    const starting = host.start().then(() => (isStarted = true))
    await clock.until(() => isStarted)
    await starting
  }

  /** Requests for webhook registrations are the manager's, and are not recorded. */
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
    const { host, cache, client: own, tasks, webhooks } = running ?? {}
    running = undefined
    if (!host) return
    let isStopped = false
    const stopping = host.stop().then(() => (isStopped = true))
    await clock.until(() => isStopped)
    await stopping
    await tasks?.close()
    await webhooks?.webhooks.close()
    webhooks?.cache.close()
    cache?.close()
    await own?.close()
  }

  const install = async (): Promise<void> => {
    for (const kind of operator.kinds) {
      checkKind(kind)
      await client.create(crds, kind.crd())
    }
    await clock.settle()
  }

  const testEnv: TestEnvironment = {
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
    create: (resource, object) => client.create(resource, object as UntypedObject),
    async close() {
      await stop()
      await client.close()
    },
  }
  if (!options.bare) await install()
  if (!options.stopped) await start()
  return testEnv
}

/** Lists and watches fill caches; all other requests are recorded. */
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

/**
 * A test cluster for one rule: an embedded cluster in virtual time with simulated workloads, on which the operator is a
 * service account with exactly the role derived from its declarations. All of its requests are recorded, can be made to
 * fail, and can be followed by a crash, after which another process may be started.
 */
import { seededRandom } from '../../clock/random.ts'
import { type Clock, sleepOn } from '../../clock/clock.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { createApiServer } from '../../apiserver/server/api-server.ts'
import type { Storage } from '../../apiserver/storage/storage.ts'
import { simulatedWorkloads } from '../../apiserver/simulated/simulation.ts'
import { createSharedCache, type SharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { transportErrors } from '../../transport/errors.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { parseApiVersion, type Resource } from '../../kube/kind.ts'
import { asObject } from '../../kube/json-object.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { type OperatorHost, hostOperator } from '../../manager/hosting/host.ts'
import { createTaskRunner } from '../../manager/tasks/task-runner.ts'
import type { Ledger } from '../../operator/ledger.ts'
import type { Live } from '../../operator/live.ts'
import type { Operator } from '../../operator/operator.ts'
import { roleOf } from '../../operator/role.ts'
import type { SimulatedWorld } from '../environment/world.ts'
import { worldReader } from '../environment/world.ts'
import {
  installDeterministicGlobals,
  withDeterministicGlobals,
  withStandingClock,
  type Within,
} from '../environment/deterministic-globals.ts'
import { isSameTarget, isWriteRequest, requestKey, type Request, requestOf, type ScorecardTarget } from './request.ts'

/** Loads the operator anew, without the memory of an earlier instance. */
export type LoadOperator = () => Operator | Promise<Operator>

export interface ScorecardClusterOptions {
  readonly load: LoadOperator
  /** The CRs and the objects that they need. */
  readonly sample: readonly UntypedObject[]
  /** Simulates scheduler, kubelets and workload controllers. */
  readonly workloads: boolean
  /** The simulated outside: one for each test cluster. */
  readonly live: (world: SimulatedWorld) => Live
  /** The seed of the server's allocations and the operator's random values. @default 1 */
  readonly seed?: number
}

export interface ScorecardCluster {
  readonly operator: Operator
  readonly clock: VirtualClock
  /** The client of a cluster administrator. */
  readonly client: Client
  /** The requests of all processes of the operator. */
  readonly requests: readonly Request[]
  readonly ledgers: readonly Ledger[]
  /** The CRs of the sample that the operator reconciles. */
  readonly crs: readonly ScorecardTarget[]
  /** Starts the operator, and creates the sample. */
  begin(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
  /** Runs until the operator has sent nothing for a minute; false if that takes more than twenty minutes. */
  rest(): Promise<boolean>
  /** Stops the simulated workloads. */
  haltWorkloads(): void
  /** Crashes the operator after its `count`th write from now: the write is done, but its answer is lost. */
  crashAfter(count: number): void
  readonly hasCrashed: boolean
  /** Answers such requests with an internal error. */
  refuse(which: ((request: Request) => boolean) | undefined): void
  /** Called after a write, before the operator gets the answer. */
  onWrite(listener: (request: Request) => Promise<void>): void
  /** The existing objects that the operator wrote, except the CRs of the sample. */
  children(): Promise<readonly Child[]>
  find(target: ScorecardTarget): Promise<UntypedObject | undefined>
  close(): Promise<void>
}

export interface Child extends ScorecardTarget {
  readonly object: UntypedObject
}

const account = { kind: 'ServiceAccount', namespace: 'default', name: 'examined' }
const user = `system:serviceaccount:${account.namespace}:${account.name}`
const rbac = 'rbac.authorization.k8s.io'
const quietMs = 60_000
const patienceMs = 1200_000

export async function openScorecardGround({
  load,
  sample,
  workloads,
  live,
  seed = 1,
}: ScorecardClusterOptions): Promise<ScorecardCluster> {
  const clock = virtualClock()
  const random = seededRandom(seed)
  const restoreGlobals = installDeterministicGlobals()
  /** Each process has its own random stream, so that a restart does not repeat values. */
  const withinOf = (number: number): Within => withDeterministicGlobals(seed * 1009 + number, clock)
  const halts: (() => void)[] = []
  const simulation = simulatedWorkloads()
  let storage: Storage | undefined
  const server = createApiServer({
    clock,
    random,
    workloads(state) {
      storage = state.storage
      const running = workloads ? simulation(state) : { stop: () => undefined }
      halts.push(() => running.stop())
      return running
    },
  })
  const client = createClient({ transport: inProcessTransport(server), clock, random, fieldManager: 'somebody' })
  const operator = await withinOf(1)(load)
  const outside = live({
    clock,
    get: worldReader(() => storage),
  })
  const requests: Request[] = []
  const ledgers: Ledger[] = []
  const listeners: ((request: Request) => Promise<void>)[] = []
  let refused: ((request: Request) => boolean) | undefined
  let lastWrite = Infinity
  let running: { readonly host: OperatorHost; readonly cache: SharedCache; readonly client: Client } | undefined
  let process = 0
  let hasCrashed = false

  const transport = (): Transport => {
    const inner = inProcessTransport(server)
    const own = ++process
    const life = new AbortController()
    const isGone = (): boolean => life.signal.aborted
    let turn: Promise<unknown> = Promise.resolve()
    const send = async (sent: TransportRequest): Promise<TransportResponse> => {
      const request = requestOf(sent, own)
      if (!isWriteRequest(request) || lastWrite === Infinity) return await exchange(sent, request)
      // Before a crash concurrent writes are serialized, so that only some of them arrive.
      const answer = turn.then(() => exchange(sent, request))
      turn = answer.catch(() => undefined)
      return await answer
    }
    const exchange = async (sent: TransportRequest, request: Request): Promise<TransportResponse> => {
      if (isGone()) return await never()
      if (refused?.(request)) return failure
      const signal = sent.signal ? AbortSignal.any([sent.signal, life.signal]) : life.signal
      const answer = await inner.send({ ...sent, signal, headers: { ...sent.headers, 'impersonate-user': user } })
      const done: Request = { ...request, status: answer.status }
      requests.push(done)
      if (isWriteRequest(done)) {
        if (answer.status < 300) for (const listener of listeners) await listener(done)
        if (--lastWrite === 0) {
          hasCrashed = true
          life.abort(new MusterError(transportErrors.ConnectionLost, 'the process is gone.'))
        }
      }
      return isGone() ? await never() : answer
    }
    return { ...inner, send }
  }

  const start = async (): Promise<void> => {
    const sent = transport()
    const within = withinOf(process)
    const after: Clock['after'] = (ms, fire) => clock.after(ms, () => within(fire))
    const time: Clock = { now: () => clock.now(), after, sleep: (ms, signal) => sleepOn(after, ms, signal) }
    const own = createClient({ transport: sent, clock: time, random })
    const cache = createSharedCache({ client: own, clock: time, random })
    const host = hostOperator({
      operator: process === 1 ? operator : await within(load),
      client: own,
      cache,
      clock: time,
      live: outside,
      tasks: createTaskRunner({
        clock: time,
        runBlocking: (key, work) => clock.hold(withStandingClock(key, clock)(work)),
      }),
      onLedger: (ledger) => void ledgers.push(ledger),
    })
    running = { host, cache, client: own }
    await finished(within(() => host.start()))
  }

  const stop = async (): Promise<void> => {
    const { host, cache, client: own } = running ?? {}
    running = undefined
    // A crashed process does not shut down.
    if (!host || hasCrashed) return
    await finished(host.stop())
    cache?.close()
    await own?.close()
  }

  /** Advances the clock until it is done. */
  const finished = async (work: Promise<unknown>): Promise<void> => {
    let isDone = false
    const ended = work.finally(() => (isDone = true))
    ended.catch(() => undefined)
    await clock.until(() => isDone)
    await ended
  }

  const controlled = (object: UntypedObject): Resource | undefined => {
    const { group } = parseApiVersion(object.apiVersion)
    return operator.controllers.find(({ kind }) => kind.kind === object.kind && kind.group === group)?.kind
  }
  const crs = sample.flatMap((object): readonly ScorecardTarget[] => {
    const resource = controlled(object)
    if (!resource) return []
    const { name = '', namespace = 'default' } = object.metadata
    return [{ resource, name, namespace: resource.namespaced ? namespace : undefined }]
  })

  const put = async (object: UntypedObject): Promise<void> => {
    const kind = { ...parseApiVersion(object.apiVersion), kind: object.kind }
    client.discovery.invalidate()
    const resource = await client.discovery.resourceFor(kind)
    if (!resource)
      throw new MusterError(kubeErrors.UnknownKind, `the sample has a ${object.kind} of ${object.apiVersion}.`)
    const { namespace = 'default' } = object.metadata
    const placed = resource.namespaced ? { ...object, metadata: { ...object.metadata, namespace } } : object
    if (resource.namespaced) await exists(namespaceOf(namespace))
    await client.create(resource, placed)
    await clock.settle()
  }
  const exists = async (object: UntypedObject): Promise<void> => {
    const resource = await client.discovery.resourceFor({ ...parseApiVersion(object.apiVersion), kind: object.kind })
    await client.create(resource!, object).catch((error: unknown) => {
      if (!isMusterError(error, clientErrors.AlreadyExists)) throw error
    })
  }
  const find = async ({ resource, name, namespace }: ScorecardTarget): Promise<UntypedObject | undefined> => {
    try {
      const object = await client.get(resource, { name, namespace })
      return object
    } catch (error) {
      if (isMusterError(error, clientErrors.NotFound)) return undefined
      throw error
    }
  }

  for (const kind of operator.kinds) await exists(asObject(kind.crd()))
  for (const object of rightsOf(operator)) await exists(object)
  await clock.settle()

  return {
    operator,
    clock,
    client,
    requests,
    ledgers,
    crs,
    start,
    stop,
    find,
    async begin() {
      const isDefinition = ({ kind }: KubeObject): boolean => kind === 'CustomResourceDefinition'
      for (const object of sample.filter(isDefinition)) await put(object)
      await start()
      for (const object of sample.filter((one) => !isDefinition(one))) await put(object)
    },
    async rest() {
      const deadline = clock.now() + patienceMs
      for (;;) {
        const before = requests.length
        await clock.advance(quietMs)
        if (requests.length === before) return true
        if (clock.now() > deadline) return false
      }
    },
    haltWorkloads() {
      for (const halt of halts) halt()
    },
    crashAfter(count) {
      hasCrashed = false
      lastWrite = count
    },
    get hasCrashed() {
      return hasCrashed
    },
    refuse(which) {
      refused = which
    },
    onWrite: (listener) => void listeners.push(listener),
    async children() {
      const written = new Map<string, ScorecardTarget>()
      for (const { target, status, method } of requests) {
        if (!target || status >= 300 || method === 'GET' || target.resource.plural === 'events') continue
        const resource = operator.inputs.find(
          ({ group, plural }) => group === target.resource.group && plural === target.resource.plural,
        )
        if (!resource || crs.some((cr) => isSameTarget(cr, target))) continue
        const { name, namespace } = target
        written.set(requestKey(target), { resource, name, namespace })
      }
      const found = await Promise.all(
        [...written.values()].map(async (target) => ({ target, object: await find(target) })),
      )
      return found.flatMap(({ target, object }) => (object ? [{ ...target, object }] : []))
    },
    async close() {
      await stop()
      for (const halt of halts) halt()
      await client.close()
      restoreGlobals()
    },
  }
}

const failure: TransportResponse = {
  status: 500,
  headers: { 'content-type': 'application/json' },
  get body() {
    return bytes(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Status',
        status: 'Failure',
        reason: 'InternalError',
        message: 'error injected by the scorecard',
        code: 500,
      }),
    )
  },
}

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}

function namespaceOf(name: string): UntypedObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
}

function rightsOf(operator: Operator): readonly UntypedObject[] {
  return [
    { ...(roleOf(operator) as unknown as UntypedObject), metadata: { name: account.name } },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: account.name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: account.name },
      subjects: [account],
    },
  ]
}

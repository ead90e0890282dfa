/**
 * One run of a scenario: a fork of a cluster, the operator's processes on it, users who act, injected faults, and a record
 * of everything that happened, for the judge.
 */
import { seededRandom } from '../../clock/random.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { Recall } from './recall.ts'
import type { StoredObject } from '../../apiserver/storage/storage.ts'
import type { ObjectRef } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { formatPath, type Path } from '../../kube/apply/path-element.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { inHashScope } from '../../operator/dependent/scope.ts'
import { idleMs, openCluster, type Snapshot } from './cluster.ts'
import { foreignEntry, foreignKey } from './end-state.ts'
import { type Fault, faultTable } from './fault.ts'
import { startSimulatedProcess, type SimulatedProcess, liveOf, tasksOf } from './simulated-process.ts'
import { openRecord, type SimulatedOutside, type Recorded } from './record.ts'
import type { SimulatedWorld } from '../environment/world.ts'
import { type Changed, changeField, type EditKind, editsOf, isKept, locate, ownedFields } from '../scorecard/change.ts'
import { type Scenario, type ScenarioStep } from './scenario.ts'
import { sampleTable, worldReader } from '../environment/world.ts'
import { installDeterministicGlobals, withDeterministicGlobals } from '../environment/deterministic-globals.ts'
import type { RunningSubject, SimulatedSubject, SubjectEnvironment } from './subject.ts'
import { needsLeases, openLeaseObserver, removeLease, seatOf, successionMs } from './lease-observer.ts'
import { type TraceLine, openTrace, inReport } from './trace.ts'
import type { SeenEvent } from './reading.ts'
import { walkPatchOf, walkOf } from './walk.ts'
import { openSimulatedNetwork, type SimulatedNetworkOptions, type SimulatedWrite } from './simulated-network.ts'
import type { Request } from '../scorecard/request.ts'

/** `state`: its state at the start of the run. */
export type MakeOutside = (state: JsonObject | undefined, world: SimulatedWorld) => SimulatedOutside

export interface SimulatedRunOptions {
  readonly subject: SimulatedSubject
  readonly scenario: Scenario
  readonly faults: readonly Fault[]
  readonly from: Snapshot
  readonly seed: number
  readonly workloads: boolean
  readonly outside: MakeOutside
  readonly answers: SimulatedNetworkOptions['answers']
  /** The memo that all runs share. */
  readonly recall: Recall
  /** Records the objects after each write. @default false */
  readonly observes?: boolean
  /** Called where a scenario with this many steps would end; `tell` returns its result. */
  readonly onHalt?: ((steps: number, tell: () => SimulatedRun) => void) | undefined
}

/** The result of a run. */
export interface SimulatedRun extends Recorded {
  readonly trace: readonly TraceLine[]
  readonly writes: readonly SimulatedWrite[]
  readonly events: readonly SeenEvent[]
  readonly requests: readonly Request[]
  readonly ledgers: readonly Ledger[]
  /** The operator's objects after each write: users may disturb these. */
  readonly objectsAfter: readonly (readonly string[])[]
  readonly outside: JsonObject
  readonly done: JsonObject
  /** CRs whose spec a user changed and reverted. */
  readonly editedCrs: readonly string[]
  /** Faults whose point was not reached. */
  readonly unreached: readonly Fault[]
  /** Why the server rejected a user's step. */
  readonly refused: string | undefined
  /** Undefined when it never came to rest. */
  readonly restedAfterMs: number | undefined
  /** The final cluster; only of runs that other scenarios start from. */
  readonly snapshot: Snapshot | undefined
}

/** A random edit of a CR that is reverted later. */
interface PendingRevert {
  readonly cr: string
  readonly uid: string
  readonly resource: Resource
  readonly back: JsonObject
}

/** An edit of a field. */
interface FieldEdit {
  readonly path: Path
  readonly how: EditKind
}

interface Process {
  readonly proc: SimulatedProcess
  running: RunningSubject | undefined
}

/** The cluster is at rest after so long without a request or an event. */
const quietMs = 30_000
/** If no timer is due for so long after that, the clock jumps ahead. */
const aheadMs = 30_000
/** It must come to rest within this time, faults included. */
export const boundMs = 900_000
/** More writes than this are a hot loop: the run is cut off. */
const mostWrites = 500
/** The number of edits to try until the server accepts one. */
const mostTries = 4
const restartMs = 1000
const lagMs = 2000
/** The time-out of a graceful shutdown. */
const leaveMs = 10_000

/** The first defined result. */
async function firstOf<T, R>(all: readonly T[], attempt: (one: T) => Promise<R | undefined>): Promise<R | undefined> {
  for (const one of all) {
    const result = await attempt(one)
    if (result !== undefined) return result
  }
  return undefined
}

function refOf({ metadata: { namespace, name } }: StoredObject): ObjectRef {
  return { namespace, name }
}

export async function runScenario(options: SimulatedRunOptions): Promise<SimulatedRun> {
  const restoreGlobals = installDeterministicGlobals()
  try {
    return await runBaseline(options)
  } finally {
    restoreGlobals()
  }
}

async function runBaseline(options: SimulatedRunOptions): Promise<SimulatedRun> {
  const { subject, scenario, from, seed, workloads } = options
  const cluster = openCluster({ seed, from, workloads, recall: options.recall })
  const { time, server, storage } = cluster
  const random = seededRandom(seed ^ 0x5eed)
  const trace = openTrace(time)
  const outside = options.outside(from.outside, {
    clock: time,
    get: worldReader(() => storage),
  })
  const client = createClient({
    transport: inProcessTransport(server),
    clock: time,
    random,
    fieldManager: 'somebody',
  })
  const pendingFaults = [...options.faults]
  const ledgers: Ledger[] = []
  const objectsAfter: (readonly string[])[] = []
  const record = openRecord(cluster, subject, outside)
  const firstRevision = storage.revision
  const steps = [...scenario.steps]
  const lives: Process[] = []
  const crTables = new Set(subject.controls.map(sampleTable))
  const editedCrs: string[] = []
  const pendingReverts: PendingRevert[] = []
  let starting = 0
  let leaving = 0
  let problem: unknown
  let refused: string | undefined

  const takeFaults = (on: 'write' | 'event', number: number | 'rest'): readonly Fault[] => {
    const due = pendingFaults.filter((fault) => fault.at === number && faultTable[fault.kind].on === on)
    for (const fault of due) pendingFaults.splice(pendingFaults.indexOf(fault), 1)
    return due
  }

  const leaseObserver = needsLeases(options.faults) ? openLeaseObserver(time, storage, trace) : undefined
  const network = openSimulatedNetwork({
    time,
    server,
    storage,
    random,
    trace,
    takeFaults: (on, number) => takeFaults(on, number),
    async onFault(fault) {
      switch (fault.kind) {
        case 'crash':
        case 'crash-before':
        case 'crash-after':
          startLater(restartMs)
          break
        case 'travel': {
          const back = Number(fault.value ?? 0)
          const revision = back === 0 ? firstRevision : (network.writes[back - 1]?.revision ?? firstRevision)
          startLater(restartMs, revision)
          break
        }
        case 'usurp':
        case 'pause':
        case 'lapse':
          void runSecondProcess()
          break
        case 'leaders':
          trace.note('a user deletes the lease', inReport)
          await removeLease(client)
          await time.sleep(0)
          void runSecondProcess()
          break
        default:
          await applyUserFault(fault)
      }
    },
    leaseObserver,
    answers: options.answers,
    recall: options.recall,
    onWrite: () => void (options.observes && objectsAfter.push(record.objects())),
  })

  /** Faults that users cause. */
  const applyUserFault = async (fault: Fault): Promise<void> => {
    switch (fault.kind) {
      case 'hurry': {
        const next = steps[0]
        if (next && (next.isReady?.(storage) ?? true)) await act(steps.shift()!)
        break
      }
      case 'drift':
        if (fault.at === 'rest') await driftBy(fault.value ?? '')
        break
      case 'remove':
      case 'edit':
      case 'add':
        await actAsUser(fault.kind, fault.value ?? '')
        break
      default:
    }
  }

  const actAsUser = async (kind: 'remove' | 'edit' | 'add', name: string): Promise<void> => {
    const found = record.find(name)
    if (!found) return
    const { resource, object } = found
    const ref = refOf(object)
    try {
      if (kind === 'remove') {
        trace.note(`a user deletes ${name}`, inReport)
        record.removing(name)
        await client.delete(resource, ref)
      } else if (kind === 'add') {
        trace.note(`a user adds to ${name}: ${foreignKey}`, inReport)
        const annotations = { [foreignKey]: 'kept' }
        const data = { [foreignEntry]: 'kept' }
        const hasData = resource.kind === 'ConfigMap' && object['immutable'] !== true
        await client.patch(resource, ref, { metadata: { annotations }, ...(hasData && { data }) }, { type: 'merge' })
        record.added(name, { uid: object.metadata.uid, hasData })
      } else if (crTables.has(sampleTable(resource))) await editRandomly(name, resource, object)
      else {
        // Rotates by the number of writes; an edit that the server rejects is followed by the next.
        const all = editsIn(name, object)
        const first = network.writes.length % Math.max(all.length, 1)
        const some = [...all.slice(first), ...all.slice(0, first)].slice(0, mostTries)
        const isDone = await firstOf(some, (one) => edit(name, resource, object, one))
        if (!isDone) trace.note(`a user changes ${name}: nothing to change`, inReport)
      }
    } catch (error) {
      if (!isMusterError(error)) throw error
      trace.note(`  which is refused: ${error.name}`)
    }
  }

  /** The possible edits of fields that the operator owns and keeps. */
  const editsIn = (name: string, object: StoredObject): readonly FieldEdit[] => {
    const scope = subject.keeps?.(name) ?? {}
    if (scope === false) return []
    const kept = inHashScope(object as unknown as JsonObject, scope)
    return ownedFields(object, subject.name)
      .filter((path) => locate(kept, path) !== undefined)
      .flatMap((path) => editsOf(path).map((how) => ({ path, how })))
  }

  const edit = async (
    name: string,
    resource: Resource,
    object: StoredObject,
    { path, how }: FieldEdit,
  ): Promise<Changed | undefined> => {
    const { namespace, name: ownName } = object.metadata
    const changed = await changeField(client, { resource, namespace, name: ownName }, object, path, how)
    if (changed)
      trace.note(
        `another client ${how === 'empty' ? 'emptie' : how}s ${name} ${formatPath(path)}: ${JSON.stringify(changed.after)}`,
        inReport,
      )
    return changed
  }

  /** Makes all edits one by one: a field that is corrected together with another one would go untested. */
  const driftBy = async (name: string): Promise<void> => {
    const begin = record.find(name)
    for (const { path, how } of begin ? editsIn(name, begin.object) : []) {
      const found = record.find(name)
      if (!found) return
      const changed = await edit(name, found.resource, found.object, { path, how })
      if (!changed) continue
      if (!(await rest())) return
      const after = record.find(name)
      const is = after && locate(after.object as unknown as Json, path)?.value
      // The server may default new values in an item that is restored.
      const isBack = path.at(-1)?.kind === 'field' ? isKept(changed.before, is) : is !== undefined
      if (isBack) continue
      const [wanted, stays] = [changed.before, is].map((value) => JSON.stringify(value) ?? 'absent')
      record.drifted(
        name,
        `${name} has ${formatPath(path)} ${stays} instead of ${wanted}, and the operator does not correct it`,
      )
      return
    }
  }

  /** Makes a random edit of a CR's spec: rotates, and takes the first that the server accepts. */
  const editRandomly = async (cr: string, resource: Resource, object: StoredObject): Promise<void> => {
    const kind = subject.kinds.find((one) => one.kind === resource.kind && one.group === resource.group)
    const turns = kind ? walkOf(kind, object).turns : []
    const first = network.writes.length % Math.max(turns.length, 1)
    for (const turn of [...turns.slice(first), ...turns.slice(0, first)]) {
      const patch = walkPatchOf(turn)
      const isTaken = await client.patch(resource, refOf(object), patch, { type: 'merge' }).catch(() => undefined)
      if (!isTaken) continue
      trace.note(`a user changes ${cr}: ${JSON.stringify(patch['spec'])}`, inReport)
      editedCrs.push(cr)
      const back = walkPatchOf({ before: turn.after, after: turn.before })
      pendingReverts.push({ cr, uid: object.metadata.uid, resource, back })
      return
    }
    trace.note(`a user changes ${cr}: nothing to change`, inReport)
  }

  /** Reverts the random edits of CRs that still exist. */
  const revertEdits = async (): Promise<void> => {
    for (let pending = pendingReverts.pop(); pending; pending = pendingReverts.pop()) {
      const { cr, uid, resource, back } = pending
      const found = record.find(cr)
      if (found?.object.metadata.uid !== uid) continue
      trace.note(`a user changes ${cr} back: ${JSON.stringify(back['spec'])}`, inReport)
      await client.patch(resource, refOf(found.object), back, { type: 'merge' }).catch((error: unknown) => {
        if (!isMusterError(error)) throw error
        trace.note(`  which is refused: ${error.name}`)
      })
    }
  }

  const act = async (step: ScenarioStep): Promise<void> => {
    // The next step expects the CR as the scenario left it.
    await revertEdits()
    trace.note(step.text, inReport)
    try {
      await step.act(client)
    } catch (error) {
      if (!isMusterError(error)) throw error
      refused ??= error.message
      trace.note(`which is refused: ${error.message}`, inReport)
    }
  }

  const startLater = (ms: number, revision?: number): void => {
    starting++
    time.after(ms, () => void start(revision))
  }

  /** Starts a second process, which shuts down gracefully when the first one may lead again. */
  const runSecondProcess = async (): Promise<void> => {
    starting++
    leaving++
    const { proc, running } = await start()
    await time.sleep(successionMs)
    if (!proc.isOver) {
      trace.note(`process ${proc.number} goes`, inReport)
      await Promise.race([running?.stop(), new Promise<void>((resolve) => void time.upkeep.after(leaveMs, resolve))])
      proc.end()
    }
    leaving--
  }

  const start = async (revision?: number): Promise<Process> => {
    const number = lives.length + 1
    const proc = startSimulatedProcess(number, time, (clock) => withDeterministicGlobals(seed * 1009 + number, clock))
    if (revision !== undefined) proc.lag = { revision, until: time.now() + lagMs }
    const entry: Process = { proc, running: undefined }
    lives.push(entry)
    trace.note(
      `process ${proc.number} starts${revision === undefined ? '' : `, and its server is behind: it is at version ${revision}`}`,
      inReport,
    )
    const own = createClient({ transport: network.transport(proc), clock: proc.clock, random })
    const cache = createSharedCache({
      client: own,
      clock: proc.clock,
      random,
      reflector: { idleMs },
    })
    try {
      const program = await time.hold(Promise.resolve(subject.spawn()))
      const around: SubjectEnvironment = {
        client: own,
        cache,
        clock: proc.clock,
        random,
        live: liveOf(proc, outside.live, time, (what) => leaseObserver?.leaves(proc, what)),
        tasks: tasksOf(proc, time),
        seat: leaseObserver && seatOf(proc),
        onLedger: (ledger) => void ledgers.push(ledger),
      }
      entry.running = await proc.within(() => program(around))
    } catch (error) {
      if (!proc.isOver) problem ??= error
    } finally {
      starting--
    }
    return entry
  }

  let settledWrites = 0
  const isCutOff = (): boolean => problem !== undefined || network.writes.length - settledWrites > mostWrites
  const lastAt = (): number => Math.max(network.lastWriteAt, record.changedAt)
  const isQuiet = (): boolean =>
    isCutOff() ||
    (starting + leaving === 0 &&
      !network.isBusy() &&
      (leaseObserver?.isSettled(lastAt()) ?? true) &&
      time.now() - network.lastSlowReadAt >= quietMs &&
      (time.now() - lastAt() >= quietMs || time.nextAt() - lastAt() >= quietMs + aheadMs))
  const settle = async (): Promise<boolean> => {
    settledWrites = network.writes.length
    const end = time.now() + boundMs
    while (await time.run(Math.max(end - time.now(), 0), isQuiet)) {
      if (isCutOff()) return false
      const missingMs = lastAt() + quietMs - time.now()
      if (missingMs <= 0) return true
      // Lets the time pass: code may have deferred work to the next turn of the event loop.
      await time.run(leaseObserver ? 0 : missingMs)
      // Only lease renewals would happen meanwhile.
      if (leaseObserver && isQuiet()) return true
    }
    return false
  }
  const rest = async (): Promise<boolean> => {
    const isRested = await settle()
    if (!isRested || pendingReverts.length === 0) return isRested
    await revertEdits()
    return await settle()
  }

  starting++
  void start()
  await time.run(60_000, () => starting === 0 && (leaseObserver?.isLed() ?? true))
  const begun = time.now()
  let isRested = true
  /** The result so far, independent of what follows. */
  const tell = (): SimulatedRun => {
    const finished = record.finish(time.now())
    return {
      trace: [...trace.lines],
      writes: [...network.writes],
      events: [...network.events],
      requests: [...network.requests],
      ledgers: [...ledgers],
      objectsAfter: [...objectsAfter],
      // Cloned: the outside may change its state in place.
      outside: structuredClone(outside.state?.() ?? {}),
      done: structuredClone(outside.done?.() ?? {}),
      editedCrs: [...editedCrs],
      ...finished,
      incidents: [...finished.incidents, ...(leaseObserver?.incidents() ?? [])],
      unreached: [...pendingFaults],
      refused,
      restedAfterMs: isRested ? Math.max(lastAt() - begun, 0) : undefined,
      snapshot: options.observes ? { ...cluster.snapshot(), outside: structuredClone(outside.state?.()) } : undefined,
    }
  }
  while (steps.length > 0 && isRested) {
    const step = steps.shift()!
    const isReady = (): boolean => step.isReady?.(storage) ?? true
    if (!(await time.run(boundMs, isReady))) {
      isRested = false
      break
    }
    await act(step)
    isRested = await rest()
    record.rested()
    options.onHalt?.(scenario.steps.length - steps.length, tell)
  }
  for (const fault of takeFaults('write', 'rest')) {
    await applyUserFault(fault)
    isRested &&= await rest()
  }
  if (problem !== undefined) throw problem
  const run = tell()
  for (const { proc } of lives) proc.end()
  cluster.halt()
  return run
}

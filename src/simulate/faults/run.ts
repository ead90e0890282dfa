/**
 * One run of a scene: a fork of a cluster, an operator's process on it, people who act, faults that strike, and a record of
 * all that happened, which others judge.
 */
import { seededRandom } from '../../clock/random.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { Recall } from '../../kube/recall.ts'
import type { StoredObject } from '../../apiserver/storage/storage.ts'
import type { ObjectRef } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { formatPath, type Path } from '../../kube/apply/path-element.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import { isMusterError } from '../../kube/errors.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { inHashScope } from '../../operator/scope.ts'
import { idleMs, openCluster, type Snapshot } from './cluster.ts'
import { foreignEntry, foreignKey } from './end-state.ts'
import { type Fault, faultTable } from './fault.ts'
import { beginLife, type SimulatedLife, liveOf } from './life.ts'
import { openRecord, type SimulatedOutside, type Recorded } from './record.ts'
import type { SimulatedWorld } from '../environment/world.ts'
import { type Changed, changeField, type Edit, editsOf, isKept, locate, ownedFields } from '../scorecard/change.ts'
import { type Scene, type SceneStep } from './scene.ts'
import { sampleTable } from '../environment/world.ts'
import { installDeterministicGlobals, withDeterministicGlobals } from '../environment/deterministic-globals.ts'
import type { RunningSubject, SimulatedSubject, Surroundings } from './subject.ts'
import { needsLeases, openLeaseObserver, removeLease, seatOf, successionMs } from './lease-observer.ts'
import { type TraceLine, openTrace, told } from './trace.ts'
import type { SeenEvent } from './reading.ts'
import { walkPatchOf, walkOf } from './walk.ts'
import { openWire, type WireOptions, type SimulatedWrite } from './wire.ts'
import type { Request } from '../scorecard/request.ts'

/** `state`: how it stood when the cluster was as it is at the begin. */
export type MakeOutside = (state: JsonObject | undefined, world: SimulatedWorld) => SimulatedOutside

export interface SimulatedRunOptions {
  readonly subject: SimulatedSubject
  readonly scene: Scene
  readonly faults: readonly Fault[]
  readonly from: Snapshot
  readonly seed: number
  readonly workloads: boolean
  readonly outside: MakeOutside
  readonly answers: WireOptions['answers']
  /** What runs have worked out before. */
  readonly recall: Recall
  /** Notes which objects there are after each write. @default false */
  readonly observes?: boolean
  /** Told where a scene of so many of its steps would end; `tell` says how that one went. */
  readonly onHalt?: ((steps: number, tell: () => SimulatedRun) => void) | undefined
}

/** What happened. */
export interface SimulatedRun extends Recorded {
  readonly trace: readonly TraceLine[]
  readonly writes: readonly SimulatedWrite[]
  readonly events: readonly SeenEvent[]
  readonly requests: readonly Request[]
  readonly ledgers: readonly Ledger[]
  /** What the operator wrote or looks after, after each write: whom a person may disturb there. */
  readonly objectsAfter: readonly (readonly string[])[]
  readonly outside: JsonObject
  readonly done: JsonObject
  /** CRs whose spec somebody changed and changed back. */
  readonly wavered: readonly string[]
  /** Faults whose point never came. */
  readonly unstruck: readonly Fault[]
  /** Why a person's step was not taken by the server. */
  readonly refused: string | undefined
  /** Undefined when it never came to rest. */
  readonly restedAfterMs: number | undefined
  /** Where it ended; only of runs that others go on from. */
  readonly snapshot: Snapshot | undefined
}

/** What somebody changed of a CR, and will change back. */
interface Whim {
  readonly cr: string
  readonly uid: string
  readonly resource: Resource
  readonly back: JsonObject
}

/** A field, and what somebody does to it. */
interface FieldEdit {
  readonly path: Path
  readonly how: Edit
}

interface Process {
  readonly life: SimulatedLife
  running: RunningSubject | undefined
}

/** Nothing asked for, nothing under way for so long: rest. */
const quietMs = 30_000
/** Where nothing is due for so long after that, either, it need not be waited for. */
const aheadMs = 30_000
/** Within this it has to come to rest, faults included. */
export const boundMs = 900_000
/** Who writes more than this goes round in circles: there is no need to watch him to the end. */
const mostWrites = 500
/** So many edits are tried until the server takes one. */
const mostTries = 4
const restartMs = 1000
const lagMs = 2000
/** The longest that a process may take to go in good order. */
const leaveMs = 10_000

/** What comes of the first for which something does. */
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

export async function runScene(options: SimulatedRunOptions): Promise<SimulatedRun> {
  const endSeclusion = installDeterministicGlobals()
  try {
    return await playScene(options)
  } finally {
    endSeclusion()
  }
}

async function playScene(options: SimulatedRunOptions): Promise<SimulatedRun> {
  const { subject, scene, from, seed, workloads } = options
  const cluster = openCluster({ seed, from, workloads, recall: options.recall })
  const { time, server, storage } = cluster
  const random = seededRandom(seed ^ 0x5eed)
  const trace = openTrace(time)
  const outside = options.outside(from.outside, {
    clock: time,
    get: (resource, { namespace, name }) => storage.table(sampleTable(resource)).get(namespace, name),
  })
  const client = createClient({
    transport: inProcessTransport(server),
    clock: time,
    random,
    fieldManager: 'somebody',
  })
  const left = [...options.faults]
  const ledgers: Ledger[] = []
  const objectsAfter: (readonly string[])[] = []
  const record = openRecord(cluster, subject, outside)
  const firstRevision = storage.revision
  const steps = [...scene.steps]
  const lives: Process[] = []
  const crTables = new Set(subject.controls.map(sampleTable))
  const wavered: string[] = []
  const whims: Whim[] = []
  let starting = 0
  let leaving = 0
  let problem: unknown
  let refused: string | undefined

  const strike = (on: 'write' | 'event', number: number | 'rest'): readonly Fault[] => {
    const due = left.filter((fault) => fault.at === number && faultTable[fault.kind].on === on)
    for (const fault of due) left.splice(left.indexOf(fault), 1)
    return due
  }

  const tenure = needsLeases(options.faults) ? openLeaseObserver(time, storage, trace) : undefined
  const wire = openWire({
    time,
    server,
    storage,
    random,
    trace,
    strike: (on, number) => strike(on, number),
    async onFault(fault) {
      switch (fault.kind) {
        case 'crash':
        case 'crash-before':
        case 'crash-after':
          startLater(restartMs)
          break
        case 'travel': {
          const back = Number(fault.value ?? 0)
          const revision = back === 0 ? firstRevision : (wire.writes[back - 1]?.revision ?? firstRevision)
          startLater(restartMs, revision)
          break
        }
        case 'usurp':
        case 'pause':
        case 'lapse':
          void succeed()
          break
        case 'leaders':
          trace.note('somebody deletes the lease', told)
          await removeLease(client)
          await time.sleep(0)
          void succeed()
          break
        default:
          await disturb(fault)
      }
    },
    tenure,
    answers: options.answers,
    recall: options.recall,
    onWrite: () => void (options.observes && objectsAfter.push(record.objects())),
  })

  /** What a person does at this point. */
  const disturb = async (fault: Fault): Promise<void> => {
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
        await person(fault.kind, fault.value ?? '')
        break
      default:
    }
  }

  const person = async (kind: 'remove' | 'edit' | 'add', name: string): Promise<void> => {
    const found = record.find(name)
    if (!found) return
    const { resource, object } = found
    const ref = refOf(object)
    try {
      if (kind === 'remove') {
        trace.note(`somebody deletes ${name}`, told)
        record.removing(name)
        await client.delete(resource, ref)
      } else if (kind === 'add') {
        trace.note(`somebody adds to ${name}: ${foreignKey}`, told)
        const annotations = { [foreignKey]: 'kept' }
        const data = { [foreignEntry]: 'kept' }
        const hasData = resource.kind === 'ConfigMap' && object['immutable'] !== true
        await client.patch(resource, ref, { metadata: { annotations }, ...(hasData && { data }) }, { type: 'merge' })
        record.added(name, { uid: object.metadata.uid, hasData })
      } else if (crTables.has(sampleTable(resource))) await waver(name, resource, object)
      else {
        // Another one at each point: those that the server refuses make room for the next.
        const all = editsIn(name, object)
        const first = wire.writes.length % Math.max(all.length, 1)
        const some = [...all.slice(first), ...all.slice(0, first)].slice(0, mostTries)
        const isDone = await firstOf(some, (one) => edit(name, resource, object, one))
        if (!isDone) trace.note(`somebody changes ${name}: nothing to change`, told)
      }
    } catch (error) {
      if (!isMusterError(error)) throw error
      trace.note(`  which is refused: ${error.name}`)
    }
  }

  /** What can be done to the fields of an object that the operator owns and keeps. */
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
        `another actor ${how === 'empty' ? 'emptie' : how}s ${name} ${formatPath(path)}: ${JSON.stringify(changed.after)}`,
        told,
      )
    return changed
  }

  /** All of them, one by one: what is put right with another field has not been seen itself. */
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
      // Of an item that is put back, the server may draw anew what it fills in.
      const isBack = path.at(-1)?.kind === 'field' ? isKept(changed.before, is) : is !== undefined
      if (isBack) continue
      const [wanted, stays] = [changed.before, is].map((value) => JSON.stringify(value) ?? 'absent')
      record.drifted(
        name,
        `${name} has ${formatPath(path)} ${stays} instead of ${wanted}, and the operator does not put it right`,
      )
      return
    }
  }

  /** Changes a field of a CR's spec, another one at each point: the first that the server takes. */
  const waver = async (cr: string, resource: Resource, object: StoredObject): Promise<void> => {
    const kind = subject.kinds.find((one) => one.kind === resource.kind && one.group === resource.group)
    const turns = kind ? walkOf(kind, object).turns : []
    const first = wire.writes.length % Math.max(turns.length, 1)
    for (const turn of [...turns.slice(first), ...turns.slice(0, first)]) {
      const patch = walkPatchOf(turn)
      const isTaken = await client.patch(resource, refOf(object), patch, { type: 'merge' }).catch(() => undefined)
      if (!isTaken) continue
      trace.note(`somebody changes ${cr}: ${JSON.stringify(patch['spec'])}`, told)
      wavered.push(cr)
      const back = walkPatchOf({ before: turn.after, after: turn.before })
      whims.push({ cr, uid: object.metadata.uid, resource, back })
      return
    }
    trace.note(`somebody changes ${cr}: nothing to change`, told)
  }

  /** What somebody changed of a CR is as it was, where that CR is still there. */
  const changeBack = async (): Promise<void> => {
    for (let whim = whims.pop(); whim; whim = whims.pop()) {
      const { cr, uid, resource, back } = whim
      const found = record.find(cr)
      if (found?.object.metadata.uid !== uid) continue
      trace.note(`somebody changes ${cr} back: ${JSON.stringify(back['spec'])}`, told)
      await client.patch(resource, refOf(found.object), back, { type: 'merge' }).catch((error: unknown) => {
        if (!isMusterError(error)) throw error
        trace.note(`  which is refused: ${error.name}`)
      })
    }
  }

  const act = async (step: SceneStep): Promise<void> => {
    // What comes next is wished of a CR that is as the scene has it.
    await changeBack()
    trace.note(step.text, told)
    try {
      await step.act(client)
    } catch (error) {
      if (!isMusterError(error)) throw error
      refused ??= error.message
      trace.note(`which is refused: ${error.message}`, told)
    }
  }

  const startLater = (ms: number, revision?: number): void => {
    starting++
    time.after(ms, () => void start(revision))
  }

  /** A second process comes, and goes in good order when the first one may lead again. */
  const succeed = async (): Promise<void> => {
    starting++
    leaving++
    const { life, running } = await start()
    await time.sleep(successionMs)
    if (!life.isOver) {
      trace.note(`process ${life.number} goes`, told)
      await Promise.race([running?.stop(), new Promise<void>((resolve) => void time.upkeep.after(leaveMs, resolve))])
      life.end()
    }
    leaving--
  }

  const start = async (revision?: number): Promise<Process> => {
    const number = lives.length + 1
    const life = beginLife(number, time, (clock) => withDeterministicGlobals(seed * 1009 + number, clock))
    if (revision !== undefined) life.lag = { revision, until: time.now() + lagMs }
    const entry: Process = { life, running: undefined }
    lives.push(entry)
    trace.note(
      `process ${life.number} starts${revision === undefined ? '' : `, and its server is behind: it is at version ${revision}`}`,
      told,
    )
    const own = createClient({ transport: wire.transport(life), clock: life.clock, random })
    const cache = createSharedCache({
      client: own,
      clock: life.clock,
      random,
      recall: options.recall,
      reflector: { idleMs },
    })
    try {
      const program = await time.hold(Promise.resolve(subject.spawn()))
      const around: Surroundings = {
        client: own,
        cache,
        clock: life.clock,
        random,
        live: liveOf(life, outside.live, time, (what) => tenure?.leaves(life, what)),
        seat: tenure && seatOf(life),
        recall: options.recall,
        onLedger: (ledger) => void ledgers.push(ledger),
      }
      entry.running = await life.within(() => program(around))
    } catch (error) {
      if (!life.isOver) problem ??= error
    } finally {
      starting--
    }
    return entry
  }

  let settledWrites = 0
  const isHopeless = (): boolean => problem !== undefined || wire.writes.length - settledWrites > mostWrites
  const lastAt = (): number => Math.max(wire.lastWriteAt, record.changedAt)
  const isQuiet = (): boolean =>
    isHopeless() ||
    (starting + leaving === 0 &&
      !wire.isBusy() &&
      (tenure?.isSettled(lastAt()) ?? true) &&
      (time.now() - lastAt() >= quietMs || time.nextAt() - lastAt() >= quietMs + aheadMs))
  const settle = async (): Promise<boolean> => {
    settledWrites = wire.writes.length
    const end = time.now() + boundMs
    while (await time.run(Math.max(end - time.now(), 0), isQuiet)) {
      if (isHopeless()) return false
      const missingMs = lastAt() + quietMs - time.now()
      if (missingMs <= 0) return true
      // It passes without anything happening, unless somebody put something off until the event loop turns.
      await time.run(tenure ? 0 : missingMs)
      // All that would happen meanwhile is that a lease is renewed.
      if (tenure && isQuiet()) return true
    }
    return false
  }
  const rest = async (): Promise<boolean> => {
    const isRested = await settle()
    if (!isRested || whims.length === 0) return isRested
    await changeBack()
    return await settle()
  }

  starting++
  void start()
  await time.run(60_000, () => starting === 0 && (tenure?.isLed() ?? true))
  const begun = time.now()
  let isRested = true
  /** What happened so far: a run that goes on does not change it. */
  const tell = (): SimulatedRun => {
    const finished = record.finish(time.now())
    return {
      trace: [...trace.lines],
      writes: [...wire.writes],
      events: [...wire.events],
      requests: [...wire.requests],
      ledgers: [...ledgers],
      objectsAfter: [...objectsAfter],
      // What is outside may go on in the same objects.
      outside: structuredClone(outside.state?.() ?? {}),
      done: structuredClone(outside.done?.() ?? {}),
      wavered: [...wavered],
      ...finished,
      incidents: [...finished.incidents, ...(tenure?.incidents() ?? [])],
      unstruck: [...left],
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
    options.onHalt?.(scene.steps.length - steps.length, tell)
  }
  for (const fault of strike('write', 'rest')) {
    await disturb(fault)
    isRested &&= await rest()
  }
  if (problem !== undefined) throw problem
  const run = tell()
  for (const { life } of lives) life.end()
  cluster.halt()
  return run
}

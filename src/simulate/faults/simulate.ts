/**
 * The fault simulator: runs an operator's scenes with every possible fault, and reports the laws that it breaks. A
 * failing plan is shrunk, and reported as a story that one command replays.
 */
import { MusterError } from '../../kube/errors.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { StoredObject } from '../../apiserver/storage/storage.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type EndState, endStateName } from './end-state.ts'
import { type Bundle, bundlesOf, sceneBeginsAs } from './bundle.ts'
import { type Fault, formatPlan, type FaultPlan } from './fault.ts'
import { type Expected, type Failing, judge } from './judge.ts'
import { type Crs, groupOf, mixedPlans, plansOf, someOf } from './plans.ts'
import type { SimulatedOutside } from './record.ts'
import type { MakeOutside, SimulatedRun } from './run.ts'
import { changeStep, createStep, deleteStep, type PlacedSample, placeSample, type Scene } from './scene.ts'
import { sampleTable } from '../environment/world.ts'
import { openBaseline, type BaselineRun } from './baseline.ts'
import { installDeterministicGlobals } from '../environment/deterministic-globals.ts'
import type { SimulatedSubject } from './subject.ts'
import { formatTraceLine } from './trace.ts'
import { walkPatchOf, type Skipped, type Walk, walkOf, walkScenes } from './walk.ts'

export interface SimulationOptions {
  readonly subject: SimulatedSubject
  /** The CRs and the objects that they need. */
  readonly sample: readonly UntypedObject[]
  /** @default 1 */
  readonly seed?: number
  /** Simulates scheduler, kubelets and workload controllers. @default true */
  readonly workloads?: boolean
  /** The simulated outside: one for each run. @default none */
  readonly outside?: MakeOutside
  /** Further scenes with the first CR, by name: merge patches, each applied when the cluster is at rest. */
  readonly scenes?: Readonly<Record<string, readonly JsonObject[]>> | undefined
  /** Groups of faults, as `faultGroups` names them. @default all */
  readonly groups?: readonly string[] | undefined
  /** The most plans, drawn by the seed. @default all */
  readonly limit?: number | undefined
  /** A share of the plans, for sharding. A bundle is in one share. @default all */
  readonly part?: SimulationPart | undefined
  /** The number of plans with two faults. @default 60 */
  readonly mixed?: number
  /** Stops after this many failures. @default 10 */
  readonly mostFailures?: number
  readonly onProgress?: (done: number, of: number, failed: number) => void
  readonly signal?: AbortSignal | undefined
}

/** The second of four is `{ index: 1, of: 4 }`. */
export interface SimulationPart {
  readonly index: number
  readonly of: number
}

export interface SimulationReport {
  readonly operator: string
  readonly seed: number
  readonly passed: boolean
  /** The number of plans in the selected groups, of those that ran, and of those that broke a law. */
  readonly plans: { readonly all: number; readonly played: number; readonly failed: number }
  readonly byGroup: Readonly<Record<string, number>>
  readonly scenes: readonly { readonly name: string; readonly writes: number; readonly events: number }[]
  /** The fields that were varied. */
  readonly fields: readonly string[]
  /** Fields that were not varied completely, and why. */
  readonly skipped: readonly Skipped[]
  readonly failures: readonly SimulationFailure[]
}

export interface SimulationFailure {
  /** The number of the plan. */
  readonly number: number
  /** The plan that failed. */
  readonly plan: string
  /** The shrunk plan. */
  readonly shortest: string
  readonly failings: readonly Failing[]
  readonly story: readonly string[]
}

export interface Simulator {
  readonly subject: SimulatedSubject
  readonly scenes: readonly Scene[]
  /** Fields for which no other value could be generated. */
  readonly skipped: readonly Skipped[]
  /** All plans of these groups, scene by scene; each scene runs when it is needed. @default all groups */
  plans(groups?: readonly string[]): AsyncGenerator<FaultPlan>
  /** @throws InvalidPlan */
  play(plan: FaultPlan): Promise<Played>
  /** Runs all plans, several at a time, bundled. In no particular order. @throws InvalidPlan */
  playAll(plans: readonly FaultPlan[]): AsyncGenerator<readonly [plan: FaultPlan, played: Played]>
}

export interface Played {
  readonly run: SimulatedRun
  readonly failings: readonly Failing[]
}

const nothing: SimulatedOutside = {
  live: {
    available: true,
    exec: (pod) => Promise.reject(new MusterError('ExecFailed', `Pod ${pod.name}: no container runs in a simulation.`)),
    http: () => Promise.reject(new MusterError('Unreachable', 'there is no network in a simulation.')),
  },
}

export async function openSimulator(options: SimulationOptions): Promise<Simulator> {
  const { subject, sample, seed = 1, workloads = true, outside = () => nothing } = options
  const baseline = await openBaseline({ subject, seed, workloads, outside })
  const placed = placeSample(sample, subject)
  const crs = new Map(placed.filter(({ isCr }) => isCr).map((cr) => [placedName(cr), cr]))
  const crNames: Crs = { names: new Set(crs.keys()), tables: new Set(subject.controls.map(sampleTable)) }
  const walks = walksOf(subject, placed)
  const scenes = scenesOf(walks, placed, Object.entries(options.scenes ?? {}))
  const byName = new Map(scenes.map((scene) => [scene.name, scene]))
  const twice = scenes.map(({ name }) => name).find((name, index, names) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new MusterError('InvalidPlan', `there are two scenes "${twice}".`)

  const sceneOf = (name: string): Scene => {
    const scene = byName.get(name)
    if (scene) return scene
    throw new MusterError('InvalidPlan', `there is no scene "${name}"; there are ${[...byName.keys()].join(', ')}.`)
  }
  const referenceOf = async (scene: Scene): Promise<BaselineRun> => {
    if (scene.after !== undefined) await referenceOf(sceneOf(scene.after))
    const reference = await baseline.reference(scene)
    const { refused } = reference.run
    if (scene.name === 'create' && refused !== undefined) {
      throw new MusterError('NoSample', `${subject.name}: the server refuses the sample: ${refused}`)
    }
    return reference
  }

  const play = async ({ scene: name, faults }: FaultPlan): Promise<Played> => {
    const reference = await referenceOf(sceneOf(name))
    const run = faults.length === 0 ? reference.run : await baseline.play(reference, faults)
    return { run, failings: await judged(reference, run, faults) }
  }

  /** Runs a bundle. */
  const playBundle = async ({ longest, plans }: Bundle): Promise<readonly (readonly [FaultPlan, Played])[]> => {
    const runs = new Map<FaultPlan, SimulatedRun>()
    if (plans.length > 1) {
      const within = plans.filter((plan) => plan !== longest)
      const onHalt = (steps: number, tell: () => SimulatedRun): void => {
        for (const plan of within) if (sceneOf(plan.scene).steps.length === steps) runs.set(plan, tell())
      }
      const reference = await referenceOf(sceneOf(longest.scene))
      runs.set(longest, await baseline.play(reference, longest.faults, onHalt))
    }
    const judgedIn = async (plan: FaultPlan): Promise<Played> => {
      const run = runs.get(plan)
      // The longer run did not get that far, so the shorter one runs by itself.
      if (!run) return await play(plan)
      return { run, failings: await judged(await referenceOf(sceneOf(plan.scene)), run, plan.faults) }
    }
    return await Array.fromAsync(plans, async (plan) => [plan, await judgedIn(plan)] as const)
  }

  const judged = async (
    reference: BaselineRun,
    run: SimulatedRun,
    faults: readonly Fault[],
  ): Promise<readonly Failing[]> => {
    const { scene } = reference
    const isRemade = run.removed.size > 0 || run.editedCrs.length > 0
    const found = judge(run, subject, await expectedIn(reference, run, faults)).filter(
      ({ law, text }) => !(isRemade && law === 'same end' && defaultedOnce.test(text)),
    )
    if (faults.length > 0 || scene.like === undefined || run.refused !== undefined) return found
    const other = await referenceOf(sceneOf(scene.like))
    // An operator that reports the problem has done its part.
    if (other.run.refused !== undefined || (scene.name.startsWith('set ') && hasTrouble(run.end))) return found
    const mask = new Set([...reference.mask, ...other.mask])
    const again = judge(run, subject, { ...expectedOf(other, []), mask, counts: undefined })
    return [
      ...found,
      ...again
        .filter(({ law, text }) => law === 'same end' && !defaultedOnce.test(text))
        .map(({ object, text }) => ({ law: 'walk' as const, object, text })),
    ]
  }

  /** If a user deleted a CR for good, the end must be as if it had been deleted at rest. */
  const expectedIn = async (reference: BaselineRun, run: SimulatedRun, faults: readonly Fault[]): Promise<Expected> => {
    const removed = [...crs].filter(([name]) => run.removed.has(name))
    const isGone = ([name]: (typeof removed)[number]): boolean => reference.run.end.has(name) && !run.end.has(name)
    const gone = removed.filter(isGone).map(([, cr]) => cr)
    const expected = expectedOf(
      gone.length > 0 ? await baseline.reference(sceneWithout(reference.scene, gone)) : reference,
      faults,
    )
    // A temporary edit may lead to other creations, and obsolete objects need not be created.
    return removed.length > 0 || run.editedCrs.length > 0 ? { ...expected, counts: undefined } : expected
  }

  return {
    subject,
    scenes,
    skipped: walks.flatMap(({ walk }) => walk.skipped),
    play,
    async *playAll(plans) {
      const bundles = bundlesOf(plans, scenes)
      // Installed once for all runs, instead of by each.
      const restoreGlobals = installDeterministicGlobals()
      try {
        for (let first = 0; first < bundles.length; first += together) {
          const played = await Promise.all(bundles.slice(first, first + together).map(playBundle))
          for (const those of played) yield* those
        }
      } finally {
        restoreGlobals()
      }
    },
    async *plans(groups) {
      const isAsked = (group: string): boolean => groups?.includes(group) ?? true
      const single: FaultPlan[] = []
      for (const scene of scenes) {
        if (isWalk(scene) && !isAsked('walk')) continue
        const reference = await referenceOf(scene)
        if (isAsked('walk')) yield { scene: scene.name, faults: [] }
        // An operator that never rests without faults cannot be compared.
        if (reference.run.restedAfterMs === undefined) return
        if (isWalk(scene)) continue
        const plans = plansOf(reference, crNames, (object) => subject.keeps?.(object) !== false)
        // A second fault amid many edits would prove nothing.
        single.push(...plans.filter(({ faults: [fault] }) => fault?.kind !== 'drift'))
        yield* plans.filter((plan) => isAsked(groupOf(plan)))
      }
      if (isAsked('mixed')) yield* mixedPlans(single, options.mixed ?? 60, seed)
    },
  }
}

/**
 * The number of concurrent runs, turn by turn. They execute the same code at the same time, which stays in the
 * processor's caches; they are independent.
 */
const together = 8

/** Fields that the API server defaults on creation only. */
const defaultedOnce = /\.imagePullPolicy /

function isWalk({ name }: Scene): boolean {
  return /^(?:fresh|set|back) /.test(name)
}

interface CrWalk {
  readonly cr: PlacedSample
  readonly walk: Walk
}

function walksOf(subject: SimulatedSubject, placed: readonly PlacedSample[]): readonly CrWalk[] {
  return placed.flatMap((cr) => {
    const kind = subject.kinds.find((one) => one.kind === cr.resource.kind && one.group === cr.resource.group)
    return cr.isCr && kind ? [{ cr, walk: walkOf(kind, cr.object) }] : []
  })
}

/** `memcacheds.cache.example.com default/sample` */
function placedName({ resource, object }: PlacedSample): string {
  return endStateName(sampleTable(resource), object as StoredObject)
}

function sceneWithout({ name }: Scene, crs: readonly PlacedSample[]): Scene {
  const step = deleteStep(crs)
  return { name: `${name}, and ${step.text}`, after: name, steps: [step] }
}

function scenesOf(
  walks: readonly CrWalk[],
  placed: readonly PlacedSample[],
  further: readonly (readonly [name: string, patches: readonly JsonObject[]])[],
): readonly Scene[] {
  const create = createStep(placed)
  const remove = deleteStep(placed)
  const turns = walks.flatMap(({ cr, walk }) => walk.turns.map((turn) => ({ cr, turn })))
  // A changed value is more telling than a removed one.
  const first = turns.find(({ turn }) => fieldIn(turn.name) === turn.name) ?? turns[0]
  const change = first && changeStep(first.cr, walkPatchOf(first.turn))
  return [
    { name: 'create', steps: [create] },
    ...(change
      ? [
          { name: 'change', after: 'create', steps: [change] },
          { name: 'create and change', steps: [create, change] },
        ]
      : []),
    { name: 'delete', after: 'create', steps: [remove] },
    { name: 'create and delete', steps: [create, remove] },
    { name: 'delete and create again', after: 'create', steps: [remove, create], like: 'create' },
    ...(change
      ? [{ name: 'change, delete and create again', after: 'change', steps: [remove, create], like: 'create' }]
      : []),
    ...further.map(([name, patches]) => ({
      name,
      after: 'create',
      steps: patches.map((patch) =>
        changeStep(
          placed.find(({ isCr }) => isCr)!,
          patch,
        ),
      ),
    })),
    ...walks.flatMap(({ cr, walk }) => walkScenes(cr, placed, walk.turns)),
  ]
}

/** `spec.image` of `spec.image (removed)`. */
function fieldIn(turn: string): string {
  return turn.replace(/ \([a-z ]+\)$/, '')
}

/** The expected result of a run with these faults. */
function expectedOf({ run, mask }: BaselineRun, faults: readonly Fault[]): Expected {
  const isCounted = faults.every(({ kind }) => kind !== 'hurry')
  return { end: run.end, mask, outside: JSON.stringify(run.outside), counts: isCounted ? run : undefined }
}

function hasTrouble(end: EndState): boolean {
  return [...end.values()].some((fields) =>
    [...fields].some(
      ([path, value]) => /^\.status\.conditions\.(?:Ready|Reconciled|Available)\.is$/.test(path) && value !== '"True"',
    ),
  )
}

export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const { seed = 1, groups, limit = Infinity, mostFailures = 10, onProgress = () => undefined, signal } = options
  const simulator = await openSimulator(options)
  const all = await Array.fromAsync(simulator.plans(groups))
  const kindOf = (plan: FaultPlan): string => (plan.faults.length > 1 ? 'mixed' : groupOf(plan))
  const { index: first, of: step } = options.part ?? { index: 0, of: 1 }
  const asked = someOf(all, limit, seed)
  const numbers = new Map(asked.map((plan, number) => [plan, number]))
  const plans = bundlesOf(asked, simulator.scenes)
    .filter((_, index) => index % step === first)
    .flatMap((bundle) => bundle.plans)
  const failures: SimulationFailure[] = []
  const byGroup: Record<string, number> = {}
  let played = 0
  for await (const [plan, { failings }] of simulator.playAll(plans)) {
    played++
    byGroup[kindOf(plan)] = (byGroup[kindOf(plan)] ?? 0) + 1
    const number = numbers.get(plan)!
    if (failings.length > 0) failures.push({ number, ...(await failureOf(simulator, plan, failings)) })
    onProgress(played, plans.length, failures.length)
    if (signal?.aborted || failures.length >= mostFailures) break
  }
  const scenes = await scenesIn(simulator, all)
  const turns = scenes.filter(({ name, refused }) => name.startsWith('set ') && refused === undefined)
  return {
    operator: options.subject.name,
    seed,
    passed: failures.length === 0,
    plans: { all: all.length, played, failed: failures.length },
    byGroup,
    scenes: scenes.map(({ name, writes, events }) => ({ name, writes, events })),
    fields: [...new Set(turns.map(({ name }) => fieldIn(name.slice(4))))],
    skipped: (groups?.includes('walk') ?? true) ? [...simulator.skipped, ...refusedIn(scenes)] : [],
    failures: failures.toSorted((one, other) => one.number - other.number),
  }
}

type PlayedScene = SimulationReport['scenes'][number] & { readonly refused: string | undefined }

/** Fields for which the server rejected the other value. */
function refusedIn(scenes: readonly PlayedScene[]): readonly Skipped[] {
  return scenes.flatMap(({ name, refused }) => {
    const [, way, field] = /^(fresh|set|back) (.+)$/.exec(name) ?? []
    if (refused === undefined || field === undefined) return []
    return [{ field, why: `the server refuses it ${wayOf[way as keyof typeof wayOf]}: ${refused}` }]
  })
}

const wayOf = { fresh: 'in a new CR', set: 'as a change', back: 'as a change back' } as const

/** The scenes that ran. */
async function scenesIn(simulator: Simulator, all: readonly FaultPlan[]): Promise<readonly PlayedScene[]> {
  const played = simulator.scenes.filter(({ name }) => all.some(({ scene }) => scene === name))
  return await Promise.all(
    played.map(async ({ name }) => {
      const { run } = await simulator.play({ scene: name, faults: [] })
      return { name, writes: run.writes.length, events: run.events.length, refused: run.refused }
    }),
  )
}

async function failureOf(
  simulator: Simulator,
  plan: FaultPlan,
  failings: readonly Failing[],
): Promise<Omit<SimulationFailure, 'number'>> {
  const shortest = await shrink(simulator, plan, failings)
  const { run, failings: left } = await simulator.play(shortest)
  return { plan: formatPlan(plan), shortest: formatPlan(shortest), failings: left, story: storyOf(run, left) }
}

/** The most plans to try when shrinking. */
const mostReplays = 30

/**
 * The shortest plan that breaks one of the same laws for the same object: faults are dropped, scenes shortened, faults
 * made weaker and earlier, as long as it fails.
 */
export async function shrink(simulator: Simulator, plan: FaultPlan, failings: readonly Failing[]): Promise<FaultPlan> {
  const found = new Set(failings.map(failureName))
  const tried = new Set<string>()
  let shortest = plan
  for (let isShorter = true; isShorter;) {
    isShorter = false
    for (const candidate of shorterThan(shortest, simulator.scenes)) {
      const text = formatPlan(candidate)
      if (tried.has(text)) continue
      if (tried.size === mostReplays) return shortest
      tried.add(text)
      const played = await simulator.play(candidate)
      if (!played.failings.some((failing) => found.has(failureName(failing)))) continue
      shortest = candidate
      isShorter = true
      break
    }
  }
  return shortest
}

/** Identifies the same failure in another plan. */
function failureName({ law, object }: Failing): string {
  // For these laws `object` is the request at the end of the run or term, which depends on the plan; the others name
  // the wrong object, generated names by their prefix.
  return law === 'rest' || law === 'terms' ? law : `${law}: ${object}`
}

function* shorterThan({ scene, faults }: FaultPlan, scenes: readonly Scene[]): Generator<FaultPlan> {
  for (const index of faults.keys()) yield { scene, faults: faults.toSpliced(index, 1) }
  const own = scenes.find(({ name }) => name === scene)
  const begins = scenes.filter((other) => sceneBeginsAs(own, other))
  for (const { name } of begins.toSorted((one, other) => one.steps.length - other.steps.length)) {
    yield { scene: name, faults }
  }
  for (const [index, fault] of faults.entries()) {
    const ms = Number(fault.value)
    if (!['delay', 'freeze', 'slow'].includes(fault.kind) || !(ms > 100)) continue
    const weaker = { ...fault, value: String(Math.max(100, Math.floor(ms / 4))) }
    yield { scene, faults: faults.with(index, weaker) }
  }
  for (const [index, fault] of faults.entries()) {
    // The past cannot be ahead of the process.
    const first = fault.kind === 'travel' ? Math.max(Number(fault.value ?? 0), 1) : 1
    for (let at = first; at < Number(fault.at); at++) yield { scene, faults: faults.with(index, { ...fault, at }) }
  }
}

/** The story of a failure. */
function storyOf(run: SimulatedRun, failings: readonly Failing[]): readonly string[] {
  return [
    ...run.trace.filter(({ inStory }) => inStory).map(formatTraceLine),
    ...failings.map(({ law, text }) => `broken: ${law}: ${text}`),
  ]
}

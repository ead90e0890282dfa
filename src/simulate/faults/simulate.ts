/**
 * The fault simulator: plays an operator's scenes with everything that can go wrong in them, and says which law it
 * breaks. What fails is made as short as it gets, and told as a story that one command replays.
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
  /** CRs and what they need. */
  readonly sample: readonly UntypedObject[]
  /** @default 1 */
  readonly seed?: number
  /** Pods are scheduled and run, Deployments make them. @default true */
  readonly workloads?: boolean
  /** What the operator reaches outside the cluster: one for each run. @default nothing */
  readonly outside?: MakeOutside
  /** What else people do with the first CR, by name: merge patches, one after the other, each when all is at rest. */
  readonly scenes?: Readonly<Record<string, readonly JsonObject[]>> | undefined
  /** Groups of faults, as `faultGroups` names them. @default all */
  readonly groups?: readonly string[] | undefined
  /** At most so many plans, drawn by the seed. @default all */
  readonly limit?: number | undefined
  /** A share of them: others play the rest. What one run answers is in one share. @default all of them */
  readonly part?: SimulationPart | undefined
  /** How many plans have two faults. @default 60 */
  readonly mixed?: number
  /** Ends after so many plans that failed. @default 10 */
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
  /** How many plans of the groups asked for there are, how many were played, and how many of those broke a law. */
  readonly plans: { readonly all: number; readonly played: number; readonly failed: number }
  readonly byGroup: Readonly<Record<string, number>>
  readonly scenes: readonly { readonly name: string; readonly writes: number; readonly events: number }[]
  /** Fields that were walked over. */
  readonly fields: readonly string[]
  /** Fields that were not, or not in every way, and why. */
  readonly skipped: readonly Skipped[]
  readonly failures: readonly SimulationFailure[]
}

export interface SimulationFailure {
  /** Which of the plans it is. */
  readonly number: number
  /** As it was found. */
  readonly plan: string
  /** As short as it gets. */
  readonly shortest: string
  readonly failings: readonly Failing[]
  readonly story: readonly string[]
}

export interface Simulator {
  readonly subject: SimulatedSubject
  readonly scenes: readonly Scene[]
  /** Fields that no other value could be thought of for. */
  readonly skipped: readonly Skipped[]
  /** All plans of these groups, scene by scene; each scene is played when it is its turn. @default all groups */
  plans(groups?: readonly string[]): AsyncGenerator<FaultPlan>
  /** @throws InvalidPlan */
  play(plan: FaultPlan): Promise<Played>
  /** All of these, several at a time; what one run answers is played once. In no particular order. @throws InvalidPlan */
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
  const stage = await openBaseline({ subject, seed, workloads, outside })
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
    const reference = await stage.reference(scene)
    const { refused } = reference.run
    if (scene.name === 'create' && refused !== undefined) {
      throw new MusterError('NoSample', `${subject.name}: the server refuses the sample: ${refused}`)
    }
    return reference
  }

  const play = async ({ scene: name, faults }: FaultPlan): Promise<Played> => {
    const reference = await referenceOf(sceneOf(name))
    const run = faults.length === 0 ? reference.run : await stage.play(reference, faults)
    return { run, failings: await judged(reference, run, faults) }
  }

  /** All that one run answers. */
  const playBundle = async ({ longest, plans }: Bundle): Promise<readonly (readonly [FaultPlan, Played])[]> => {
    const runs = new Map<FaultPlan, SimulatedRun>()
    if (plans.length > 1) {
      const within = plans.filter((plan) => plan !== longest)
      const onHalt = (steps: number, tell: () => SimulatedRun): void => {
        for (const plan of within) if (sceneOf(plan.scene).steps.length === steps) runs.set(plan, tell())
      }
      const reference = await referenceOf(sceneOf(longest.scene))
      runs.set(longest, await stage.play(reference, longest.faults, onHalt))
    }
    const judgedIn = async (plan: FaultPlan): Promise<Played> => {
      const run = runs.get(plan)
      // Where the longer one never came so far it says nothing of the shorter one.
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
    const isRemade = run.removed.size > 0 || run.wavered.length > 0
    const found = judge(run, subject, await expectedIn(reference, run, faults)).filter(
      ({ law, text }) => !(isRemade && law === 'same end' && defaultedOnce.test(text)),
    )
    if (faults.length > 0 || scene.like === undefined || run.refused !== undefined) return found
    const other = await referenceOf(sceneOf(scene.like))
    // Who says what is wrong has done what he could.
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

  /** With a CR that somebody deleted for good it has to end as if that had been done when all was at rest. */
  const expectedIn = async (reference: BaselineRun, run: SimulatedRun, faults: readonly Fault[]): Promise<Expected> => {
    const removed = [...crs].filter(([name]) => run.removed.has(name))
    const isGone = ([name]: (typeof removed)[number]): boolean => reference.run.end.has(name) && !run.end.has(name)
    const gone = removed.filter(isGone).map(([, cr]) => cr)
    const expected = expectedOf(
      gone.length > 0 ? await stage.reference(sceneWithout(reference.scene, gone)) : reference,
      faults,
    )
    // Who wants something else for a while may be given it, and what nobody wants any more need not be made.
    return removed.length > 0 || run.wavered.length > 0 ? { ...expected, counts: undefined } : expected
  }

  return {
    subject,
    scenes,
    skipped: walks.flatMap(({ walk }) => walk.skipped),
    play,
    async *playAll(plans) {
      const bundles = bundlesOf(plans, scenes)
      // Each run does so for itself; for all of them it is done once.
      const endSeclusion = installDeterministicGlobals()
      try {
        for (let first = 0; first < bundles.length; first += together) {
          const played = await Promise.all(bundles.slice(first, first + together).map(playBundle))
          for (const those of played) yield* those
        }
      } finally {
        endSeclusion()
      }
    },
    async *plans(groups) {
      const isAsked = (group: string): boolean => groups?.includes(group) ?? true
      const single: FaultPlan[] = []
      for (const scene of scenes) {
        if (isWalk(scene) && !isAsked('walk')) continue
        const reference = await referenceOf(scene)
        if (isAsked('walk')) yield { scene: scene.name, faults: [] }
        // Who never rests when nothing goes wrong has nothing to be compared with.
        if (reference.run.restedAfterMs === undefined) return
        if (isWalk(scene)) continue
        const plans = plansOf(reference, crNames, (object) => subject.keeps?.(object) !== false)
        // A second fault would strike in the midst of many edits, and say nothing of any.
        single.push(...plans.filter(({ faults: [fault] }) => fault?.kind !== 'drift'))
        yield* plans.filter((plan) => isAsked(groupOf(plan)))
      }
      if (isAsked('mixed')) yield* mixedPlans(single, options.mixed ?? 60, seed)
    },
  }
}

/**
 * So many runs go side by side, turn by turn. They do much the same at the same time, and what the processor has at hand for one it
 * has for the next; none of them knows of another.
 */
const together = 8

/** What a server fills in from another field when an object is created, and never again: that is nobody's. */
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
  // Another value says more than one that is missing.
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

/** What a run with these faults is compared with. */
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

/** Fields whose other value the server did not take, or not where it was another one before. */
function refusedIn(scenes: readonly PlayedScene[]): readonly Skipped[] {
  return scenes.flatMap(({ name, refused }) => {
    const [, way, field] = /^(fresh|set|back) (.+)$/.exec(name) ?? []
    if (refused === undefined || field === undefined) return []
    return [{ field, why: `the server refuses it ${wayOf[way as keyof typeof wayOf]}: ${refused}` }]
  })
}

const wayOf = { fresh: 'in a new CR', set: 'as a change', back: 'as a change back' } as const

/** How those went that were played. */
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

/** So many plans are tried to make one shorter. */
const mostReplays = 30

/**
 * The shortest plan that breaks one of the same laws, at the same object: faults are left out, scenes end earlier, faults are made
 * weaker and strike earlier, as long as it does.
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

/** What makes it the same failure in another plan. */
function failureName({ law, object }: Failing): string {
  // These two name the request that was sent when the run or the term ended, and that depends on the plan; all others name what is
  // wrong, generated names by their prefix where the end and the counts are compared.
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
    // The past that a process is shown cannot be ahead of it.
    const first = fault.kind === 'travel' ? Math.max(Number(fault.value ?? 0), 1) : 1
    for (let at = first; at < Number(fault.at); at++) yield { scene, faults: faults.with(index, { ...fault, at }) }
  }
}

/** What happened, for people. */
export function storyOf(run: SimulatedRun, failings: readonly Failing[]): readonly string[] {
  return [
    ...run.trace.filter(({ isTold }) => isTold).map(formatTraceLine),
    ...failings.map(({ law, text }) => `broken: ${law}: ${text}`),
  ]
}

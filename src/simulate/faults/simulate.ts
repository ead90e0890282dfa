/**
 * The fault simulator: runs an operator's scenarios with every possible fault, and reports the laws that it breaks. A
 * failing plan is shrunk, and reported as a trace that one command replays.
 */
import { clientErrors } from '../../client/errors.ts'
import { simulateErrors } from '../errors.ts'
import { operatorErrors } from '../../operator/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { StoredObject } from '../../apiserver/storage/storage.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type EndState, endStateName } from './end-state.ts'
import { type Bundle, bundlesOf, scenarioBeginsAs } from './bundle.ts'
import { type Fault, formatPlan, type FaultPlan } from './fault.ts'
import { type Expected, type Violation, judge } from './judge.ts'
import { type Crs, groupOf, mixedPlans, plansOf, someOf } from './plans.ts'
import type { SimulatedOutside } from './record.ts'
import type { MakeOutside, SimulatedRun } from './run.ts'
import { changeStep, createStep, deleteStep, type PlacedSample, placeSample, type Scenario } from './scenario.ts'
import { sampleTable } from '../environment/world.ts'
import { openBaseline, type BaselineRun } from './baseline.ts'
import { installDeterministicGlobals } from '../environment/deterministic-globals.ts'
import type { SimulatedSubject } from './subject.ts'
import { formatTraceLine } from './trace.ts'
import { walkPatchOf, type Skipped, type Walk, walkOf, walkScenario } from './walk.ts'

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
  /** Further scenarios with the first CR, by name: merge patches, each applied when the cluster is at rest. */
  readonly scenarios?: Readonly<Record<string, readonly JsonObject[]>> | undefined
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
  readonly plans: { readonly all: number; readonly executed: number; readonly failed: number }
  readonly byGroup: Readonly<Record<string, number>>
  readonly scenarios: readonly { readonly name: string; readonly writes: number; readonly events: number }[]
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
  readonly violations: readonly Violation[]
  readonly trace: readonly string[]
}

export interface Simulator {
  readonly subject: SimulatedSubject
  readonly scenarios: readonly Scenario[]
  /** Fields for which no other value could be generated. */
  readonly skipped: readonly Skipped[]
  /**
   * All plans of these groups, scenario by scenario; each scenario runs when it is needed. Of the scenarios that walk over the
   * fields, `mostWalks` are run. @default all groups, all walks
   */
  plans(groups?: readonly string[], mostWalks?: number): AsyncGenerator<FaultPlan>
  /** @throws InvalidPlan */
  runPlan(plan: FaultPlan): Promise<PlanResult>
  /** Runs all plans, several at a time, bundled. In no particular order. @throws InvalidPlan */
  runPlans(plans: readonly FaultPlan[]): AsyncGenerator<readonly [plan: FaultPlan, executed: PlanResult]>
}

export interface PlanResult {
  readonly run: SimulatedRun
  readonly violations: readonly Violation[]
}

const nothing: SimulatedOutside = {
  live: {
    available: true,
    exec: (pod) =>
      Promise.reject(new MusterError(clientErrors.ExecFailed, `Pod ${pod.name}: no container runs in a simulation.`)),
    http: () => Promise.reject(new MusterError(clientErrors.Unreachable, 'there is no network in a simulation.')),
  },
}

export async function openSimulator(options: SimulationOptions): Promise<Simulator> {
  const { subject, sample, seed = 1, workloads = true, outside = () => nothing } = options
  const baseline = await openBaseline({ subject, seed, workloads, outside })
  const placed = placeSample(sample, subject)
  const crs = new Map(placed.filter(({ isCr }) => isCr).map((cr) => [placedName(cr), cr]))
  const crNames: Crs = { names: new Set(crs.keys()), tables: new Set(subject.controls.map(sampleTable)) }
  const walks = walksOf(subject, placed)
  const scenarios = scenariosOf(walks, placed, Object.entries(options.scenarios ?? {}))
  const byName = new Map(scenarios.map((scenario) => [scenario.name, scenario]))
  const twice = scenarios.map(({ name }) => name).find((name, index, names) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new MusterError(simulateErrors.InvalidPlan, `there are two scenarios "${twice}".`)

  const scenarioOf = (name: string): Scenario => {
    const scenario = byName.get(name)
    if (scenario) return scenario
    throw new MusterError(
      simulateErrors.InvalidPlan,
      `there is no scenario "${name}"; there are ${[...byName.keys()].join(', ')}.`,
    )
  }
  const referenceOf = async (scenario: Scenario): Promise<BaselineRun> => {
    if (scenario.after !== undefined) await referenceOf(scenarioOf(scenario.after))
    const reference = await baseline.reference(scenario)
    const { refused } = reference.run
    if (scenario.name === 'create' && refused !== undefined) {
      throw new MusterError(operatorErrors.NoSample, `${subject.name}: the server refuses the sample: ${refused}`)
    }
    return reference
  }

  const runPlan = async ({ scenario: name, faults }: FaultPlan): Promise<PlanResult> => {
    const reference = await referenceOf(scenarioOf(name))
    const run = faults.length === 0 ? reference.run : await baseline.runPlan(reference, faults)
    return { run, violations: await judged(reference, run, faults) }
  }

  /** Runs a bundle. */
  const runBundle = async ({ longest, plans }: Bundle): Promise<readonly (readonly [FaultPlan, PlanResult])[]> => {
    const runs = new Map<FaultPlan, SimulatedRun>()
    if (plans.length > 1) {
      const within = plans.filter((plan) => plan !== longest)
      const onHalt = (steps: number, tell: () => SimulatedRun): void => {
        for (const plan of within) if (scenarioOf(plan.scenario).steps.length === steps) runs.set(plan, tell())
      }
      const reference = await referenceOf(scenarioOf(longest.scenario))
      runs.set(longest, await baseline.runPlan(reference, longest.faults, onHalt))
    }
    const judgedIn = async (plan: FaultPlan): Promise<PlanResult> => {
      const run = runs.get(plan)
      // The longer run did not get that far, so the shorter one runs by itself.
      if (!run) return await runPlan(plan)
      return { run, violations: await judged(await referenceOf(scenarioOf(plan.scenario)), run, plan.faults) }
    }
    return await Array.fromAsync(plans, async (plan) => [plan, await judgedIn(plan)] as const)
  }

  const judged = async (
    reference: BaselineRun,
    run: SimulatedRun,
    faults: readonly Fault[],
  ): Promise<readonly Violation[]> => {
    const { scenario } = reference
    const isRemade = run.removed.size > 0 || run.editedCrs.length > 0
    const found = judge(run, subject, await expectedIn(reference, run, faults)).filter(
      ({ law, text }) => !(isRemade && law === 'same end' && defaultedOnce.test(text)),
    )
    if (faults.length > 0 || scenario.like === undefined || run.refused !== undefined) return found
    const other = await referenceOf(scenarioOf(scenario.like))
    // An operator that reports the problem has done its part.
    if (other.run.refused !== undefined || (scenario.name.startsWith('set ') && hasFalseConditions(run.end)))
      return found
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
      gone.length > 0 ? await baseline.reference(scenarioWithout(reference.scenario, gone)) : reference,
      faults,
    )
    // A temporary edit may lead to other creations, and obsolete objects need not be created.
    return removed.length > 0 || run.editedCrs.length > 0 ? { ...expected, counts: undefined } : expected
  }

  return {
    subject,
    scenarios,
    skipped: walks.flatMap(({ walk }) => walk.skipped),
    runPlan,
    async *runPlans(plans) {
      const bundles = bundlesOf(plans, scenarios)
      // Installed once for all runs, instead of by each.
      const restoreGlobals = installDeterministicGlobals()
      try {
        for (let first = 0; first < bundles.length; first += together) {
          const executed = await Promise.all(bundles.slice(first, first + together).map(runBundle))
          for (const those of executed) yield* those
        }
      } finally {
        restoreGlobals()
      }
    },
    async *plans(groups, mostWalks = Number.POSITIVE_INFINITY) {
      const walked = new Set(someOf(scenarios.filter(isWalk), mostWalks, seed))
      const isAsked = (group: string): boolean => groups?.includes(group) ?? true
      const single: FaultPlan[] = []
      for (const scenario of scenarios) {
        if (isWalk(scenario) && !(isAsked('walk') && walked.has(scenario))) continue
        const reference = await referenceOf(scenario)
        if (isAsked('walk')) yield { scenario: scenario.name, faults: [] }
        // An operator that never rests without faults cannot be compared.
        if (reference.run.restedAfterMs === undefined) return
        if (isWalk(scenario)) continue
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

function isWalk({ name }: Scenario): boolean {
  return /^(?:fresh|set|back) /.test(name)
}

interface CrWalk {
  readonly cr: PlacedSample
  readonly walk: Walk
}

function walksOf(subject: SimulatedSubject, placed: readonly PlacedSample[]): readonly CrWalk[] {
  const seen = new Set<string>()
  return placed.flatMap((cr) => {
    const kind = subject.kinds.find((one) => one.kind === cr.resource.kind && one.group === cr.resource.group)
    if (!cr.isCr || !kind) return []
    const { turns, skipped } = walkOf(kind, cr.object)
    const [fresh, again] = [turns.filter(({ name }) => !seen.has(name)), turns.filter(({ name }) => seen.has(name))]
    for (const { name } of fresh) seen.add(name)
    const why = `another object of the sample has the field, too: it is varied there, not in ${placedName(cr)}`
    return [{ cr, walk: { turns: fresh, skipped: [...skipped, ...again.map(({ name }) => ({ field: name, why }))] } }]
  })
}

/** `memcacheds.cache.example.com default/sample` */
function placedName({ resource, object }: PlacedSample): string {
  return endStateName(sampleTable(resource), object as StoredObject)
}

function scenarioWithout({ name }: Scenario, crs: readonly PlacedSample[]): Scenario {
  const step = deleteStep(crs)
  return { name: `${name}, and ${step.text}`, after: name, steps: [step] }
}

function scenariosOf(
  walks: readonly CrWalk[],
  placed: readonly PlacedSample[],
  further: readonly (readonly [name: string, patches: readonly JsonObject[]])[],
): readonly Scenario[] {
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
    ...walks.flatMap(({ cr, walk }) => walkScenario(cr, placed, walk.turns)),
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

function hasFalseConditions(end: EndState): boolean {
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
  const plans = bundlesOf(asked, simulator.scenarios)
    .filter((_, index) => index % step === first)
    .flatMap((bundle) => bundle.plans)
  const failures: SimulationFailure[] = []
  const byGroup: Record<string, number> = {}
  let executed = 0
  for await (const [plan, { violations }] of simulator.runPlans(plans)) {
    executed++
    byGroup[kindOf(plan)] = (byGroup[kindOf(plan)] ?? 0) + 1
    const number = numbers.get(plan)!
    if (violations.length > 0) failures.push({ number, ...(await failureOf(simulator, plan, violations)) })
    onProgress(executed, plans.length, failures.length)
    if (signal?.aborted || failures.length >= mostFailures) break
  }
  const scenarios = await scenariosIn(simulator, all)
  const turns = scenarios.filter(({ name, refused }) => name.startsWith('set ') && refused === undefined)
  return {
    operator: options.subject.name,
    seed,
    passed: failures.length === 0,
    plans: { all: all.length, executed, failed: failures.length },
    byGroup,
    scenarios: scenarios.map(({ name, writes, events }) => ({ name, writes, events })),
    fields: [...new Set(turns.map(({ name }) => fieldIn(name.slice(4))))],
    skipped: (groups?.includes('walk') ?? true) ? [...simulator.skipped, ...refusedIn(scenarios)] : [],
    failures: failures.toSorted((one, other) => one.number - other.number),
  }
}

type ScenarioSummary = SimulationReport['scenarios'][number] & { readonly refused: string | undefined }

/** Fields for which the server rejected the other value. */
function refusedIn(scenarios: readonly ScenarioSummary[]): readonly Skipped[] {
  return scenarios.flatMap(({ name, refused }) => {
    const [, way, field] = /^(fresh|set|back) (.+)$/.exec(name) ?? []
    if (refused === undefined || field === undefined) return []
    return [{ field, why: `the server refuses it ${wayOf[way as keyof typeof wayOf]}: ${refused}` }]
  })
}

const wayOf = { fresh: 'in a new CR', set: 'as a change', back: 'as a change back' } as const

/** The scenarios that ran. */
async function scenariosIn(simulator: Simulator, all: readonly FaultPlan[]): Promise<readonly ScenarioSummary[]> {
  const executed = simulator.scenarios.filter(({ name }) => all.some(({ scenario }) => scenario === name))
  return await Promise.all(
    executed.map(async ({ name }) => {
      const { run } = await simulator.runPlan({ scenario: name, faults: [] })
      return { name, writes: run.writes.length, events: run.events.length, refused: run.refused }
    }),
  )
}

async function failureOf(
  simulator: Simulator,
  plan: FaultPlan,
  violations: readonly Violation[],
): Promise<Omit<SimulationFailure, 'number'>> {
  const shortest = await shrink(simulator, plan, violations)
  const { run, violations: left } = await simulator.runPlan(shortest)
  return { plan: formatPlan(plan), shortest: formatPlan(shortest), violations: left, trace: shortTraceOf(run, left) }
}

/** The most plans to try when shrinking. */
const mostReplays = 30

/**
 * The shortest plan that breaks one of the same laws for the same object: faults are dropped, scenarios shortened, faults
 * made weaker and earlier, as long as it fails.
 */
export async function shrink(
  simulator: Simulator,
  plan: FaultPlan,
  violations: readonly Violation[],
): Promise<FaultPlan> {
  const found = new Set(violations.map(failureName))
  const tried = new Set<string>()
  let shortest = plan
  for (let isShorter = true; isShorter;) {
    isShorter = false
    for (const candidate of shorterThan(shortest, simulator.scenarios)) {
      const text = formatPlan(candidate)
      if (tried.has(text)) continue
      if (tried.size === mostReplays) return shortest
      tried.add(text)
      const executed = await simulator.runPlan(candidate)
      if (!executed.violations.some((failing) => found.has(failureName(failing)))) continue
      shortest = candidate
      isShorter = true
      break
    }
  }
  return shortest
}

/** Identifies the same failure in another plan. */
function failureName({ law, object }: Violation): string {
  // For these laws `object` is the request at the end of the run or term, which depends on the plan; the others name
  // the wrong object, generated names by their prefix.
  return law === 'rest' || law === 'terms' ? law : `${law}: ${object}`
}

function* shorterThan({ scenario, faults }: FaultPlan, scenarios: readonly Scenario[]): Generator<FaultPlan> {
  for (const index of faults.keys()) yield { scenario, faults: faults.toSpliced(index, 1) }
  const own = scenarios.find(({ name }) => name === scenario)
  const begins = scenarios.filter((other) => scenarioBeginsAs(own, other))
  for (const { name } of begins.toSorted((one, other) => one.steps.length - other.steps.length)) {
    yield { scenario: name, faults }
  }
  for (const [index, fault] of faults.entries()) {
    const ms = Number(fault.value)
    if (!['delay', 'freeze', 'slow'].includes(fault.kind) || !(ms > 100)) continue
    const weaker = { ...fault, value: String(Math.max(100, Math.floor(ms / 4))) }
    yield { scenario, faults: faults.with(index, weaker) }
  }
  for (const [index, fault] of faults.entries()) {
    // The past cannot be ahead of the process.
    const first = fault.kind === 'travel' ? Math.max(Number(fault.value ?? 0), 1) : 1
    for (let at = first; at < Number(fault.at); at++) yield { scenario, faults: faults.with(index, { ...fault, at }) }
  }
}

/** The trace of a failure, without details. */
function shortTraceOf(run: SimulatedRun, violations: readonly Violation[]): readonly string[] {
  return [
    ...run.trace.filter(({ inReport }) => inReport).map(formatTraceLine),
    ...violations.map(({ law, text }) => `broken: ${law}: ${text}`),
  ]
}

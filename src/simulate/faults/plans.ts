/**
 * Derives plans from a run without faults: at each write and each event of a scenario, every possible fault, one per plan.
 * And some plans with two faults, drawn by the seed.
 */
import { seededRandom } from '../../clock/random.ts'
import { type Fault, type FaultKind, faultTable, type FaultPlan } from './fault.ts'
import type { BaselineRun } from './baseline.ts'

const hourMs = 3_600_000

/** The CRs: those that users created, by name, and the tables of all. */
export interface Crs {
  readonly names: ReadonlySet<string>
  readonly tables: ReadonlySet<string>
}

/** All plans of a scenario with one fault. `isKept`: the operator corrects drift of this object. */
export function plansOf(
  { scenario, run }: BaselineRun,
  crs: Crs,
  isKept: (object: string) => boolean = () => true,
): readonly FaultPlan[] {
  const faults: Fault[] = []
  const put = (kind: FaultKind, at: Fault['at'], value?: string | number): void =>
    void faults.push({ kind, at, ...(value !== undefined && { value: String(value) }) })
  for (const { number: at } of run.writes) {
    for (const kind of ['crash-before', 'crash', 'crash-after'] as const) put(kind, at)
    for (const status of [409, 429, 500]) put('refuse', at, status)
    for (const kind of ['lost', 'unheard', 'silent'] as const) put(kind, at)
    // Any earlier write may be the past; for long scenarios a few suffice.
    const pasts = at <= 8 ? Array.from({ length: at + 1 }, (_, back) => back) : [0, Math.floor(at / 2), at - 1, at]
    for (const back of pasts) put('travel', at, back)
    for (const kind of ['usurp', 'pause', 'lapse', 'leaders'] as const) put(kind, at)
    put('jump', at, hourMs)
    put('jump', at, -hourMs)
    if (scenario.steps.length > 1) put('hurry', at)
  }
  if (run.writes.length > 0) put('slow', 1, 3000)
  for (const { number: at } of run.events) {
    for (const kind of ['lose', 'merge', 'repeat', 'expire'] as const) put(kind, at)
    put('delay', at, 500)
    put('freeze', at, 2000)
  }
  const points: readonly (readonly [Fault['at'], readonly string[]])[] = [
    ...run.objectsAfter.map((objects, index) => [index + 1, objects] as const),
    ['rest', run.objectsAfter.at(-1) ?? [...run.end.keys()]],
  ]
  for (const [at, objects] of points) {
    for (const object of objects) {
      // CRs that the operator creates itself are not edited by users.
      const isInner = crs.tables.has(object.slice(0, object.indexOf(' '))) && !crs.names.has(object)
      if (!isInner) put('remove', at, object)
      if (!isInner && isKept(object)) put('edit', at, object)
      // Drift plans contain many edits and are the same in every scenario: once is enough.
      const isChild = !crs.tables.has(object.slice(0, object.indexOf(' ')))
      if (isChild && at === 'rest' && scenario.name === 'create' && isKept(object)) put('drift', at, object)
      put('add', at, object)
    }
  }
  return faults.map((fault) => ({ scenario: scenario.name, faults: [fault] }))
}

export function groupOf({ faults: [fault] }: FaultPlan): string {
  return fault ? faultTable[fault.kind].group : 'walk'
}

/** `count` plans, each kind of fault equally likely; deterministic by the seed. */
export function someOf<T>(plans: readonly T[], count: number, seed: number): readonly T[] {
  if (plans.length <= count) return plans
  const random = seededRandom(seed)
  const left = plans.map((plan, index) => ({ plan, index, rank: random.next() }))
  return left
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, count)
    .toSorted((a, b) => a.index - b.index)
    .map(({ plan }) => plan)
}

/** Two faults in one run. */
export function mixedPlans(plans: readonly FaultPlan[], count: number, seed: number): readonly FaultPlan[] {
  const random = seededRandom(seed)
  const pick = (): FaultPlan => plans[Math.floor(random.next() * plans.length)]!
  const mixed: FaultPlan[] = []
  for (let tries = 0; mixed.length < count && tries < 10 * count && plans.length > 1; tries++) {
    const [one, other] = [pick(), pick()]
    if (one.scenario === other.scenario && one !== other && !isTooMuch(one, other))
      mixed.push({ scenario: one.scenario, faults: [...one.faults, ...other.faults] })
  }
  return mixed
}

/** Answers slower than the renew deadline would prevent any leader. */
function isTooMuch(...plans: readonly FaultPlan[]): boolean {
  const kinds = plans.flatMap(({ faults }) => faults.map(({ kind }) => kind))
  return kinds.includes('slow') && kinds.some((kind) => faultTable[kind].group === 'leaders')
}

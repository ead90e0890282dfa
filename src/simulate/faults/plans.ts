/**
 * Plans are derived from what happened when nothing went wrong: at each write and each event of a scene, everything that
 * can go wrong there, one at a time. And a few of them two at a time, drawn by the seed.
 */
import { seededRandom } from '../../clock/random.ts'
import { type Fault, type FaultKind, faultTable, type FaultPlan } from './fault.ts'
import type { BaselineRun } from './baseline.ts'

const hourMs = 3_600_000

/** CRs: those that people made, by name, and the tables of all. */
export interface Crs {
  readonly names: ReadonlySet<string>
  readonly tables: ReadonlySet<string>
}

/** Everything that may go wrong in a scene, one fault a plan. `isKept`: the operator puts this object right. */
export function plansOf(
  { scene, run }: BaselineRun,
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
    // The past may be any moment before; of long scenes a few will do.
    const pasts = at <= 8 ? Array.from({ length: at + 1 }, (_, back) => back) : [0, Math.floor(at / 2), at - 1, at]
    for (const back of pasts) put('travel', at, back)
    for (const kind of ['usurp', 'pause', 'lapse', 'leaders'] as const) put(kind, at)
    put('jump', at, hourMs)
    put('jump', at, -hourMs)
    if (scene.steps.length > 1) put('hurry', at)
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
      // A CR that an operator makes for itself is nobody's wish.
      const isInner = crs.tables.has(object.slice(0, object.indexOf(' '))) && !crs.names.has(object)
      if (!isInner) put('remove', at, object)
      if (!isInner && isKept(object)) put('edit', at, object)
      // Many edits in one plan, and the same in every scene: once is enough.
      const isChild = !crs.tables.has(object.slice(0, object.indexOf(' ')))
      if (isChild && at === 'rest' && scene.name === 'create' && isKept(object)) put('drift', at, object)
      put('add', at, object)
    }
  }
  return faults.map((fault) => ({ scene: scene.name, faults: [fault] }))
}

export function groupOf({ faults: [fault] }: FaultPlan): string {
  return fault ? faultTable[fault.kind].group : 'walk'
}

/** `count` of them, each kind of fault as likely as any other; the same ones for the same seed. */
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
    if (one.scene === other.scene && one !== other && !isTooMuch(one, other))
      mixed.push({ scene: one.scene, faults: [...one.faults, ...other.faults] })
  }
  return mixed
}

/** A server that takes longer to answer than a lease may be renewed in: nobody would ever lead. */
function isTooMuch(...plans: readonly FaultPlan[]): boolean {
  const kinds = plans.flatMap(({ faults }) => faults.map(({ kind }) => kind))
  return kinds.includes('slow') && kinds.some((kind) => faultTable[kind].group === 'leaders')
}

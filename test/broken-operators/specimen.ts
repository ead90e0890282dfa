/** A deliberately broken operator and its fixed version: one bug class, as small as possible. */
import type { FaultKind } from '../../src/simulate/faults/fault.ts'
import type { Law } from '../../src/simulate/faults/judge.ts'
import type { MakeOutside } from '../../src/simulate/faults/run.ts'
import type { SimulatedSubject } from '../../src/simulate/faults/subject.ts'

export interface Specimen {
  readonly name: string
  /** The source of its class: Sieve (OSDI '22) or Acto (SOSP '23), with their name for it. */
  readonly class: string
  /** The bug. */
  readonly bug: string
  make(isCorrect: boolean): SimulatedSubject
  readonly outside?: MakeOutside
  /** The violated law. */
  readonly law: Law
  /** The expected message of the simulator. */
  readonly says: RegExp
  /** Faults each of which reveals it; undefined: it shows without a fault. */
  readonly shownBy: readonly FaultKind[] | undefined
  /** Plans that the fixed version does not pass either, because it is as small. @default none */
  readonly notMeantFor?: RegExp
}

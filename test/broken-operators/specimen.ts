/** A deliberately broken operator and its corrected twin: one bug class, as small as it gets. */
import type { FaultKind } from '../../src/simulate/faults/fault.ts'
import type { Law } from '../../src/simulate/faults/judge.ts'
import type { MakeOutside } from '../../src/simulate/faults/run.ts'
import type { SimulatedSubject } from '../../src/simulate/faults/subject.ts'

export interface Specimen {
  readonly name: string
  /** Where its class is from: Sieve (OSDI '22) or Acto (SOSP '23), and what they call it. */
  readonly class: string
  /** What is wrong with it. */
  readonly bug: string
  make(isCorrect: boolean): SimulatedSubject
  readonly outside?: MakeOutside
  /** The law that it breaks. */
  readonly law: Law
  /** What the simulator has to say of it. */
  readonly says: RegExp
  /** Faults of which each alone shows it; undefined: it shows when nothing goes wrong. */
  readonly shownBy: readonly FaultKind[] | undefined
  /** Plans that its twin, being as small, does not stand either. @default none */
  readonly notMeantFor?: RegExp
}

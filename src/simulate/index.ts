/** The public API of the fault simulator, the scorecard and the declarative tests; README.md describes each. */
export { runSuite } from './declarative/suite.ts'
export type { TestOptions, TestResult } from './declarative/run-test.ts'
export type { SimulatedWorld } from './environment/world.ts'
export { faultGroups } from './faults/fault.ts'
export type { Violation } from './faults/judge.ts'
export type { SimulatedOutside } from './faults/record.ts'
export type { MakeOutside } from './faults/run.ts'
export {
  simulate,
  type SimulationFailure,
  type SimulationOptions,
  type SimulationPart,
  type SimulationReport,
} from './faults/simulate.ts'
export { operatorSubject, type SimulatedSubject } from './faults/subject.ts'
export { type Scorecard, scorecard, type ScorecardLine } from './scorecard/scorecard.ts'

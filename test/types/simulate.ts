/** What the compiler knows about `@muster-dev/muster/simulate`. Compiled by the type check, never run. */
import type { Operator } from '@muster-dev/muster'
import {
  operatorSubject,
  runSuite,
  type Scorecard,
  scorecard,
  simulate,
  type SimulationReport,
  type TestResult,
} from '@muster-dev/muster/simulate'
import { type Clock, fakeSidecar } from '@muster-dev/muster/testing'
import { expectTypeOf } from 'vitest'

declare const operator: Operator
declare const clock: Clock
const load = (): Operator => operator
const live = (): ReturnType<typeof fakeSidecar> => fakeSidecar({ state: 'running' })

// One fake sidecar answers in the simulator and in the scorecard.
const subject = await operatorSubject(load)
expectTypeOf(
  await simulate({ subject, sample: [], outside: () => ({ live: live() }) }),
).toEqualTypeOf<SimulationReport>()
expectTypeOf(await scorecard({ load, live })).toEqualTypeOf<Scorecard>()
// @ts-expect-error: an operator is loaded anew for each run
await scorecard({ load: operator })
// @ts-expect-error: no such group of options
await simulate({ subject, sample: [], fault: 'crash' })

expectTypeOf(await runSuite('tests', { load: () => Promise.resolve(operator), clock })).toEqualTypeOf<
  readonly TestResult[]
>()

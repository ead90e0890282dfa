/** An operator with a coordinator passes its plans: crashes, lost responses, changes of leaders, stale caches. */
import { describe, expect, it } from 'vitest'
import { harbourOperator, pier, ship } from '../../../test/coordinator-operator.ts'
import { expectToPass, howMany } from '../../../test/fault-plans.ts'
import { scorecard } from '../scorecard/scorecard.ts'
import { openSimulator } from './simulate.ts'
import { operatorSubject } from './subject.ts'

// Which ship docks does not depend on what happened before: else a fault may rightly lead to another end.
const sample = [pier('one', 10), ship('a', { length: 6, priority: 1 }), ship('b', { length: 60 })]

describe('an operator with a coordinator', () => {
  it(`passes ${howMany} its plans`, async () => {
    const subject = await operatorSubject(() => harbourOperator())
    await expectToPass(await openSimulator({ subject, sample, workloads: false }), { sample: 60 })
  }, 600_000)

  it('passes the scorecard', async () => {
    const { lines } = await scorecard({ load: () => harbourOperator(), sample, restMs: 3_600_000 })
    expect(lines.filter(({ result }) => result === 'failed')).toEqual([])
  }, 60_000)
})

/** What runs share must not show: each is the same as if everything were worked out for it alone. */
import { describe, expect, it } from 'vitest'
import { memcached } from '../../../test/examples.ts'
import { noRecall, type Recall } from './recall.ts'
import { formatPlan } from './fault.ts'
import { plansOf, someOf } from './plans.ts'
import type { MakeOutside } from './run.ts'
import { sampleTable } from '../environment/world.ts'
import { samplesOf } from '../scorecard/sample.ts'
import { openSimulator } from './simulate.ts'
import { openBaseline, type Baseline } from './baseline.ts'
import { operatorSubject } from './subject.ts'
import { formatTrace } from './trace.ts'

/** All plans take minutes; the suite that has them sets this. */
const playsAll = process.env['MUSTER_ALL_PLANS'] === '1'

const outside: MakeOutside = () => ({
  live: {
    available: false,
    exec: () => Promise.reject(new Error('nobody calls')),
    http: () => Promise.reject(new Error('nobody calls')),
  },
})

describe('memoized requests', () => {
  for (const [where, workloads, count] of [
    ['without pods', false, 4],
    ['with pods', true, 2],
  ] as const) {
    it(`change no trace and no end state, ${where}`, async () => {
      const subject = await operatorSubject(() => memcached)
      const { scenarios } = await openSimulator({ subject, sample: samplesOf(memcached), workloads })
      const open = (recall?: Recall): Promise<Baseline> =>
        openBaseline({ subject, seed: 1, workloads, outside, recall })
      const [recalling, anew] = [await open(), await open(noRecall)]
      const names = new Set(['memcacheds.cache.example.com default/sample'])
      const crs = { names, tables: new Set(subject.controls.map(sampleTable)) }
      let executed = 0
      for (const scenario of scenarios.slice(0, playsAll ? undefined : 6)) {
        const [one, other] = [await recalling.reference(scenario), await anew.reference(scenario)]
        expect(formatTrace(one.run.trace)).toBe(formatTrace(other.run.trace))
        const plans = plansOf(one, crs)
        for (const plan of playsAll ? plans : someOf(plans, count, 3)) {
          const [run, alone] = [await recalling.runPlan(one, plan.faults), await anew.runPlan(other, plan.faults)]
          expect(`${formatPlan(plan)}\n${formatTrace(run.trace)}`).toBe(
            `${formatPlan(plan)}\n${formatTrace(alone.trace)}`,
          )
          expect(run.end).toEqual(alone.end)
          executed++
        }
      }
      expect(executed).toBeGreaterThan(5)
    }, 900_000)
  }
})

import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../clock/random.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { createMeter, measured } from '../../manager/run/run-meter.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { aside, reconcileProgram, situationOf } from './program-reconcile.ts'

describe('a run of a program', () => {
  it('is measured as others are, but for what happens outside of this process', async () => {
    let busy = 0
    const clock = virtualClock()
    const drive = measured(reconcileProgram, { clock, random: seededRandom(1), meter: createMeter(() => busy) })
    const told = { operator: 'x', controller: 'program', key: 'run', entries: [] } as unknown as Ledger
    const objects = ['a', 'b'].map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }))
    const situation = situationOf({
      operator: 'x',
      controller: 'program',
      key: 'run',
      objects,
      clock,
      isHeld: () => true,
      async once({ live }) {
        busy += 2
        const answer = await aside(live, () => {
          // Whatever others do meanwhile is theirs.
          busy += 1000
          return Promise.resolve('done')
        })
        busy += answer === 'done' ? 3 : 0
        return told
      },
    })
    const { ledger } = await drive(situation, () => Promise.resolve([]))
    expect(ledger).toMatchObject({ operator: 'x', effort: { cpuMs: 5, reads: 2 } })
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../clock/random.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { Wave } from '../../operator/plan.ts'
import { createProcessorMeter, createRunMeter } from './run-meter.ts'

describe('a meter', () => {
  it('gives concurrent reconciles equal shares, and attributes idle time to none', () => {
    let busy = 0
    const meter = createProcessorMeter(() => busy)
    busy = 10
    const a = meter.open()
    busy = 14
    const b = meter.open()
    busy = 24
    a.pause()
    busy = 30
    a.resume()
    b.pause()
    busy = 31
    expect(a.close()).toBe(4 + 5 + 1)
    expect(b.close()).toBe(5 + 6)
    // What is over stays over.
    b.resume()
    busy = 50
    expect(b.close()).toBe(11)
  })

  it('never attributes more than the elapsed time, whatever overlaps', () => {
    const steps = fc.array(
      fc.record({
        what: fc.constantFrom('open', 'pause', 'resume', 'close'),
        which: fc.nat(9),
        took: fc.integer({ min: 0, max: 100 }),
      }),
    )
    fc.assert(
      fc.property(steps, (happening) => {
        let busy = 0
        const meter = createProcessorMeter(() => busy)
        const runs: ReturnType<typeof meter.open>[] = []
        for (const { what, which, took } of happening) {
          busy += took
          if (what === 'open') runs.push(meter.open())
          else runs[which]?.[what as 'pause']()
        }
        const total = runs.reduce((sum, run) => sum + run.close(), 0)
        expect(total).toBeLessThanOrEqual(busy + 1e-6)
      }),
    )
  })
})

describe('a measured run', () => {
  it('has a unique id, writes with masked names, and its CPU time', async () => {
    let busy = 0
    const clock = virtualClock()
    const traced: string[] = []
    const meter = createRunMeter({
      clock,
      random: seededRandom(1),
      busyMs: () => busy,
      within(id, work) {
        traced.push(id)
        return work()
      },
    })
    const run = meter.begin()
    const wave: Wave = ['shown', 'sesame'].map((name) => ({
      verb: 'delete',
      subject: 'config',
      resource: ConfigMap,
      name: { name, namespace: 'default' },
      uid: 'u',
      why: 'pruned',
    }))
    const hide = (text: string): string => text.replace('sesame', '***')
    await run.within(async () => {
      busy += 2
      await run.aside(() => {
        // Other work of the process.
        busy += 1000
        return Promise.resolve()
      })
      busy += 3
      await run.sending(wave, hide, () => {
        busy += 1000
        return Promise.resolve([{ result: 'done' }, { result: 'failed', error: new Error('refused') }])
      })
    })
    const effort = run.end(7)
    expect(effort).toMatchObject({ reads: 7, cpuMs: 5 })
    expect(effort?.sent.map(({ name, isDone }) => [name.name, isDone])).toEqual([
      ['shown', true],
      ['***', false],
    ])
    expect(traced).toEqual([effort?.id])
    expect(effort?.id).toMatch(/^[0-9a-f]{32}$/)
    expect(meter.begin().end(0)?.id).not.toBe(effort?.id)
  })
})

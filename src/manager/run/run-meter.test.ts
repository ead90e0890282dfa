import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMeter } from './run-meter.ts'

describe('a meter', () => {
  it('gives concurrent reconciles equal shares, and attributes idle time to none', () => {
    let busy = 0
    const meter = createMeter(() => busy)
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

  it('never shares out more than there was, whatever overlaps', () => {
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
        const meter = createMeter(() => busy)
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

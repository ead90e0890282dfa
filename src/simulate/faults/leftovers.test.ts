/**
 * A run lives for milliseconds. What is left of it when it is over must go with the next minor collection: what survives that is
 * copied, and waits for a great one. See docs/decisions/0016.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const here = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href)

it('a run leaves little behind that survives a minor collection', async () => {
  // In a process of its own: other tests share this one's heap.
  const program = `
    import { memcached } from ${here('../../../test/examples.ts')}
    import { parsePlan } from ${here('fault.ts')}
    import { samplesOf } from ${here('../scorecard/sample.ts')}
    import { openSimulator } from ${here('simulate.ts')}
    import { operatorSubject } from ${here('subject.ts')}
    const subject = await operatorSubject(() => memcached)
    const simulator = await openSimulator({ subject, sample: samplesOf(memcached), workloads: false })
    const runPlan = async (times) => {
      for (let run = 0; run < times; run++) await simulator.runPlan(parsePlan('create and change: crash@2'))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await runPlan(40)
    gc()
    const before = process.memoryUsage().heapUsed
    for (let round = 0; round < 10; round++) {
      await runPlan(4)
      gc({ type: 'minor' })
    }
    gc({ type: 'minor' })
    console.log((process.memoryUsage().heapUsed - before) / 40 / 1024)`
  // In one thread: code that another one compiles meanwhile, sooner or later, would count as left behind.
  const flags = ['--expose-gc', '--min-semi-space-size=64', '--max-semi-space-size=64', '--single-threaded']
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...flags,
    '--conditions=muster-source',
    '--input-type=module',
    '--eval',
    program,
  ])
  // With one accessor too many it was 240, of 2,500 that a run takes.
  expect(Number(stdout)).toBeLessThan(100)
}, 60_000)

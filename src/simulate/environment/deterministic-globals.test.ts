import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memcached } from '../../../test/examples.ts'
import { ConfigMap } from '../../operator/kinds.ts'
import { parsePlan } from '../faults/fault.ts'
import { beginLife } from '../faults/life.ts'
import { samplesOf } from '../scorecard/sample.ts'
import { installDeterministicGlobals, withDeterministicGlobals, type Within } from './deterministic-globals.ts'
import { openSimulator, type Played } from '../faults/simulate.ts'
import { operatorSubject, runOn, type SimulatedSubject } from '../faults/subject.ts'
import { simulatedTime, type SimulatedTime } from '../faults/time.ts'
import { formatTrace } from '../faults/trace.ts'

function open(seed = 1): { readonly time: SimulatedTime; readonly within: Within } {
  onTestFinished(installDeterministicGlobals())
  const time = simulatedTime(5_000)
  const { within } = beginLife(1, time, (clock) => withDeterministicGlobals(seed, clock))
  return { time, within }
}

describe('under deterministic globals', () => {
  it('every clock is the simulation’s', async () => {
    const { time, within } = open()
    const seen: unknown[] = []
    within(() => {
      seen.push(Date.now(), new Date().getTime(), Date().includes('1970'), performance.now(), new Date(7).getTime())
      setTimeout((word: string) => void seen.push(word, Date.now()), 1000, 'late')
      clearTimeout(setTimeout(() => void seen.push('never'), 10))
      const ticking = setInterval(() => {
        seen.push('tick')
        if (Date.now() >= 5_400) clearInterval(ticking)
      }, 200)
      void sleep(600, 'slept').then((word) => void seen.push(word, Date.now()))
      AbortSignal.timeout(700).addEventListener('abort', () => void seen.push('aborted'))
    })
    await time.run(10_000)
    expect(seen).toEqual([5000, 5000, true, 5000, 7, 'tick', 'tick', 'slept', 5600, 'aborted', 'late', 6000])
  })

  it('chance follows from the seed, across all that is awaited', async () => {
    const draw = async (): Promise<readonly unknown[]> => {
      const first = [Math.random(), randomUUID(), randomBytes(4).toString('hex'), crypto.randomUUID()]
      await Promise.resolve()
      return [...first, Math.random()]
    }
    const [one, again, other] = [open(1), open(1), open(2)].map(({ within }) => within)
    const drawn = await Promise.all([one!(draw), again!(draw), other!(draw)])
    expect(drawn[1]).toEqual(drawn[0])
    expect(drawn[2]).not.toEqual(drawn[0])
  })

  it('nobody else is', async () => {
    const all = (): readonly unknown[] => [
      Date,
      setTimeout,
      ...[Math, AbortSignal].map((one) => Object.getOwnPropertyDescriptors(one)),
    ]
    const before = all()
    const end = installDeterministicGlobals()
    expect(Math.abs(Date.now() - new Date().getTime())).toBeLessThan(60_000)
    expect(Date.now()).toBeGreaterThan(1_700_000_000_000)
    expect(new Date() instanceof Date).toBe(true)
    expect(await sleep(1, 'slept')).toBe('slept')
    expect(Math.random()).not.toBe(Math.random())
    end()
    expect(all()).toEqual(before)
  })
})

describe('an operator that helps itself to time and chance', () => {
  /** It writes something whose name, content and moment nobody gave it. */
  const wayward = async (): Promise<SimulatedSubject> => ({
    ...(await operatorSubject(() => memcached)),
    spawn: () => async (around) => {
      const running = await runOn(around, memcached)
      const name = `wayward-${Math.floor(Math.random() * 1e6)}`
      const data = { id: randomUUID(), at: new Date().toISOString() }
      setTimeout(
        () => {
          const object = {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name, namespace: 'default' },
            data,
          } as const
          around.client.create(ConfigMap, object).catch(() => undefined)
        },
        20 + Math.random() * 20,
      )
      return running
    },
  })

  it('goes the same way each time it is played with the same seed, byte for byte', async () => {
    const play = async (seed: number): Promise<Played> => {
      const simulator = await openSimulator({
        subject: await wayward(),
        sample: samplesOf(memcached),
        workloads: false,
        seed,
      })
      return await simulator.play(parsePlan('create: crash@1'))
    }
    const [first, second, other] = [await play(1), await play(1), await play(2)]
    expect(formatTrace(first.run.trace)).toContain('create configmaps default/wayward-')
    expect(formatTrace(second.run.trace)).toBe(formatTrace(first.run.trace))
    expect(second.failings).toEqual(first.failings)
    expect(formatTrace(other.run.trace)).not.toBe(formatTrace(first.run.trace))
  }, 60_000)
})

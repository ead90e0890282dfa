import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memcached } from '../../../test/examples.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { parsePlan } from '../faults/fault.ts'
import { startSimulatedProcess } from '../faults/simulated-process.ts'
import { samplesOf } from '../scorecard/sample.ts'
import {
  installDeterministicGlobals,
  withDeterministicGlobals,
  type Within,
  withStandingClock,
} from './deterministic-globals.ts'
import { openSimulator, type PlanResult } from '../faults/simulate.ts'
import { operatorSubject, runOn, type SimulatedSubject } from '../faults/subject.ts'
import { simulatedTime, type SimulatedTime } from '../faults/time.ts'
import { formatTrace } from '../faults/trace.ts'

function open(seed = 1): { readonly time: SimulatedTime; readonly within: Within } {
  onTestFinished(installDeterministicGlobals())
  const time = simulatedTime(5_000)
  const { within } = startSimulatedProcess(1, time, (clock) => withDeterministicGlobals(seed, clock))
  return { time, within }
}

describe('under deterministic globals', () => {
  it('a task has the date of the simulation, timers that fire while it stands, and random values of its key', async () => {
    const { time, within } = open()
    const task = async (key: string): Promise<readonly unknown[]> => {
      const run = async (): Promise<readonly unknown[]> => {
        await sleep(2)
        return [Date.now(), Math.random(), randomUUID()]
      }
      return await within(() => time.hold(withStandingClock(key, time)(run)))
    }
    const [one, other, same] = await Promise.all(['0a', '0b', '0a'].map(task))
    expect(one![0]).toBe(5000)
    expect(same).toEqual(one)
    expect(other).not.toEqual(one)
  })

  it('every clock is that of the simulation', async () => {
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

  it('randomness derives from the seed, across every await', async () => {
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

  it('other code is not affected', async () => {
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

describe('an operator that uses time and randomness directly', () => {
  /** It writes an object whose name, content and time come from the global clock and randomness. */
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

  it('behaves identically with the same seed, byte for byte', async () => {
    const runPlan = async (seed: number): Promise<PlanResult> => {
      const simulator = await openSimulator({
        subject: await wayward(),
        sample: samplesOf(memcached),
        workloads: false,
        seed,
      })
      return await simulator.runPlan(parsePlan('create: crash@1'))
    }
    const [first, second, other] = [await runPlan(1), await runPlan(1), await runPlan(2)]
    expect(formatTrace(first.run.trace)).toContain('create configmaps default/wayward-')
    expect(formatTrace(second.run.trace)).toBe(formatTrace(first.run.trace))
    expect(second.violations).toEqual(first.violations)
    expect(formatTrace(other.run.trace)).not.toBe(formatTrace(first.run.trace))
  }, 60_000)
})

import { describe, expect, it } from 'vitest'
import { memcached } from '../../../test/examples.ts'
import { createStorage } from '../../apiserver/storage/storage.ts'
import { parsePlan } from './fault.ts'
import { startSimulatedProcess, type SimulatedProcess } from './simulated-process.ts'
import { samplesOf } from '../scorecard/sample.ts'
import { openSimulator, type PlanResult, type Simulator } from './simulate.ts'
import { operatorSubject, runOn, type SimulatedSubject } from './subject.ts'
import { openLeaseObserver } from './lease-observer.ts'
import { simulatedTime } from './time.ts'
import { openTrace } from './trace.ts'

async function open(
  change: (subject: SimulatedSubject) => SimulatedSubject = (subject) => subject,
  workloads = false,
): Promise<Simulator> {
  const subject = change(await operatorSubject(() => memcached))
  return await openSimulator({ subject, sample: samplesOf(memcached), workloads, mixed: 0 })
}

const runPlan = async (plan: string, simulator?: Simulator): Promise<PlanResult> =>
  await (simulator ?? (await open())).runPlan(parsePlan(plan))

const traceLines = ({ run }: PlanResult): readonly string[] =>
  run.trace.filter(({ inReport }) => inReport).map(({ text }) => text.replace(/ →.*| is held up.*/, ''))

describe('a lease lost during work', () => {
  it('while the process is suspended: it resumes, sends nothing, and leads again when the other one has ended', async () => {
    const result = await runPlan('create: pause@1')
    expect(result.violations).toEqual([])
    expect(traceLines(result)).toEqual([
      'process 1 starts',
      'process 1 leads',
      'a user creates Memcached sample',
      'write 1: patch configmaps default/sample',
      'process 1 is stopped for 22 s',
      'process 2 starts',
      'process 2 leads',
      'write 2: patch deployments default/sample',
      'write 3: patch memcacheds/status default/sample',
      'process 1 sees that it no longer leads',
      'process 2 goes',
      'process 2 sees that it no longer leads',
      'process 1 leads',
    ])
    expect(result.run.writes.map(({ request }) => request.process)).toEqual([1, 2, 2])
  }, 60_000)

  it('while it is partitioned: requests in flight arrive when another process leads, which corrects them', async () => {
    const result = await runPlan('create and change: usurp@1')
    expect(result.violations).toEqual([])
    expect(traceLines(result)).toContain('write 4, the one that was held up: patch configmaps default/sample')
  }, 60_000)

  it('with an Event in flight: that is not a violation', async () => {
    const simulator = await open(undefined, true)
    const { violations } = await runPlan('delete and create again: usurp@2', simulator)
    expect(violations).toEqual([])
  }, 60_000)

  it('and whose clock is set back when it leads again: it finishes the work once it knows that it leads', async () => {
    const simulator = await open(undefined, true)
    const { violations } = await runPlan('create and change: pause@4, jump@6=-3600000', simulator)
    expect(violations).toEqual([])
  }, 60_000)

  it('while it is slow and cannot renew: it stops before another process leads', async () => {
    const result = await runPlan('change, delete and create again: lapse@1')
    expect(result.violations).toEqual([])
    const told = traceLines(result)
    expect(told.indexOf('process 2 leads')).toBeGreaterThan(told.indexOf('process 2 starts'))
  }, 60_000)

  it('to a second process that leads at once: both write until the first one notices', async () => {
    const result = await runPlan('create: leaders@1')
    expect(result.violations).toEqual([])
    const writers = result.run.writes.map(({ request }) => request.process)
    expect(new Set(writers.slice(1))).toEqual(new Set([1, 2]))
    expect(traceLines(result).at(-1)).toBe('process 1 leads')
  }, 60_000)
})

describe('a lease observer', () => {
  it('is stable when no process checks the lease, and while the leader can renew', () => {
    const time = simulatedTime(0)
    const storage = createStorage()
    const observer = openLeaseObserver(time, storage, openTrace(time))
    const [one, other] = [startSimulatedProcess(1, time), startSimulatedProcess(2, time)]
    // The last thing that happened.
    let since = -1
    expect(observer.isSettled(since)).toBe(true)
    const look = (proc: SimulatedProcess): void =>
      observer.answered(proc, { method: 'GET', path: '', headers: {} }, 0, 200)()
    const lead = (proc: SimulatedProcess): void => {
      const metadata = { namespace: 'kube-system', name: 'simulated-manager', uid: 'u' }
      const spec = { holderIdentity: `process-${proc.number}` }
      storage.put('leases.coordination.k8s.io', { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec })
      observer.answered(proc, { method: 'PUT', path: '', headers: {} }, 0, 200)()
    }
    look(one)
    expect(observer.isSettled(since)).toBe(false)
    lead(one)
    look(other)
    expect(observer.isSettled(since)).toBe(true)
    for (const fault of ['stoppedUntil', 'cutUntil', 'lapsedUntil'] as const) {
      one[fault] = 10
      expect(observer.isSettled(since)).toBe(false)
      one[fault] = 0
    }
    since = 0
    expect(observer.isSettled(since)).toBe(false)
    since = -1
    lead(other)
    look(one)
    expect(observer.isSettled(since)).toBe(true)
    other.end()
    expect(observer.isSettled(since)).toBe(false)
  })
})

describe('a process', () => {
  it('that never checks its lease is detected', async () => {
    const simulator = await open((subject) => ({
      ...subject,
      spawn: () => (around) => runOn({ ...around, seat: undefined }, memcached),
    }))
    const { violations } = await runPlan('create: pause@1', simulator)
    expect(violations).toContainEqual({
      law: 'terms',
      object: 'patch deployments default/sample',
      text: 'process 2 sends patch deployments default/sample when its term is over: another one may lead',
    })
  }, 60_000)

  it('has no lease where no other process could take it', async () => {
    const { run } = await runPlan('create: crash@1')
    expect(run.trace.filter(({ text }) => text.includes('leads'))).toEqual([])
  }, 60_000)
})

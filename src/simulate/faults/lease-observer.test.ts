import { describe, expect, it } from 'vitest'
import { memcached } from '../../../test/examples.ts'
import { createStorage } from '../../apiserver/storage/storage.ts'
import { parsePlan } from './fault.ts'
import { beginLife, type SimulatedLife } from './life.ts'
import { samplesOf } from '../scorecard/sample.ts'
import { openSimulator, type Played, type Simulator } from './simulate.ts'
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

const play = async (plan: string, simulator?: Simulator): Promise<Played> =>
  await (simulator ?? (await open())).play(parsePlan(plan))

const toldIn = ({ run }: Played): readonly string[] =>
  run.trace.filter(({ inStory }) => inStory).map(({ text }) => text.replace(/ →.*| is held up.*/, ''))

describe('a lease that is lost in the midst of the work', () => {
  it('while the process is stopped: it wakes up, sends nothing, and leads again when the other one has gone', async () => {
    const played = await play('create: pause@1')
    expect(played.failings).toEqual([])
    expect(toldIn(played)).toEqual([
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
    expect(played.run.writes.map(({ request }) => request.process)).toEqual([1, 2, 2])
  }, 60_000)

  it('while it is cut off: what was under way arrives when another one leads, and that one puts it right', async () => {
    const played = await play('create and change: usurp@1')
    expect(played.failings).toEqual([])
    expect(toldIn(played)).toContain('write 4, the one that was held up: patch configmaps default/sample')
  }, 60_000)

  it('while an Event is under way: that is not counted on when another one leads', async () => {
    const simulator = await open(undefined, true)
    const { failings } = await play('delete and create again: usurp@2', simulator)
    expect(failings).toEqual([])
  }, 60_000)

  it('and whose clock is set back when it leads again: it does what is left when it knows that it leads', async () => {
    const simulator = await open(undefined, true)
    const { failings } = await play('create and change: pause@4, jump@6=-3600000', simulator)
    expect(failings).toEqual([])
  }, 60_000)

  it('while it works slowly and cannot renew: it stops before anybody else leads', async () => {
    const played = await play('change, delete and create again: lapse@1')
    expect(played.failings).toEqual([])
    const told = toldIn(played)
    expect(told.indexOf('process 2 leads')).toBeGreaterThan(told.indexOf('process 2 starts'))
  }, 60_000)

  it('to a second process that leads at once: both write until the first one looks', async () => {
    const played = await play('create: leaders@1')
    expect(played.failings).toEqual([])
    const writers = played.run.writes.map(({ request }) => request.process)
    expect(new Set(writers.slice(1))).toEqual(new Set([1, 2]))
    expect(toldIn(played).at(-1)).toBe('process 1 leads')
  }, 60_000)
})

describe('a lease observer', () => {
  it('is settled when nobody asked who leads, and while who leads can go on to', () => {
    const time = simulatedTime(0)
    const storage = createStorage()
    const observer = openLeaseObserver(time, storage, openTrace(time))
    const [one, other] = [beginLife(1, time), beginLife(2, time)]
    // The last thing that happened.
    let since = -1
    expect(observer.isSettled(since)).toBe(true)
    const look = (life: SimulatedLife): void =>
      observer.answered(life, { method: 'GET', path: '', headers: {} }, 0, 200)()
    const lead = (life: SimulatedLife): void => {
      const metadata = { namespace: 'kube-system', name: 'simulated-manager', uid: 'u' }
      const spec = { holderIdentity: `process-${life.number}` }
      storage.put('leases.coordination.k8s.io', { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec })
      observer.answered(life, { method: 'PUT', path: '', headers: {} }, 0, 200)()
    }
    look(one)
    expect(observer.isSettled(since)).toBe(false)
    lead(one)
    look(other)
    expect(observer.isSettled(since)).toBe(true)
    for (const trouble of ['stoppedUntil', 'cutUntil', 'lapsedUntil'] as const) {
      one[trouble] = 10
      expect(observer.isSettled(since)).toBe(false)
      one[trouble] = 0
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
  it('that never asks whether it leads is found', async () => {
    const simulator = await open((subject) => ({
      ...subject,
      spawn: () => (around) => runOn({ ...around, seat: undefined }, memcached),
    }))
    const { failings } = await play('create: pause@1', simulator)
    expect(failings).toContainEqual({
      law: 'terms',
      object: 'patch deployments default/sample',
      text: 'process 2 sends patch deployments default/sample when its term is over: another one may lead',
    })
  }, 60_000)

  it('has no lease where nobody could take it', async () => {
    const { run } = await play('create: crash@1')
    expect(run.trace.filter(({ text }) => text.includes('leads'))).toEqual([])
  }, 60_000)
})

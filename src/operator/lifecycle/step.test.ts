import { describe, expect, it } from 'vitest'
import { formatMicroTime } from '../../kube/units/duration.ts'
import { optional, string } from '../kind/field.ts'
import type { View } from '../view/view.ts'
import { defineKind } from '../kind/kind.ts'
import type { ObjectOf } from '../../kube/typed-resource.ts'
import { defineLifecycle } from './lifecycle.ts'
import type { ActionReport, Observed } from './observation.ts'
import type { LifecycleStatus } from './status.ts'
import { actionKeys, isSettled, type LifecycleStep, pollMs, stepLifecycle } from './step.ts'

const own = { backupTo: optional(string()) }

const life = defineLifecycle({
  name: 'Database',
  own,
  start: 'start',
  end: 'ended',
  desiredStates: ['running', 'servicing', 'paused', 'ended'],
  defaultState: 'running',
  states: {
    start: { leadsTo: 'running', action: { name: 'start' }, timeoutMs: 60_000, to: ['stopping'] },
    running: {
      to: [
        { state: 'servicing', guard: ({ cr }) => cr.spec.backupTo !== undefined || 'spec.backupTo is not set' },
        'paused',
        'stopping',
      ],
    },
    paused: { to: ['running'], action: { name: 'pause' }, timeoutMs: 10_000, onFailure: { retries: 0 } },
    servicing: {
      leadsTo: 'running',
      action: { name: 'backup', input: ({ cr }) => ({ to: cr.spec.backupTo ?? '' }) },
      timeoutMs: 600_000,
      onFailure: { retries: 2, firstMs: 1000, mostMs: 1500, goTo: 'running' },
    },
    stopping: { leadsTo: 'ended', action: { name: 'stop' }, timeoutMs: 30_000 },
    ended: { to: ['start'] },
  },
})

const Database = defineKind({
  group: 'db.example.com',
  version: 'v1',
  kind: 'Database',
  spec: { ...own, ...life.spec },
  status: life.status,
  rules: life.rules,
})

/** As a controller would call it: the types fit without a word. */
function decideFor(cr: ObjectOf<typeof Database>, observed: Observed, now: number): LifecycleStep<State> {
  const { state, stateRequest } = cr.spec
  const desired = cr.metadata.deletionTimestamp === undefined ? state : life.end
  return stepLifecycle(life, {
    desired,
    request: stateRequest,
    status: cr.status?.lifecycle,
    observed,
    now,
    context: { cr, view, config: {} },
  })
}

type Status = LifecycleStatus<'start' | 'running' | 'servicing' | 'paused' | 'stopping' | 'ended'>
type State = Status['state']
type Desired = Exclude<State, 'start' | 'stopping'>

const view: View = {
  get: () => undefined,
  list: () => [],
  ownedBy: () => [],
  serves: () => true,
}

/** One CR, its application and its sidecar; reconciled by hand. */
function database(
  first: Partial<{ desired: Desired; status: Status; app: string | undefined; reachable: boolean }> = {},
) {
  const d = {
    now: Date.UTC(2026, 0, 1),
    desired: 'running' as Desired,
    request: undefined as string | undefined,
    generation: 1,
    spec: { backupTo: 's3://b' } as { readonly backupTo?: string },
    status: undefined as Status | undefined,
    app: undefined as string | undefined,
    reachable: true,
    actions: new Map<string, ActionReport>(),
    started: [] as string[],
    ...first,
  }
  const step = (): LifecycleStep<State> => {
    const { desired, request, status, now, app, reachable, generation, spec } = d
    const observed: Observed = { reachable, state: app, actions: reachable ? [...d.actions.values()] : [] }
    const cr: ObjectOf<typeof Database> = {
      apiVersion: 'db.example.com/v1',
      kind: 'Database',
      metadata: { name: 'd', namespace: 'default', uid: 'u', generation },
      spec: { ...spec, state: desired, ...(request !== undefined && { stateRequest: request }) },
      ...(status && { status: { lifecycle: status } }),
    }
    const decided = decideFor(cr, observed, now)
    // Whatever is decided, a server would store.
    const { status: lifecycle } = decided
    expect(lifecycle ? Database.validate({ ...cr, status: { lifecycle } }, cr) : []).toEqual([])
    return decided
  }
  const reconcile = (): LifecycleStep<State> => {
    const decided = step()
    d.status = decided.status
    if (decided.act?.verb === 'start') {
      d.started.push(decided.act.action)
      d.actions.set(decided.act.key, { key: decided.act.key, state: 'running' })
    }
    return decided
  }
  const end = (state: ActionReport['state'], message?: string): void => {
    for (const [key, action] of d.actions) if (action.state === 'running') d.actions.set(key, { key, state, message })
  }
  /** All goes well: until nothing is left to do, or an action runs. */
  const settle = (): LifecycleStep<State> => {
    for (let times = 0; times < 30; times++) {
      const before = d.status
      const decided = reconcile()
      if (d.status === before && !decided.act) return decided
    }
    throw new Error('it does not settle')
  }
  const desire = (desired: Desired, request?: string): void => {
    Object.assign(d, { desired, request, generation: d.generation + 1 })
  }
  return Object.assign(d, { step, reconcile, end, settle, desire })
}

const at = (state: State): Status => ({
  state,
  since: formatMicroTime(Date.UTC(2025, 0, 1)),
  history: [],
  attempts: 7,
})

describe('an application', () => {
  it('is started, runs, is serviced and stopped, each by one action', () => {
    const d = database({ app: 'ended' })
    expect(d.settle().condition).toMatchObject({ status: 'False', reason: 'InTransition' })
    expect(d.status).toMatchObject({ state: 'start', transition: { to: 'start', key: 'u.1.-.start', attempt: 1 } })
    d.end('succeeded')
    // The action is done, but the database does not take connections yet.
    expect(d.settle().condition.message).toBe('start: the application is still ended, not running')
    expect(d.status).toMatchObject({ state: 'start', transition: { acted: true } })
    d.app = 'running'
    const rested = d.settle()
    expect(rested.condition).toMatchObject({ status: 'True', reason: 'AsDesired', message: 'running, as desired' })
    expect(isSettled(rested)).toBe(true)
    d.desire('servicing')
    d.settle()
    expect(d.status).toMatchObject({ state: 'servicing', transition: { from: 'running', input: { to: 's3://b' } } })
    d.end('succeeded')
    expect(d.settle().condition.message).toBe('servicing has been done; running again')
    d.desire('ended')
    d.settle()
    d.end('succeeded')
    d.app = 'ended'
    expect(isSettled(d.settle())).toBe(true)
    expect(d.started).toEqual(['start', 'backup', 'stop'])
    expect(d.status?.history.map(({ state, why }) => `${state} ${why}`)).toEqual([
      'start desired',
      'running automatic',
      'servicing desired',
      'running automatic',
      'stopping desired',
      'ended automatic',
    ])
  })

  it('is serviced once for one desired state, and again for a new request', () => {
    const d = database({ status: at('running'), app: 'running', desired: 'servicing' })
    d.settle()
    d.end('succeeded')
    const { status } = d.settle()
    expect(d.step().status).toBe(status)
    d.desire('servicing', 'tonight')
    d.settle()
    d.end('succeeded')
    d.settle()
    expect(d.started).toEqual(['backup', 'backup'])
  })

  it('writes nothing at rest, and requests no requeue', () => {
    const d = database({ status: at('running'), app: 'running' })
    expect(d.step()).toEqual({ status: d.status, condition: d.step().condition })
    expect(d.step().status).toBe(d.status)
  })

  it('that is not desired is not even started', () => {
    const d = database({ desired: 'ended' })
    expect(isSettled(d.settle())).toBe(true)
    expect(d.started).toEqual([])
  })

  it('that existed before its status is accepted as observed', () => {
    const d = database({ app: 'running' })
    expect(isSettled(d.settle())).toBe(true)
    expect([d.status?.state, d.started]).toEqual(['running', []])
  })
})

describe('an action', () => {
  it('is started only when its intent has been read back', () => {
    const d = database()
    const first = d.step()
    expect([first.act, first.requeueAtMs]).toEqual([undefined, d.now])
    // The write was lost: the same is decided again.
    expect(d.step()).toEqual(first)
    d.status = first.status
    const second = d.step()
    expect(second.act).toEqual({ verb: 'start', key: 'u.1.-.start', action: 'start', input: null })
    expect(second.status).toBe(first.status)
    // It was never sent, or its answer was lost: the same key again.
    expect(d.step().act).toEqual(second.act)
  })

  it('gets the intended input, even if the spec changes meanwhile', () => {
    const d = database({ status: at('running'), app: 'running', desired: 'servicing' })
    d.reconcile()
    Object.assign(d, { spec: { backupTo: 's3://other' }, generation: 2 })
    expect(d.step().act).toMatchObject({ key: 'u.8.running.servicing', input: { to: 's3://b' } })
  })

  it('reports progress, and is polled', () => {
    const d = database({ status: at('running'), app: 'running', desired: 'servicing' })
    d.settle()
    d.actions.set('u.8.running.servicing', {
      key: 'u.8.running.servicing',
      state: 'running',
      progress: 0.314,
      message: 'table 3',
    })
    expect(d.reconcile().requeueAtMs).toBe(d.now + pollMs)
    expect(d.status?.transition).toMatchObject({ progress: 31, message: 'table 3' })
    expect(d.step().status).toBe(d.status)
  })

  it('is retried with back-off, under another key, with the input of the current spec', () => {
    const d = database({ status: at('running'), app: 'running', desired: 'servicing' })
    d.settle()
    d.end('failed', 'disk full')
    const waits = [1000, 1500].map((wait) => {
      const { requeueAtMs, condition } = d.reconcile()
      expect(requeueAtMs).toBe(d.now + wait)
      expect(condition.reason).toBe('Retrying')
      expect(d.step().act).toBeUndefined()
      d.now += wait
      d.spec = { backupTo: `s3://${wait}` }
      const message = condition.message
      d.reconcile()
      d.end('failed', 'disk full')
      return message
    })
    expect(waits).toEqual([
      'running → servicing: attempt 2 of 3 is due, because action backup failed: disk full',
      'running → servicing: attempt 3 of 3 is due, because action backup failed: disk full',
    ])
    expect([...d.actions.keys()]).toEqual(['u.8.running.servicing', 'u.9.running.servicing', 'u.10.running.servicing'])
    const { condition } = d.settle()
    // Given up, and back where the graph says; not tried again before the spec changes.
    expect(condition).toMatchObject({
      status: 'False',
      reason: 'Failed',
      message: 'servicing was tried 3 times: action backup failed: disk full. It is tried again when the spec changes',
    })
    expect(d.status).toMatchObject({ state: 'running', failure: { state: 'servicing', attempts: 3 } })
    expect(d.step().status).toBe(d.status)
    d.generation += 1
    d.settle()
    expect(d.started).toHaveLength(4)
  })

  it('that was lost is retried, too', () => {
    const d = database()
    d.settle()
    d.end('lost')
    expect(d.reconcile().condition.message).toContain('its outcome is unknown')
    d.now += 1000
    expect(d.reconcile().act).toMatchObject({ verb: 'start', key: 'u.2.-.start' })
  })

  it('that times out is cancelled, and nothing else is started before it has ended', () => {
    const d = database({ app: 'ended' })
    d.settle()
    d.now += 60_000
    expect(d.reconcile().act).toEqual({ verb: 'cancel', key: 'u.1.-.start' })
    expect(actionKeys(d.status)).toEqual(['u.2.-.start', 'u.1.-.start'])
    d.now += 1000
    expect(d.reconcile().act).toEqual({ verb: 'cancel', key: 'u.1.-.start' })
    d.end('failed')
    expect(d.reconcile().act).toMatchObject({ verb: 'start', key: 'u.2.-.start' })
    expect(actionKeys(d.status)).toEqual(['u.2.-.start'])
  })

  it('whose intent was lost with the status is awaited, and its number is not reused', () => {
    const d = database({ app: 'ended' })
    d.actions.set('u.4.running.servicing', { key: 'u.4.running.servicing', state: 'running' })
    d.reconcile()
    expect(d.status?.transition?.key).toBe('u.5.-.start')
    expect(d.reconcile()).toMatchObject({ condition: { message: 'start: waits for an earlier action to end' } })
    d.end('succeeded')
    expect(d.reconcile().act).toMatchObject({ key: 'u.5.-.start' })
  })

  it('is not started while the application is unreachable; the timeout still applies', () => {
    const d = database({ reachable: false })
    d.reconcile()
    expect(d.reconcile().act).toBeUndefined()
    d.now += 60_000
    expect(d.reconcile().condition.message).toContain('action start was not started in time')
  })
})

describe('a desired state', () => {
  it('that changes during a transition waits for its end', () => {
    const d = database({ status: at('running'), app: 'running', desired: 'servicing' })
    d.settle()
    d.desire('ended')
    expect(d.settle().status).toMatchObject({ state: 'servicing', transition: { to: 'servicing' } })
    d.end('succeeded')
    d.settle()
    expect(d.status).toMatchObject({ state: 'stopping', transition: { from: 'running' } })
  })

  it('that changes between two attempts does not wait for the second', () => {
    const d = database({ app: 'ended' })
    d.settle()
    d.app = undefined
    d.end('failed', 'no')
    d.reconcile()
    d.desire('ended')
    d.settle()
    expect(d.status).toMatchObject({ state: 'stopping', transition: { from: 'start' } })
  })

  it('that a guard prevents is held, with the reason, until it is allowed', () => {
    const d = database({ status: at('running'), app: 'running', desired: 'servicing' })
    d.spec = {}
    expect(d.reconcile().condition).toMatchObject({
      status: 'False',
      reason: 'Guarded',
      message: 'running → servicing: spec.backupTo is not set',
    })
    expect(d.status?.state).toBe('running')
    d.spec = { backupTo: 's3://b' }
    d.settle()
    expect(d.started).toEqual(['backup'])
  })

  it('that is unreachable is rejected with the reachable ones, and nothing is done', () => {
    const once = defineLifecycle({
      name: 'Once',
      start: 'on',
      end: 'off',
      desiredStates: ['on', 'off'],
      defaultState: 'on',
      states: { on: { to: ['off'] }, off: {} },
    })
    const cr = { apiVersion: 'v1', kind: 'Once', metadata: { name: 'o', uid: 'u' }, spec: {} }
    const now = Date.UTC(2026, 0, 1)
    const input = { observed: { reachable: true, actions: [] }, now, context: { cr, view, config: {} } }
    const status = { ...at('ended'), state: 'off' as const, history: [] }
    const step = stepLifecycle(once, { ...input, desired: 'on', status })
    expect(step.refusal).toBe('on cannot be reached; from off only off can be requested')
    expect(step.condition).toMatchObject({ status: 'False', reason: 'Refused', message: step.refusal })
    expect([step.status, step.act, step.requeueAtMs]).toEqual([status, undefined, undefined])
    const unknown = stepLifecycle(once, { ...input, desired: 'dim' as 'on', status: undefined })
    expect(unknown).toMatchObject({
      status: undefined,
      refusal: 'dim cannot be reached; at first only on, off can be requested',
    })
  })
})

describe('the observed state', () => {
  it('wins over the stored one, and is corrected', () => {
    const d = database({ status: at('running'), app: 'ended' })
    d.settle()
    expect(d.status?.history.map(({ state, why }) => `${state} ${why}`)).toEqual(['ended observed', 'start desired'])
    expect(d.started).toEqual(['start'])
  })

  it('is only recorded where no other state is desired', () => {
    const d = database({ status: at('running'), app: 'ended', desired: 'ended' })
    expect(isSettled(d.settle())).toBe(true)
    expect(d.started).toEqual([])
  })

  it('is corrected with back-off if it repeats', () => {
    const d = database({ status: at('running'), app: 'running' })
    const waits = [0, 1000, 2000].map((wait) => {
      d.app = 'ended'
      const began = d.now
      const { requeueAtMs = 0 } = d.reconcile()
      d.now = Math.max(d.now, requeueAtMs)
      expect(d.now - began).toBe(wait)
      d.settle()
      d.end('succeeded')
      d.app = 'running'
      d.settle()
      return d.status?.relapse?.times
    })
    expect(waits).toEqual([1, 2, 3])
    // After a long calm it counts anew.
    d.now += 600_000
    d.app = 'ended'
    d.reconcile()
    expect(d.status).toMatchObject({ state: 'start', relapse: { times: 1 } })
  })

  it('is corrected at once when its objects are deleted after that: storing the end state would delete the rest', () => {
    const relapse = { from: 'running', times: 3 } as const
    const d = database({ status: { ...at('running'), relapse }, app: 'running' })
    Object.assign(d, { app: 'ended', reachable: false, now: Date.parse(d.status!.since) })
    d.reconcile()
    expect(d.status).toMatchObject({ state: 'start', transition: { to: 'start' }, relapse })
  })

  it('is corrected with back-off when its objects were deleted because it had ended', () => {
    const d = database({ status: { ...at('running'), relapse: { from: 'running', times: 3 } }, app: 'ended' })
    d.now = Date.parse(d.status!.since)
    const { requeueAtMs = 0 } = d.reconcile()
    expect(d.status).toMatchObject({ state: 'ended', relapse: { times: 4 } })
    d.reachable = false
    d.now = requeueAtMs - 1
    expect(d.reconcile()).toMatchObject({ requeueAtMs, condition: { reason: 'Relapsed' } })
    d.now = requeueAtMs
    d.reconcile()
    expect(d.status).toMatchObject({ state: 'start' })
  })

  it('that is transient gets time to move on by itself; then its action is run', () => {
    const d = database({ status: at('running'), app: 'start' })
    expect(d.reconcile()).toMatchObject({ condition: { reason: 'OnItsOwn' }, requeueAtMs: d.now + pollMs })
    d.now += 59_999
    expect(d.reconcile().status?.transition).toBeUndefined()
    d.now += 1
    d.settle()
    expect(d.started).toEqual(['start'])
  })

  it('is ignored when it is not a state of the graph', () => {
    const d = database({ status: at('running'), app: 'confused' })
    expect(d.reconcile().condition).toMatchObject({ status: 'Unknown', reason: 'UnknownState' })
    expect(d.status?.state).toBe('running')
  })

  it('may be undefined: then it is unknown, unless it has ended', () => {
    expect(database({ status: at('running'), reachable: false }).reconcile().condition).toMatchObject({
      status: 'Unknown',
      reason: 'Unreachable',
      message: 'running when the application was last heard of',
    })
    const ended = database({ status: at('ended'), reachable: false, desired: 'ended' })
    expect(isSettled(ended.reconcile())).toBe(true)
  })
})

describe('a failure', () => {
  it('without a failure target stops until the spec changes, except for the path to the end', () => {
    const d = database({ status: at('running'), app: undefined, desired: 'paused' })
    d.settle()
    d.end('failed', 'locks held')
    expect(d.settle().condition).toMatchObject({
      reason: 'Failed',
      message: expect.stringContaining('paused was tried once'),
    })
    d.now += 3_600_000
    expect(d.step()).toMatchObject({ status: d.status })
    expect(d.step().requeueAtMs).toBeUndefined()
    d.desire('running')
    expect(isSettled(d.settle())).toBe(true)
    expect(d.status?.failure).toBeUndefined()
  })

  it('is retried with a later version of the spec', () => {
    const d = database({ status: at('running'), app: undefined, desired: 'paused' })
    d.settle()
    d.generation += 1
    d.end('failed', 'locks held')
    d.settle()
    expect(d.started).toEqual(['pause', 'pause'])
  })

  it('is cleared when the application got there after all', () => {
    const d = database({ app: 'ended' })
    for (let attempt = 0; attempt < 4; attempt++) {
      d.settle()
      d.end('failed', 'no')
      d.reconcile()
      d.now += 60_000
    }
    expect(d.settle()).toMatchObject({ condition: { reason: 'Failed' }, status: { state: 'ended' } })
    d.app = 'running'
    expect(isSettled(d.settle())).toBe(true)
    expect(d.started).toHaveLength(4)
  })

  it('also occurs when the application never confirms', () => {
    const d = database({ app: 'ended' })
    d.settle()
    d.end('succeeded')
    d.settle()
    d.now += 60_000
    expect(d.reconcile().condition.message).toContain('the application is still ended, not running')
    expect(d.status?.transition?.attempt).toBe(2)
  })
})

describe('a changed graph', () => {
  it('starts from the observed state where the stored one no longer exists', () => {
    const d = database({ status: { ...at('running'), state: 'healing' as 'running' }, app: 'running' })
    expect(isSettled(d.settle())).toBe(true)
    expect(d.status).toMatchObject({ state: 'running', attempts: 7 })
  })
})

describe('a clock that is set back', () => {
  const hourMs = 3_600_000

  it('delays nothing: future times count from now', () => {
    const d = database()
    d.reconcile()
    expect(d.reconcile().act).toMatchObject({ verb: 'start', action: 'start' })
    d.now -= hourMs
    d.end('succeeded')
    d.app = 'running'
    expect(isSettled(d.settle())).toBe(true)
    expect(d.started).toEqual(['start'])
  })

  it('neither shortens an attempt nor skips a back-off', () => {
    const d = database({ desired: 'servicing', status: at('running'), app: 'running' })
    d.settle()
    d.end('failed', 'full')
    const { requeueAtMs = 0 } = d.reconcile()
    expect(requeueAtMs).toBe(d.now + 1000)
    d.now -= hourMs
    d.settle()
    expect(d.started).toEqual(['backup', 'backup'])
    // It is too late when it has taken too long from then on.
    d.now += 599_000
    expect(d.step().condition).toMatchObject({ reason: 'InTransition' })
    d.now += 2000
    expect(d.step().condition).toMatchObject({ reason: 'Retrying' })
  })
})

describe('an ended application', () => {
  it('that ended by itself, or is gone, is not waited for: no sidecar may be left', () => {
    const d = database({ desired: 'ended', status: at('running'), app: 'running' })
    d.reconcile()
    expect(d.status?.transition).toMatchObject({ to: 'stopping' })
    Object.assign(d, { app: 'ended', reachable: false })
    expect(isSettled(d.settle())).toBe(true)
    expect(d.started).toEqual([])
  })

  it('that is no longer desired before any object was created is at its end', () => {
    const d = database({ desired: 'running', status: at('ended'), app: 'ended', reachable: false })
    d.reconcile()
    expect(d.status?.transition).toMatchObject({ to: 'start' })
    d.desire('ended')
    expect(isSettled(d.settle())).toBe(true)
    expect(d.status).toMatchObject({ state: 'ended' })
    expect(d.status?.transition).toBeUndefined()
    expect(d.started).toEqual([])
  })

  it('that is desired again is stored as ended first: its objects are deleted because of that', () => {
    const d = database({ desired: 'ended', status: at('running'), app: 'running' })
    d.settle()
    d.desire('running')
    d.end('succeeded')
    d.app = 'ended'
    expect(d.reconcile()).toMatchObject({ requeueAtMs: d.now, condition: { reason: 'InTransition' } })
    expect(d.status).toMatchObject({ state: 'ended' })
    expect(d.status?.transition).toBeUndefined()
    d.reconcile()
    expect(d.status).toMatchObject({ state: 'start', transition: { to: 'start' } })
  })
})

import { describe, expect, expectTypeOf, it } from 'vitest'
import { crds, embedded } from '../../../test/embedded.ts'
import { operatorErrors } from '../errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { optional, string } from '../kind/field.ts'
import { defineKind } from '../kind/kind.ts'
import type { ObjectOf } from '../../kube/typed-resource.ts'
import { drawLifecycle } from './draw.ts'
import type { StateDefinition } from './graph.ts'
import { defineLifecycle, type StateOf } from './lifecycle.ts'
import type { LifecycleStatus } from './status.ts'

const own = { backupTo: optional(string()) }

/** A database that cannot be started again once it has ended. */
const life = defineLifecycle({
  name: 'Database',
  own,
  start: 'start',
  end: 'ended',
  desiredStates: ['running', 'servicing', 'ended'],
  defaultState: 'running',
  states: {
    start: { leadsTo: 'running', action: { name: 'start' }, onFailure: { goTo: 'stopping' } },
    running: {
      to: [{ state: 'servicing', guard: ({ cr }) => cr.spec.backupTo !== undefined || 'no backupTo' }, 'stopping'],
    },
    servicing: {
      leadsTo: 'running',
      action: { name: 'backup', input: ({ cr }) => ({ to: cr.spec.backupTo }) },
      onFailure: { retries: 1, goTo: 'running' },
    },
    stopping: { leadsTo: 'ended', action: { name: 'stop' } },
    ended: {},
  },
})

const Database = defineKind({
  group: 'db.example.com',
  version: 'v1',
  kind: 'Database',
  spec: { ...own, ...life.spec },
  status: life.status,
  rules: life.rules,
  columns: life.columns,
})

const database = (state?: string): UntypedObject => ({
  apiVersion: 'db.example.com/v1',
  kind: 'Database',
  metadata: { name: 'd', namespace: 'default' },
  spec: state === undefined ? {} : { state },
})

const statusAt = (state: StateOf<typeof life>): LifecycleStatus => ({
  state,
  since: '2026-01-01T00:00:00.000000Z',
  history: [],
  attempts: 0,
})

async function served() {
  const cluster = embedded()
  await cluster.client.create(crds, Database.crd() as unknown as UntypedObject)
  await Promise.resolve()
  const put = (object: UntypedObject, under = ''): Promise<unknown> =>
    cluster
      .raw('PUT', `/apis/db.example.com/v1/namespaces/default/databases/d${under}`, {
        headers: { 'content-type': 'application/json' },
        body: object,
      })
      .then(({ status, json }) => (status === 200 ? 'stored' : (json as { message: string }).message))
  return { ...cluster, put }
}

describe('a life cycle', () => {
  it('provides its names to the compiler', () => {
    expectTypeOf<StateOf<typeof life>>().toEqualTypeOf<'start' | 'running' | 'servicing' | 'stopping' | 'ended'>()
    expectTypeOf<ObjectOf<typeof Database>['spec']['state']>().toEqualTypeOf<'running' | 'servicing' | 'ended'>()
    type Status = NonNullable<NonNullable<ObjectOf<typeof Database>['status']>['lifecycle']>
    expectTypeOf<Status['state']>().toEqualTypeOf<StateOf<typeof life>>()
    const wrong = () =>
      defineLifecycle({
        name: 'Wrong',
        start: 'on',
        end: 'off',
        // @ts-expect-error not a state
        desiredStates: ['on', 'paused'],
        // @ts-expect-error not a state either
        defaultState: 'broken',
        states: {
          // @ts-expect-error leads to no state
          on: { to: ['off', 'limbo'] },
          // @ts-expect-error nor does a failure
          off: { onFailure: { goTo: 'hell' } },
        },
      })
    expect(wrong).toThrow('limbo')
  })

  it('sets the default of the desired state, and the fields of the status', async () => {
    const { client, put } = await served()
    const stored = await client.create(Database, database())
    expect(stored['spec']).toEqual({ state: 'running' })
    expect(await put({ ...stored, status: { lifecycle: statusAt('running') } }, '/status')).toBe('stored')
    const wrong = { ...statusAt('running'), state: 'limbo' }
    const latest = await client.get(Database, { name: 'd', namespace: 'default' })
    expect(await put({ ...latest, status: { lifecycle: wrong } }, '/status')).toContain('Unsupported value: "limbo"')
  })

  it('makes the API server reject an unreachable desired state, and list the reachable ones', async () => {
    const { client, put } = await served()
    await client.create(Database, database('running'))
    const report = async (state: StateOf<typeof life>): Promise<unknown> => {
      const { metadata, ...rest } = await client.get(Database, { name: 'd', namespace: 'default' })
      return put({ ...rest, metadata, status: { lifecycle: statusAt(state) } }, '/status')
    }
    const request = async (state: string): Promise<unknown> => {
      const current = await client.get(Database, { name: 'd', namespace: 'default' })
      return put({ ...current, spec: { state } })
    }
    expect(await request('servicing')).toBe('stored')
    expect(await request('start')).toContain('Unsupported value')
    await report('running')
    expect(await request('running')).toBe('stored')
    // A status update must pass even if the desired state is no longer reachable.
    expect(await report('ended')).toBe('stored')
    expect(await request('servicing')).toContain(
      'spec.state: Invalid value: the application is ended: from there only ended can be requested',
    )
    expect(await request('ended')).toBe('stored')
    expect(await request('running')).toContain('from there only ended can be requested')
  })

  it('needs no rule where every desired state is reachable from everywhere', () => {
    const { rules } = defineLifecycle({
      name: 'Lamp',
      start: 'on',
      end: 'off',
      desiredStates: ['on', 'off'],
      defaultState: 'on',
      states: { on: { to: ['off'] }, off: { to: ['on'] } },
    })
    expect(rules).toEqual([])
    expect(life.rules.map(({ message }) => message)).toEqual([
      'the application is stopping: from there only ended can be requested',
      'the application is ended: from there only ended can be requested',
    ])
  })

  it('can be drawn', () => {
    expect(drawLifecycle(life)).toBe(`stateDiagram-v2
  state "start: start" as s_start
  state "running" as s_running
  state "servicing: backup" as s_servicing
  state "stopping: stop" as s_stopping
  state "ended" as s_ended
  [*] --> s_start
  s_start --> s_running : done
  s_start --> s_stopping : failed
  s_running --> s_servicing : guarded
  s_running --> s_stopping
  s_servicing --> s_running : done
  s_servicing --> s_running : failed
  s_stopping --> s_ended : done
  s_ended --> [*]
  classDef transient stroke-dasharray: 4
  class s_start,s_servicing,s_stopping transient
`)
    expect(drawLifecycle(life, 'text')).toBe(`Database: * start, . end, => transient
* start     => running (done), stopping (failed)
  running   -> servicing (guarded), stopping
  servicing => running (done), running (failed)
  stopping  => ended (done)
. ended     -> nowhere
desired states: running (default), servicing, ended
`)
    expect(drawLifecycle(life, 'table').split('\n')[4]).toBe(
      '| servicing | transient, can be requested | backup | running | 300 s | 1 more try, then to running |  |',
    )
  })
})

type States = Readonly<Record<string, StateDefinition<string>>>

/** The message for a graph with these states beside or instead of `on` and `off`. */
function faultOf(
  states: States,
  more: { start?: string; end?: string; desiredStates?: string[]; defaultState?: string } = {},
) {
  try {
    defineLifecycle<string, string>({
      name: 'X',
      start: 'on',
      end: 'off',
      desiredStates: ['on', 'off'],
      defaultState: 'on',
      ...more,
      states: { on: { to: ['off'] }, off: {}, ...states },
    })
    return 'fine'
  } catch (error) {
    return isMusterError(error, operatorErrors.InvalidLifecycle) ? error.message : error
  }
}

describe('an invalid graph is rejected with location and cure:', () => {
  it.each<readonly [string, States, Parameters<typeof faultOf>[1], string]>([
    [
      'an unknown target',
      { on: { to: ['off', 'limbo'] } },
      {},
      'states.on.to[1] names limbo, which is no state of it (on, off)',
    ],
    [
      'an unknown failure target',
      { on: { to: ['off'], onFailure: { goTo: 'x' } } },
      {},
      'states.on.onFailure.goTo names x',
    ],
    ['an unknown start', {}, { start: 'x' }, 'start names x'],
    ['the same state as start and end', {}, { start: 'off' }, 'start and end are both off'],
    ['an unknown desired state', {}, { desiredStates: ['on', 'x'] }, 'desiredStates[1] names x'],
    ['no desired state', {}, { desiredStates: [] }, 'desiredStates is empty'],
    [
      'a default that is not a desired state',
      {},
      { defaultState: 'off', desiredStates: ['on'] },
      'defaultState is off, which is not among',
    ],
    [
      'an unreachable state',
      { x: { to: ['off'] } },
      {},
      'states.x cannot be reached from on: lead there, or set onItsOwn',
    ],
    [
      'a state without a path to the end',
      { on: { to: ['off', 'x'] }, x: {} },
      {},
      'from states.x the end (off) cannot be reached',
    ],
    [
      'a desired state that only a failure leads to',
      { on: { to: ['off'], onFailure: { goTo: 'x' } }, x: { to: ['off'] } },
      { desiredStates: ['on', 'x'] },
      'the desired state x can never be reached',
    ],
    ['a transient end', { off: { leadsTo: 'on' } }, {}, 'states.off is the end, yet leads on by itself'],
    [
      'a cycle of transient states',
      { on: { to: ['off', 'a'] }, a: { leadsTo: 'b' }, b: { leadsTo: 'a', to: ['off'] } },
      {},
      'a, b lead on for ever',
    ],
    [
      'a cycle of failures',
      {
        on: { to: ['off', 'a'] },
        a: { leadsTo: 'off', onFailure: { goTo: 'b' } },
        b: { leadsTo: 'off', onFailure: { goTo: 'a' } },
      },
      {},
      'a, b lead back after a failure',
    ],
    [
      'a transient state that cannot fail',
      { on: { leadsTo: 'x' }, x: { to: ['off'] } },
      {},
      'states.on has no way out when it fails',
    ],
    ['a state that leads to itself', { on: { to: ['on', 'off'] } }, {}, 'states.on.to[0] leads back to on itself'],
    ['a duplicate transition', { on: { to: ['off', 'off'] } }, {}, 'states.on.to names off twice'],
    [
      'a name that is invalid in a key',
      { on: { to: ['off', 'a.b'] }, 'a.b': { to: ['off'] } },
      {},
      'states.a.b must be called by letters',
    ],
    ['a timeout of zero', { on: { to: ['off'], timeoutMs: 0 } }, {}, 'states.on.timeoutMs must be above 0'],
    [
      'a fractional retry',
      { on: { to: ['off'], onFailure: { retries: 0.5 } } },
      {},
      'states.on.onFailure.retries must be',
    ],
  ])('%s', (_, states, more, message) => {
    expect(faultOf(states, more)).toContain(message)
  })

  it('and a valid one is accepted, even with spontaneous transitions or unusual names', () => {
    expect(faultOf({ unavailable: { to: ['off'], onItsOwn: true } })).toBe('fine')
    expect(faultOf({ on: { to: ['off', 'constructor'] }, constructor: { to: ['off'] } })).toBe('fine')
  })
})

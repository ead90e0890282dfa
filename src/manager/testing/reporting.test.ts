import { describe, expect, it } from 'vitest'
import {
  App as AppKind,
  app,
  conditionsOf,
  operations,
  read,
  since,
  openAppEnvironment,
  faultyTransport,
} from '../../../test/app-operator.ts'
import { configMap } from '../../../test/embedded.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { fail, giveUp, tryLater } from '../../operator/failure.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { operationCounts } from '../../operator/ledger.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import type { TestEnvironment } from './test-environment.ts'

const ref = { name: 'a', namespace: 'default' }
const Event = resourceOf<UntypedObject>('v1', 'Event')
const config = defineDependent({
  for: AppKind,
  kind: ConfigMap,
  fromCR: ({ cr }) => ({ data: { text: cr.spec.text } }),
})

async function set(testEnv: TestEnvironment, spec: object): Promise<void> {
  await testEnv.client.patch(AppKind, ref, { spec }, { type: 'merge' })
  await testEnv.settle()
}

async function eventsAbout(testEnv: TestEnvironment): Promise<readonly string[]> {
  const { items } = await testEnv.client.list(Event, { namespace: 'default' })
  return items.map((event) => [event['type'], event['reason'], event['count']].join(' ')).toSorted()
}

describe('conditions', () => {
  it('have the generation, and their time changes with their status only', async () => {
    const testEnv = await openAppEnvironment({ dependents: [config] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const first = await conditionsOf(testEnv.client, 'a')
    expect(first).toMatchObject({
      Ready: { status: 'True', reason: 'Ready', observedGeneration: 1 },
      Reconciled: { status: 'True', reason: 'Success', observedGeneration: 1 },
    })
    await testEnv.clock.advance(60_000)
    await set(testEnv, { text: 'two' })
    const second = await conditionsOf(testEnv.client, 'a')
    expect(second['Ready']).toEqual({ ...first['Ready'], observedGeneration: 2 })
    expect(((await read(testEnv.client, AppKind, 'a'))['status'] as JsonObject)['observedGeneration']).toBe(2)
    await testEnv.close()
  })

  it('are the same after creating and finding: one write, however often the controller runs', async () => {
    const testEnv = await openAppEnvironment({ dependents: [config], resyncMs: 10_000 })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const { sent } = since(testEnv)
    const before = testEnv.ledgers.length
    await testEnv.clock.advance(100_000)
    expect(testEnv.ledgers.length).toBeGreaterThan(before + 8)
    expect(sent()).toEqual([])
    await testEnv.close()
  })

  it('Stalled appears with errors that only a change can fix, and disappears with them', async () => {
    const testEnv = await openAppEnvironment({
      check: ({ cr }) => (cr.spec.text === 'bad' ? giveUp('Bad', 'It is bad.') : undefined),
    })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await conditionsOf(testEnv.client, 'a')).not.toHaveProperty('Stalled')
    await set(testEnv, { text: 'bad' })
    expect((await conditionsOf(testEnv.client, 'a'))['Stalled']).toMatchObject({ status: 'True', reason: 'Bad' })
    await set(testEnv, { text: 'good' })
    expect(await conditionsOf(testEnv.client, 'a')).not.toHaveProperty('Stalled')
    await testEnv.close()
  })

  it.each([
    ['without a status', undefined],
    ['with a status', () => ({ seen: 'me' })],
  ])('of other managers, and their status fields, are kept: a controller %s', async (_, status) => {
    const testEnv = await openAppEnvironment({
      dependents: [config],
      ...(status && { status }),
      check: ({ cr }) => (cr.spec.text === 'bad' ? giveUp('Bad', 'It is bad.') : undefined),
    })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const theirs = {
      type: 'Paid',
      status: 'True',
      reason: 'Paid',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    const applyTheirs = (condition: object): Promise<unknown> =>
      testEnv.client.apply(
        AppKind,
        {
          apiVersion: 'test.example.com/v1',
          kind: 'App',
          metadata: { ...ref },
          status: { count: 7, conditions: [condition] },
        },
        { fieldManager: 'billing', subresource: 'status', force: false },
      )
    await applyTheirs(theirs)
    await testEnv.settle()
    for (const text of ['bad', 'good', 'bad']) {
      await set(testEnv, { text })
      expect((await conditionsOf(testEnv.client, 'a'))['Paid']).toEqual(theirs)
      expect((await read(testEnv.client, AppKind, 'a'))['status']).toMatchObject({ count: 7 })
    }
    // The fields still belong to the manager `billing`: its apply needs no force.
    if (!status) await applyTheirs({ ...theirs, status: 'False' })
    await testEnv.close()
  })

  it('a status field that the author no longer reports is removed; during failures it is kept', async () => {
    const testEnv = await openAppEnvironment({
      dependents: [config],
      check: ({ cr }) => (cr.spec.text === 'bad' ? giveUp('Bad', 'It is bad.') : undefined),
      status: ({ cr, own }) => ({
        seen: own(config)?.data?.['text'] ?? '',
        ...(cr.spec.size > 1 && { count: cr.spec.size }),
        conditions: [{ type: 'Big', status: cr.spec.size > 1 ? 'True' : 'False', reason: 'Size' }],
      }),
    })
    await testEnv.create(AppKind, app('a', { size: 3 }))
    await testEnv.settle()
    expect((await read(testEnv.client, AppKind, 'a'))['status']).toMatchObject({ seen: 'hello', count: 3 })
    await set(testEnv, { text: 'bad' })
    expect((await read(testEnv.client, AppKind, 'a'))['status']).toMatchObject({ seen: 'hello', count: 3 })
    expect((await conditionsOf(testEnv.client, 'a'))['Big']?.status).toBe('True')
    await set(testEnv, { text: 'good', size: 1 })
    const { status } = (await read(testEnv.client, AppKind, 'a')) as { status?: JsonObject }
    expect(status).toMatchObject({ seen: 'good' })
    expect(status).not.toHaveProperty('count')
    const { sent } = since(testEnv)
    await testEnv.restart()
    await testEnv.settle()
    expect(sent().filter((request) => !request.startsWith('GET'))).toEqual([])
    await testEnv.close()
  })
})

describe('the ledger', () => {
  it('yields counts, a log line and the next run', async () => {
    const lines: JsonObject[] = []
    const testEnv = await openAppEnvironment(
      { dependents: [config], resyncMs: 90_000 },
      { log: (line) => void lines.push(line) },
    )
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const [ledger] = testEnv.ledgers
    expect(Object.fromEntries(operationCounts(ledger!))).toEqual({ created: 1, statusWritten: 1 })
    expect(lines).toEqual([
      {
        level: 'info',
        msg: 'Reconciled',
        operator: 'kit',
        controller: 'app',
        key: 'default/a',
        generation: 1,
        outcome: 'success',
        path: 'CRGetter>CRChecker>ObjectsGetter>Mutator>Updater>SuccessManager',
        done: ['created configMap', 'statusWritten cr'],
        requeueAfterMs: 90_000,
        cause: 'change',
        trigger: 'App default/a',
      },
    ])
    await testEnv.client.patch(ConfigMap, ref, { data: { text: 'drift' } }, { type: 'merge' })
    await testEnv.settle()
    const corrected = { done: ['corrected configMap (data.text)'], cause: 'change', trigger: 'ConfigMap default/a' }
    expect(lines.findLast((line) => 'done' in line)).toMatchObject(corrected)
    // A resync has no trigger, and no effect: it is in the log at the level debug.
    await testEnv.clock.advance(90_000)
    await testEnv.settle()
    expect(lines.at(-1)).toMatchObject({ level: 'debug', cause: 'resync' })
    expect(lines.at(-1)).not.toHaveProperty('trigger')
    await testEnv.close()
  })

  it('never contains values of a Secret', async () => {
    const lines: JsonObject[] = []
    const word = 'correct horse battery'
    const secret = defineDependent({
      for: AppKind,
      kind: Secret,
      fromCR: ({ cr }) => ({
        data: { word: cr.spec.size > 1 ? `${word} is no base64!` : Buffer.from(word).toString('base64') },
      }),
    })
    const testEnv = await openAppEnvironment({ dependents: [secret] }, { log: (line) => void lines.push(line) })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    await testEnv.client.patch(Secret, ref, { data: { word: null } }, { type: 'merge' })
    await testEnv.settle()
    await set(testEnv, { size: 2 })
    const { items } = await testEnv.client.list(Event, { namespace: 'default' })
    const all = JSON.stringify([lines, items, testEnv.ledgers.map(({ entries, failure }) => [entries, failure])])
    expect(testEnv.ledgers.at(-1)?.failure).toBeDefined()
    expect(all).toContain('corrected secret (data)')
    expect(all).not.toContain(word)
    expect(all).not.toContain(Buffer.from(word).toString('base64'))
    await testEnv.close()
  })
})

describe('Events', () => {
  it('are recorded once and counted, also across a restart', async () => {
    const testEnv = await openAppEnvironment({ check: () => tryLater('Moon', 'The moon is not full.') })
    await testEnv.create(AppKind, app('a'))
    await testEnv.clock.advance(600_000)
    const count = async (): Promise<number> => {
      const { items } = await testEnv.client.list(Event, { namespace: 'default' })
      const about = items.filter((event) => event['reason'] === 'Moon')
      expect(about).toHaveLength(1)
      expect(about[0]).toMatchObject({ type: 'Warning', message: 'CRChecker, cr: The moon is not full.' })
      return Number(about[0]?.['count'])
    }
    const before = await count()
    expect(before).toBeGreaterThan(2)
    await testEnv.restart()
    await testEnv.settle()
    const afterRestart = await count()
    expect(afterRestart).toBe(before + 1)
    await testEnv.clock.advance(1_200_000)
    // What came in between two writes is counted with the next.
    expect(await count()).toBeGreaterThanOrEqual(testEnv.ledgers.length - 1)
    await testEnv.close()
  })

  it('that the server has expired are recorded again', async () => {
    const testEnv = await openAppEnvironment({ check: () => tryLater('Moon', 'The moon is not full.') })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const { items } = await testEnv.client.list(Event, { namespace: 'default' })
    for (const { metadata } of items) await testEnv.client.delete(Event, { name: metadata.name, namespace: 'default' })
    await testEnv.clock.advance(1_200_000)
    expect((await eventsAbout(testEnv)).filter((event) => event.includes('Moon'))).toHaveLength(1)
    await testEnv.close()
  })

  it('describe changes, never that all is well', async () => {
    const testEnv = await openAppEnvironment({ dependents: [config] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    await testEnv.restart()
    await testEnv.settle()
    expect(await eventsAbout(testEnv)).toEqual(['Normal Created 1'])
    await testEnv.client.patch(ConfigMap, ref, { data: { text: 'drift' } }, { type: 'merge' })
    await testEnv.settle()
    expect(await eventsAbout(testEnv)).toEqual(['Normal Corrected 1', 'Normal Created 1'])
    await testEnv.close()
  })

  it('that cannot be written do not fail a reconcile', async () => {
    const line = faultyTransport()
    const lines: JsonObject[] = []
    const testEnv = await openAppEnvironment(
      { dependents: [config] },
      { wire: line.through, log: (one) => void lines.push(one) },
    )
    line.hinder = ({ path }) => {
      if (path.includes('/events')) throw new MusterError(clientErrors.Forbidden, 'no events for you')
    }
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect((await conditionsOf(testEnv.client, 'a'))['Ready']?.status).toBe('True')
    expect(lines.some((one) => one['msg'] === 'Event was not written')).toBe(true)
    await testEnv.close()
  })
})

describe('finalizers', () => {
  const finalizer = 'apps.test.example.com/kit'

  it('exist before the first effect, and those of other controllers are kept', async () => {
    const seen: (readonly string[])[] = []
    const line = faultyTransport()
    const testEnv = await openAppEnvironment({ dependents: [config], finalize: () => 'done' }, { wire: line.through })
    line.hinder = async ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/configmaps/')) {
        seen.push((await read(testEnv.client, AppKind, 'a')).metadata.finalizers ?? [])
      }
    }
    await testEnv.create(AppKind, app('a', {}, { finalizers: ['example.com/theirs'] }))
    await testEnv.settle()
    expect(seen).toEqual([['example.com/theirs', finalizer]])
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect((await read(testEnv.client, AppKind, 'a')).metadata.finalizers).toEqual(['example.com/theirs'])
    const { writes } = since(testEnv)
    await testEnv.settle(60_000)
    expect(writes()).toEqual([])
    await testEnv.close()
  })

  it('are removed once, even if the deletion is observed late and another change triggers the operator', async () => {
    const line = faultyTransport()
    const testEnv = await openAppEnvironment({ dependents: [config], finalize: () => 'done' }, { wire: line.through })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const { writes } = since(testEnv)
    const { promise: until, resolve: arrive } = Promise.withResolvers<void>()
    line.hinder = ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/apps/')) line.late = { plural: 'apps', until }
    }
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(await testEnv.client.list(AppKind, { namespace: 'default' })).toMatchObject({ items: [] })
    // The garbage collector deletes its ConfigMap, and that event is not delayed.
    expect(writes()).toHaveLength(1)
    arrive()
    await testEnv.settle()
    expect(writes()).toHaveLength(1)
    await testEnv.close()
  })

  const notDone: readonly (readonly [
    string,
    () => never | Promise<never> | { readonly waitingFor: string },
    RegExp,
  ])[] = [
    ['fails', () => fail('Stuck', 'The bucket is not empty.'), /The bucket is not empty/],
    ['gives up', () => giveUp('Stuck', 'The bucket is not empty.'), /The bucket is not empty/],
    [
      'throws',
      () => {
        throw new TypeError('oh no')
      },
      /oh no/,
    ],
    ['takes too long', () => new Promise<never>(() => undefined), /no result after/],
    ['waits', () => ({ waitingFor: 'the bucket to be empty' }), /the bucket to be empty/],
    ['returns nothing', () => undefined as never, /must return "done"/],
  ]
  it.each(notDone)('stay when finalize %s, which is reported', async (_, finalize, message) => {
    let isMended = false
    const testEnv = await openAppEnvironment({ finalize: () => (isMended ? 'done' : finalize()), timeoutMs: 5000 })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle(8000)
    expect((await read(testEnv.client, AppKind, 'a')).metadata.finalizers).toEqual([finalizer])
    expect((await conditionsOf(testEnv.client, 'a'))['Reconciled']).toMatchObject({ status: 'False' })
    expect((await conditionsOf(testEnv.client, 'a'))['Reconciled']?.message).toMatch(message)
    isMended = true
    await testEnv.restart()
    await testEnv.settle(60_000)
    expect(await testEnv.client.list(AppKind, { namespace: 'default' })).toMatchObject({ items: [] })
    await testEnv.close()
  })

  it('are not added by controllers without clean-up', async () => {
    const testEnv = await openAppEnvironment({ dependents: [config] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect((await read(testEnv.client, AppKind, 'a')).metadata.finalizers).toBeUndefined()
    await testEnv.close()
  })
})

describe('repeated failures', () => {
  async function failing(throwing: () => void, backOff = { firstMs: 1000, mostMs: 8000 }): Promise<TestEnvironment> {
    const testEnv = await openAppEnvironment({ check: throwing, backOff })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle(0)
    return testEnv
  }
  const times = (testEnv: TestEnvironment): readonly number[] =>
    testEnv.ledgers.map(({ startedAt }) => Math.round((startedAt - testEnv.ledgers[0]!.startedAt) / 100) / 10)

  it('are retried less and less often, up to a maximum', async () => {
    const testEnv = await failing(() => tryLater('Moon', 'no'))
    await testEnv.clock.advance(40_000)
    expect(times(testEnv)).toEqual([0, 1, 3, 7, 15, 23, 31, 39])
    await testEnv.close()
  })

  it('start over with another reason, and after success', async () => {
    let count = 0
    const script = ['A', 'A', 'A', 'B', 'B', '', 'A', 'A']
    const testEnv = await openAppEnvironment({
      backOff: { firstMs: 1000, mostMs: 100_000 },
      resyncMs: 1000,
      check: () => {
        const reason = script[count++] ?? 'done'
        if (reason === 'done') giveUp('End', 'end')
        if (reason !== '') tryLater(reason, 'no')
      },
    })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle(0)
    await testEnv.clock.advance(60_000)
    // A A A: 1 2 4; B B: 1 2; success: 1; A A: 1 2
    expect(times(testEnv)).toEqual([0, 1, 3, 7, 8, 10, 11, 12, 14])
    await testEnv.close()
  })

  it('are counted for each object separately', async () => {
    const testEnv = await openAppEnvironment({
      check: () => tryLater('Moon', 'no'),
      backOff: { firstMs: 1000, mostMs: 8000 },
    })
    await testEnv.create(AppKind, app('a'))
    await testEnv.clock.advance(20_000)
    await testEnv.create(AppKind, app('b'))
    await testEnv.clock.advance(3500)
    expect(testEnv.ledgers.filter(({ key }) => key === 'default/b').length).toBe(3)
    await testEnv.close()
  })

  it('are retried at once when an input changes', async () => {
    const testEnv = await failing(() => tryLater('Moon', 'no'), { firstMs: 100_000, mostMs: 100_000 })
    expect(testEnv.ledgers).toHaveLength(1)
    await set(testEnv, { text: 'new' })
    expect(testEnv.ledgers).toHaveLength(2)
    await testEnv.close()
  })

  it('are not retried when only a change can fix them', async () => {
    for (const end of [() => fail('Bad', 'no'), () => giveUp('Bad', 'no')]) {
      const testEnv = await failing(end)
      await testEnv.clock.advance(600_000)
      expect(testEnv.ledgers).toHaveLength(1)
      await set(testEnv, { text: 'new' })
      expect(testEnv.ledgers).toHaveLength(2)
      await testEnv.close()
    }
  })

  it('wait as long as requested, even if a retry was due earlier', async () => {
    const testEnv = await openAppEnvironment({
      steps: {
        async CRChecker({ requeueAfter }, next) {
          requeueAfter(500)
          await next()
        },
      },
      check: () => tryLater('Moon', 'no', { afterMs: 20_000 }),
    })
    await testEnv.create(AppKind, app('a'))
    await testEnv.clock.advance(19_000)
    expect(testEnv.ledgers).toHaveLength(1)
    await testEnv.clock.advance(2000)
    expect(testEnv.ledgers).toHaveLength(2)
    await testEnv.close()
  })

  it('a throttled request waits as the server says', async () => {
    const line = faultyTransport()
    const testEnv = await openAppEnvironment({ dependents: [config] }, { wire: line.through })
    line.hinder = ({ path }) => {
      if (path.includes('/configmaps/a')) {
        throw new MusterError(clientErrors.TooManyRequests, 'too many', { retryAfterMs: 30_000 })
      }
    }
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle(0)
    await testEnv.clock.advance(1000)
    const first = testEnv.ledgers.length
    expect(testEnv.ledgers.at(-1)?.requeueAfterMs).toBeGreaterThanOrEqual(30_000)
    await testEnv.clock.advance(20_000)
    expect(testEnv.ledgers).toHaveLength(first)
    await testEnv.close()
  })

  it('a conflict is retried soon and quietly', async () => {
    const line = faultyTransport()
    const lines: JsonObject[] = []
    const testEnv = await openAppEnvironment(
      { dependents: [config], finalize: () => 'done' },
      { wire: line.through, log: (one) => void lines.push(one) },
    )
    let count = 0
    line.hinder = async ({ method, path }) => {
      if (method !== 'PATCH' || !path.includes('/apps/a') || count++ > 0) return
      // A user patches the CR first.
      await testEnv.client.patch(AppKind, ref, { metadata: { labels: { fast: 'yes' } } }, { type: 'merge' })
    }
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle(5000)
    expect(testEnv.ledgers[0]?.failure?.retry).toBe('conflict')
    expect((await conditionsOf(testEnv.client, 'a'))['Ready']?.status).toBe('True')
    expect(lines.filter((one) => one['outcome'] === 'failed' && one['level'] !== 'debug')).toEqual([])
    expect((await eventsAbout(testEnv)).filter((event) => event.startsWith('Warning'))).toEqual([])
    await testEnv.close()
  })

  it('a failure that only a change can fix does not prevent other retries', async () => {
    const line = faultyTransport()
    const stuck = defineDependent({ for: AppKind, kind: ConfigMap, id: 'stuck', name: () => 'taken' })
    const passing = defineDependent({ for: AppKind, kind: Secret, id: 'passing' })
    const testEnv = await openAppEnvironment({ dependents: [stuck, passing] }, { wire: line.through })
    await testEnv.create(ConfigMap, configMap('taken'))
    let isDown = true
    line.hinder = ({ path }) => {
      if (isDown && path.includes('/secrets/')) throw new MusterError(clientErrors.ServiceUnavailable, 'not yet')
    }
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(operations(testEnv.ledgers)).toContain('failed passing')
    isDown = false
    await testEnv.settle(60_000)
    expect(operations(testEnv.ledgers)).toContain('created passing')
    await testEnv.close()
  })
})

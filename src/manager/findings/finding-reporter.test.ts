import { describe, expect, it } from 'vitest'
import {
  app,
  App as AppKind,
  type AppController,
  conditionsOf,
  since,
  openAppEnvironment,
  faultyTransport,
} from '../../../test/app-operator.ts'
import { configMap } from '../../../test/embedded.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { exactly } from '../../operator/view/input.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { findingCondition } from '../../operator/status.ts'
import type { TestEnvironment } from '../testing/test-environment.ts'

const ref = { name: 'a', namespace: 'default' }

async function found({
  client,
}: TestEnvironment): Promise<{ readonly reason: string; readonly message: string } | undefined> {
  return (await conditionsOf(client, 'a'))[findingCondition]
}

async function eventsAbout({ client }: TestEnvironment): Promise<readonly string[]> {
  const events = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
  const { items } = await client.list(events, { namespace: 'default' })
  return items.map((event) => String(event['reason']))
}

const size = (value: number): object => ({ spec: { size: value } })
const change = async ({ client }: TestEnvironment, to: object): Promise<void> => {
  await client.patch(AppKind, ref, to, { type: 'merge' })
}

/** Reads a Secret that it did not declare, as long as its size is 1. */
const nosy: AppController = {
  dependents: [
    defineDependent({ for: AppKind, kind: ConfigMap, fromCR: ({ cr }) => ({ data: { size: String(cr.spec.size) } }) }),
  ],
  check({ cr, view }) {
    if (cr.spec.size === 1) view.get(Secret, { name: 'secret', namespace: 'default' })
  },
}

describe('a finding is reported on its CR', () => {
  it('as a condition, an Event and a log line; resolved by the next reconcile without it', async () => {
    const lines: unknown[] = []
    const testEnv = await openAppEnvironment(nosy, { log: (line) => void lines.push(line) })
    await testEnv.create(AppKind, app('a', { size: 1 }))
    await testEnv.settle()
    const message =
      'kit, controller app, for default/a: reads secrets/v1, but declares apps.test.example.com/v1, configmaps/v1 */[app.kubernetes.io/managed-by=kit] only.'
    expect(await found(testEnv)).toMatchObject({
      status: 'True',
      reason: 'UndeclaredRead',
      message,
      observedGeneration: 1,
    })
    expect(lines).toContainEqual({ level: 'warn', msg: message, operator: 'kit', finding: 'undeclaredRead' })
    expect(await eventsAbout(testEnv)).toContain('UndeclaredRead')
    await change(testEnv, size(2))
    await testEnv.settle()
    expect(await found(testEnv)).toBeUndefined()
    const { sent } = since(testEnv)
    await testEnv.settle(3_600_000)
    expect(sent()).toEqual([])
    await testEnv.close()
  })

  it('is written once, however often it is found, and enqueues no key', async () => {
    const testEnv = await openAppEnvironment({
      dependents: [defineDependent({ for: AppKind, kind: ConfigMap })],
      // It goes on without what it was refused.
      check({ view }) {
        for (const name of ['x', 'y']) {
          try {
            view.get(Secret, { name, namespace: 'default' })
          } catch {
            // As careless authors do.
          }
        }
      },
      resyncMs: 1000,
    })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const { writes } = since(testEnv)
    const from = testEnv.ledgers.length
    await testEnv.settle(10_000)
    expect(testEnv.ledgers.length - from).toBeGreaterThan(8)
    expect(testEnv.ledgers.length - from).toBeLessThan(13)
    expect(writes()).toEqual([])
    expect((await found(testEnv))?.reason).toBe('UndeclaredRead')
    await testEnv.close()
  })

  it('is removed after a restart, too, once it is resolved', async () => {
    const testEnv = await openAppEnvironment(nosy)
    await testEnv.create(AppKind, app('a', { size: 1 }))
    await testEnv.settle()
    await testEnv.stop()
    await change(testEnv, size(2))
    await testEnv.start()
    await testEnv.settle()
    expect(await found(testEnv)).toBeUndefined()
    await testEnv.close()
  })

  it('a write outside of the declared names is rejected, and reported with the declared ones', async () => {
    const testEnv = await openAppEnvironment({
      writes: [exactly(ConfigMap, { name: 'mine', namespace: 'default' })],
      reconcile: ({ cr }) => ({ objects: [configMap(cr.spec.text), configMap('mine')] }),
    })
    await testEnv.create(AppKind, app('a', { text: 'theirs' }))
    await testEnv.settle()
    expect(await found(testEnv)).toMatchObject({ reason: 'UndeclaredWrite' })
    expect((await found(testEnv))?.message).toContain(
      'wants ConfigMap default/theirs, but declares configmaps/v1 default/mine only.',
    )
    const { items } = await testEnv.client.list(ConfigMap, { namespace: 'default' })
    expect(items.map(({ metadata }) => metadata.name)).not.toContain('theirs')
    await testEnv.close()
  })

  it('a hot loop stays until a run writes nothing, and the operator itself does not change it', async () => {
    let turn = 0
    let isMad = true
    const testEnv = await openAppEnvironment({
      dependents: [
        defineDependent({
          for: AppKind,
          kind: ConfigMap,
          fromCR: () => ({ data: { turn: String(isMad ? ++turn : 0) } }),
        }),
      ],
      resyncMs: 500,
      status: () => ({ seen: String(turn) }),
    })
    await testEnv.create(AppKind, app('a'))
    await testEnv.clock.advance(6000)
    expect(await found(testEnv)).toMatchObject({ reason: 'HotLoop' })
    const during = turn
    await testEnv.clock.advance(20_000)
    // It is held: the condition has not woken it.
    expect(turn).toBe(during)
    expect(await found(testEnv)).toMatchObject({ reason: 'HotLoop' })
    isMad = false
    await testEnv.clock.advance(45_000)
    expect(await found(testEnv)).toBeUndefined()
    await testEnv.close()
  })

  it('a hot loop whose input changed is resolved by the next run without a write', async () => {
    let turn = 0
    const testEnv = await openAppEnvironment({
      dependents: [
        defineDependent({
          for: AppKind,
          kind: ConfigMap,
          fromCR: ({ cr }) => ({ data: { turn: String(cr.spec.size === 1 ? ++turn : cr.spec.size) } }),
        }),
      ],
      resyncMs: 500,
    })
    await testEnv.create(AppKind, app('a', { size: 1 }))
    await testEnv.clock.advance(6000)
    expect(await found(testEnv)).toMatchObject({ reason: 'HotLoop' })
    await change(testEnv, size(2))
    await testEnv.clock.advance(200)
    expect(await found(testEnv)).toBeUndefined()
    await testEnv.close()
  })

  it('that cannot be written has no other effect', async () => {
    const line = faultyTransport()
    const testEnv = await openAppEnvironment(nosy, { wire: line.through })
    line.hinder = ({ path }) => {
      if (path.includes('muster-findings')) throw new Error('no')
    }
    await testEnv.create(AppKind, app('a', { size: 1 }))
    await testEnv.settle()
    await change(testEnv, size(2))
    await testEnv.settle()
    expect((await conditionsOf(testEnv.client, 'a'))['Ready']).toMatchObject({ status: 'True' })
    await testEnv.close()
  })
})

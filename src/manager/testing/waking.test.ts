import { describe, expect, it } from 'vitest'
import {
  type App,
  App as AppKind,
  app,
  conditionsOf,
  exists,
  operations,
  read,
  since,
  openAppEnvironment,
  faultyTransport,
} from '../../../test/app-operator.ts'
import { configMap } from '../../../test/embedded.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { referenced } from '../../operator/view/input.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { string } from '../../operator/kind/field.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { openTestEnvironment } from './test-environment.ts'

const ref = { name: 'a', namespace: 'default' }

const source = referenced(ConfigMap, {
  from: AppKind,
  namePath: '$.spec.text',
  namespacePath: '$.metadata.namespace',
})

/** Copies a value that is read from elsewhere. */
const copy = defineDependent({
  for: AppKind,
  kind: ConfigMap,
  id: 'copy',
  fromCR: ({ cr, view }) => {
    const found = view.get(ConfigMap, { name: cr.spec.text, namespace: 'default' })
    return { data: { value: found?.data?.['value'] ?? 'none' } }
  },
})

describe('a change enqueues the keys that read the changed object', () => {
  it('by name, and no other key', async () => {
    const testEnv = await openAppEnvironment({ dependents: [copy], reads: [source] })
    await testEnv.create(AppKind, app('a', { text: 'source' }))
    await testEnv.create(AppKind, app('b', { text: 'other' }))
    await testEnv.settle()
    const from = testEnv.ledgers.length
    await testEnv.create(ConfigMap, configMap('source', { value: '1' }))
    await testEnv.settle()
    expect(testEnv.ledgers.slice(from).map(({ key }) => key)).toEqual(['default/a'])
    expect((await read(testEnv.client, ConfigMap, 'a'))['data']).toEqual({ value: '1' })
    await testEnv.close()
  })

  it('even if it comes during the reconcile that read it', async () => {
    const line = faultyTransport()
    const testEnv = await openAppEnvironment({ dependents: [copy], reads: [source] }, { wire: line.through })
    let changed = false
    line.hinder = async ({ method, path }) => {
      if (changed || method !== 'PATCH' || !path.includes('/configmaps/a')) return
      changed = true
      await testEnv.create(ConfigMap, configMap('source', { value: '1' }))
      await testEnv.clock.settle()
    }
    await testEnv.create(AppKind, app('a', { text: 'source' }))
    await testEnv.settle()
    expect(changed).toBe(true)
    expect((await read(testEnv.client, ConfigMap, 'a'))['data']).toEqual({ value: '1' })
    await testEnv.close()
  })

  it('even if it was made by the same operator, for another CR', async () => {
    const testEnv = await openAppEnvironment({ dependents: [copy], reads: [source] })
    // `b` copies what is made for `a`, which copies from outside.
    await testEnv.create(AppKind, app('a', { text: 'source' }))
    await testEnv.create(AppKind, app('b', { text: 'a' }))
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'b'))['data']).toEqual({ value: 'none' })
    await testEnv.create(ConfigMap, configMap('source', { value: '1' }))
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'a'))['data']).toEqual({ value: '1' })
    expect((await read(testEnv.client, ConfigMap, 'b'))['data']).toEqual({ value: '1' })
    const { sent } = since(testEnv)
    await testEnv.settle(60_000)
    expect(sent()).toEqual([])
    await testEnv.close()
  })

  it('even if it was made by another controller of the same operator', async () => {
    const Part = defineKind({
      group: 'test.example.com',
      version: 'v1',
      kind: 'Part',
      spec: { text: string({ default: '' }) },
    })
    const part = defineDependent({ for: AppKind, kind: Part, fromCR: ({ cr }) => ({ spec: { text: cr.spec.text } }) })
    const data = defineDependent({
      for: Part,
      kind: ConfigMap,
      name: ({ cr }) => `of-${cr.metadata.name}`,
      fromCR: ({ cr }) => ({ data: { text: cr.spec.text } }),
    })
    const operator = defineOperator({
      name: 'kit',
      controllers: [
        defineController({ for: AppKind, dependents: [part] }),
        defineController({ for: Part, dependents: [data], finalize: () => 'done' }),
      ],
    })
    const testEnv = await openTestEnvironment(operator)
    await testEnv.create(AppKind, app('a', { text: 'one' }))
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'of-a'))['data']).toEqual({ text: 'one' })
    // And what the second reports comes back to the first.
    expect((await conditionsOf(testEnv.client, 'a'))['Ready']?.status).toBe('True')
    await testEnv.client.patch(AppKind, ref, { spec: { text: 'two' } }, { type: 'merge' })
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'of-a'))['data']).toEqual({ text: 'two' })
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(await exists(testEnv.client, ConfigMap, 'of-a')).toBe(false)
    const { sent } = since(testEnv)
    await testEnv.settle(60_000)
    expect(sent()).toEqual([])
    await testEnv.close()
  })

  it('but its own writes do not enqueue the key that made them', async () => {
    const testEnv = await openAppEnvironment({
      dependents: [copy],
      status: ({ own }) => ({ seen: own(copy)?.data?.['value'] ?? '' }),
    })
    await testEnv.create(AppKind, app('a', { text: 'source' }))
    await testEnv.settle()
    expect(testEnv.ledgers).toHaveLength(1)
    await testEnv.close()
  })
})

describe('kinds that are installed and removed', () => {
  const Extra = resourceOf<UntypedObject>('extra.example.com/v1', 'Extra', { plural: 'extras', namespaced: true })
  const crds = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'extras.extra.example.com' },
    spec: {
      group: 'extra.example.com',
      scope: 'Namespaced',
      names: { plural: 'extras', kind: 'Extra', singular: 'extra', listKind: 'ExtraList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: { text: { type: 'string' } } } },
            },
          },
        },
      ],
    },
  } as unknown as UntypedObject
  const extra = defineDependent({
    for: AppKind,
    kind: Extra,
    activeWhen: ({ view }) => view.serves(Extra),
    fromCR: ({ cr }) => ({ spec: { text: cr.spec.text } }),
  })

  it('a dependent waits for its kind, is created when it is installed, and is skipped when it is removed', async () => {
    const testEnv = await openAppEnvironment({ dependents: [extra] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect((await conditionsOf(testEnv.client, 'a'))['Ready']?.status).toBe('True')
    for (let round = 0; round < 2; round++) {
      await testEnv.create(crds, crd)
      await testEnv.settle(60_000)
      expect((await read(testEnv.client, Extra, 'a'))['spec']).toEqual({ text: 'hello' })
      expect((await conditionsOf(testEnv.client, 'a'))['Ready']?.status).toBe('True')
      await testEnv.client.delete(crds, { name: 'extras.extra.example.com' })
      await testEnv.settle(60_000)
      expect((await conditionsOf(testEnv.client, 'a'))['Ready']?.status).toBe('True')
    }
    // Its objects may be seen to go before it is: one attempt to put them back is refused.
    const failures = testEnv.ledgers.flatMap(({ failure }) => (failure ? [failure.message] : []))
    expect(failures.filter((message) => !message.includes('serves no such resource'))).toEqual([])
    expect(failures.length).toBeLessThanOrEqual(2)
    await testEnv.close()
  })

  it('a CR kind that is installed later is reconciled then', async () => {
    const testEnv = await openAppEnvironment({ dependents: [copy], reads: [source] }, { bare: true })
    await testEnv.settle()
    await testEnv.install()
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await exists(testEnv.client, ConfigMap, 'a')).toBe(true)
    expect(testEnv.ledgers.filter(({ failure }) => failure)).toEqual([])
    await testEnv.close()
  })

  it('a CR kind that is removed and installed again starts over', async () => {
    const testEnv = await openAppEnvironment({ dependents: [copy], reads: [source] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    await testEnv.client.delete(crds, { name: 'apps.test.example.com' })
    await testEnv.settle(60_000)
    expect(await exists(testEnv.client, ConfigMap, 'a')).toBe(false)
    await testEnv.install()
    await testEnv.create(AppKind, app('a', { text: 'x' }))
    await testEnv.settle(600_000)
    expect(await exists(testEnv.client, ConfigMap, 'a')).toBe(true)
    await testEnv.close()
  })
})

describe('dependencies', () => {
  const first = defineDependent({ for: AppKind, kind: ConfigMap, id: 'first', name: () => 'first' })
  const second = defineDependent({
    for: AppKind,
    kind: Secret,
    id: 'second',
    name: () => 'second',
    dependsOn: [first],
    readyWhen: ({ metadata }) => metadata.annotations?.['ready'] === 'yes' || 'somebody to say that it is ready',
  })
  const third = defineDependent({
    for: AppKind,
    kind: ConfigMap,
    id: 'third',
    name: () => 'third',
    dependsOn: [second],
    writtenWhen: ({ cr }) => cr.spec.size > 1 || 'a larger size',
  })

  it('are created in waves, wait for unready ones, and report them', async () => {
    const testEnv = await openAppEnvironment({ dependents: [third, second, first] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(operations(testEnv.ledgers)).toEqual([
      'created first',
      'created second',
      'waiting third',
      'statusWritten cr',
    ])
    const waiting = await conditionsOf(testEnv.client, 'a')
    expect(waiting['Reconciled']).toMatchObject({ status: 'False', reason: 'Waiting' })
    expect(waiting['Reconciled']?.message).toContain('third waits for second: somebody to say that it is ready')
    await testEnv.client.patch(
      Secret,
      { name: 'second', namespace: 'default' },
      { metadata: { annotations: { ready: 'yes' } } },
      { type: 'merge' },
    )
    await testEnv.settle()
    expect((await conditionsOf(testEnv.client, 'a'))['Reconciled']?.message).toContain('third waits for a larger size')
    await testEnv.client.patch(AppKind, ref, { spec: { size: 2 } }, { type: 'merge' })
    await testEnv.settle()
    expect(await exists(testEnv.client, ConfigMap, 'third')).toBe(true)
    expect((await conditionsOf(testEnv.client, 'a'))['Ready']?.status).toBe('True')
    // What may not be written any more stays as it is.
    await testEnv.client.patch(AppKind, ref, { spec: { size: 1 } }, { type: 'merge' })
    await testEnv.settle()
    expect(await exists(testEnv.client, ConfigMap, 'third')).toBe(true)
    await testEnv.close()
  })

  it('may form a chain of any length', async () => {
    const chain: ReturnType<typeof defineDependent<App, ConfigMap>>[] = []
    for (let at = 0; at < 40; at++) {
      const id = `n${at}`
      chain.push(defineDependent({ for: AppKind, kind: ConfigMap, id, name: () => id, dependsOn: chain.slice(-1) }))
    }
    const testEnv = await openAppEnvironment({ dependents: chain })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await exists(testEnv.client, ConfigMap, 'n39')).toBe(true)
    expect((await conditionsOf(testEnv.client, 'a'))['Ready']?.status).toBe('True')
    await testEnv.close()
  })

  it('a failed one blocks only its dependents', async () => {
    const failing = defineDependent({
      for: AppKind,
      kind: ConfigMap,
      id: 'failing',
      name: () => 'Not A Name',
    })
    const behind = defineDependent({
      for: AppKind,
      kind: Secret,
      id: 'behind',
      name: () => 'behind',
      dependsOn: [failing],
    })
    const beside = defineDependent({ for: AppKind, kind: Secret, id: 'beside', name: () => 'beside' })
    const testEnv = await openAppEnvironment({ dependents: [failing, behind, beside] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await exists(testEnv.client, Secret, 'beside')).toBe(true)
    expect(await exists(testEnv.client, Secret, 'behind')).toBe(false)
    await testEnv.close()
  })

  it('an author function that throws is a failure of that dependent only', async () => {
    const throwing = defineDependent({
      for: AppKind,
      kind: ConfigMap,
      id: 'throwing',
      name: () => 'throwing',
      writtenWhen: () => {
        throw new Error('oh no')
      },
    })
    const beside = defineDependent({ for: AppKind, kind: Secret, id: 'beside', name: () => 'beside' })
    const testEnv = await openAppEnvironment({ dependents: [throwing, beside] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await exists(testEnv.client, Secret, 'beside')).toBe(true)
    expect((await conditionsOf(testEnv.client, 'a'))['Reconciled']?.message).toBe('Updater, throwing: oh no')
    await testEnv.close()
  })
})

describe('maxCreations', () => {
  it.each([1, 2, 3])('%i: exactly so many in one reconcile, the rest in the next', async (maxCreations) => {
    const many = defineDependent({
      for: AppKind,
      kind: ConfigMap,
      id: 'many',
      each: ({ cr }) => Object.fromEntries(Array.from({ length: cr.spec.size }, (_, at) => [`n${at}`, at])),
    })
    const testEnv = await openAppEnvironment({ dependents: [many], maxCreations })
    await testEnv.create(AppKind, app('a', { size: 7 }))
    await testEnv.settle(20_000)
    const counts = testEnv.ledgers.map(
      ({ entries }) => entries.filter(({ operation }) => operation === 'created').length,
    )
    const full = Math.floor(7 / maxCreations)
    const expected = [
      ...Array.from({ length: full }, () => maxCreations),
      ...(7 % maxCreations ? [7 % maxCreations] : []),
    ]
    expect(counts.filter((count) => count > 0)).toEqual(expected)
    expect((await conditionsOf(testEnv.client, 'a'))['Reconciled']?.status).toBe('True')
    const { sent } = since(testEnv)
    await testEnv.settle(60_000)
    expect(sent()).toEqual([])
    await testEnv.close()
  })
})

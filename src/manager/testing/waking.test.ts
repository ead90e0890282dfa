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
  tryApp,
  wire,
} from '../../../test/kit.ts'
import { configMap } from '../../../test/embedded.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { defineKind } from '../../operator/kind.ts'
import { string } from '../../operator/field.ts'
import { ConfigMap, Secret } from '../../operator/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent.ts'
import { typedResourceOf } from '../../operator/typed-resource.ts'
import { openTestEnvironment } from './test-environment.ts'

const ref = { name: 'a', namespace: 'default' }

/** Copies a value that is read from elsewhere. */
const copy = defineDependent({
  for: AppKind,
  kind: ConfigMap,
  id: 'copy',
  fromCR: ({ cr, view }) => {
    const source = view.get(ConfigMap, { name: cr.spec.text, namespace: 'default' })
    return { data: { value: source?.data?.['value'] ?? 'none' } }
  },
})

describe('a change wakes those who read what it changed', () => {
  it('by name, and nobody else', async () => {
    const trial = await tryApp({ resources: [copy] })
    await trial.create(AppKind, app('a', { text: 'source' }))
    await trial.create(AppKind, app('b', { text: 'other' }))
    await trial.settle()
    const from = trial.ledgers.length
    await trial.create(ConfigMap, configMap('source', { value: '1' }))
    await trial.settle()
    expect(trial.ledgers.slice(from).map(({ key }) => key)).toEqual(['default/a'])
    expect((await read(trial.client, ConfigMap, 'a'))['data']).toEqual({ value: '1' })
    await trial.close()
  })

  it('even if it comes while the very reconcile that read it is under way', async () => {
    const line = wire()
    const trial = await tryApp({ resources: [copy] }, { wire: line.through })
    let changed = false
    line.hinder = async ({ method, path }) => {
      if (changed || method !== 'PATCH' || !path.includes('/configmaps/a')) return
      changed = true
      await trial.create(ConfigMap, configMap('source', { value: '1' }))
      await trial.clock.settle()
    }
    await trial.create(AppKind, app('a', { text: 'source' }))
    await trial.settle()
    expect(changed).toBe(true)
    expect((await read(trial.client, ConfigMap, 'a'))['data']).toEqual({ value: '1' })
    await trial.close()
  })

  it('even if it was made by the same operator, for another CR', async () => {
    const trial = await tryApp({ resources: [copy] })
    // `b` copies what is made for `a`, which copies from outside.
    await trial.create(AppKind, app('a', { text: 'source' }))
    await trial.create(AppKind, app('b', { text: 'a' }))
    await trial.settle()
    expect((await read(trial.client, ConfigMap, 'b'))['data']).toEqual({ value: 'none' })
    await trial.create(ConfigMap, configMap('source', { value: '1' }))
    await trial.settle()
    expect((await read(trial.client, ConfigMap, 'a'))['data']).toEqual({ value: '1' })
    expect((await read(trial.client, ConfigMap, 'b'))['data']).toEqual({ value: '1' })
    const { sent } = since(trial)
    await trial.settle(60_000)
    expect(sent()).toEqual([])
    await trial.close()
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
        defineController({ for: AppKind, resources: [part] }),
        defineController({ for: Part, resources: [data], finalize: () => 'done' }),
      ],
    })
    const trial = await openTestEnvironment(operator)
    await trial.create(AppKind, app('a', { text: 'one' }))
    await trial.settle()
    expect((await read(trial.client, ConfigMap, 'of-a'))['data']).toEqual({ text: 'one' })
    // And what the second reports comes back to the first.
    expect((await conditionsOf(trial.client, 'a'))['Ready']?.status).toBe('True')
    await trial.client.patch(AppKind, ref, { spec: { text: 'two' } }, { type: 'merge' })
    await trial.settle()
    expect((await read(trial.client, ConfigMap, 'of-a'))['data']).toEqual({ text: 'two' })
    await trial.client.delete(AppKind, ref)
    await trial.settle()
    expect(await exists(trial.client, ConfigMap, 'of-a')).toBe(false)
    const { sent } = since(trial)
    await trial.settle(60_000)
    expect(sent()).toEqual([])
    await trial.close()
  })

  it('but its own writes do not wake the reconcile that made them', async () => {
    const trial = await tryApp({ resources: [copy], status: ({ own }) => ({ seen: own(copy)?.data?.['value'] ?? '' }) })
    await trial.create(AppKind, app('a', { text: 'source' }))
    await trial.settle()
    expect(trial.ledgers).toHaveLength(1)
    await trial.close()
  })
})

describe('kinds that come and go', () => {
  const Extra = typedResourceOf<UntypedObject>('extra.example.com/v1', 'Extra', { plural: 'extras', namespaced: true })
  const crds = typedResourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
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

  it('what needs a kind waits for it, is made when it appears, and is done without when it goes', async () => {
    const trial = await tryApp({ resources: [extra] })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect((await conditionsOf(trial.client, 'a'))['Ready']?.status).toBe('True')
    for (let round = 0; round < 2; round++) {
      await trial.create(crds, crd)
      await trial.settle(60_000)
      expect((await read(trial.client, Extra, 'a'))['spec']).toEqual({ text: 'hello' })
      expect((await conditionsOf(trial.client, 'a'))['Ready']?.status).toBe('True')
      await trial.client.delete(crds, { name: 'extras.extra.example.com' })
      await trial.settle(60_000)
      expect((await conditionsOf(trial.client, 'a'))['Ready']?.status).toBe('True')
    }
    // Its objects may be seen to go before it is: one attempt to put them back is refused.
    const failures = trial.ledgers.flatMap(({ failure }) => (failure ? [failure.message] : []))
    expect(failures.filter((message) => !message.includes('serves no such resource'))).toEqual([])
    expect(failures.length).toBeLessThanOrEqual(2)
    await trial.close()
  })

  it('a CR kind that is installed later is reconciled then', async () => {
    const trial = await tryApp({ resources: [copy] }, { bare: true })
    await trial.settle()
    await trial.install()
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect(await exists(trial.client, ConfigMap, 'a')).toBe(true)
    expect(trial.ledgers.filter(({ failure }) => failure)).toEqual([])
    await trial.close()
  })

  it('a CR kind that goes and comes again begins anew', async () => {
    const trial = await tryApp({ resources: [copy] })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    await trial.client.delete(crds, { name: 'apps.test.example.com' })
    await trial.settle(60_000)
    expect(await exists(trial.client, ConfigMap, 'a')).toBe(false)
    await trial.install()
    await trial.create(AppKind, app('a', { text: 'x' }))
    await trial.settle(600_000)
    expect(await exists(trial.client, ConfigMap, 'a')).toBe(true)
    await trial.close()
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

  it('come in waves, wait for what is not ready, and say for what', async () => {
    const trial = await tryApp({ resources: [third, second, first] })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect(operations(trial.ledgers)).toEqual(['created first', 'created second', 'waiting third', 'statusWritten cr'])
    const waiting = await conditionsOf(trial.client, 'a')
    expect(waiting['Reconciled']).toMatchObject({ status: 'False', reason: 'Waiting' })
    expect(waiting['Reconciled']?.message).toContain('third waits for second: somebody to say that it is ready')
    await trial.client.patch(
      Secret,
      { name: 'second', namespace: 'default' },
      { metadata: { annotations: { ready: 'yes' } } },
      { type: 'merge' },
    )
    await trial.settle()
    expect((await conditionsOf(trial.client, 'a'))['Reconciled']?.message).toContain('third waits for a larger size')
    await trial.client.patch(AppKind, ref, { spec: { size: 2 } }, { type: 'merge' })
    await trial.settle()
    expect(await exists(trial.client, ConfigMap, 'third')).toBe(true)
    expect((await conditionsOf(trial.client, 'a'))['Ready']?.status).toBe('True')
    // What may not be written any more stays as it is.
    await trial.client.patch(AppKind, ref, { spec: { size: 1 } }, { type: 'merge' })
    await trial.settle()
    expect(await exists(trial.client, ConfigMap, 'third')).toBe(true)
    await trial.close()
  })

  it('may form a chain of any length', async () => {
    const chain: ReturnType<typeof defineDependent<App, ConfigMap>>[] = []
    for (let at = 0; at < 40; at++) {
      const id = `n${at}`
      chain.push(defineDependent({ for: AppKind, kind: ConfigMap, id, name: () => id, dependsOn: chain.slice(-1) }))
    }
    const trial = await tryApp({ resources: chain })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect(await exists(trial.client, ConfigMap, 'n39')).toBe(true)
    expect((await conditionsOf(trial.client, 'a'))['Ready']?.status).toBe('True')
    await trial.close()
  })

  it('a failed one keeps back what needs it and nothing else', async () => {
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
    const trial = await tryApp({ resources: [failing, behind, beside] })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect(await exists(trial.client, Secret, 'beside')).toBe(true)
    expect(await exists(trial.client, Secret, 'behind')).toBe(false)
    await trial.close()
  })

  it('a question of an author that throws is a failure of that resource alone', async () => {
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
    const trial = await tryApp({ resources: [throwing, beside] })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect(await exists(trial.client, Secret, 'beside')).toBe(true)
    expect((await conditionsOf(trial.client, 'a'))['Reconciled']?.message).toBe('Updater, throwing: oh no')
    await trial.close()
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
    const trial = await tryApp({ resources: [many], maxCreations })
    await trial.create(AppKind, app('a', { size: 7 }))
    await trial.settle(20_000)
    const counts = trial.ledgers.map(({ entries }) => entries.filter(({ operation }) => operation === 'created').length)
    const full = Math.floor(7 / maxCreations)
    const expected = [
      ...Array.from({ length: full }, () => maxCreations),
      ...(7 % maxCreations ? [7 % maxCreations] : []),
    ]
    expect(counts.filter((count) => count > 0)).toEqual(expected)
    expect((await conditionsOf(trial.client, 'a'))['Reconciled']?.status).toBe('True')
    const { sent } = since(trial)
    await trial.settle(60_000)
    expect(sent()).toEqual([])
    await trial.close()
  })
})

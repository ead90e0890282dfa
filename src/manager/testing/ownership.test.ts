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
} from '../../../test/app-operator.ts'
import { configMap } from '../../../test/embedded.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ClusterRole, ConfigMap, Deployment, Namespace, Pod, Secret } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineDependent, type Policy } from '../../operator/dependent/dependent.ts'
import { openTestEnvironment, type TestEnvironment } from './test-environment.ts'

const ref = { name: 'a', namespace: 'default' }
const data = ({ cr }: { readonly cr: App }): ConfigMap['data'] => ({ text: cr.spec.text })

function config(policy: Policy, name = 'shared') {
  return defineDependent({
    for: AppKind,
    kind: ConfigMap,
    policy,
    name: () => name,
    fromCR: (at) => ({ data: data(at) }),
  })
}

const foreign = configMap('shared', { theirs: 'x' }, { labels: { team: 'blue' } })
describe('an existing object that no operator here owns', () => {
  it('own: is an error that names it, and nothing is written', async () => {
    const testEnv = await openAppEnvironment({ dependents: [config('own')] })
    const before = await testEnv.create(ConfigMap, foreign)
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const { Reconciled, Stalled } = await conditionsOf(testEnv.client, 'a')
    expect(Reconciled).toMatchObject({ status: 'False', reason: 'NotOurs' })
    expect(Reconciled?.message).toContain('ConfigMap default/shared')
    expect(Stalled?.status).toBe('True')
    expect(await read(testEnv.client, ConfigMap, 'shared')).toEqual(before)
    // It waits for a change; when the other one goes, it is made.
    await testEnv.client.delete(ConfigMap, { name: 'shared', namespace: 'default' })
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'shared'))['data']).toEqual({ text: 'hello' })
    const after = await conditionsOf(testEnv.client, 'a')
    expect(after['Reconciled']?.status).toBe('True')
    expect(after).not.toHaveProperty('Stalled')
    await testEnv.close()
  })

  it('adopt: becomes ours and keeps the fields of other managers', async () => {
    const testEnv = await openAppEnvironment({ dependents: [config('adopt')] })
    const { metadata } = await testEnv.create(ConfigMap, foreign)
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const is = await read(testEnv.client, ConfigMap, 'shared')
    expect(is.metadata).toMatchObject({
      uid: metadata.uid!,
      labels: { team: 'blue' },
      ownerReferences: [{ name: 'a' }],
    })
    expect(is['data']).toEqual({ theirs: 'x', text: 'hello' })
    expect(operations(testEnv.ledgers)).toEqual(['adopted configMap', 'statusWritten cr'])
    await testEnv.close()
  })

  it.each(['ignore', 'create-only'] as const)('%s: is used unchanged', async (policy) => {
    const testEnv = await openAppEnvironment({ dependents: [config(policy)] })
    const before = await testEnv.create(ConfigMap, foreign)
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await read(testEnv.client, ConfigMap, 'shared')).toEqual(before)
    expect((await conditionsOf(testEnv.client, 'a'))['Ready']?.status).toBe('True')
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(await exists(testEnv.client, ConfigMap, 'shared')).toBe(true)
    await testEnv.close()
  })

  it.each(['own', 'adopt'] as const)('%s: is never taken from another controller', async (policy) => {
    const testEnv = await openAppEnvironment({ dependents: [config(policy)] })
    const { metadata } = await testEnv.create(ConfigMap, configMap('their-owner'))
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'their-owner', uid: metadata.uid!, controller: true }
    const before = await testEnv.create(ConfigMap, configMap('shared', { theirs: 'x' }, { ownerReferences: [owner] }))
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await read(testEnv.client, ConfigMap, 'shared')).toEqual(before)
    expect((await conditionsOf(testEnv.client, 'a'))['Reconciled']?.message).toContain('ConfigMap their-owner')
    await testEnv.close()
  })

  it('is not adopted twice: the second operator reports the owner', async () => {
    const roles = defineDependent({
      for: AppKind,
      kind: ClusterRole,
      policy: 'adopt',
      name: () => 'shared',
      fromCR: ({ cr }) => ({ metadata: { labels: { for: cr.metadata.name } } }),
    })
    const testEnv = await openAppEnvironment({ dependents: [roles] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    await testEnv.create(AppKind, app('b'))
    await testEnv.settle()
    const { writes } = since(testEnv)
    await testEnv.settle(60_000)
    expect(writes()).toEqual([])
    expect((await read(testEnv.client, ClusterRole, 'shared')).metadata.labels).toMatchObject({ for: 'a' })
    expect((await conditionsOf(testEnv.client, 'b'))['Reconciled']?.reason).toBe('NotOurs')
    await testEnv.close()
  })
})

describe('create-only', () => {
  it('is written once, not corrected, and recreated when it is deleted', async () => {
    const testEnv = await openAppEnvironment({ dependents: [config('create-only')] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const shared = { name: 'shared', namespace: 'default' }
    await testEnv.client.patch(ConfigMap, shared, { data: { text: 'mine' } }, { type: 'merge' })
    await testEnv.client.patch(AppKind, ref, { spec: { text: 'new' } }, { type: 'merge' })
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'shared'))['data']).toEqual({ text: 'mine' })
    await testEnv.client.delete(ConfigMap, shared)
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'shared'))['data']).toEqual({ text: 'new' })
    await testEnv.close()
  })
})

describe('names', () => {
  it('an object of the same name that another client recreated is not ours', async () => {
    const testEnv = await openAppEnvironment({ dependents: [config('own')] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    await testEnv.stop()
    await testEnv.client.delete(ConfigMap, { name: 'shared', namespace: 'default' })
    const before = await testEnv.create(ConfigMap, foreign)
    await testEnv.start()
    await testEnv.settle()
    expect(await read(testEnv.client, ConfigMap, 'shared')).toEqual(before)
    await testEnv.close()
  })

  it('of a recreated CR: waits until the dependents of the old one are gone', async () => {
    const testEnv = await openAppEnvironment({ dependents: [config('own')] })
    const { metadata } = await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    await testEnv.stop()
    await testEnv.client.delete(AppKind, ref)
    const second = await testEnv.create(AppKind, app('a', { text: 'second' }))
    expect(second.metadata.uid).not.toBe(metadata.uid)
    await testEnv.start()
    await testEnv.settle(600_000)
    const { data: is, metadata: meta } = await read(testEnv.client, ConfigMap, 'shared')
    expect(is).toEqual({ text: 'second' })
    expect(meta.ownerReferences?.map(({ uid }) => uid)).toEqual([second.metadata.uid])
    await testEnv.close()
  })

  it('two dependents with the same object are reported, and neither is written', async () => {
    const twin = defineDependent({ for: AppKind, kind: ConfigMap, id: 'twin', name: () => 'shared' })
    const testEnv = await openAppEnvironment({ dependents: [config('own'), twin] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const { Reconciled } = await conditionsOf(testEnv.client, 'a')
    expect(Reconciled).toMatchObject({ reason: 'InvalidDependent' })
    expect(Reconciled?.message).toContain('twin and configMap are both ConfigMap shared')
    expect(await exists(testEnv.client, ConfigMap, 'shared')).toBe(false)
    await testEnv.close()
  })

  it('two CRs with the same dependent: the first keeps it, the second reports that', async () => {
    const testEnv = await openAppEnvironment({ dependents: [config('own')] })
    await testEnv.create(AppKind, app('a', { text: 'first' }))
    await testEnv.settle()
    await testEnv.create(AppKind, app('b', { text: 'second' }))
    await testEnv.settle(60_000)
    expect((await read(testEnv.client, ConfigMap, 'shared'))['data']).toEqual({ text: 'first' })
    expect((await conditionsOf(testEnv.client, 'b'))['Reconciled']?.message).toContain('belongs to App a')
    await testEnv.close()
  })
})

describe('an object that an owner reference cannot express is tracked by a label', () => {
  const role = defineDependent({
    for: AppKind,
    kind: ClusterRole,
    name: ({ cr }) => `app-${cr.metadata.name}`,
    initial: { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
    fromCR: ({ cr }) => ({ metadata: { labels: { text: cr.spec.text } } }),
  })
  const elsewhere = defineDependent({
    for: AppKind,
    kind: ConfigMap,
    namespace: () => 'other',
    name: ({ cr }) => `app-${cr.metadata.name}`,
    fromCR: (at) => ({ data: data(at) }),
  })
  const namespace: UntypedObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } }

  async function open() {
    const testEnv = await openAppEnvironment({ dependents: [role, elsewhere] })
    await testEnv.create(Namespace, namespace)
    return testEnv
  }

  it('has no owner reference, and its CR has a finalizer before it is created', async () => {
    const testEnv = await open()
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const { metadata } = await read(testEnv.client, AppKind, 'a')
    expect(metadata.finalizers).toEqual(['apps.test.example.com/kit'])
    expect(operations(testEnv.ledgers)[0]).toBe('finalizerAdded cr')
    const made = await read(testEnv.client, ClusterRole, 'app-a')
    expect(made.metadata.ownerReferences).toBeUndefined()
    expect(made.metadata.labels).toMatchObject({ 'muster.dev/owner': metadata.uid! })
    await testEnv.close()
  })

  it('is deleted with its CR; those of others are not', async () => {
    const testEnv = await open()
    await testEnv.create(AppKind, app('a'))
    await testEnv.create(AppKind, app('b'))
    await testEnv.settle()
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(await exists(testEnv.client, AppKind, 'a')).toBe(false)
    expect(await exists(testEnv.client, ClusterRole, 'app-a')).toBe(false)
    expect(await exists(testEnv.client, ConfigMap, 'app-a', 'other')).toBe(false)
    expect(await exists(testEnv.client, ClusterRole, 'app-b')).toBe(true)
    expect(await exists(testEnv.client, ConfigMap, 'app-b', 'other')).toBe(true)
    await testEnv.close()
  })

  it('keeps its CR while it has finalizers', async () => {
    const testEnv = await open()
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const at = { name: 'app-a', namespace: 'other' }
    const finalizers = ['example.com/slow']
    await testEnv.client.patch(ConfigMap, at, { metadata: { finalizers } }, { type: 'merge' })
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle(60_000)
    expect(await exists(testEnv.client, AppKind, 'a')).toBe(true)
    expect((await conditionsOf(testEnv.client, 'a'))['Reconciled']?.message).toContain('still being deleted')
    await testEnv.client.patch(ConfigMap, at, { metadata: { finalizers: null } }, { type: 'merge' })
    await testEnv.settle()
    expect(await exists(testEnv.client, AppKind, 'a')).toBe(false)
    await testEnv.close()
  })

  it('releases its CR when a delete returns an object without finalizers', async () => {
    const pod = defineDependent({
      for: AppKind,
      kind: Pod,
      namespace: () => 'other',
      initial: { spec: { containers: [{ name: 'app', image: 'app:1' }] } },
    })
    const testEnv = await openAppEnvironment({ dependents: [pod] })
    await testEnv.create(Namespace, namespace)
    await testEnv
      .create(
        { ...Pod, kind: 'ServiceAccount', plural: 'serviceaccounts' },
        {
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: 'default', namespace: 'other' },
        },
      )
      .catch(() => undefined)
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await exists(testEnv.client, Pod, 'a', 'other')).toBe(true)
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(await exists(testEnv.client, Pod, 'a', 'other')).toBe(false)
    expect(await exists(testEnv.client, AppKind, 'a')).toBe(false)
    await testEnv.close()
  })

  it('is labelled again when another client removed the label, and is still deleted with its CR', async () => {
    const testEnv = await open()
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const patch = { metadata: { labels: { 'muster.dev/owner': null } } }
    await testEnv.client.patch(ClusterRole, { name: 'app-a' }, patch, { type: 'merge' })
    await testEnv.settle()
    expect((await read(testEnv.client, ClusterRole, 'app-a')).metadata.labels).toHaveProperty(['muster.dev/owner'])
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(await exists(testEnv.client, ClusterRole, 'app-a')).toBe(false)
    await testEnv.close()
  })

  it('of a free-style controller is deleted with its CR, too', async () => {
    const testEnv = await openAppEnvironment({
      writes: [ClusterRole, ConfigMap],
      reconcile: ({ cr }) => ({
        objects: [
          { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'free' } },
          { ...configMap('free', { text: cr.spec.text }), metadata: { name: 'free', namespace: 'other' } },
          { ...configMap('near', { text: cr.spec.text }), metadata: { name: 'near', namespace: 'default' } },
        ].slice(0, cr.spec.size),
      }),
    })
    await testEnv.create(Namespace, namespace)
    await testEnv.create(AppKind, app('a', { size: 3 }))
    await testEnv.settle()
    expect(operations(testEnv.ledgers)[0]).toBe('finalizerAdded cr')
    expect(await exists(testEnv.client, ConfigMap, 'near')).toBe(true)
    await testEnv.client.patch(AppKind, ref, { spec: { size: 1 } }, { type: 'merge' })
    await testEnv.settle()
    expect(await exists(testEnv.client, ConfigMap, 'near')).toBe(false)
    expect(await exists(testEnv.client, ConfigMap, 'free', 'other')).toBe(false)
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(await exists(testEnv.client, ClusterRole, 'free')).toBe(false)
    expect(await exists(testEnv.client, AppKind, 'a')).toBe(false)
    await testEnv.close()
  })
})

describe('free style', () => {
  it('distinguishes two objects of one name in two namespaces', async () => {
    const labels = { app: 'a' }
    const deployment = (namespace: string): UntypedObject => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'same', namespace },
      spec: {
        replicas: namespace === 'other' ? 0 : 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'app', image: 'app:1' }] } },
      },
    })
    const testEnv = await openAppEnvironment({
      writes: [Deployment],
      reconcile: () => ({ objects: [deployment('default'), deployment('other')] }),
    })
    await testEnv.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect([...(testEnv.ledgers.at(-1)?.health.keys() ?? [])]).toEqual(['Deployment/same', 'Deployment/other/same'])
    await testEnv.close()
  })
})

describe('owned: false', () => {
  it('outlives its CR, is never pruned, and is maintained by the next CR of that name', async () => {
    const kept = defineDependent({ for: AppKind, kind: ConfigMap, owned: false, fromCR: (at) => ({ data: data(at) }) })
    const testEnv = await openAppEnvironment({ dependents: [kept] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'a')).metadata.ownerReferences).toBeUndefined()
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(await exists(testEnv.client, ConfigMap, 'a')).toBe(true)
    await testEnv.create(AppKind, app('a', { text: 'again' }))
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'a'))['data']).toEqual({ text: 'again' })
    await testEnv.close()
  })

  it('two CRs with different content do not overwrite each other for ever', async () => {
    const kept = defineDependent({
      for: AppKind,
      kind: ConfigMap,
      owned: false,
      name: () => 'shared',
      fromCR: (at) => ({ data: data(at) }),
    })
    const testEnv = await openAppEnvironment({ dependents: [kept] })
    await testEnv.create(AppKind, app('a', { text: 'one' }))
    await testEnv.create(AppKind, app('b', { text: 'two' }))
    await testEnv.settle()
    const { writes } = since(testEnv)
    await testEnv.settle(60_000)
    expect(writes().length).toBeLessThan(10)
    await testEnv.close()
  })
})

describe('pruning', () => {
  const bulk = defineDependent({
    for: AppKind,
    kind: ConfigMap,
    id: 'part',
    each: ({ cr }) => cr.spec.parts ?? {},
    fromCR: ({ key, item }) => ({ data: { [key]: item } }),
  })
  const names = async (testEnv: TestEnvironment): Promise<readonly string[]> => {
    const { items } = await testEnv.client.list(ConfigMap, { namespace: 'default' })
    return items.map(({ metadata }) => metadata.name).toSorted()
  }

  it('one of N that is no longer returned is deleted, the others stay unchanged', async () => {
    const testEnv = await openAppEnvironment({ dependents: [bulk] })
    await testEnv.create(AppKind, app('a', { parts: { x: '1', y: '2', z: '3' } }))
    await testEnv.settle()
    const mine = ['a-x', 'a-y', 'a-z']
    expect((await names(testEnv)).filter((name) => name.startsWith('a-'))).toEqual(mine)
    const { writes } = since(testEnv)
    await testEnv.client.patch(AppKind, ref, { spec: { parts: { y: null } } }, { type: 'merge' })
    await testEnv.settle()
    expect((await names(testEnv)).filter((name) => name.startsWith('a-'))).toEqual(['a-x', 'a-z'])
    expect(writes().filter((write) => write.includes('/configmaps/'))).toEqual([
      'DELETE /api/v1/namespaces/default/configmaps/a-y',
    ])
    await testEnv.close()
  })

  it('never deletes objects of other clients, even if they have the CR as owner', async () => {
    const testEnv = await openAppEnvironment({ dependents: [bulk] })
    const { metadata } = await testEnv.create(AppKind, app('a', { parts: { x: '1' } }))
    const ownerReferences = [
      { apiVersion: 'test.example.com/v1', kind: 'App', name: 'a', uid: metadata.uid!, controller: true },
    ]
    await testEnv.create(ConfigMap, configMap('theirs', {}, { ownerReferences }))
    const mark = { 'muster.dev/desired': 'kit.app:0123' }
    await testEnv.create(ConfigMap, configMap('marked', {}, { annotations: mark }))
    await testEnv.settle()
    await testEnv.client.patch(AppKind, ref, { spec: { parts: null } }, { type: 'merge' })
    await testEnv.settle()
    const left = await names(testEnv)
    expect(left).toContain('theirs')
    expect(left).toContain('marked')
    expect(left).not.toContain('a-x')
    await testEnv.close()
  })

  it('deletes an inactive dependent, and recreates it later', async () => {
    const secret = defineDependent({
      for: AppKind,
      kind: Secret,
      activeWhen: ({ cr }) => cr.spec.size > 1,
      initial: { stringData: { a: 'b' } },
    })
    const testEnv = await openAppEnvironment({ dependents: [secret] })
    await testEnv.create(AppKind, app('a', { size: 2 }))
    await testEnv.settle()
    for (const size of [1, 2, 1]) {
      await testEnv.client.patch(AppKind, ref, { spec: { size } }, { type: 'merge' })
      await testEnv.settle()
      expect(await exists(testEnv.client, Secret, 'a')).toBe(size > 1)
    }
    await testEnv.close()
  })

  it('never happens after a failure', async () => {
    const fragile = defineDependent({
      for: AppKind,
      kind: Secret,
      fromCR: ({ cr }) => {
        if (cr.spec.text === 'bad') throw new Error('oh')
        return {}
      },
    })
    const testEnv = await openAppEnvironment({ dependents: [bulk, fragile] })
    await testEnv.create(AppKind, app('a', { parts: { x: '1' } }))
    await testEnv.settle()
    await testEnv.client.patch(AppKind, ref, { spec: { text: 'bad', parts: null } }, { type: 'merge' })
    await testEnv.settle(60_000)
    expect(await exists(testEnv.client, ConfigMap, 'a-x')).toBe(true)
    await testEnv.client.patch(AppKind, ref, { spec: { text: 'good' } }, { type: 'merge' })
    await testEnv.settle()
    expect(await exists(testEnv.client, ConfigMap, 'a-x')).toBe(false)
    await testEnv.close()
  })

  it.each([null, ''])('happens even where another actor removed the annotation: %j', async (mark) => {
    const testEnv = await openAppEnvironment({ dependents: [bulk] })
    await testEnv.create(AppKind, app('a', { parts: { x: '1' } }))
    await testEnv.settle()
    await testEnv.stop()
    const annotations = { 'muster.dev/desired': mark }
    await testEnv.client.patch(ConfigMap, { ...ref, name: 'a-x' }, { metadata: { annotations } }, { type: 'merge' })
    await testEnv.client.patch(AppKind, ref, { spec: { parts: null } }, { type: 'merge' })
    await testEnv.restart()
    await testEnv.settle()
    expect(await names(testEnv)).not.toContain('a-x')
    await testEnv.close()
  })

  it('keeps objects of the same kind that another controller of the operator created for its own CRs', async () => {
    const OtherKind = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Other', spec: {} })
    const operator = defineOperator({
      name: 'kit',
      controllers: [
        defineController({ for: AppKind, dependents: [bulk] }),
        defineController({
          for: OtherKind,
          dependents: [defineDependent({ for: OtherKind, kind: ConfigMap, name: () => 'of-other' })],
        }),
      ],
    })
    const testEnv = await openTestEnvironment(operator)
    await testEnv.create(AppKind, app('a', { parts: { x: '1' } }))
    await testEnv.create(OtherKind, {
      apiVersion: 'test.example.com/v1',
      kind: 'Other',
      metadata: { name: 'a', namespace: 'default' },
      spec: {},
    })
    await testEnv.settle()
    await testEnv.client.patch(AppKind, ref, { spec: { parts: null } }, { type: 'merge' })
    await testEnv.settle()
    const left = await names(testEnv)
    expect(left).toContain('of-other')
    expect(left).not.toContain('a-x')
    await testEnv.close()
  })
})

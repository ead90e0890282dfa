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
} from '../../../test/kit.ts'
import { configMap } from '../../../test/embedded.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { defineKind } from '../../operator/kind.ts'
import { ClusterRole, ConfigMap, Deployment, Namespace, Pod, Secret } from '../../operator/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineDependent, type Policy } from '../../operator/dependent.ts'
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
describe('an object that is there already and is nobody’s of ours', () => {
  it('own: is an error that names it, and nothing is written', async () => {
    const trial = await tryApp({ resources: [config('own')] })
    const before = await trial.create(ConfigMap, foreign)
    await trial.create(AppKind, app('a'))
    await trial.settle()
    const { Reconciled, Stalled } = await conditionsOf(trial.client, 'a')
    expect(Reconciled).toMatchObject({ status: 'False', reason: 'NotOurs' })
    expect(Reconciled?.message).toContain('ConfigMap default/shared')
    expect(Stalled?.status).toBe('True')
    expect(await read(trial.client, ConfigMap, 'shared')).toEqual(before)
    // It waits for a change; when the other one goes, it is made.
    await trial.client.delete(ConfigMap, { name: 'shared', namespace: 'default' })
    await trial.settle()
    expect((await read(trial.client, ConfigMap, 'shared'))['data']).toEqual({ text: 'hello' })
    const after = await conditionsOf(trial.client, 'a')
    expect(after['Reconciled']?.status).toBe('True')
    expect(after).not.toHaveProperty('Stalled')
    await trial.close()
  })

  it('adopt: becomes ours and keeps what others wrote in it', async () => {
    const trial = await tryApp({ resources: [config('adopt')] })
    const { metadata } = await trial.create(ConfigMap, foreign)
    await trial.create(AppKind, app('a'))
    await trial.settle()
    const is = await read(trial.client, ConfigMap, 'shared')
    expect(is.metadata).toMatchObject({
      uid: metadata.uid!,
      labels: { team: 'blue' },
      ownerReferences: [{ name: 'a' }],
    })
    expect(is['data']).toEqual({ theirs: 'x', text: 'hello' })
    expect(operations(trial.ledgers)).toEqual(['adopted configMap', 'statusWritten cr'])
    await trial.close()
  })

  it.each(['ignore', 'create-only'] as const)('%s: is used as it is', async (policy) => {
    const trial = await tryApp({ resources: [config(policy)] })
    const before = await trial.create(ConfigMap, foreign)
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect(await read(trial.client, ConfigMap, 'shared')).toEqual(before)
    expect((await conditionsOf(trial.client, 'a'))['Ready']?.status).toBe('True')
    await trial.client.delete(AppKind, ref)
    await trial.settle()
    expect(await exists(trial.client, ConfigMap, 'shared')).toBe(true)
    await trial.close()
  })

  it.each(['own', 'adopt'] as const)('%s: is never taken from another controller', async (policy) => {
    const trial = await tryApp({ resources: [config(policy)] })
    const { metadata } = await trial.create(ConfigMap, configMap('their-owner'))
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'their-owner', uid: metadata.uid!, controller: true }
    const before = await trial.create(ConfigMap, configMap('shared', { theirs: 'x' }, { ownerReferences: [owner] }))
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect(await read(trial.client, ConfigMap, 'shared')).toEqual(before)
    expect((await conditionsOf(trial.client, 'a'))['Reconciled']?.message).toContain('ConfigMap their-owner')
    await trial.close()
  })

  it('is not taken by two that want to adopt it: the second is told whose it is', async () => {
    const roles = defineDependent({
      for: AppKind,
      kind: ClusterRole,
      policy: 'adopt',
      name: () => 'shared',
      fromCR: ({ cr }) => ({ metadata: { labels: { for: cr.metadata.name! } } }),
    })
    const trial = await tryApp({ resources: [roles] })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    await trial.create(AppKind, app('b'))
    await trial.settle()
    const { writes } = since(trial)
    await trial.settle(60_000)
    expect(writes()).toEqual([])
    expect((await read(trial.client, ClusterRole, 'shared')).metadata.labels).toMatchObject({ for: 'a' })
    expect((await conditionsOf(trial.client, 'b'))['Reconciled']?.reason).toBe('NotOurs')
    await trial.close()
  })
})

describe('create-only', () => {
  it('is written once, left to itself, and made again when it is gone', async () => {
    const trial = await tryApp({ resources: [config('create-only')] })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    const shared = { name: 'shared', namespace: 'default' }
    await trial.client.patch(ConfigMap, shared, { data: { text: 'mine' } }, { type: 'merge' })
    await trial.client.patch(AppKind, ref, { spec: { text: 'new' } }, { type: 'merge' })
    await trial.settle()
    expect((await read(trial.client, ConfigMap, 'shared'))['data']).toEqual({ text: 'mine' })
    await trial.client.delete(ConfigMap, shared)
    await trial.settle()
    expect((await read(trial.client, ConfigMap, 'shared'))['data']).toEqual({ text: 'new' })
    await trial.close()
  })
})

describe('names', () => {
  it('an object of the same name that was made anew by somebody is not ours', async () => {
    const trial = await tryApp({ resources: [config('own')] })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    await trial.stop()
    await trial.client.delete(ConfigMap, { name: 'shared', namespace: 'default' })
    const before = await trial.create(ConfigMap, foreign)
    await trial.start()
    await trial.settle()
    expect(await read(trial.client, ConfigMap, 'shared')).toEqual(before)
    await trial.close()
  })

  it('of a CR that was made anew, what the old one left is waited out', async () => {
    const trial = await tryApp({ resources: [config('own')] })
    const { metadata } = await trial.create(AppKind, app('a'))
    await trial.settle()
    await trial.stop()
    await trial.client.delete(AppKind, ref)
    const second = await trial.create(AppKind, app('a', { text: 'second' }))
    expect(second.metadata.uid).not.toBe(metadata.uid)
    await trial.start()
    await trial.settle(600_000)
    const { data: is, metadata: meta } = await read(trial.client, ConfigMap, 'shared')
    expect(is).toEqual({ text: 'second' })
    expect(meta.ownerReferences?.map(({ uid }) => uid)).toEqual([second.metadata.uid])
    await trial.close()
  })

  it('two resources that want the same object are told so, and neither is written', async () => {
    const twin = defineDependent({ for: AppKind, kind: ConfigMap, id: 'twin', name: () => 'shared' })
    const trial = await tryApp({ resources: [config('own'), twin] })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    const { Reconciled } = await conditionsOf(trial.client, 'a')
    expect(Reconciled).toMatchObject({ reason: 'InvalidResource' })
    expect(Reconciled?.message).toContain('twin and configMap are both ConfigMap shared')
    expect(await exists(trial.client, ConfigMap, 'shared')).toBe(false)
    await trial.close()
  })

  it('two CRs that want the same object: the first has it, the second is told', async () => {
    const trial = await tryApp({ resources: [config('own')] })
    await trial.create(AppKind, app('a', { text: 'first' }))
    await trial.settle()
    await trial.create(AppKind, app('b', { text: 'second' }))
    await trial.settle(60_000)
    expect((await read(trial.client, ConfigMap, 'shared'))['data']).toEqual({ text: 'first' })
    expect((await conditionsOf(trial.client, 'b'))['Reconciled']?.message).toContain('belongs to App a')
    await trial.close()
  })
})

describe('what an owner reference cannot reach is known by a label', () => {
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
    const trial = await tryApp({ resources: [role, elsewhere] })
    await trial.create(Namespace, namespace)
    return trial
  }

  it('has no owner reference, and its CR a finalizer before it is made', async () => {
    const trial = await open()
    await trial.create(AppKind, app('a'))
    await trial.settle()
    const { metadata } = await read(trial.client, AppKind, 'a')
    expect(metadata.finalizers).toEqual(['apps.test.example.com/kit'])
    expect(operations(trial.ledgers)[0]).toBe('finalizerAdded cr')
    const made = await read(trial.client, ClusterRole, 'app-a')
    expect(made.metadata.ownerReferences).toBeUndefined()
    expect(made.metadata.labels).toMatchObject({ 'muster.dev/owner': metadata.uid! })
    await trial.close()
  })

  it('is deleted with its CR, others’ are not', async () => {
    const trial = await open()
    await trial.create(AppKind, app('a'))
    await trial.create(AppKind, app('b'))
    await trial.settle()
    await trial.client.delete(AppKind, ref)
    await trial.settle()
    expect(await exists(trial.client, AppKind, 'a')).toBe(false)
    expect(await exists(trial.client, ClusterRole, 'app-a')).toBe(false)
    expect(await exists(trial.client, ConfigMap, 'app-a', 'other')).toBe(false)
    expect(await exists(trial.client, ClusterRole, 'app-b')).toBe(true)
    expect(await exists(trial.client, ConfigMap, 'app-b', 'other')).toBe(true)
    await trial.close()
  })

  it('keeps its CR as long as something keeps it', async () => {
    const trial = await open()
    await trial.create(AppKind, app('a'))
    await trial.settle()
    const at = { name: 'app-a', namespace: 'other' }
    const finalizers = ['example.com/slow']
    await trial.client.patch(ConfigMap, at, { metadata: { finalizers } }, { type: 'merge' })
    await trial.client.delete(AppKind, ref)
    await trial.settle(60_000)
    expect(await exists(trial.client, AppKind, 'a')).toBe(true)
    expect((await conditionsOf(trial.client, 'a'))['Reconciled']?.message).toContain('still being deleted')
    await trial.client.patch(ConfigMap, at, { metadata: { finalizers: null } }, { type: 'merge' })
    await trial.settle()
    expect(await exists(trial.client, AppKind, 'a')).toBe(false)
    await trial.close()
  })

  it('lets its CR go when the server answers a delete with an object that is gone', async () => {
    const pod = defineDependent({
      for: AppKind,
      kind: Pod,
      namespace: () => 'other',
      initial: { spec: { containers: [{ name: 'app', image: 'app:1' }] } },
    })
    const trial = await tryApp({ resources: [pod] })
    await trial.create(Namespace, namespace)
    await trial
      .create(
        { ...Pod, kind: 'ServiceAccount', plural: 'serviceaccounts' },
        {
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: 'default', namespace: 'other' },
        },
      )
      .catch(() => undefined)
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect(await exists(trial.client, Pod, 'a', 'other')).toBe(true)
    await trial.client.delete(AppKind, ref)
    await trial.settle()
    expect(await exists(trial.client, Pod, 'a', 'other')).toBe(false)
    expect(await exists(trial.client, AppKind, 'a')).toBe(false)
    await trial.close()
  })

  it('is labelled again when somebody took the label away, and still goes with its CR', async () => {
    const trial = await open()
    await trial.create(AppKind, app('a'))
    await trial.settle()
    const patch = { metadata: { labels: { 'muster.dev/owner': null } } }
    await trial.client.patch(ClusterRole, { name: 'app-a' }, patch, { type: 'merge' })
    await trial.settle()
    expect((await read(trial.client, ClusterRole, 'app-a')).metadata.labels).toHaveProperty(['muster.dev/owner'])
    await trial.client.delete(AppKind, ref)
    await trial.settle()
    expect(await exists(trial.client, ClusterRole, 'app-a')).toBe(false)
    await trial.close()
  })

  it('of a free-style controller goes with its CR, too', async () => {
    const trial = await tryApp({
      writes: [ClusterRole, ConfigMap],
      reconcile: ({ cr }) => ({
        objects: [
          { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'free' } },
          { ...configMap('free', { text: cr.spec.text }), metadata: { name: 'free', namespace: 'other' } },
          { ...configMap('near', { text: cr.spec.text }), metadata: { name: 'near', namespace: 'default' } },
        ].slice(0, cr.spec.size),
      }),
    })
    await trial.create(Namespace, namespace)
    await trial.create(AppKind, app('a', { size: 3 }))
    await trial.settle()
    expect(operations(trial.ledgers)[0]).toBe('finalizerAdded cr')
    expect(await exists(trial.client, ConfigMap, 'near')).toBe(true)
    await trial.client.patch(AppKind, ref, { spec: { size: 1 } }, { type: 'merge' })
    await trial.settle()
    expect(await exists(trial.client, ConfigMap, 'near')).toBe(false)
    expect(await exists(trial.client, ConfigMap, 'free', 'other')).toBe(false)
    await trial.client.delete(AppKind, ref)
    await trial.settle()
    expect(await exists(trial.client, ClusterRole, 'free')).toBe(false)
    expect(await exists(trial.client, AppKind, 'a')).toBe(false)
    await trial.close()
  })
})

describe('free style', () => {
  it('tells two objects of one name in two namespaces apart', async () => {
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
    const trial = await tryApp({
      writes: [Deployment],
      reconcile: () => ({ objects: [deployment('default'), deployment('other')] }),
    })
    await trial.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect([...(trial.ledgers.at(-1)?.health.keys() ?? [])]).toEqual(['Deployment/same', 'Deployment/other/same'])
    await trial.close()
  })
})

describe('owned: false', () => {
  it('outlives its CR, is never pruned, and is kept as wanted by the next CR of that name', async () => {
    const kept = defineDependent({ for: AppKind, kind: ConfigMap, owned: false, fromCR: (at) => ({ data: data(at) }) })
    const trial = await tryApp({ resources: [kept] })
    await trial.create(AppKind, app('a'))
    await trial.settle()
    expect((await read(trial.client, ConfigMap, 'a')).metadata.ownerReferences).toBeUndefined()
    await trial.client.delete(AppKind, ref)
    await trial.settle()
    expect(await exists(trial.client, ConfigMap, 'a')).toBe(true)
    await trial.create(AppKind, app('a', { text: 'again' }))
    await trial.settle()
    expect((await read(trial.client, ConfigMap, 'a'))['data']).toEqual({ text: 'again' })
    await trial.close()
  })

  it('two CRs that want the same one differently do not write in turns for ever', async () => {
    const kept = defineDependent({
      for: AppKind,
      kind: ConfigMap,
      owned: false,
      name: () => 'shared',
      fromCR: (at) => ({ data: data(at) }),
    })
    const trial = await tryApp({ resources: [kept] })
    await trial.create(AppKind, app('a', { text: 'one' }))
    await trial.create(AppKind, app('b', { text: 'two' }))
    await trial.settle()
    const { writes } = since(trial)
    await trial.settle(60_000)
    expect(writes().length).toBeLessThan(10)
    await trial.close()
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
  const names = async (trial: TestEnvironment): Promise<readonly string[]> => {
    const { items } = await trial.client.list(ConfigMap, { namespace: 'default' })
    return items.map(({ metadata }) => metadata.name ?? '').toSorted()
  }

  it('one of N that is no longer returned goes, the others stay as they are', async () => {
    const trial = await tryApp({ resources: [bulk] })
    await trial.create(AppKind, app('a', { parts: { x: '1', y: '2', z: '3' } }))
    await trial.settle()
    const mine = ['a-x', 'a-y', 'a-z']
    expect((await names(trial)).filter((name) => name.startsWith('a-'))).toEqual(mine)
    const { writes } = since(trial)
    await trial.client.patch(AppKind, ref, { spec: { parts: { y: null } } }, { type: 'merge' })
    await trial.settle()
    expect((await names(trial)).filter((name) => name.startsWith('a-'))).toEqual(['a-x', 'a-z'])
    expect(writes().filter((write) => write.includes('/configmaps/'))).toEqual([
      'DELETE /api/v1/namespaces/default/configmaps/a-y',
    ])
    await trial.close()
  })

  it('never touches what others made, even if they say that the CR owns it', async () => {
    const trial = await tryApp({ resources: [bulk] })
    const { metadata } = await trial.create(AppKind, app('a', { parts: { x: '1' } }))
    const ownerReferences = [
      { apiVersion: 'test.example.com/v1', kind: 'App', name: 'a', uid: metadata.uid!, controller: true },
    ]
    await trial.create(ConfigMap, configMap('theirs', {}, { ownerReferences }))
    const mark = { 'muster.dev/desired': 'kit.app:0123' }
    await trial.create(ConfigMap, configMap('marked', {}, { annotations: mark }))
    await trial.settle()
    await trial.client.patch(AppKind, ref, { spec: { parts: null } }, { type: 'merge' })
    await trial.settle()
    const left = await names(trial)
    expect(left).toContain('theirs')
    expect(left).toContain('marked')
    expect(left).not.toContain('a-x')
    await trial.close()
  })

  it('takes a resource that has become inactive, and makes it again', async () => {
    const secret = defineDependent({
      for: AppKind,
      kind: Secret,
      activeWhen: ({ cr }) => cr.spec.size > 1,
      initial: { stringData: { a: 'b' } },
    })
    const trial = await tryApp({ resources: [secret] })
    await trial.create(AppKind, app('a', { size: 2 }))
    await trial.settle()
    for (const size of [1, 2, 1]) {
      await trial.client.patch(AppKind, ref, { spec: { size } }, { type: 'merge' })
      await trial.settle()
      expect(await exists(trial.client, Secret, 'a')).toBe(size > 1)
    }
    await trial.close()
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
    const trial = await tryApp({ resources: [bulk, fragile] })
    await trial.create(AppKind, app('a', { parts: { x: '1' } }))
    await trial.settle()
    await trial.client.patch(AppKind, ref, { spec: { text: 'bad', parts: null } }, { type: 'merge' })
    await trial.settle(60_000)
    expect(await exists(trial.client, ConfigMap, 'a-x')).toBe(true)
    await trial.client.patch(AppKind, ref, { spec: { text: 'good' } }, { type: 'merge' })
    await trial.settle()
    expect(await exists(trial.client, ConfigMap, 'a-x')).toBe(false)
    await trial.close()
  })

  it.each([null, ''])('goes even where another actor took its mark away: %j', async (mark) => {
    const trial = await tryApp({ resources: [bulk] })
    await trial.create(AppKind, app('a', { parts: { x: '1' } }))
    await trial.settle()
    await trial.stop()
    const annotations = { 'muster.dev/desired': mark }
    await trial.client.patch(ConfigMap, { ...ref, name: 'a-x' }, { metadata: { annotations } }, { type: 'merge' })
    await trial.client.patch(AppKind, ref, { spec: { parts: null } }, { type: 'merge' })
    await trial.restart()
    await trial.settle()
    expect(await names(trial)).not.toContain('a-x')
    await trial.close()
  })

  it('leaves alone what another controller of the operator made of the same kind for its own CRs', async () => {
    const OtherKind = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Other', spec: {} })
    const operator = defineOperator({
      name: 'kit',
      controllers: [
        defineController({ for: AppKind, resources: [bulk] }),
        defineController({
          for: OtherKind,
          resources: [defineDependent({ for: OtherKind, kind: ConfigMap, name: () => 'of-other' })],
        }),
      ],
    })
    const trial = await openTestEnvironment(operator)
    await trial.create(AppKind, app('a', { parts: { x: '1' } }))
    await trial.create(OtherKind, {
      apiVersion: 'test.example.com/v1',
      kind: 'Other',
      metadata: { name: 'a', namespace: 'default' },
      spec: {},
    })
    await trial.settle()
    await trial.client.patch(AppKind, ref, { spec: { parts: null } }, { type: 'merge' })
    await trial.settle()
    const left = await names(trial)
    expect(left).toContain('of-other')
    expect(left).not.toContain('a-x')
    await trial.close()
  })
})

import { describe, expect, it, onTestFinished } from 'vitest'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { ConfigMap, Deployment } from '../../kube/kinds.ts'
import { kindOf } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { defineController } from '../../operator/controller.ts'
import type { EmbeddedObject } from '../../operator/embedded/embedded-set.ts'
import { boolean, list, object, optional, string } from '../../operator/kind/field.ts'
import { defineKind, type DraftOf } from '../../operator/kind/kind.ts'
import { defineOperator } from '../../operator/operator.ts'
import { openTestEnvironment, type TestEnvironment, type TestEnvironmentOptions } from './test-environment.ts'

const label = 'example.com/bundle'
/** Holds the text of its objects, phase by phase. */
const Bundle = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Bundle',
  spec: {
    phases: list(string()),
    yields: optional(list(string())),
    adopts: optional(boolean()),
    drift: optional(string()),
    as: optional(string()),
    policy: optional(string()),
  },
  status: { objects: optional(list(object({ name: string(), health: string(), drifted: list(string()) }))) },
})
type Bundle = DraftOf<typeof Bundle>

const kindsOf = (texts: readonly string[]) => texts.flatMap((text) => objectsIn(text)).map(kindOf)
const objectsIn = (text: string): readonly UntypedObject[] =>
  readYamlDocuments(text).filter((each) => each !== null) as unknown as readonly UntypedObject[]

const operator = defineOperator({
  name: 'bundler',
  controllers: [
    defineController({
      for: Bundle,
      embeds: {
        label,
        objects({ cr, isFinalizing }) {
          const { phases, yields, adopts, drift, as, policy } = cr.spec
          const before = (cr.metadata.annotations?.['kinds'] ?? '').split(',').filter((kind) => kind !== '')
          const kinds = [...kindsOf(phases), ...before.map((kind) => kindOf({ apiVersion: 'v1', kind }))]
          const embedded = (one: UntypedObject): EmbeddedObject => ({
            object: one,
            yields,
            ...(adopts && { adopts: () => true }),
            policy: policy as EmbeddedObject['policy'],
          })
          return {
            holder: cr.metadata.name,
            namespace: cr.metadata.namespace,
            drift: drift as 'correct' | 'report' | undefined,
            ...(as !== undefined && { as: { namespace: cr.metadata.namespace, name: as } }),
            phases: isFinalizing
              ? []
              : phases.map((text, index) => ({ name: `${index}`, objects: objectsIn(text).map(embedded) })),
            prune: { kinds, toNothing: isFinalizing, rank: ({ kind }) => (kind === 'ConfigMap' ? 1 : 0) },
          }
        },
      },
      status: ({ embedded }) => ({
        objects: (embedded?.phases ?? []).flatMap(({ objects }) =>
          objects.map(({ name, health, drifted }) => ({ name, health: health.status, drifted: [...drifted] })),
        ),
      }),
    }),
  ],
})

const at = (name: string) => ({ name, namespace: 'default' })
const bundle = (phases: readonly string[], spec: Partial<Bundle['spec']> = {}, name = 'one'): KubeObject =>
  ({ apiVersion: 'example.com/v1', kind: 'Bundle', metadata: at(name), spec: { phases, ...spec } }) as KubeObject
const configMap = (name: string, value = 'x'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { key: ${value} }\n`
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, image: "web:1" }] } }
`
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: things.example.org }
spec:
  group: example.org
  names: { kind: Thing, plural: things, singular: thing, listKind: ThingList }
  scope: Namespaced
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } } }]
`
const thing = 'apiVersion: example.org/v1\nkind: Thing\nmetadata: { name: a }\nspec: { size: 1 }\n'
const Thing = resourceOf('example.org/v1', 'Thing', { plural: 'things', namespaced: true })

async function opened(workloads = false, wire?: TestEnvironmentOptions['wire']): Promise<TestEnvironment> {
  const testEnv = await openTestEnvironment(operator, { workloads, ...(wire && { wire }) })
  onTestFinished(() => testEnv.close())
  return testEnv
}

const condition = async ({ client }: TestEnvironment, type: string, name = 'one'): Promise<string> => {
  const { status } = await client.get(Bundle, at(name))
  const found = status?.conditions?.find((each) => each.type === type)
  return found ? `${found.status} ${found.reason}: ${found.message}` : 'absent'
}

describe('embedded objects', () => {
  it('of any kind are written in phases, watched as metadata by their label, and not written again', async () => {
    const testEnv = await opened(true)
    await testEnv.create(Bundle, bundle([definition, `${thing}---\n${deployment}`, configMap('last')]))
    await testEnv.settle(30_000)
    expect(await condition(testEnv, 'Ready')).toContain('True')
    expect(await testEnv.client.get(Thing, at('a'))).toMatchObject({
      metadata: { labels: { [label]: 'one' } },
      spec: { size: 1 },
    })
    expect(await testEnv.client.get(ConfigMap, at('last'))).toMatchObject({ data: { key: 'x' } })
    const writes = testEnv.writes.length
    await testEnv.restart()
    await testEnv.settle(30_000)
    expect(testEnv.writes.slice(writes)).toEqual([])
  })

  it('wait for the phase before', async () => {
    const testEnv = await opened()
    await testEnv.create(Bundle, bundle([deployment, configMap('last')]))
    await testEnv.settle()
    expect(await condition(testEnv, 'Reconciled')).toMatch(/^False Waiting: phase 0: Deployment default\/web/)
    await expect(testEnv.client.get(ConfigMap, at('last'))).rejects.toThrow('not found')
  })

  it('are put back when another client changes or deletes them, but for yielded fields that it took', async () => {
    const testEnv = await opened(true)
    await testEnv.create(Bundle, bundle([`${deployment}---\n${configMap('a')}`], { yields: ['/spec/replicas'] }))
    await testEnv.settle(30_000)
    const { client } = testEnv
    await client.patch(
      ConfigMap,
      at('a'),
      { data: { key: 'changed', more: '1' } },
      { type: 'merge', fieldManager: 'k' },
    )
    await client.patch(
      Deployment,
      at('web'),
      { spec: { replicas: 3, template: { spec: { containers: [{ name: 'web', image: 'web:2' }] } } } },
      { type: 'strategic', fieldManager: 'kubectl-edit' },
    )
    await testEnv.settle(30_000)
    expect(await client.get(ConfigMap, at('a'))).toMatchObject({ data: { key: 'x', more: '1' } })
    expect(await client.get(Deployment, at('web'))).toMatchObject({
      spec: { replicas: 3, template: { spec: { containers: [{ image: 'web:1' }] } } },
    })
    await client.delete(ConfigMap, at('a'))
    await testEnv.settle(30_000)
    expect(await client.get(ConfigMap, at('a'))).toMatchObject({ data: { key: 'x' } })
    await client.patch(ConfigMap, at('a'), { metadata: { labels: { [label]: null } } }, { type: 'merge' })
    await testEnv.settle(30_000)
    expect((await client.get(ConfigMap, at('a'))).metadata.labels).toEqual({ [label]: 'one' })
  })

  it('that drifted are only reported where the author says so', async () => {
    const testEnv = await opened()
    await testEnv.create(Bundle, bundle([configMap('a')], { drift: 'report' }))
    await testEnv.settle()
    await testEnv.client.patch(ConfigMap, at('a'), { data: { key: 'changed' } }, { type: 'merge', fieldManager: 'k' })
    await testEnv.settle()
    expect(await testEnv.client.get(ConfigMap, at('a'))).toMatchObject({ data: { key: 'changed' } })
    expect((await testEnv.client.get(Bundle, at('one'))).status?.objects).toEqual([
      { name: 'a', health: 'Current', drifted: ['data.key'] },
    ])
  })

  it('that are embedded no longer are deleted, never all of them, and never copies of the label', async () => {
    const testEnv = await opened()
    const { client } = testEnv
    await testEnv.create(Bundle, bundle([`${configMap('a')}---\n${configMap('b')}`]))
    await testEnv.create(ConfigMap, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...at('copy'), labels: { [label]: 'one' } },
    })
    await testEnv.settle()
    await client.patch(Bundle, at('one'), { spec: { phases: [configMap('a')] } }, { type: 'merge' })
    await testEnv.settle()
    const names = async () =>
      (await client.list(ConfigMap, { namespace: 'default' })).items.map((one) => one.metadata.name)
    expect(await names()).toEqual(['a', 'copy'])
    const nothing = { metadata: { annotations: { kinds: 'ConfigMap' } }, spec: { phases: [] } }
    await client.patch(Bundle, at('one'), nothing, { type: 'merge' })
    await testEnv.settle()
    expect(await names()).toEqual(['a', 'copy'])
    await client.delete(Bundle, at('one'))
    await testEnv.settle()
    expect(await names()).toEqual(['copy'])
    await expect(client.get(Bundle, at('one'))).rejects.toThrow('not found')
  })

  it('are deleted rank by rank, and the CR stays until the last is gone', async () => {
    const testEnv = await opened()
    const { client } = testEnv
    const held = configMap('a').replace('name: a', 'name: a, finalizers: [example.com/wait]')
    const secret = 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\n'
    await testEnv.create(Bundle, bundle([`${held}---\n${secret}`]))
    await testEnv.settle()
    await client.delete(Bundle, at('one'))
    await testEnv.settle()
    const Secret = resourceOf('v1', 'Secret', { plural: 'secrets', namespaced: true })
    expect(await client.get(Secret, at('s'))).toBeDefined()
    expect(await condition(testEnv, 'Reconciled')).toContain('ConfigMap default/a is still being deleted')
    await client.patch(ConfigMap, at('a'), { metadata: { finalizers: null } }, { type: 'merge' })
    await testEnv.settle()
    await expect(client.get(Secret, at('s'))).rejects.toThrow('not found')
    await expect(client.get(Bundle, at('one'))).rejects.toThrow('not found')
  })

  it('of another owner are never taken, and the owner is named', async () => {
    const testEnv = await opened()
    await testEnv.create(Bundle, bundle([configMap('a')]))
    await testEnv.settle()
    const before = await testEnv.client.get(ConfigMap, at('a'))
    await testEnv.create(Bundle, bundle([configMap('a', 'mine')], {}, 'two'))
    await testEnv.settle()
    expect(await condition(testEnv, 'Ready', 'two')).toContain('ConfigMap default/a exists already and belongs to one')
    expect(await testEnv.client.get(ConfigMap, at('a'))).toEqual(before)
    await testEnv.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: at('free') })
    await testEnv.create(Bundle, bundle([configMap('free')], { adopts: true }, 'three'))
    await testEnv.settle()
    expect(await condition(testEnv, 'Ready', 'three')).toContain('True')
  })

  it.each([
    ['was there before', false, false],
    ['was there before, with our label', false, true],
    ['comes between look and write', true, false],
    ['comes between look and write, with our label', true, true],
  ])('that are created by us alone are a conflict when another object %s', async (_when, isLate, isLabelled) => {
    let inBetween: (() => Promise<unknown>) | undefined
    const testEnv = await opened(false, (inner) => ({
      ...inner,
      async send(request) {
        if (request.method === 'PATCH' && request.path.includes('/configmaps/')) await inBetween?.()
        return await inner.send(request)
      },
    }))
    const labels = isLabelled ? { [label]: 'one' } : {}
    const create = (): Promise<unknown> => {
      inBetween = undefined
      const foreign = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...at('a'), labels }, data: { key: 'theirs' } }
      return testEnv.client.create(ConfigMap, foreign, { fieldManager: 'another' })
    }
    if (isLate) inBetween = create
    else await create()
    await testEnv.create(Bundle, bundle([configMap('a')], { policy: 'create', adopts: true }))
    await testEnv.settle()
    expect(await condition(testEnv, 'Ready')).toContain(
      'ConfigMap default/a exists already and belongs to the field manager another',
    )
    const { data, metadata } = await testEnv.client.get(ConfigMap, at('a'))
    expect([data, metadata.labels ?? {}, metadata.annotations]).toEqual([{ key: 'theirs' }, labels, undefined])
  })

  it('that are created by us alone are known again after a crash, and never changed', async () => {
    const testEnv = await opened()
    await testEnv.create(Bundle, bundle([configMap('a')], { policy: 'create' }))
    await testEnv.settle()
    await testEnv.client.patch(ConfigMap, at('a'), { data: { key: 'changed' } }, { type: 'merge' })
    await testEnv.restart()
    await testEnv.settle()
    expect(await condition(testEnv, 'Ready')).toContain('True')
    expect((await testEnv.client.get(ConfigMap, at('a'))).data).toEqual({ key: 'changed' })
  })

  it('whose kind is not served are named, and written when it is', async () => {
    const testEnv = await opened()
    await testEnv.create(Bundle, bundle([thing]))
    await testEnv.settle()
    expect(await condition(testEnv, 'Ready')).toContain('does not serve Thing of example.org/v1. Install its CRD first')
    const [crd] = objectsIn(definition)
    const crds = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
      plural: 'customresourcedefinitions',
      namespaced: false,
    })
    await testEnv.create(crds, crd!)
    await testEnv.settle(30_000)
    expect(await testEnv.client.get(Thing, at('a'))).toMatchObject({ spec: { size: 1 } })
  })
})

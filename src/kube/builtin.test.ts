import { describe, expect, expectTypeOf, it } from 'vitest'
import { builtinDefinitions, builtinResource, builtinResources, builtinSchema } from './builtin.ts'
import type { KubeList, KubeObject } from './object.ts'
import { type Schema, resolveSchema } from './schema.ts'
import type { CustomResourceDefinition } from './types/apiextensions/v1.ts'
import type { Deployment, DeploymentList } from './types/apps/v1.ts'
import type { Scale } from './types/autoscaling/v1.ts'
import type { ConfigMap, Pod, ServicePort } from './types/core/v1.ts'
import type { ObjectMeta } from './types/meta/v1.ts'
import type { ClusterRole } from './types/rbac/v1.ts'

const definitions = builtinDefinitions()

/** The schema at a path of a kind, through references and into list elements. */
function schemaAt(group: string, version: string, kind: string, ...path: readonly string[]): Schema {
  let schema = resolveSchema(builtinSchema({ group, version, kind }), definitions)
  for (const name of path) {
    if (schema.items) schema = resolveSchema(schema.items, definitions)
    expect(schema.properties).toHaveProperty([name])
    schema = resolveSchema(schema.properties![name], definitions)
  }
  return schema
}

function subschemas(schema: Schema): readonly Schema[] {
  const { properties = {}, items, additionalProperties } = schema
  const below = [...Object.values(properties), items, additionalProperties].filter((part) => typeof part === 'object')
  return [schema, ...below.flatMap(subschemas)]
}

describe('the built-in schemas', () => {
  it('are loaded once', () => {
    expect(builtinDefinitions()).toBe(definitions)
    expect(builtinResources()).toBe(builtinResources())
  })

  it('contain the keys of lists', () => {
    expect(schemaAt('', 'v1', 'Pod', 'spec', 'containers')).toMatchObject({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'name',
    })
    expect(schemaAt('', 'v1', 'Service', 'spec', 'ports')).toMatchObject({
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
      'x-kubernetes-patch-merge-key': 'port',
    })
    expect(schemaAt('', 'v1', 'Pod', 'metadata', 'finalizers')).toMatchObject({
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-patch-strategy': 'merge',
    })
    expect(schemaAt('', 'v1', 'Pod', 'spec', 'tolerations')).toMatchObject({ 'x-kubernetes-list-type': 'atomic' })
    expect(schemaAt('', 'v1', 'Pod', 'spec', 'nodeSelector')).toMatchObject({ 'x-kubernetes-map-type': 'atomic' })
    expect(schemaAt('apps', 'v1', 'Deployment', 'spec', 'strategy')).toMatchObject({
      'x-kubernetes-patch-strategy': 'retainKeys',
    })
  })

  it('contain defaults, which keys of lists may rely on', () => {
    expect(schemaAt('', 'v1', 'Service', 'spec', 'ports', 'protocol').default).toBe('TCP')
    expect(schemaAt('', 'v1', 'Pod', 'spec', 'containers', 'ports', 'protocol').default).toBe('TCP')
  })

  it('let quantities and ports be numbers', () => {
    expect(schemaAt('', 'v1', 'Pod', 'spec', 'containers', 'resources', 'limits')).toMatchObject({
      additionalProperties: { $ref: 'io.k8s.apimachinery.pkg.api.resource.Quantity' },
    })
    expect(definitions['io.k8s.apimachinery.pkg.api.resource.Quantity']).not.toHaveProperty('type')
    expect(schemaAt('', 'v1', 'Service', 'spec', 'ports', 'targetPort')).toMatchObject({
      'x-kubernetes-int-or-string': true,
    })
  })

  it('are complete: every reference resolves', () => {
    const targets = Object.values(definitions)
      .flatMap(subschemas)
      .flatMap(({ $ref }) => $ref ?? [])
    expect(targets.length).toBeGreaterThan(1000)
    expect(targets.filter((name) => !Object.hasOwn(definitions, name))).toEqual([])
  })

  it('contain no descriptions', () => {
    const members = new Set(Object.values(definitions).flatMap(subschemas).flatMap(Object.keys))
    expect(members).toContain('properties')
    expect([...members].filter((name) => /description|title|example/.test(name))).toEqual([])
  })

  it('exist for every served kind, and for those of subresources', () => {
    expect(builtinResources().filter((resource) => !builtinSchema(resource))).toEqual([])
    expect(builtinSchema({ group: 'autoscaling', version: 'v1', kind: 'Scale' })?.properties).toHaveProperty('spec')
    expect(builtinSchema({ group: 'policy', version: 'v1', kind: 'Eviction' })?.properties).toHaveProperty('metadata')
    expect(builtinSchema({ group: 'example.com', version: 'v1', kind: 'Widget' })).toBeUndefined()
    expect(builtinSchema({ group: '', version: 'v1', kind: 'constructor' })).toBeUndefined()
  })
})

describe('the built-in resources', () => {
  it('contain scope, verbs, names and subresources', () => {
    expect(builtinResource({ group: 'apps', version: 'v1', kind: 'Deployment' })).toMatchObject({
      plural: 'deployments',
      singular: 'deployment',
      shortNames: ['deploy'],
      categories: ['all'],
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      subresources: [
        { name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get', 'patch', 'update'] },
        { name: 'status', group: 'apps', version: 'v1', kind: 'Deployment', verbs: ['get', 'patch', 'update'] },
      ],
    })
    expect(builtinResource({ group: '', version: 'v1', kind: 'Namespace' })).toMatchObject({
      plural: 'namespaces',
      namespaced: false,
    })
    expect(
      builtinResource({ group: 'authorization.k8s.io', version: 'v1', kind: 'SubjectAccessReview' }),
    ).toMatchObject({
      verbs: ['create'],
    })
  })

  it('contain connectable subresources', () => {
    const pods = builtinResource({ group: '', version: 'v1', kind: 'Pod' })
    const exec = pods?.subresources.find(({ name }) => name === 'exec')
    expect(exec).toEqual({ name: 'exec', group: '', version: 'v1', kind: 'PodExecOptions', verbs: ['create', 'get'] })
    expect(pods?.subresources.map(({ name }) => name)).toContain('eviction')
  })

  it('exclude kinds that only a subresource has', () => {
    expect(builtinResource({ group: 'autoscaling', version: 'v1', kind: 'Scale' })).toBeUndefined()
  })

  it('have one kind each', () => {
    const kinds = builtinResources().map(({ group, version, kind }) => `${group}/${version}/${kind}`)
    expect(kinds.length).toBeGreaterThan(60)
    expect(new Set(kinds).size).toBe(kinds.length)
  })
})

describe('the generated types', () => {
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', labels: { app: 'web' } },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: {
          containers: [
            {
              name: 'web',
              image: 'web:1',
              ports: [{ containerPort: 80 }],
              resources: { limits: { cpu: 1, memory: '1Gi' } },
            },
          ],
        },
      },
    },
  } as const satisfies Deployment

  it('match manifests', () => {
    const typed: Deployment = deployment
    expect(typed.spec?.template.spec?.containers[0]?.name).toBe('web')
    expectTypeOf<Deployment['apiVersion']>().toEqualTypeOf<'apps/v1'>()
    expectTypeOf<Pod['kind']>().toEqualTypeOf<'Pod'>()
    expectTypeOf<ServicePort['targetPort']>().toEqualTypeOf<number | string | undefined>()
    expectTypeOf<ConfigMap['data']>().toEqualTypeOf<Readonly<Record<string, string>> | undefined>()
    expectTypeOf<{
      readonly apiVersion: 'v1'
      readonly kind: 'Pod'
      readonly metadata: ObjectMeta
    }>().not.toExtend<Deployment>()
  })

  it('are Kubernetes objects and lists', () => {
    const object: KubeObject = deployment
    expect(object.kind).toBe('Deployment')
    expectTypeOf<Deployment>().toExtend<KubeObject>()
    expectTypeOf<DeploymentList>().toExtend<KubeList<Deployment>>()
    expectTypeOf<Scale>().toExtend<KubeObject>()
    expectTypeOf<ClusterRole>().toExtend<KubeObject>()
    expectTypeOf<CustomResourceDefinition>().toExtend<KubeObject>()
    expectTypeOf<Pod['metadata']>().toEqualTypeOf<KubeObject['metadata']>()
  })
})

import { describe, expect, expectTypeOf, it } from 'vitest'
import { crds, embedded } from '../../../test/embedded.ts'
import type { UntypedObject } from '../../kube/object.ts'
import {
  boolean,
  defineKind,
  type DraftOf,
  integer,
  intOrString,
  list,
  map,
  object,
  type ObjectOf,
  oneOf,
  optional,
  quantity,
  string,
} from '../index.ts'

const Cache = defineKind({
  group: 'cache.example.com',
  version: 'v1',
  kind: 'Cache',
  shortNames: ['ca'],
  spec: {
    size: integer({ minimum: 1, maximum: 5, default: 1, description: 'How many servers there are.' }),
    engine: oneOf(['memcached', 'redis'], { rules: [{ rule: 'self == oldSelf', message: 'the engine stays' }] }),
    memory: optional(quantity()),
    ports: optional(
      list(object({ name: string(), port: intOrString(), open: boolean({ default: true }) }), { sharedBy: ['name'] }),
    ),
    labels: map(string({ maxLength: 63 }), { default: {} }),
  },
  status: { nodes: optional(list(string(), { sharedBy: 'value' })), ready: integer({ default: 0 }) },
  rules: [{ rule: "self.spec.engine != 'redis' || self.spec.size > 1", message: 'redis needs two' }],
  columns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
})

type Cache = ObjectOf<typeof Cache>
type CacheDraft = DraftOf<typeof Cache>

const draft = (spec: CacheDraft['spec']): CacheDraft => ({
  apiVersion: 'cache.example.com/v1',
  kind: 'Cache',
  metadata: { name: 'c', namespace: 'default' },
  spec,
})

describe('a kind', () => {
  it('has the types of its fields: defaulted when read, optional when written', () => {
    expectTypeOf<Cache['spec']['size']>().toEqualTypeOf<number>()
    expectTypeOf<Cache['spec']['engine']>().toEqualTypeOf<'memcached' | 'redis'>()
    expectTypeOf<Cache['spec']['memory']>().toEqualTypeOf<string | number | undefined>()
    expectTypeOf<NonNullable<Cache['spec']['ports']>[number]['open']>().toEqualTypeOf<boolean>()
    expectTypeOf<CacheDraft['spec']['size']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<NonNullable<CacheDraft['spec']['ports']>[number]['open']>().toEqualTypeOf<boolean | undefined>()
    expectTypeOf<NonNullable<Cache['status']>['ready']>().toEqualTypeOf<number | undefined>()
    // @ts-expect-error a spec without its engine is none
    draft({})
    // @ts-expect-error nor is one with a word that is not among them
    draft({ engine: 'mongo' })
  })

  it('is served as defined: defaults, columns, rules and error messages', async () => {
    const { client } = embedded()
    await client.create(crds, Cache.crd() as unknown as UntypedObject)
    await Promise.resolve()
    const written = draft({ engine: 'memcached', ports: [{ name: 'main', port: 11_211 }] })
    const stored = await client.create(Cache, written)
    const { spec } = Cache.withDefaults(written)
    expect(stored['spec']).toEqual(spec)
    expect(spec).toEqual({
      engine: 'memcached',
      size: 1,
      labels: {},
      ports: [{ name: 'main', port: 11_211, open: true }],
    })
    for (const wrong of [
      draft({ engine: 'redis' }),
      draft({ engine: 'memcached', size: 9 }),
      draft({ engine: 'memcached', memory: 'lots' }),
      draft({
        engine: 'memcached',
        ports: [
          { name: 'a', port: 1 },
          { name: 'a', port: 2 },
        ],
      }),
    ]) {
      const causes = Cache.validate(Cache.withDefaults(wrong))
      const refusal = await client
        .create(Cache, { ...(wrong as unknown as UntypedObject), metadata: { name: 'wrong', namespace: 'default' } })
        .then(() => undefined)
        .catch((error: unknown) => (error as Error).message)
      expect(causes).toHaveLength(1)
      expect(refusal).toContain(`${causes[0]!.field}: ${causes[0]!.message}`)
    }
  })

  it('shows its age once, where the author declares it or last', () => {
    const size = { name: 'Size', type: 'integer', jsonPath: '.spec.size' }
    const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }
    const shown = (columns: readonly (typeof size)[]): unknown =>
      defineKind({ group: 'a.example.com', version: 'v1', kind: 'Aged', spec: { size: integer() }, columns })
        .crd()
        .spec.versions[0]?.additionalPrinterColumns?.map(({ name }) => name)
    expect(shown([size])).toEqual(['Size', 'Age'])
    expect(shown([age, size])).toEqual(['Age', 'Size'])
  })

  it('may be a singleton: the server rejects a second object, in every version', async () => {
    const Platform = defineKind({
      group: 'one.example.com',
      version: 'v1',
      kind: 'Platform',
      scope: 'Cluster',
      singleton: 'default',
      spec: { size: integer({ default: 1 }) },
      otherVersions: [{ version: 'v1alpha1', spec: { size: integer({ default: 1 }) } }],
    })
    const { client } = embedded()
    await client.create(crds, Platform.crd() as unknown as UntypedObject)
    await Promise.resolve()
    await client.create(Platform, Platform.draft({ name: 'default' }, {}))
    const second = Platform.draft({ name: 'second' }, {})
    const words = 'there is only one Platform in a cluster, and its name is default'
    await expect(client.create(Platform, second)).rejects.toThrow(words)
    await expect(client.create(Platform, { ...second, metadata: { generateName: 'default' } })).rejects.toThrow(words)
    const old = { ...Platform, version: 'v1alpha1' }
    await expect(client.create(old, { ...second, apiVersion: 'one.example.com/v1alpha1' })).rejects.toThrow(words)
    expect(() => defineKind({ ...Platform.definition, singleton: "it's" })).toThrow('Platform: singleton')
  })

  it('creates drafts of its own objects only', () => {
    const made = Cache.draft({ name: 'c' }, { engine: 'memcached' })
    expect(made).toEqual({
      apiVersion: 'cache.example.com/v1',
      kind: 'Cache',
      metadata: { name: 'c' },
      spec: { engine: 'memcached' },
    })
    // @ts-expect-error the engine is missing
    Cache.draft({ name: 'c' }, {})
  })

  it('declares immutable fields', () => {
    const old = Cache.withDefaults(draft({ engine: 'memcached' }))
    const changed = Cache.withDefaults(draft({ engine: 'redis', size: 2 }))
    expect(Cache.validate(changed, old).map(({ message }) => message)).toEqual([
      expect.stringContaining('the engine stays'),
    ])
  })

  it('may have versions besides the stored one', () => {
    const kind = defineKind({
      group: 'example.com',
      version: 'v2',
      kind: 'Thing',
      scope: 'Cluster',
      spec: { a: string() },
      otherVersions: [{ version: 'v1', spec: { b: string() }, deprecationWarning: 'use v2' }],
    })
    const { versions, scope } = kind.crd().spec
    expect(scope).toBe('Cluster')
    expect(versions.map(({ name, storage, deprecated }) => [name, storage, deprecated])).toEqual([
      ['v2', true, undefined],
      ['v1', false, true],
    ])
  })
})

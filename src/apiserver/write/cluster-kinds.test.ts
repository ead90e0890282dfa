import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../clock/random.ts'
import { builtinDefinitions, builtinResources } from '../../kube/builtin.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { resolveSchema, type Schema } from '../../kube/schema.ts'
import { qualifiedPlural, StatusError } from '../errors/status-error.ts'
import type { StoredObject } from '../storage/storage.ts'
import { withoutNullMembers } from '../kinds/strategy/absent.ts'
import { clusterKinds } from './cluster-kinds.ts'
import type { KindContext } from '../kinds/strategy/kind-rules.ts'
import { workloadKinds } from './workload-kinds.ts'

const served = builtinResources()
const context: KindContext = {
  now: '2020-01-01T00:00:00Z',
  random: { next: () => 0 },
  user: { username: 'u', groups: [] },
  find: () => undefined,
  objects: () => [],
}

/** An almost empty object, in each version of its kind. */
const bare = served
  .filter((resource) => clusterKinds.has(qualifiedPlural(resource)))
  .map((resource) => {
    const object: UntypedObject = {
      apiVersion: formatApiVersion(resource),
      kind: resource.kind,
      metadata: { name: 'a' },
    }
    return [`${object.apiVersion} ${resource.kind}`, resource, object] as const
  })

describe('the rules of kinds', () => {
  it('exist for served kinds only, once for each', () => {
    const known = new Set(served.map(qualifiedPlural))
    expect([...clusterKinds.keys()].filter((table) => !known.has(table))).toEqual([])
    expect([...clusterKinds.keys()].filter((table) => workloadKinds.has(table))).toEqual([])
  })

  it.each(bare)('%s: defaulting is idempotent', (_what, resource, object) => {
    const { defaults } = clusterKinds.get(qualifiedPlural(resource))!
    const once = defaults!(object, resource.version)
    expect(defaults!(once, resource.version)).toEqual(once)
  })

  it.each(bare)(
    '%s: an almost empty object is rejected with causes or accepted, without an exception',
    (_what, resource, object) => {
      const rules = clusterKinds.get(qualifiedPlural(resource))!
      const spoken = { ...object, spec: {} }
      for (const body of [object, spoken]) {
        const defaulted = rules.defaults!(body, resource.version)
        const problems = rules.validateCreate?.(defaulted, context) ?? []
        expect(problems.every(({ reason, field }) => reason && field)).toBe(true)
      }
    },
  )
})

/** Strings with a meaning in some field, and invalid ones. */
const texts = [
  '',
  'a',
  'A b',
  'a.example.com/x',
  'a.b.c',
  '1.2.3.4',
  '10.0.0.0/8',
  '::1',
  '/x',
  '*',
  '__proto__',
  'é\n',
]
const words = [
  'In',
  'Exists',
  'TCP',
  'ClusterIP',
  'LoadBalancer',
  'ExternalName',
  'Local',
  'Resource',
  'Pods',
  'IPv4',
  'User',
]
const choices: Readonly<Record<string, readonly Json[]>> = {
  string: [...texts, ...words],
  'date-time': ['2020-01-01T00:00:00.000000Z'],
  byte: ['', 'eA=='],
  'int-or-string': [0, 80, '50%', 'web'],
  integer: [-1, 0, 1, 80, 30_080, 2_000_000_000],
  boolean: [true, false],
  quantity: ['0', '1', '-1', '500m', '1Gi'],
}

/** A random value of a schema; about half of the members are missing. */
function anything(declared: Schema | undefined, random: Random, depth: number): Json {
  const pick = (kind: string): Json => choices[kind]![Math.floor(random.next() * choices[kind]!.length)]!
  if (declared?.$ref?.endsWith('.Quantity')) return pick('quantity')
  const schema = resolveSchema(declared, builtinDefinitions())
  const { type, format = '', properties, items, additionalProperties } = schema
  if (schema['x-kubernetes-int-or-string'] || format === 'int-or-string') return pick('int-or-string')
  if (type === 'array') {
    const count = depth > 8 ? 0 : Math.floor(random.next() * 3)
    return Array.from({ length: count }, () => anything(items, random, depth + 1))
  }
  if (properties) {
    const names = Object.keys(properties).filter(() => random.next() < (depth > 8 ? 0.1 : 0.5))
    return Object.fromEntries(names.map((name) => [name, anything(properties[name], random, depth + 1)]))
  }
  if (typeof additionalProperties === 'object') {
    const names = ['a', 'cpu', 'x y', '__proto__', 'constructor'].filter(() => random.next() < 0.3)
    return Object.fromEntries(names.map((name) => [name, anything(additionalProperties, random, depth + 1)]))
  }
  if (type === 'string') return pick(Object.hasOwn(choices, format) ? format : 'string')
  return type === undefined || type === 'object' ? {} : pick(type === 'number' ? 'integer' : type)
}

describe.each(bare)('%s with random fields', (_what, resource, object) => {
  const rules = clusterKinds.get(qualifiedPlural(resource))!
  const schema = builtinDefinitions()[resource.definition]

  const objectOf = (seed: number): UntypedObject => {
    const { status: _status, ...own } = anything(schema, seededRandom(seed), 0) as JsonObject
    return { ...own, ...object }
  }

  it('is defaulted idempotently and validated without an exception', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const sent = objectOf(seed)
        const before = JSON.stringify(sent)
        const once = rules.defaults!(sent, resource.version)
        expect(rules.defaults!(once, resource.version)).toEqual(once)
        const created = prepared(() => rules.prepareCreate?.(once, context) ?? once)
        expect(JSON.stringify(sent)).toBe(before)
        if (!created) return
        const problems = rules.validateCreate?.(created, context) ?? []
        for (const { field, message } of problems) expect(`${field}: ${message}`).not.toContain('undefined')
        if (problems.length > 0) return
        rules.warnings?.(created, undefined)
        const live = created as StoredObject
        const updated = rules.prepareUpdate?.(created, live, context) ?? created
        expect(rules.validateUpdate?.(updated, live, context) ?? []).toEqual([])
      }),
      { numRuns: 60 },
    )
  })

  it('is validated as an update of any other object', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (seed, other) => {
        const live = rules.defaults!(objectOf(other), resource.version) as StoredObject
        const sent = rules.defaults!(objectOf(seed), resource.version)
        const updated = prepared(() => rules.prepareUpdate?.(sent, live, context) ?? sent)
        if (!updated) return
        const problems = rules.validateUpdate?.(updated, live, context) ?? []
        for (const { field, message } of problems) expect(`${field}: ${message}`).not.toContain('undefined')
      }),
      { numRuns: 30 },
    )
  })
})

/** Undefined when the rules reject the object, which is allowed. */
function prepared(prepare: () => UntypedObject): UntypedObject | undefined {
  try {
    return prepare()
  } catch (error) {
    if (error instanceof StatusError) return undefined
    throw error
  }
}

describe('nulls', () => {
  it('are hidden from rules, and objects without nulls are not copied', () => {
    const clean = { a: [{ b: 1 }], metadata: { x: null } }
    expect(withoutNullMembers(clean)).toBe(clean)
    expect(withoutNullMembers({ a: [{ b: null, c: 1 }], d: null })).toEqual({ a: [{ c: 1 }] })
  })
})

import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from '../builtin.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Schema } from '../schema.ts'
import { applyStrategicMerge } from './strategic-merge.ts'

const definitions = builtinDefinitions()
const pod = builtinSchema({ group: '', version: 'v1', kind: 'Pod' })
const deployment = builtinSchema({ group: 'apps', version: 'v1', kind: 'Deployment' })
const budget = builtinSchema({ group: 'policy', version: 'v1', kind: 'PodDisruptionBudget' })
const service = builtinSchema({ group: '', version: 'v1', kind: 'Service' })

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

const apply = (original: JsonObject, patch: JsonObject, schema: Schema | undefined = pod): JsonObject =>
  applyStrategicMerge(frozen(original), frozen(patch), schema, definitions)
const inSpec = (original: JsonObject, patch: JsonObject): Json | undefined =>
  apply({ spec: original }, { spec: patch })['spec']
const inMeta = (original: JsonObject, patch: JsonObject): Json | undefined =>
  apply({ metadata: original }, { metadata: patch })['metadata']

const invalid: unknown = expect.objectContaining({ name: 'InvalidPatch' })

describe('objects', () => {
  it('are merged member by member; null removes', () => {
    expect(inMeta({ labels: { a: '1', b: '2' } }, { labels: { b: null, c: '3' } })).toEqual({
      labels: { a: '1', c: '3' },
    })
  })

  it('that are new are stored without null and directives', () => {
    expect(inSpec({}, { affinity: { nodeAffinity: { a: null, b: { $patch: 'delete' } } } })).toEqual({
      affinity: { nodeAffinity: {} },
    })
  })

  it('are replaced or emptied by $patch', () => {
    const security = { securityContext: { runAsUser: 1, fsGroup: 2 } }
    expect(inSpec(security, { securityContext: { $patch: 'replace', runAsUser: 3 } })).toEqual({
      securityContext: { runAsUser: 3 },
    })
    expect(inSpec(security, { securityContext: { $patch: 'delete' } })).toEqual({ securityContext: {} })
  })

  it('are replaced where the schema says so', () => {
    const original = { spec: { selector: { matchLabels: { a: '1' } } } }
    expect(apply(original, { spec: { selector: { matchLabels: { b: '2' } } } }, budget)).toEqual({
      spec: { selector: { matchLabels: { b: '2' } } },
    })
  })

  it('keep only the members of $retainKeys', () => {
    const original = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } }
    const patch = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } }
    expect(apply(original, patch, deployment)).toEqual({ spec: { strategy: { type: 'Recreate' } } })
  })

  it('cannot contain members outside $retainKeys', () => {
    const patch = { spec: { strategy: { $retainKeys: ['type'], rollingUpdate: {} } } }
    expect(() => apply({ spec: { strategy: {} } }, patch, deployment)).toThrow(invalid)
  })
})

describe('lists of objects', () => {
  const two = {
    containers: [
      { name: 'web', image: 'web:1', args: ['a', 'b'] },
      { name: 'log', image: 'log:1' },
    ],
  }

  it('are merged by key, with inner lists by their own schema', () => {
    expect(inSpec(two, { containers: [{ name: 'web', image: 'web:2', args: ['c'] }] })).toEqual({
      containers: [{ name: 'web', image: 'web:2', args: ['c'] }, two.containers[1]],
    })
  })

  it('take the order of the patch where it contains several', () => {
    expect(inSpec(two, { containers: [{ name: 'log' }, { name: 'web' }] })).toEqual({
      containers: [two.containers[1], two.containers[0]],
    })
  })

  it('have new elements first, unless an order says otherwise', () => {
    const added = { name: 'new', image: 'new:1' }
    expect(inSpec(two, { containers: [added] })).toEqual({ containers: [added, ...two.containers] })
    const order = [{ name: 'web' }, { name: 'log' }, { name: 'new' }]
    expect(inSpec(two, { containers: [added], '$setElementOrder/containers': order })).toEqual({
      containers: [...two.containers, added],
    })
  })

  it('keep elements that are not in the order before their successors', () => {
    const live = ['a', 'side', 'b', 'c'].map((name) => ({ name }))
    const order = ['c', 'b', 'a'].map((name) => ({ name }))
    expect(inSpec({ containers: live }, { '$setElementOrder/containers': order })).toEqual({
      containers: ['side', 'c', 'b', 'a'].map((name) => ({ name })),
    })
  })

  it('have new elements in the place of deleted ones, if there is an order', () => {
    const patch = {
      containers: [{ name: 'new' }, { name: 'log', $patch: 'delete' }],
      '$setElementOrder/containers': [{ name: 'new' }],
    }
    expect(inSpec({ containers: [{ name: 'side' }, { name: 'log' }] }, patch)).toEqual({
      containers: [{ name: 'side' }, { name: 'new' }],
    })
  })

  it('lose elements deleted by $patch, and are replaced by $patch', () => {
    expect(inSpec(two, { containers: [{ name: 'web', $patch: 'delete' }] })).toEqual({
      containers: [two.containers[1]],
    })
    expect(inSpec(two, { containers: [{ name: 'new' }, { $patch: 'replace' }] })).toEqual({
      containers: [{ name: 'new' }],
    })
    expect(inSpec(two, { containers: [{ $patch: 'replace' }] })).toEqual({ containers: [] })
  })

  it('take new elements unchanged', () => {
    expect(inSpec(two, { containers: [{ name: 'new', image: null }] })).toEqual({
      containers: [{ name: 'new', image: null }, ...two.containers],
    })
  })

  it('merge unions with $retainKeys', () => {
    const original = { volumes: [{ name: 'data', emptyDir: {} }] }
    const patch = { volumes: [{ name: 'data', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }] }
    expect(inSpec(original, patch)).toEqual({ volumes: [{ name: 'data', configMap: { name: 'c' } }] })
  })

  it('are replaced as a whole without a merge strategy', () => {
    expect(inSpec({ tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'b' }] })).toEqual({
      tolerations: [{ key: 'b' }],
    })
  })

  it('change the first of several elements with the same key', () => {
    const ports = [
      { port: 53, protocol: 'TCP' },
      { port: 53, protocol: 'UDP' },
    ]
    expect(apply({ spec: { ports } }, { spec: { ports: [{ port: 53, name: 'dns' }] } }, service)).toEqual({
      spec: { ports: [{ port: 53, protocol: 'TCP', name: 'dns' }, ports[1]] },
    })
  })

  it.each<[string, JsonObject]>([
    ['has an element without its key', { containers: [{ image: 'x' }] }],
    ['deletes without a key', { containers: [{ $patch: 'delete' }] }],
    ['has an unknown directive', { containers: [{ name: 'web', $patch: 'merge' }] }],
    ['mixes elements', { containers: ['web'] }],
    ['has null for an element', { containers: [null] }],
    ['contradicts its own order', { containers: [{ name: 'new' }], '$setElementOrder/containers': [{ name: 'web' }] }],
    ['has an order that is not a list', { '$setElementOrder/containers': 'web' }],
    ['deletes an ordered element', { containers: null, '$setElementOrder/containers': [] }],
    ['has $retainKeys that are not a list', { $retainKeys: 'containers' }],
    ['has an order for a missing list', { $setElementOrder: [] }],
    ['deletes objects as scalars', { '$deleteFromPrimitiveList/containers': [{ name: 'web' }] }],
    ['has an unknown directive for an object', { securityContext: { $patch: 'merge' } }],
  ])('reject a patch that %s', (_mistake, patch) => {
    expect(() => inSpec({ ...two, securityContext: {} }, patch)).toThrow(invalid)
  })

  it('report the location of an error', () => {
    const patch = { containers: [{ name: 'web', ports: [{ hostPort: 1 }] }] }
    const original = { containers: [{ name: 'web', ports: [{ containerPort: 80 }] }] }
    expect(() => inSpec(original, patch)).toThrow(/spec\.containers\[\]\.ports .*"containerPort"/)
  })
})

describe('lists of scalars', () => {
  it('are sets: a patch adds in front', () => {
    expect(inMeta({ finalizers: ['a', 'b'] }, { finalizers: ['c', 'a'] })).toEqual({ finalizers: ['c', 'a', 'b'] })
  })

  it('lose deleted elements after all additions', () => {
    expect(
      inMeta({ finalizers: ['a', 'b'] }, { finalizers: ['c'], '$deleteFromPrimitiveList/finalizers': ['a'] }),
    ).toEqual({ finalizers: ['c', 'b'] })
    expect(inMeta({}, { '$deleteFromPrimitiveList/finalizers': ['a'] })).toEqual({})
  })

  it('follow an order', () => {
    expect(inMeta({ finalizers: ['a', 'b', 'c'] }, { '$setElementOrder/finalizers': ['c', 'a'] })).toEqual({
      finalizers: ['b', 'c', 'a'],
    })
  })
})

describe('a value without a schema', () => {
  it('is merged as plain JSON: objects by member, lists as a whole', () => {
    const original = { spec: { a: { b: 1, c: 2 }, list: [{ name: 'x', v: 1 }] } }
    const patch = { spec: { a: { b: null, d: 3 }, list: [{ name: 'x', w: 2 }] } }
    expect(applyStrategicMerge(original, patch, undefined, {})).toEqual({
      spec: { a: { c: 2, d: 3 }, list: [{ name: 'x', w: 2 }] },
    })
  })

  it('can be inside another: free-form objects and maps', () => {
    const schema: Schema = {
      type: 'object',
      properties: { free: { type: 'object' }, map: { type: 'object', additionalProperties: { type: 'object' } } },
    }
    const original = { free: { a: { b: 1 } }, map: { x: { y: 1 } } }
    expect(applyStrategicMerge(original, { free: { a: { c: 2 } }, map: { x: { z: 2 } } }, schema, {})).toEqual({
      free: { a: { b: 1, c: 2 } },
      map: { x: { y: 1, z: 2 } },
    })
  })

  it('does not allow a field that the schema does not have', () => {
    expect(() => inSpec({ sidecars: { a: 1 } }, { sidecars: { b: 2 } })).toThrow(/spec\.sidecars/)
    expect(inSpec({}, { sidecars: { b: 2 } })).toEqual({ sidecars: { b: 2 } })
  })
})

describe('unchanged parts', () => {
  it('are shared', () => {
    const original = { metadata: { labels: { a: '1' } }, spec: { containers: [{ name: 'a', env: [{ name: 'E' }] }] } }
    const patched = apply(original, { metadata: { labels: { a: '2' } } })
    expect(patched['spec']).toBe(original.spec)
    expect(apply(original, { spec: { containers: [{ name: 'a', env: [{ name: 'E' }] }] } })).toBe(original)
    expect(apply(original, {})).toBe(original)
  })
})

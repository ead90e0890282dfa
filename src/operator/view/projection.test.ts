import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDecoder } from '../../cache/decode/decode.ts'
import { createInternPool } from '../../cache/decode/intern.ts'
import type { Json } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import type { KubeObject } from '../../kube/object.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { labelled, type Input } from './input.ts'
import { createProjection, fieldsServe, joinFields, normalFields } from './projection.ts'
import { fields } from './projected-input.ts'
import { openView } from './view.ts'

const member = fc.constantFrom('a', 'b', 'c', 'constructor', '__proto__')
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<Json>(1, 'x', null, true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(member, tie('value'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
  ),
}))
const path = fc.array(member, { minLength: 1, maxLength: 3 }).map((members) => ['spec', ...members].join('.'))
const paths = fc.array(fc.oneof(path, fc.constantFrom('status', 'spec')), { maxLength: 4 }).map(normalFields)

const object: fc.Arbitrary<KubeObject> = fc
  .record({
    spec: value,
    status: value,
    other: value,
    version: fc.constantFrom('1', '2'),
    generation: fc.constantFrom(1, 2),
    color: fc.constantFrom('red', 'blue'),
  })
  .map(({ version, generation, color, ...rest }) => {
    const managedFields = [{ manager: 'm', fieldsV1: {} }]
    const metadata = { name: 'x', resourceVersion: version, generation, labels: { color }, managedFields }
    return asObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata, ...rest })
  })

const project = (given: KubeObject, kept: readonly string[]): KubeObject => createProjection(kept).project(given)
/** Without what every write changes. */
const stable = ({ metadata, ...rest }: KubeObject): unknown => {
  const { resourceVersion: _v, generation: _g, ...others } = metadata
  return { metadata: others, ...rest }
}

describe('for any object and any fields', () => {
  it('a projection is what the shared cache keeps of the object', () => {
    fc.assert(
      fc.property(object, paths, (given, kept) => {
        const decoder = createDecoder({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          pool: createInternPool(),
          detail: kept.length === 0 ? 'metadata' : kept,
        })
        const text = JSON.stringify(given)
        const held = decoder.decode(text, 0, text.length, undefined)
        expect(project(given, kept)).toEqual(held)
        expect(project(held, kept)).toBe(held)
        expect(decoder.adopt(given, undefined)).toEqual(held)
      }),
    )
  })

  it('a part of a part is the same as the part of the whole', () => {
    fc.assert(
      fc.property(object, paths, paths, (given, one, other) => {
        const both = joinFields([one, other])!
        expect(fieldsServe(both, one)).toBe(true)
        expect(project(project(given, both), one)).toEqual(project(given, one))
      }),
    )
  })

  it('two states are the same exactly if their parts are, versions aside', () => {
    fc.assert(
      fc.property(object, object, fc.boolean(), paths, (before, other, isNear, kept) => {
        const after = isNear ? asObject({ ...before, metadata: other.metadata, other: other.kind }) : other
        const expected =
          JSON.stringify(sorted(stable(project(before, kept)))) === JSON.stringify(sorted(stable(project(after, kept))))
        expect(createProjection(kept).isSame(before, after)).toBe(expected)
      }),
    )
  })

  it('a view shows the fields of all inputs that select the object, and no other', () => {
    const selection = fc.record({
      color: fc.constantFrom('red', 'blue', undefined),
      kept: fc.option(paths, { nil: undefined }),
    })
    fc.assert(
      fc.property(object, fc.array(selection, { minLength: 1, maxLength: 3 }), (given, selections) => {
        const inputs = selections.map(({ color, kept }): Input => {
          const input: Input =
            color === undefined ? { select: 'kind', resource: ConfigMap } : labelled(ConfigMap, { labels: { color } })
          return kept ? { ...input, fields: kept } : input
        })
        const source = { get: () => given, list: () => [given], byOwner: () => [given], serves: () => true }
        const view = openView({ source, reader: 'law', inputs })
        const { color: own } = given.metadata.labels ?? {}
        const selecting = selections.filter(({ color }) => color === undefined || color === own)
        const declared = joinFields(selecting.map(({ kept }) => kept))
        const expected = selecting.length === 0 ? [] : [createProjection(declared).project(given)]
        expect(view.list(ConfigMap)).toEqual(expected)
        expect(view.ownedBy(ConfigMap, given)).toEqual(expected)
        const found = view.get(ConfigMap, { name: 'x' })
        expect(found ? [found] : []).toEqual(expected)
      }),
    )
  })
})

/** By member, as `toEqual` compares. */
function sorted(given: unknown): unknown {
  if (Array.isArray(given)) return given.map(sorted)
  if (typeof given !== 'object' || given === null) return given
  return Object.entries(asJson(given))
    .map(([key, each]) => [key, sorted(each)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .concat([['', 'object']])
}

describe('a projection', () => {
  it('is frozen, and the same object each time', () => {
    const projection = createProjection(['spec.a'])
    const given = asObject({ apiVersion: 'v1', kind: 'X', metadata: { name: 'x' }, spec: { a: 1, b: 2 } })
    const part = projection.project(given)
    expect(Object.isFrozen(part)).toBe(true)
    expect(projection.project(given)).toBe(part)
  })

  it('compares versions where they are asked for', () => {
    const input = fields(ConfigMap, ['metadata.resourceVersion'])
    const at = (resourceVersion: string) =>
      asObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', resourceVersion } })
    expect(createProjection(input.fields).isSame(at('1'), at('2'))).toBe(false)
    expect(createProjection([]).isSame(at('1'), at('2'))).toBe(true)
  })
})

/** What holds for any objects and any sequence of writes to them. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import { equalJson, type Json, type JsonObject } from '../json.ts'
import type { KubeObject } from '../object.ts'
import type { Schema } from '../schema.ts'
import { applyObject, updateObject } from './apply.ts'
import { type FieldComparison, compareValues } from './comparison.ts'
import {
  difference,
  equalFieldSets,
  type FieldSet,
  intersection,
  noFields,
  recursiveDifference,
  union,
} from './field-set.ts'
import { decodeManagers, type Managers, withoutUnownable } from './managed-fields.ts'
import { shapeOf } from './shape.ts'
import { fieldSetOf, withDeclaredFields } from './value-fields.ts'

const text: Schema = { type: 'string' }
const schema: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        a: text,
        sub: { type: 'object', properties: { x: text, y: text } },
        labels: { type: 'object', additionalProperties: text },
        args: { type: 'array', items: text },
        atomic: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { x: text, y: text } },
        tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
        any: { 'x-kubernetes-preserve-unknown-fields': true },
        items: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name', 'kind'],
          items: {
            type: 'object',
            properties: {
              name: text,
              kind: { type: 'string', default: 'k' },
              v: text,
              labels: { type: 'object', additionalProperties: text },
            },
          },
        },
      },
    },
  },
}
const shape = shapeOf(schema)

type Thing = KubeObject & { readonly spec?: JsonObject }

const words = (): fc.Arbitrary<string> => fc.constantFrom('1', '2', '3')

/**
 * Specs whose maps, items and tags have these names. Nothing in them is empty: what is applied empty and thereby
 * emptied becomes `null`, and empty only when applied again.
 */
function specs(names: readonly [string, ...string[]], free = true): fc.Arbitrary<JsonObject> {
  const name = fc.constantFrom(...names)
  const labels = fc.dictionary(name, words(), { minKeys: 1, maxKeys: 3 })
  const item = fc.record({ name, kind: fc.constantFrom('k', 'l'), v: words(), labels }, { requiredKeys: ['name'] })
  const items = fc.uniqueArray(item, {
    selector: ({ name: of, kind = 'k' }) => `${of} ${kind}`,
    minLength: 1,
    maxLength: 3,
  })
  // Of any kind by its schema, but always a map here: a value that turns into another kind takes its owners along.
  const any = fc.dictionary(name, labels, { minKeys: 1 })
  const granular = { labels, tags: fc.uniqueArray(name, { minLength: 1 }), items }
  const xy = fc.record({ x: words(), y: words() }, { requiredKeys: [] }).filter(hasContent)
  const indivisible = { a: words(), sub: xy, atomic: xy, args: fc.array(words(), { maxLength: 2 }), any }
  return fc.record(free ? { ...granular, ...indivisible } : granular, { requiredKeys: [] }).filter(hasContent)
}

function hasContent(map: object): boolean {
  return Object.keys(map).length > 0
}

const anySpecs = (): fc.Arbitrary<JsonObject> => specs(['p', 'q', 'r', 'constructor'])

const thing = (spec: JsonObject, metadata: object = {}): Thing => ({
  apiVersion: 'x.io/v1',
  kind: 'Thing',
  metadata: { name: 'x', ...metadata },
  spec,
})

interface Step {
  readonly manager: string
  readonly spec: JsonObject
  readonly apply: boolean
  readonly force: boolean
}

const steps = (): fc.Arbitrary<readonly Step[]> =>
  fc.array(
    fc.record({ manager: fc.constantFrom('m', 'n', 'o'), spec: anySpecs(), apply: fc.boolean(), force: fc.boolean() }),
    { minLength: 1, maxLength: 5 },
  )

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(freeze)
    Object.freeze(value)
  }
  return value
}

const now = Date.UTC(2026, 0, 1)

function apply(live: Thing | undefined, spec: JsonObject, manager: string, force = true): Thing {
  // Whatever is given is frozen: a function that changed it would fail.
  return freeze(applyObject({ live: freeze(live), applied: freeze(thing(spec)), manager, force, schema, now }))
}

function update(live: Thing | undefined, spec: JsonObject, manager: string): Thing {
  const updated = freeze(thing(spec, { ...live?.metadata, uid: 'u' }))
  return freeze(updateObject({ live: freeze(live), updated, manager, schema, now }))
}

/** The object after some writes; those refused left it as it was. */
function history(all: readonly Step[]): Thing | undefined {
  let live: Thing | undefined
  for (const step of all) {
    isRefused(() => {
      live = step.apply ? apply(live, step.spec, step.manager, step.force) : update(live, step.spec, step.manager)
    })
  }
  return live
}

function isRefused(write: () => void): boolean {
  try {
    write()
    return false
  } catch (error) {
    if (isMusterError(error, kubeErrors.ApplyConflict)) return true
    throw error
  }
}

const noChange: FieldComparison = { added: noFields, modified: noFields, removed: noFields }

const bare = (object: Thing | undefined): Json => ({ spec: object?.spec ?? {} })
const managersOf = (object: Thing | undefined): Managers => decodeManagers(object?.metadata.managedFields)
const ownedBy = (object: Thing | undefined, name: string, operation = 'Apply'): FieldSet =>
  [...managersOf(object).values()].find((one) => one.manager === name && one.operation === operation)?.fields ??
  noFields
const ownedByOthers = (object: Thing, name: string): FieldSet =>
  [...managersOf(object).values()]
    .filter((one) => one.manager !== name || one.operation !== 'Apply')
    .map(({ fields }) => fields)
    .reduce(union, noFields)

describe('an apply', () => {
  it('changes nothing when repeated', () => {
    fc.assert(
      fc.property(steps(), anySpecs(), (before, spec) => {
        const once = apply(history(before), spec, 'm')
        const twice = apply(once, spec, 'm', false)
        expect(twice).toBe(once)
      }),
    )
  })

  it('by force never conflicts', () => {
    fc.assert(
      fc.property(steps(), anySpecs(), (before, spec) => {
        expect(() => apply(history(before), spec, 'm', true)).not.toThrow()
      }),
    )
  })

  it('owns all applied fields and nothing else', () => {
    fc.assert(
      fc.property(steps(), anySpecs(), (before, spec) => {
        const applied = withoutUnownable(fieldSetOf(thing(spec) as unknown as Json, shape))
        expect(equalFieldSets(ownedBy(apply(history(before), spec, 'm'), 'm'), applied)).toBe(true)
      }),
    )
  })

  it('adds and changes only applied fields, and removes only fields it owned, with their content', () => {
    fc.assert(
      fc.property(steps(), anySpecs(), (before, spec) => {
        const live = history(before)
        const { added, modified, removed } = compareValues(bare(live), bare(apply(live, spec, 'm')), shape)
        const applied = withDeclaredFields(fieldSetOf({ spec }, shape), shape)
        expect(difference(union(added, modified), applied)).toEqual(noFields)
        expect(recursiveDifference(removed, withDeclaredFields(ownedBy(live, 'm'), shape))).toEqual(noFields)
      }),
    )
  })

  it('conflicts exactly if it would change a field of another manager', () => {
    fc.assert(
      fc.property(steps(), anySpecs(), (before, spec) => {
        const live = history(before) as Thing
        const { added, modified } = compareValues(bare(live), bare(apply(live, spec, 'm', true)), shape)
        const contested = intersection(ownedByOthers(live, 'm'), union(added, modified))
        expect(isRefused(() => apply(live, spec, 'm', false))).toBe(contested.length > 0)
      }),
    )
  })

  it('without force takes from others only what is inside a list item of its own', () => {
    fc.assert(
      fc.property(steps(), anySpecs(), (before, spec) => {
        const live = history(before) as Thing
        const after = history([...before, { manager: 'm', spec, apply: true, force: false }]) as Thing
        const { removed } = compareValues(bare(live), bare(after), shape)
        const lost = difference(ownedByOthers(live, 'm'), ownedByOthers(after, 'm'))
        expect(difference(lost, removed)).toEqual(noFields)
      }),
    )
  })

  it('of an empty object removes everything that the applier owned alone', () => {
    fc.assert(
      fc.property(anySpecs(), (spec) => {
        const gone = apply(apply(undefined, spec, 'm'), {}, 'm')
        expect(equalJson(gone.spec ?? {}, {})).toBe(true)
      }),
    )
  })

  it('commutes with an apply of another manager to other fields', () => {
    fc.assert(
      fc.property(specs(['p', 'q'], false), specs(['r', 's'], false), (ours, theirs) => {
        const one = apply(apply(undefined, ours, 'm', false), theirs, 'n', false)
        const other = apply(apply(undefined, theirs, 'n', false), ours, 'm', false)
        // The order of items is that of arrival; who owns what is not.
        expect(compareValues(bare(one), bare(other), shape)).toEqual(noChange)
        expect(ownedBy(one, 'm')).toEqual(ownedBy(other, 'm'))
        expect(ownedBy(one, 'n')).toEqual(ownedBy(other, 'n'))
      }),
    )
  })
})

describe('an update', () => {
  it('owns the fields it changed, exclusively', () => {
    fc.assert(
      fc.property(steps(), anySpecs(), (before, spec) => {
        const live = history(before) as Thing
        const after = update(live, spec, 'm')
        const { added, modified } = compareValues(bare(live), bare(after), shape)
        const changed = union(added, modified)
        expect(difference(changed, ownedBy(after, 'm', 'Update'))).toEqual(noFields)
        for (const { manager, operation, fields } of managersOf(after).values()) {
          const isSelf = manager === 'm' && operation === 'Update'
          expect(isSelf ? noFields : intersection(fields, changed)).toEqual(noFields)
        }
      }),
    )
  })

  it('by another manager never loses fields that an applier then applies again', () => {
    fc.assert(
      fc.property(anySpecs(), anySpecs(), (config, spec) => {
        const mine = apply(undefined, config, 'm')
        const edited = update(mine, { ...mine.spec, ...spec }, 'editor')
        const again = apply(edited, config, 'm')
        // What the editor added is still there, unless the applier has a say in it.
        const foreign = difference(ownedBy(edited, 'editor', 'Update'), fieldSetOf({ spec: config }, shape))
        expect(difference(foreign, ownedBy(again, 'editor', 'Update'))).toEqual(noFields)
      }),
    )
  })
})

describe('managedFields', () => {
  it('never contain an empty entry, nor fields that cannot be owned', () => {
    fc.assert(
      fc.property(steps(), (all) => {
        for (const { fields } of managersOf(history(all)).values()) {
          expect(fields.length).toBeGreaterThan(0)
          expect(withoutUnownable(fields)).toBe(fields)
        }
      }),
    )
  })
})

/**
 * How values merge, derived from a schema: what is atomic and what has parts that different managers may own. OpenAPI
 * expresses it in many ways (references, list and map types, unknown fields, no type at all); a shape does in one, and is
 * computed only as deep as values go.
 *
 *     struct, map          granular: each field on its own; or atomic: all or nothing
 *     list                 by key (`map`), by value (`set`), or atomic
 *     scalar               indivisible
 *
 * A place without a type in its schema accepts any of them, each with its own rules. Without a schema, maps are granular and
 * lists atomic: the deduced shape.
 */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import type { Json } from '../json.ts'
import { type Definitions, resolveSchema, type Schema } from '../schema.ts'
import { zeroFieldName, zerosOf } from './zeros.ts'

/** The allowed types. At least one member is set; several if the schema leaves the type open. */
export interface ApplyShape {
  readonly scalar?: ScalarShape
  readonly list?: ListShape
  readonly map?: MapShape
}

export type ScalarShape = 'number' | 'string' | 'boolean' | 'any'

export interface ListShape {
  readonly atomic: boolean
  /** The key fields of items; none for a set, whose items are their own key. */
  readonly keys: readonly string[]
  readonly item: () => ApplyShape
  /** Defaults of key fields that an item omits. */
  readonly keyDefault: (name: string) => Json | undefined
}

export interface MapShape {
  readonly atomic: boolean
  /** No declared fields, values of any type: nothing is known about it. */
  readonly untyped: boolean
  /** The declared fields. */
  readonly names: () => readonly string[]
  /** Whether the schema declares this field, as opposed to allowing it. */
  readonly declares: (name: string) => boolean
  /** The shape of a field; `undefined` if the schema does not allow it. */
  readonly field: (name: string) => ApplyShape | undefined
  /** The shape of undeclared fields. */
  readonly element: () => ApplyShape | undefined
  /** Fields that always exist, with their zero values. */
  readonly zeros: ReadonlyMap<string, Json>
}

/** Any value; lists and maps in it are atomic. */
const opaque: ApplyShape = {
  scalar: 'any',
  list: { atomic: true, keys: [], item: () => opaque, keyDefault: () => undefined },
  map: anyMap(true, () => opaque),
}

/** The shape of values without a schema. */
export const deduced: ApplyShape = {
  scalar: 'any',
  list: opaque.list as ListShape,
  map: anyMap(false, () => deduced),
}

/**
 * The shape of a member of a value that was checked before.
 * @throws SchemaMismatch if it was not
 */
export function memberShape(map: MapShape, name: string): ApplyShape {
  const shape = map.field(name)
  if (!shape) throw new MusterError(kubeErrors.SchemaMismatch, `.${name}: field not declared in schema`)
  return shape
}

function anyMap(atomic: boolean, element: () => ApplyShape): MapShape {
  return { atomic, untyped: !atomic, names: () => [], declares: () => false, field: element, element, zeros: new Map() }
}

/** Definitions that the server treats differently from their schema. */
const wellKnown: ReadonlyMap<string, ApplyShape> = new Map<string, ApplyShape>([
  ['io.k8s.apimachinery.pkg.api.resource.Quantity', { scalar: 'any' }],
  ['io.k8s.apimachinery.pkg.runtime.RawExtension', opaque],
])

const text: Schema = { type: 'string' }
const time: Schema = { type: 'string', format: 'date-time' }
const integer: Schema = { type: 'integer' }
const texts: Schema = { type: 'object', additionalProperties: text }

/** The metadata of custom and embedded objects: their own schema is just `type: object`. */
const objectMeta: Schema = {
  type: 'object',
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: integer,
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: integer,
    labels: texts,
    annotations: texts,
    ownerReferences: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      items: {
        type: 'object',
        'x-kubernetes-map-type': 'atomic',
        properties: {
          apiVersion: text,
          kind: text,
          name: text,
          uid: { type: 'string', default: '' },
          controller: { type: 'boolean' },
          blockOwnerDeletion: { type: 'boolean' },
        },
      },
    },
    finalizers: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
    managedFields: { type: 'array', 'x-kubernetes-list-type': 'atomic', items: {} },
  },
}

const objectFields: Readonly<Record<string, Schema>> = { apiVersion: text, kind: text, metadata: objectMeta }

const noDefinitions: Definitions = {}

/** Cached as long as their schema. */
const known = new WeakMap<
  Definitions,
  { readonly roots: WeakMap<Schema, ApplyShape>; readonly named: Map<string, ApplyShape> }
>()

/** The shape of a kind; without a schema, the deduced one. */
export function shapeOf(schema: Schema | undefined, definitions: Definitions = noDefinitions): ApplyShape {
  if (!schema) return deduced
  const { roots } = shapesOf(definitions)
  let shape = roots.get(schema)
  if (!shape) roots.set(schema, (shape = rootShape(schema, definitions)))
  return shape
}

function shapesOf(definitions: Definitions): { roots: WeakMap<Schema, ApplyShape>; named: Map<string, ApplyShape> } {
  let shapes = known.get(definitions)
  if (!shapes) known.set(definitions, (shapes = { roots: new WeakMap(), named: new Map() }))
  return shapes
}

interface Context {
  readonly definitions: Definitions
  /** An ancestor preserves unknown fields. */
  readonly keepsUnknown: boolean
  /** A built-in kind: its structs have zero values. */
  readonly builtin: boolean
}

function rootShape(schema: Schema, definitions: Definitions): ApplyShape {
  const root = resolveSchema(schema, definitions)
  const builtin = refName(root.properties?.['metadata']) !== undefined
  const context = { definitions, keepsUnknown: false, builtin }
  if (builtin) return inlineShape(root, context, zeroFieldName(root, definitions))
  return inlineShape({ ...root, properties: { ...root.properties, ...objectFields } }, context)
}

function refName(schema: Schema | undefined): string | undefined {
  const target = schema?.$ref ?? (schema?.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined)
  return target?.slice(target.lastIndexOf('/') + 1)
}

/** The shape of a place in a schema: a reference, or a schema of its own. */
function placeShape(schema: Schema, context: Context): ApplyShape {
  // Preserving unknown fields does not extend into a referenced type.
  const inner = { ...context, keepsUnknown: false }
  const name = refName(schema)
  if (name === undefined) return inlineShape(schema, schema === objectMeta ? inner : context)
  if (wellKnown.has(name)) return wellKnown.get(name) as ApplyShape
  if (schema['x-kubernetes-map-type'] !== undefined) {
    return inlineShape(resolveSchema(schema, context.definitions), inner, name)
  }
  const { named } = shapesOf(context.definitions)
  const shape = named.get(name) ?? inlineShape(resolveSchema({ $ref: name }, context.definitions), inner, name)
  named.set(name, shape)
  return shape
}

function inlineShape(schema: Schema, outer: Context, name?: string): ApplyShape {
  const keepsUnknown = outer.keepsUnknown || schema['x-kubernetes-preserve-unknown-fields'] === true
  const context = { ...outer, keepsUnknown }
  switch (schema.type) {
    case undefined:
      return { scalar: 'any', list: listShape(schema, context), map: mapShape(schema, context, name) }
    case 'object':
      return { map: mapShape(schema, context, name) }
    case 'array':
      return { list: listShape(schema, context) }
    default:
      return { scalar: scalarShape(schema) as ScalarShape }
  }
}

function scalarShape({ type, format = '' }: Schema): ScalarShape | undefined {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'string':
      // A format may allow more than text, such as int-or-string.
      return format === '' || format === 'byte' ? 'string' : 'any'
    case undefined:
      return 'any'
    default:
      return undefined
  }
}

function listShape(schema: Schema, context: Context): ListShape {
  const item = once(() => (schema.items ? placeShape(schema.items, context) : opaque))
  const keys = listKeys(schema)
  const keyDefault = (name: string): Json | undefined => {
    const properties = schema.items && resolveSchema(schema.items, context.definitions).properties
    return ownProperty(properties, name)?.default ?? undefined
  }
  return { atomic: keys === undefined, keys: keys ?? [], item, keyDefault }
}

/** The key fields of list items: none for a set, `undefined` for an atomic list. */
function listKeys(schema: Schema): readonly string[] | undefined {
  const type = schema['x-kubernetes-list-type']
  if (type === 'map') return schema['x-kubernetes-list-map-keys'] ?? []
  if (type !== undefined) return type === 'set' ? [] : undefined
  // Older built-in lists declare it in terms of strategic merge patch.
  if (!schema['x-kubernetes-patch-strategy']?.split(',').includes('merge')) return undefined
  const key = schema['x-kubernetes-patch-merge-key']
  return key === undefined ? [] : [key]
}

function mapShape(schema: Schema, context: Context, definition: string | undefined): MapShape {
  const embedded = schema['x-kubernetes-embedded-resource'] === true
  const properties: Readonly<Record<string, Schema>> | undefined = embedded
    ? { ...schema.properties, ...objectFields }
    : schema.properties
  const shapes = new Map<string, ApplyShape>()
  const element = once(() => elementShape(schema, properties, context))
  return {
    atomic: schema['x-kubernetes-map-type'] === 'atomic',
    untyped: isUntyped(schema, properties),
    names: () => Object.keys(properties ?? {}),
    declares: (name) => ownProperty(properties, name) !== undefined,
    field: (name) => {
      const made = shapes.get(name)
      if (made) return made
      const place = ownProperty(properties, name)
      if (!place) return element()
      const shape = placeShape(place, context)
      shapes.set(name, shape)
      return shape
    },
    element,
    zeros: context.builtin ? zerosOf(schema, definition) : new Map(),
  }
}

function elementShape(
  { additionalProperties: additional }: Schema,
  properties: Schema['properties'],
  context: Context,
): ApplyShape | undefined {
  if (typeof additional === 'object') return placeShape(additional, context)
  const open = additional ?? (context.keepsUnknown || isEmpty(properties))
  return open ? deduced : undefined
}

function isUntyped({ additionalProperties: additional }: Schema, properties: Schema['properties']): boolean {
  if (!isEmpty(properties) || additional === false) return false
  return typeof additional !== 'object' || (refName(additional) === undefined && scalarShape(additional) === 'any')
}

function isEmpty(properties: Schema['properties']): boolean {
  return properties === undefined || Object.keys(properties).length === 0
}

/** A declared property: own members only, so that `constructor` is not found in every object. */
function ownProperty(properties: Schema['properties'], name: string): Schema | undefined {
  return properties && Object.hasOwn(properties, name) ? properties[name] : undefined
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/**
 * What a schema says about the strategic merge of a field: its patch strategy and merge key, and where to continue.
 *
 * A place without a schema is merged as plain JSON: objects member by member, lists as a whole. The same applies to free-form
 * objects. (An API server rejects strategic merge patches of custom resources; that is checked elsewhere.)
 */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { type Json, stringifyJson } from '../json.ts'
import { type Definitions, type Schema, resolveSchema } from '../schema.ts'

/** A value in a document: its schema, and its path for messages. */
export interface MergePlace {
  readonly schema: Schema | undefined
  readonly definitions: Definitions
  readonly path: string
}

export interface FieldRule {
  /** The field itself. */
  readonly place: MergePlace
  /** An element of it, if it is a list. */
  readonly element: MergePlace
  readonly strategy: 'merge' | 'replace' | undefined
  /** Members that a patch does not list in `$retainKeys` are removed: for unions, of which only one member may be set. */
  readonly retainKeys: boolean
  readonly mergeKey: string | undefined
}

export function rootPlace(schema: Schema | undefined, definitions: Definitions): MergePlace {
  return { schema: schema && resolveSchema(schema, definitions), definitions, path: '' }
}

/** The rule for one field of an object. @throws InvalidPatch for a field that the schema does not know */
export function ruleOf({ schema, definitions, path }: MergePlace, field: string): FieldRule {
  const fieldPath = path === '' ? field : `${path}.${field}`
  const place = { schema: fieldSchema(schema, field, definitions, fieldPath), definitions, path: fieldPath }
  const items = place.schema?.items
  const strategies = place.schema?.['x-kubernetes-patch-strategy']?.split(',') ?? []
  return {
    place,
    element: { schema: items && resolveSchema(items, definitions), definitions, path: `${fieldPath}[]` },
    strategy: strategies.includes('merge') ? 'merge' : strategies.includes('replace') ? 'replace' : undefined,
    retainKeys: strategies.includes('retainKeys'),
    mergeKey: place.schema?.['x-kubernetes-patch-merge-key'],
  }
}

/** An object that is kept as it is. */
const opaque: Schema = { type: 'object' }

function fieldSchema(
  schema: Schema | undefined,
  field: string,
  definitions: Definitions,
  path: string,
): Schema | undefined {
  const { properties, additionalProperties } = schema ?? {}
  if (schema === opaque) {
    const why = `unable to find api field in struct RawExtension for the json field "${field}"`
    throw new MusterError(kubeErrors.InvalidPatch, why)
  }
  // Go has no fields there to merge by.
  if (properties?.[field]?.$ref?.endsWith('.RawExtension')) return opaque
  if (properties && Object.hasOwn(properties, field)) return resolveSchema(properties[field], definitions)
  if (typeof additionalProperties === 'object') return resolveSchema(additionalProperties, definitions)
  if (properties && !schema?.['x-kubernetes-preserve-unknown-fields']) {
    throw new MusterError(kubeErrors.InvalidPatch, `the schema has no field ${path}, so it cannot be merged.`)
  }
  return undefined
}

/** The type of all elements: objects are merged by key, scalars as a set; nothing else can be merged. */
export function elementKind(path: string, ...lists: readonly (readonly Json[])[]): 'object' | 'scalar' | undefined {
  let type: string | undefined
  for (const element of lists.flat()) {
    const own = typeof element === 'bigint' ? 'number' : typeof element
    if (element === null || Array.isArray(element) || own !== (type ?? own)) {
      throw new MusterError(
        kubeErrors.InvalidPatch,
        `the list ${path} has elements of several types, or of one that cannot be merged.`,
      )
    }
    type = own
  }
  return type === undefined || type === 'object' ? type : 'scalar'
}

/** A text for each merge key value, of any type; also for a scalar that is its own key. */
export function keyText(value: Json | undefined): string {
  return stringifyJson(value ?? null)
}

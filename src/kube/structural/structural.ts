/**
 * A structural schema: what a version of a CRD says about its objects, as three functions. `prune` drops what the schema
 * does not know, `applyDefaults` fills in what it gives, `validate` tells what is wrong, in the real server's words.
 *
 * They are pure and change nothing in place: what needs no change comes back as it is. A schema is compiled once, when
 * the first object is read.
 */
import { type Cause, invalidValue, noField } from '../validation/cause.ts'
import type { Json, JsonObject } from '../json.ts'
import { ownMember } from '../json-member.ts'
import type { CustomResourceSubresourceScale, JSONSchemaProps } from '../types/apiextensions/v1.ts'
import { defaultValue } from './defaults.ts'
import { checkEmbedded, type EmbeddedChecks } from './embedded.ts'
import { checkListTypes } from './list-type.ts'
import { compileNode, type SchemaNode } from './node.ts'
import { type PrunedFields, pruneObject } from './prune.ts'
import { checkRules } from './rules.ts'
import { checkScaleSpec, checkScaleStatus } from './scale.ts'
import { checkValue } from './value.ts'

export interface StructuralSchema {
  prune(object: JsonObject): PrunedFields
  applyDefaults(object: JsonObject): JsonObject
  /** Everything wrong with an object; none when it may be stored. Metadata at the root is somebody else's. */
  validate(object: JsonObject, validation?: Validation): readonly Cause[]
}

export interface Validation {
  /** What is stored, when the object is to take its place: mistakes that were there already are let through. */
  readonly old?: JsonObject | undefined
  /** Through which endpoint it is written: of a write to `status` nothing else is looked at. @default '' */
  readonly subresource?: string | undefined
  /** What is wrong with the rest of the object: enough of it, and rules are not asked. */
  readonly found?: readonly Cause[] | undefined
  /** Told of rules that an old mistake still breaks. */
  readonly warn?: ((message: string) => void) | undefined
}

export interface StructuralOptions {
  /** Where the kind keeps its replicas, if it can be scaled. */
  readonly scale?: CustomResourceSubresourceScale | undefined
  readonly embedded: EmbeddedChecks
}

export function structuralSchema(schema: JSONSchemaProps, options: StructuralOptions): StructuralSchema {
  let compiled: SchemaNode | undefined
  const root = (): SchemaNode => (compiled ??= compileNode(schema))
  return {
    prune: (object) => pruneObject(object, root()),
    applyDefaults: (object) => defaultValue(object, root()) as JsonObject,
    validate: (object, validation = {}) =>
      validation.subresource === 'status'
        ? validateStatus(object, root(), options, validation)
        : validateObject(object, root(), options, validation),
  }
}

function validateObject(
  object: JsonObject,
  root: SchemaNode,
  { scale, embedded }: StructuralOptions,
  validation: Validation,
): readonly Cause[] {
  const { old } = validation
  const causes = [
    ...checkValue(object, root, old).map(({ cause }) => cause('')),
    ...(scale ? [...checkScaleSpec(object, scale), ...checkScaleStatus(object, scale)] : []),
    ...checkEmbedded(object, root, embedded),
    ...listTypeCauses(object, root, old),
  ]
  return withRules(causes, object, root, validation)
}

/** A write to status is checked as if status were an object of its own: that shows in the words. */
function validateStatus(
  object: JsonObject,
  root: SchemaNode,
  { scale }: StructuralOptions,
  validation: Validation,
): readonly Cause[] {
  const { old } = validation
  const node = root.properties.get('status')
  const status = ownMember(object, 'status')
  const causes = [
    ...(node && status !== undefined
      ? checkValue(status, node, ownMember(old, 'status')).map(({ cause }) => cause('status'))
      : []),
    ...(scale ? checkScaleStatus(object, scale) : []),
    ...listTypeCauses(object, root, old),
  ]
  return withRules(causes, object, root, validation)
}

/** Old duplicates, wherever they are, excuse new ones. */
function listTypeCauses(object: JsonObject, root: SchemaNode, old: JsonObject | undefined): readonly Cause[] {
  const causes = checkListTypes(object, root)
  return causes.length > 0 && old && checkListTypes(old, root).length > 0 ? [] : causes
}

/** Mistakes after which rules would only stumble. */
const blocking = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

const unchecked =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

function withRules(
  causes: readonly Cause[],
  object: JsonObject,
  root: SchemaNode,
  { old, warn, found = [] }: Validation,
): readonly Cause[] {
  if (!root.has.rules) return causes
  if ([...found, ...causes].some(({ reason }) => blocking.has(reason ?? '')))
    return [...causes, invalidValue(noField, null as Json, unchecked)]
  return [...causes, ...checkRules(object, root, { old, warn, path: '' })]
}

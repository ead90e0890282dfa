/**
 * A structural schema of a CRD version, as three functions: `prune` drops unknown fields, `applyDefaults` fills in defaults,
 * `validate` returns validation errors with the real server's messages.
 *
 * They are pure and change nothing in place: unchanged values are returned as they are. A schema is compiled once, with the
 * first object.
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
  /** All validation errors of an object. Metadata at the root is validated elsewhere. */
  validate(object: JsonObject, validation?: Validation): readonly Cause[]
}

export interface Validation {
  /** The stored object that it replaces: errors that it already had are ignored (ratcheting). */
  readonly old?: JsonObject | undefined
  /** The subresource of the write: a write to `status` validates only the status. @default '' */
  readonly subresource?: string | undefined
  /** Errors of the rest of the object: with certain errors, rules are not evaluated. */
  readonly found?: readonly Cause[] | undefined
  /** Called for rules that an old error still violates. */
  readonly warn?: ((message: string) => void) | undefined
}

interface StructuralOptions {
  /** The replicas path, if the kind has a scale subresource. */
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

/** A write to status is validated as if status were an object of its own: that shows in the messages. */
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

/** Existing duplicates, wherever they are, allow new ones. */
function listTypeCauses(object: JsonObject, root: SchemaNode, old: JsonObject | undefined): readonly Cause[] {
  const causes = checkListTypes(object, root)
  return causes.length > 0 && old && checkListTypes(old, root).length > 0 ? [] : causes
}

/** Errors after which rules would only fail. */
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

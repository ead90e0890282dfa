/**
 * A write under way: what it is for, who makes it, and how it is to be taken. And the two things that every write goes
 * through: `admit` reads what the client sent, `ownershipOf` says how managedFields are kept.
 */
import type { WriteOptions } from '../kube/apply/apply.ts'
import { checkConforms } from '../kube/apply/conformance.ts'
import { type FieldSet, fieldSet } from '../kube/apply/field-set.ts'
import { shapeOf } from '../kube/apply/shape.ts'
import { isMusterError } from '../kube/errors.ts'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../kube/json.ts'
import { formatApiVersion } from '../kube/kind.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { Served } from './catalog.ts'
import { prune, withDefaults } from './prune.ts'
import { badRequest, cause, invalid, invalidOptions } from './refusal.ts'
import type { Route } from './route.ts'
import type { ClusterState } from './state.ts'

export interface Writing extends Route {
  /** The field manager, as far as the client gave one or has a name. */
  readonly manager: string
  readonly dryRun: boolean
  readonly validation: 'Strict' | 'Warn' | 'Ignore'
  /** Sent along with the answer. */
  readonly warn: (message: string) => void
}

export function writingOf(
  route: Route,
  query: URLSearchParams,
  userAgent: string,
  warn: (message: string) => void,
): Writing {
  return {
    ...route,
    manager: query.get('fieldManager') || userAgent.split('/', 1)[0]!.slice(0, 128),
    dryRun: isDryRun(query.getAll('dryRun')),
    validation: validationOf(query.get('fieldValidation')),
    warn,
  }
}

export function isDryRun(values: readonly string[]): boolean {
  const wrong = values.find((value) => value !== 'All')
  if (wrong !== undefined) throw invalidOptions('UpdateOptions', [cause.unsupported('dryRun', wrong, ['All'])])
  return values.length > 0
}

function validationOf(value: string | null): Writing['validation'] {
  if (value === null || value === '') return 'Warn'
  if (value === 'Strict' || value === 'Warn' || value === 'Ignore') return value
  const supported = ['Ignore', 'Strict', 'Warn', '']
  throw invalidOptions('UpdateOptions', [cause.unsupported('fieldValidation', value, supported)])
}

/** A body as an object of the kind that is written: known fields only, defaulted, of the right types. */
export function admit(writing: Writing, body: Json): UntypedObject {
  const { served } = writing
  const identified = identify(served, body)
  const { object, unknown } = prune(identified, served)
  reportUnknown(writing, unknown)
  const admitted = served.custom ? (withDefaults(object, served.schema) as JsonObject) : object
  checkTypes(served, admitted)
  return admitted as unknown as UntypedObject
}

/** The body as an object that says what it is; what it leaves out is what the URL says. */
export function identify(served: Served, body: Json): JsonObject {
  if (!isJsonObject(body)) throw badRequest(`the object provided is unrecognized (must be of type ${served.kind})`)
  const wanted = formatApiVersion(served)
  const { apiVersion = wanted, kind = served.kind, metadata, ...rest } = body
  if (apiVersion !== wanted) {
    throw badRequest(
      `the API version in the data (${textOf(apiVersion)}) does not match the expected API version (${wanted})`,
    )
  }
  if (kind !== served.kind) {
    throw badRequest(`${textOf(kind)} in version "${served.version}" cannot be handled as a ${served.kind}`)
  }
  if (metadata !== undefined && metadata !== null && !isJsonObject(metadata))
    throw badRequest('metadata must be an object')
  return { apiVersion, kind, metadata: metadata ?? {}, ...rest }
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : stringifyJson(value)
}

function reportUnknown({ served, validation, warn }: Writing, unknown: readonly string[]): void {
  if (unknown.length === 0 || validation === 'Ignore') return
  const problems = unknown.map((path) => `unknown field "${path}"`)
  if (validation === 'Warn') {
    for (const problem of problems) warn(problem)
    return
  }
  const { kind, version } = served
  const list = problems.join(', ')
  throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${list}`)
}

function checkTypes(served: Served, object: JsonObject): void {
  try {
    checkConforms(object, shapeOf(served.schema, served.definitions), { allowDuplicates: true })
  } catch (error) {
    if (!isMusterError(error, 'SchemaMismatch')) throw error
    const { kind, version, custom } = served
    if (!custom) throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${error.message}`)
    const { name = '' } = object['metadata'] as { readonly name?: string }
    throw invalid(served, name, [{ reason: 'FieldValueTypeInvalid', message: error.message, field: '<nil>' }])
  }
}

/** An object in the URL and in the body must be the same one. */
export function checkIdentity({ name, namespace, served }: Writing, { metadata }: UntypedObject): void {
  if (name !== undefined && metadata.name !== undefined && metadata.name !== name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
  }
  if (served.namespaced && metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
}

const statusAlone = fieldSet(['status'])
const allButStatus = fieldSet(['metadata'], ['spec'])
const specAlone = fieldSet(['spec'])
const specAndLabels = fieldSet(['spec'], ['metadata', 'labels'])

/** Fields that a write through this endpoint cannot change, and so cannot own. */
function resetFields({ served, subresource }: Writing): FieldSet | undefined {
  if (!served.hasStatus) return undefined
  if (subresource !== 'status') return statusAlone
  if (served.custom) return allButStatus
  return served.group === 'apps' ? specAndLabels : specAlone
}

export function ownershipOf(state: ClusterState, writing: Writing): WriteOptions {
  const { served, manager, subresource } = writing
  const reset = resetFields(writing)
  return {
    manager,
    ...(subresource !== '' && { subresource }),
    schema: served.schema,
    definitions: served.definitions,
    now: state.clock.now(),
    ...(reset && { resetFields: reset }),
  }
}

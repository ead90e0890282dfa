/**
 * A write in progress: its target, the user, and its options. And the two steps that every write goes through: `decode`
 * reads the body, `ownershipOf` says how managedFields are maintained.
 */
import { type ConvertObject, updateObject, type ManagedWriteOptions } from '../../kube/apply/apply.ts'
import { type FieldSet, fieldSet } from '../../kube/apply/field-set.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { quoteGo } from '../../kube/go/go-text.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../kube/json.ts'
import { formatApiVersion, type GroupVersionKind, parseApiVersion } from '../../kube/kind.ts'
import { messageOfKind } from '../../kube/protobuf/table.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import type { Identity } from '../access/identity.ts'
import type { AdmissionRequest } from '../cluster/admission.ts'
import type { KindContext } from '../kinds/strategy/kind-rules.ts'
import { kindConversion } from '../catalog/conversions.ts'
import { rulesOf } from './kinds.ts'
import type { KeyScan } from '../codec/duplicate-keys.ts'
import { goMismatch, jsonName } from '../codec/go-decoding.ts'
import { invalidField as invalidValue, tooLong, unsupported } from '../../kube/validation/field-error.ts'
import { pruneUnknownFields, type SchemaOfKind } from '../codec/prune.ts'
import { badRequest, type Cause, invalid, invalidOptions, StatusError } from '../errors/status-error.ts'
import type { Route } from '../catalog/route.ts'
import type { ClusterState } from '../cluster/state.ts'
import { keepsMetadataFromStatus } from '../kinds/strategy/strategy.ts'
import { structForm } from '../codec/struct-form.ts'

export interface Writing extends Route {
  /** The field manager: given by the client, or derived from its user agent. */
  readonly manager: string
  readonly dryRun: boolean
  readonly validation: 'Strict' | 'Warn' | 'Ignore'
  readonly user: Identity
  /** CreateOptions, UpdateOptions or PatchOptions, for admission. */
  readonly options: JsonObject
  /** Duplicate keys of the body. */
  readonly scan: () => KeyScan
  /** Adds a warning header to the answer. */
  readonly warn: (message: string) => void
}

export interface WriteRequest {
  readonly query: URLSearchParams
  readonly userAgent: string
  readonly user: Identity
  readonly optionsKind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'
  readonly scan: () => KeyScan
  readonly warn: (message: string) => void
}

const longestManager = 128

export function writingOf(route: Route, request: WriteRequest): Writing {
  const { query, userAgent, user, optionsKind, scan, warn } = request
  const fieldManager = query.get('fieldManager')
  const validation = query.get('fieldValidation')
  const dryRun = isDryRun(query.getAll('dryRun'), optionsKind)
  if (fieldManager && Buffer.byteLength(fieldManager) > longestManager) {
    throw invalidOptions(optionsKind, [tooLong('fieldManager', longestManager)])
  }
  return {
    ...route,
    manager: fieldManager || userAgent.split('/', 1)[0]!.slice(0, longestManager),
    dryRun,
    validation: validationOf(validation, optionsKind),
    user,
    scan,
    options: {
      kind: optionsKind,
      apiVersion: 'meta.k8s.io/v1',
      ...(dryRun && { dryRun: ['All'] }),
      ...(fieldManager && { fieldManager }),
      ...(validation && { fieldValidation: validation }),
    },
    warn,
  }
}

/** The admission request of this write. */
export function admissionOf(
  { served, subresource, namespace, user, dryRun, options, warn }: Writing,
  operation: AdmissionRequest['operation'],
): Omit<AdmissionRequest, 'name' | 'object' | 'oldObject'> {
  // A patch ends as a create or an update.
  const kind = operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions'
  const isByUpdate =
    kind === 'CreateOptions' && (options['kind'] === 'UpdateOptions' || options['kind'] === 'PatchOptions')
  return { operation, isByUpdate, served, subresource, namespace, user, dryRun, options: { ...options, kind }, warn }
}

/** What the rules of a kind may read. */
export function kindContext({ storage, clock, random }: ClusterState, { user }: Pick<Writing, 'user'>): KindContext {
  return {
    now: formatTime(clock.now()),
    random,
    user,
    find: (table, namespace, name) => storage.table(table).get(namespace, name),
    objects: (table, namespace) => storage.table(table).objects(namespace),
  }
}

export function isDryRun(values: readonly string[], optionsKind: string): boolean {
  if (values.length === 0) return false
  if (values.some((value) => value !== 'All')) {
    throw invalidOptions(optionsKind, [unsupported('dryRun', values, ['All'])])
  }
  return true
}

function validationOf(value: string | null, optionsKind: string): Writing['validation'] {
  if (value === null || value === '') return 'Warn'
  if (value === 'Strict' || value === 'Warn' || value === 'Ignore') return value
  throw invalidOptions(optionsKind, [unsupported('fieldValidation', value, ['', 'Ignore', 'Strict', 'Warn'])])
}

/** A body as an object of the written kind: known fields only, of the right types, defaulted. */
export function decode(writing: Writing, body: Json): UntypedObject {
  const { served, validation } = writing
  const { object, unknown } = read(served, identify(served, body, validation))
  reportDecodingProblems(writing, unknown)
  return object
}

/** The object with known fields of the right types only, and the names of unknown fields. */
function read(
  served: ServedResource,
  identified: JsonObject,
): { readonly object: UntypedObject; readonly unknown: readonly string[] } {
  const { object, unknown, problem } = pruneUnknownFields(identified, served)
  if (problem !== undefined) throw undecodable(served, problem)
  // Custom objects are validated by their schema later, after mutating admission.
  if (!served.custom) checkTypes(served, object)
  return { object: withDefaults(served, object as unknown as UntypedObject), unknown }
}

/** The object with defaults. */
export function withDefaults(served: ServedResource, object: UntypedObject, isApplied = false): UntypedObject {
  if (served.structural) {
    // Empty members that are applied are stored: see empty-metadata.ts.
    const compact = withStructMetadata(object, isApplied) as unknown as JsonObject
    return served.structural.applyDefaults(compact) as unknown as UntypedObject
  }
  const { defaults = structForm } = rulesOf(served.table)
  return defaults(object, served.version)
}

/**
 * Metadata decodes as a Go struct even in custom objects: null becomes the empty string, and empty members are omitted.
 */
function withStructMetadata(object: UntypedObject, keepsEmpty: boolean): UntypedObject {
  const isEmpty = (value: unknown): boolean =>
    value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  const hasNulls = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && Object.values(value).includes(null)
  const members = Object.entries(object.metadata)
  if (!members.some(([, value]) => isEmpty(value) || hasNulls(value))) return object
  const filled = members.map(([name, value]): [string, unknown] => [
    name,
    (name === 'labels' || name === 'annotations') && hasNulls(value)
      ? Object.fromEntries(Object.entries(value as object).map(([key, text]) => [key, (text as unknown) ?? '']))
      : value,
  ])
  return { ...object, metadata: Object.fromEntries(filled.filter(([, value]) => keepsEmpty || !isEmpty(value))) }
}

/** The body with apiVersion and kind; values that it leaves out come from the URL. */
export function identify(
  served: GroupVersionKind & SchemaOfKind,
  body: Json,
  validation: Writing['validation'] = 'Warn',
): JsonObject {
  if (body === null && !served.custom) return identify(served, {})
  if (!isJsonObject(body)) throw unrecognized(served, body, `Go value of type ${typeMeta}`)
  const expected = formatApiVersion(served)
  const { metadata } = body
  const apiVersion = body['apiVersion'] ?? ''
  const kind = body['kind'] ?? ''
  if (typeof apiVersion !== 'string') {
    throw unrecognized(served, body, 'Go struct field .apiVersion of type string', apiVersion)
  }
  if (typeof kind !== 'string') throw unrecognized(served, body, 'Go struct field .kind of type string', kind)
  if (served.custom && !kind) throw withoutKind(served, body, validation)
  if ((kind && kind !== served.kind) || (apiVersion && apiVersion !== expected)) {
    checkType(served, apiVersion || expected, kind || served.kind, body)
  }
  if (served.custom && apiVersion !== expected) throw otherVersion(apiVersion, expected)
  if (metadata !== undefined && metadata !== null && !isJsonObject(metadata)) {
    const why = `json: cannot unmarshal ${jsonName(metadata)} into Go struct field ${served.kind}.metadata of type v1.ObjectMeta`
    throw undecodable(served, why)
  }
  // In the order of the body: of several errors the first is reported.
  return { ...body, apiVersion: expected, kind: served.kind, metadata: metadata ?? {} }
}

const typeMeta = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`

function unrecognized(
  { kind }: GroupVersionKind & SchemaOfKind,
  body: Json,
  into: string,
  wrong: Json = body,
): StatusError {
  const why = `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonName(wrong)} into ${into}`
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${bodyPrefix(body)})`)
}

function withoutKind(
  served: GroupVersionKind & SchemaOfKind,
  body: Json,
  validation: Writing['validation'],
): StatusError {
  const why = `Object 'Kind' is missing in '${stringifyJson(body)}'`
  // With `fieldValidation=Ignore` the real server uses a different decoder, with other messages.
  if (validation === 'Ignore') return undecodable(served, why)
  return badRequest(
    `the object provided is unrecognized (must be of type ${served.kind}): ${why} (${bodyPrefix(body)})`,
  )
}

/** The beginning of a body, for error messages. */
function bodyPrefix(body: Json): string {
  const bytes = Buffer.from(stringifyJson(body))
  const shown = bytes.subarray(0, 30).toString(isJsonObject(body) ? 'utf8' : 'hex')
  return bytes.length > 30 ? `${shown} ...` : shown
}

function otherVersion(sent: string, expected: string): StatusError {
  return badRequest(`the API version in the data (${sent}) does not match the expected API version (${expected})`)
}

/** The body is of another kind than this endpoint serves: a registered kind or an unknown one. */
function checkType(
  served: GroupVersionKind & SchemaOfKind,
  apiVersion: string,
  sent: string,
  { metadata }: JsonObject,
): void {
  const { kind, group, custom } = served
  const expected = formatApiVersion(served)
  if (custom) {
    if (apiVersion !== expected) throw otherVersion(apiVersion, expected)
    const { name } = isJsonObject(metadata) ? metadata : {}
    const shown = typeof name === 'string' ? name : ''
    throw invalid({ group, kind: sent }, shown, [invalidValue('kind', sent, `must be ${kind}`)])
  }
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
  const text = `${sent} in version "${version}" cannot be handled as a ${kind}`
  if (!messageOfKind(apiVersion, sent)) {
    throw badRequest(
      `${text}: no kind "${sent}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`,
    )
  }
  if (sent === kind) throw otherVersion(apiVersion, expected)
  const home = group === '' ? 'core' : group.split('.', 1)[0]!
  throw badRequest(`${text}: converting (${version}.${sent}) to (${home}.${kind}): unknown conversion`)
}

/** The real server's decoder also reports at most a hundred. */
const maxDecodingProblems = 100

/** Unknown fields and duplicate keys: warned about or rejected, depending on `fieldValidation`. */
function reportDecodingProblems({ served, validation, options, scan, warn }: Writing, found: readonly string[]): void {
  if (validation === 'Ignore') return
  const { duplicates, order, before } = scan()
  // The result of a patch is a Go map, whose unknown fields are sorted by name.
  const unknown = options['kind'] === 'PatchOptions' ? found.toSorted() : found
  const all = [
    ...unknown.map((path) => ({ path, what: 'unknown' })),
    ...new Set(duplicates).values().map((path) => ({ path, what: 'duplicate' })),
  ]
  if (duplicates.length > 0) {
    const first = new Map(order.toReversed().map((path, index) => [path, order.length - index]))
    const last = new Map(order.map((path, index) => [path, index + 1]))
    // A duplicate key is reported where it occurs the second time; in a custom object, before its unknown fields.
    const placeOf = ({ path, what }: (typeof all)[number]): number =>
      what === 'duplicate' ? (last.get(path) ?? 0) - (served.custom ? order.length : 0) : (first.get(path) ?? 0)
    all.sort((a, b) => placeOf(a) - placeOf(b))
  }
  const problems = all.slice(0, maxDecodingProblems).map(({ path, what }) => `${what} field ${quoteGo(path)}`)
  if (validation === 'Warn') {
    for (const text of [...(before?.warnings ?? []), ...problems]) warn(text)
    return
  }
  const refusals = [...(before ? [before.refusal] : []), ...problems]
  if (refusals.length > 0) throw undecodable(served, `strict decoding error: ${refusals.join(', ')}`)
}

/** Whether Go's decoder could decode the object as its kind. */
function checkTypes({ kind, version, definition, definitions }: ServedResource, object: JsonObject): void {
  const why = definition && goMismatch(object, definition, definitions)
  if (!why) return
  throw readProblem(object) ?? undecodable({ kind, version }, why)
}

/**
 * Times and quantities have decoders of their own, whose errors are reported at once; type errors of the JSON decoder
 * come last.
 */
function readProblem(object: JsonObject): StatusError | undefined {
  try {
    structForm(object as unknown as UntypedObject)
    return undefined
  } catch (error) {
    return error instanceof StatusError && /parsing time|quantities must/.test(error.message) ? error : undefined
  }
}

function undecodable({ kind, version }: Pick<ServedResource, 'kind' | 'version'>, why: string): StatusError {
  return badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`)
}

/** Validation errors of a custom object by its schema and its CEL rules, for a create or for an update of `live`. */
export function schemaCauses(
  { served, subresource, warn }: Writing,
  object: UntypedObject,
  live: UntypedObject | undefined,
  found?: readonly Cause[],
): readonly Cause[] {
  if (!served.structural) return []
  const old = live as unknown as JsonObject | undefined
  return served.structural.validate(object as unknown as JsonObject, { old, subresource, warn, found })
}

/** Name and namespace in the body must be those of the URL. */
export function checkIdentity({ name, namespace, served }: Writing, { metadata }: UntypedObject): void {
  if (name !== undefined && !metadata.name) {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  }
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

/** The spec is immutable; approvers and signers own different parts of the status. */
const certificateRequestFields: Readonly<Record<string, FieldSet>> = {
  '': fieldSet(['spec'], ['status']),
  status: fieldSet(['spec'], ['status', 'conditions']),
  approval: fieldSet(['spec'], ['status', 'certificate']),
}

/** Fields that a write through this endpoint cannot change, and therefore cannot own. */
function resetFields({ served, subresource }: Writing): FieldSet | undefined {
  if (!served.hasStatus) return undefined
  if (served.table === 'certificatesigningrequests.certificates.k8s.io') return certificateRequestFields[subresource]
  if (subresource !== 'status') return statusAlone
  if (keepsMetadataFromStatus(served)) return allButStatus
  return served.table === 'deployments.apps' ? specAndLabels : specAlone
}

export function ownershipOf(state: ClusterState, writing: Writing): ManagedWriteOptions {
  const { served, manager, subresource } = writing
  const reset = resetFields(writing)
  return {
    manager,
    ...(subresource !== '' && { subresource }),
    schema: served.schema,
    definitions: served.definitions,
    now: state.clock.now(),
    ...(reset && { resetFields: reset }),
    ...(!served.custom && { convert: conversionOf(state, served) }),
  }
}

/** Converts an object of a built-in kind to the other versions that occur in managedFields. */
function conversionOf({ catalog }: ClusterState, { group, plural, table }: ServedResource): ConvertObject {
  return (object, apiVersion) => {
    const other = parseApiVersion(apiVersion)
    // An entry of an event in the other group is not converted.
    const target = other.group === group ? catalog.find(group, other.version, plural) : undefined
    if (!target) return undefined
    const convert = kindConversion(table)
    const converted = convert ? convert(object as unknown as UntypedObject, apiVersion) : { ...object, apiVersion }
    return { object: converted as unknown as JsonObject, schema: target.schema }
  }
}

/** Fields that a version cannot express are annotations there, also in the object that was just sent. */
function asShown(served: ServedResource, object: UntypedObject): UntypedObject {
  const convert = kindConversion(served.table)
  const own = formatApiVersion(served)
  if (served.custom || !convert || own === served.storedAs) return object
  return convert(convert(object, served.storedAs), own)
}

/** The object with its managedFields after an update of `live`. */
export function recordUpdate(
  state: ClusterState,
  writing: Writing,
  live: UntypedObject | undefined,
  updated: UntypedObject,
): UntypedObject {
  try {
    const shown = asShown(writing.served, updated)
    const owned = updateObject<UntypedObject>({ ...ownershipOf(state, writing), live, updated: shown })
    if (shown === updated) return owned
    const { managedFields } = owned.metadata
    const { managedFields: _sent, ...metadata } = updated.metadata
    return { ...updated, metadata: { ...metadata, ...(managedFields && { managedFields }) } }
  } catch (error) {
    // A list with duplicate keys is stored like any other; only its field ownership is not tracked.
    if (!isMusterError(error, kubeErrors.SchemaMismatch)) throw error
    const { managedFields: _sent, ...metadata } = updated.metadata
    const managedFields = live?.metadata.managedFields
    return { ...updated, metadata: { ...metadata, ...(managedFields && { managedFields }) } }
  }
}

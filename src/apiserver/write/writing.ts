/**
 * A write under way: what it is for, who makes it, and how it is to be taken. And the two things that every write goes
 * through: `decode` reads what the client sent, `ownershipOf` says how managedFields are kept.
 */
import { type ConvertObject, updateObject, type ManagedWriteOptions } from '../../kube/apply/apply.ts'
import { type FieldSet, fieldSet } from '../../kube/apply/field-set.ts'
import { formatTime } from '../../kube/duration.ts'
import { quoteGo } from '../../kube/go-text.ts'
import { isMusterError } from '../../kube/errors.ts'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../kube/json.ts'
import { formatApiVersion, type GroupVersionKind, parseApiVersion } from '../../kube/kind.ts'
import { messageOfKind } from '../../kube/protobuf/table.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import type { Identity } from '../access/identity.ts'
import type { AdmissionRequest } from '../cluster/admission.ts'
import type { KindContext } from '../kinds/kind-rules.ts'
import { kindConversion } from '../catalog/conversions.ts'
import { rulesOf } from './kinds.ts'
import type { KeyScan } from '../codec/duplicate-keys.ts'
import { goMismatch, jsonName } from '../codec/go-decoding.ts'
import { invalidField as invalidValue, tooLong, unsupported } from '../../kube/validation/field-error.ts'
import { textOnce } from '../codec/object-text.ts'
import { pruneUnknownFields, type SchemaOfKind } from '../codec/prune.ts'
import { recallIdentity, noRecall, type Recall } from '../../kube/recall.ts'
import { badRequest, type Cause, invalid, invalidOptions, StatusError } from '../errors/status-error.ts'
import type { Route } from '../catalog/route.ts'
import type { ClusterState } from '../cluster/state.ts'
import { keepsMetadataFromStatus } from '../kinds/strategy.ts'
import { structForm } from '../codec/struct-form.ts'

export interface Writing extends Route {
  /** The field manager, as far as the client gave one or has a name. */
  readonly manager: string
  readonly dryRun: boolean
  readonly validation: 'Strict' | 'Warn' | 'Ignore'
  readonly user: Identity
  /** CreateOptions, UpdateOptions or PatchOptions, for those whom admission asks. */
  readonly options: JsonObject
  /** Keys that the body has twice. */
  readonly scan: () => KeyScan
  /** Sent along with the answer. */
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

/** What every plugin is told about this write. */
export function admissionOf(
  { served, subresource, namespace, user, dryRun, options, warn }: Writing,
  operation: AdmissionRequest['operation'],
): Omit<AdmissionRequest, 'name' | 'object' | 'oldObject'> {
  // A patch ends in one or the other.
  const kind = operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions'
  const isByUpdate =
    kind === 'CreateOptions' && (options['kind'] === 'UpdateOptions' || options['kind'] === 'PatchOptions')
  return { operation, isByUpdate, served, subresource, namespace, user, dryRun, options: { ...options, kind }, warn }
}

/** What the rules of a kind may look at. */
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

/** A body as an object of the kind that is written: known fields only, of the right types, defaulted. */
export function decode(writing: Writing, body: Json, recall: Recall = noRecall): UntypedObject {
  const { served, validation } = writing
  const { object, unknown } = recall(
    () => stringifyJson(body),
    () => read(served, identify(served, body, validation)),
    `decode ${servedText(served)} ${validation}`,
  )
  reportOddities(writing, unknown)
  return object
}

/** Known fields of the right types, and the names of the others. */
function read(
  served: ServedResource,
  identified: JsonObject,
): { readonly object: UntypedObject; readonly unknown: readonly string[] } {
  const { object, unknown, problem } = pruneUnknownFields(identified, served)
  if (problem !== undefined) throw undecodable(served, problem)
  // What a custom object may be is for its schema to validate, when all is settled.
  if (!served.custom) checkTypes(served, object)
  return { object: withDefaults(served, object as unknown as UntypedObject), unknown }
}

/** What a recall knows a kind by. */
function servedText({ table, version, schema, hasStatus }: ServedResource): string {
  return `${table} ${version} ${hasStatus} ${recallIdentity(schema)}`
}

/** What a recall knows a write by, whatever is written. */
export function writingText({ clock }: ClusterState, { served, manager, subresource }: Writing): string {
  return `${servedText(served)} ${stringifyJson([manager, subresource, formatTime(clock.now())])}`
}

/** The object with what its author left out. */
export function withDefaults(served: ServedResource, object: UntypedObject, isApplied = false): UntypedObject {
  if (served.structural) {
    // Empty or not, what is applied is stored: see empty-metadata.ts.
    const compact = withStructMetadata(object, isApplied) as unknown as JsonObject
    return served.structural.applyDefaults(compact) as unknown as UntypedObject
  }
  const { defaults = structForm } = rulesOf(served.table)
  return defaults(object, served.version)
}

/** Metadata is a struct even where the rest is not: no text is an empty one, and what is empty is not there. */
function withStructMetadata(object: UntypedObject, keepsEmpty: boolean): UntypedObject {
  const isEmpty = (value: unknown): boolean =>
    value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  const isHollow = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && Object.values(value).includes(null)
  const members = Object.entries(object.metadata)
  if (!members.some(([, value]) => isEmpty(value) || isHollow(value))) return object
  const filled = members.map(([name, value]): [string, unknown] => [
    name,
    (name === 'labels' || name === 'annotations') && isHollow(value)
      ? Object.fromEntries(Object.entries(value as object).map(([key, text]) => [key, (text as unknown) ?? '']))
      : value,
  ])
  return { ...object, metadata: Object.fromEntries(filled.filter(([, value]) => keepsEmpty || !isEmpty(value))) }
}

/** The body as an object that says what it is; what it leaves out is what the URL says. */
export function identify(
  served: GroupVersionKind & SchemaOfKind,
  body: Json,
  validation: Writing['validation'] = 'Warn',
): JsonObject {
  if (body === null && !served.custom) return identify(served, {})
  if (!isJsonObject(body)) throw unrecognized(served, body, `Go value of type ${typeMeta}`)
  const wanted = formatApiVersion(served)
  const { metadata } = body
  const apiVersion = body['apiVersion'] ?? ''
  const kind = body['kind'] ?? ''
  if (typeof apiVersion !== 'string') {
    throw unrecognized(served, body, 'Go struct field .apiVersion of type string', apiVersion)
  }
  if (typeof kind !== 'string') throw unrecognized(served, body, 'Go struct field .kind of type string', kind)
  if (served.custom && !kind) throw withoutKind(served, body, validation)
  if ((kind && kind !== served.kind) || (apiVersion && apiVersion !== wanted)) {
    checkType(served, apiVersion || wanted, kind || served.kind, body)
  }
  if (served.custom && apiVersion !== wanted) throw otherVersion(apiVersion, wanted)
  if (metadata !== undefined && metadata !== null && !isJsonObject(metadata)) {
    const why = `json: cannot unmarshal ${jsonName(metadata)} into Go struct field ${served.kind}.metadata of type v1.ObjectMeta`
    throw undecodable(served, why)
  }
  // As the client ordered it: of several mistakes the first is told.
  return { ...body, apiVersion: wanted, kind: served.kind, metadata: metadata ?? {} }
}

const typeMeta = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`

function unrecognized(
  { kind }: GroupVersionKind & SchemaOfKind,
  body: Json,
  into: string,
  wrong: Json = body,
): StatusError {
  const why = `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonName(wrong)} into ${into}`
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${beginning(body)})`)
}

function withoutKind(
  served: GroupVersionKind & SchemaOfKind,
  body: Json,
  validation: Writing['validation'],
): StatusError {
  const why = `Object 'Kind' is missing in '${stringifyJson(body)}'`
  // Who does not want to be told of unknown fields is served by another decoder.
  if (validation === 'Ignore') return undecodable(served, why)
  return badRequest(`the object provided is unrecognized (must be of type ${served.kind}): ${why} (${beginning(body)})`)
}

/** Enough of a body to know it by. */
function beginning(body: Json): string {
  const bytes = Buffer.from(stringifyJson(body))
  const shown = bytes.subarray(0, 30).toString(isJsonObject(body) ? 'utf8' : 'hex')
  return bytes.length > 30 ? `${shown} ...` : shown
}

function otherVersion(sent: string, wanted: string): StatusError {
  return badRequest(`the API version in the data (${sent}) does not match the expected API version (${wanted})`)
}

/** Something else than what is served here: a kind that there is, or none. */
function checkType(
  served: GroupVersionKind & SchemaOfKind,
  apiVersion: string,
  sent: string,
  { metadata }: JsonObject,
): void {
  const { kind, group, custom } = served
  const wanted = formatApiVersion(served)
  if (custom) {
    if (apiVersion !== wanted) throw otherVersion(apiVersion, wanted)
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
  if (sent === kind) throw otherVersion(apiVersion, wanted)
  const home = group === '' ? 'core' : group.split('.', 1)[0]!
  throw badRequest(`${text}: converting (${version}.${sent}) to (${home}.${kind}): unknown conversion`)
}

/** More than a person reads; a real server's decoder stops there, too. */
const mostOddities = 100

/** Fields that are unknown, and keys that come twice: told, or refused, as the client wishes. */
function reportOddities({ served, validation, options, scan, warn }: Writing, found: readonly string[]): void {
  if (validation === 'Ignore') return
  const { duplicates, order, before } = scan()
  // The outcome of a patch is a map, and has no order but that of names.
  const unknown = options['kind'] === 'PatchOptions' ? found.toSorted() : found
  const all = [
    ...unknown.map((path) => ({ path, what: 'unknown' })),
    ...new Set(duplicates).values().map((path) => ({ path, what: 'duplicate' })),
  ]
  if (duplicates.length > 0) {
    const first = new Map(order.toReversed().map((path, index) => [path, order.length - index]))
    const last = new Map(order.map((path, index) => [path, index + 1]))
    // What comes twice is known when it comes again.
    // Of a custom object, before it is known what its fields are.
    const placeOf = ({ path, what }: (typeof all)[number]): number =>
      what === 'duplicate' ? (last.get(path) ?? 0) - (served.custom ? order.length : 0) : (first.get(path) ?? 0)
    all.sort((a, b) => placeOf(a) - placeOf(b))
  }
  const problems = all.slice(0, mostOddities).map(({ path, what }) => `${what} field ${quoteGo(path)}`)
  if (validation === 'Warn') {
    for (const text of [...(before?.warnings ?? []), ...problems]) warn(text)
    return
  }
  const refusals = [...(before ? [before.refusal] : []), ...problems]
  if (refusals.length > 0) throw undecodable(served, `strict decoding error: ${refusals.join(', ')}`)
}

/** Whether Go's decoder could make an object of the kind of it. */
function checkTypes({ kind, version, definition, definitions }: ServedResource, object: JsonObject): void {
  const why = definition && goMismatch(object, definition, definitions)
  if (!why) return
  throw readProblem(object) ?? undecodable({ kind, version }, why)
}

/** Values that read themselves, times and quantities, speak up at once; the decoder itself only when it is through. */
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

/** What the schema and the rules of a custom kind have against an object, or against a change of `live`. */
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

/** An object in the URL and in the body must be the same one. */
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

/** What is asked for is for good; who decides and who signs write different parts of the status. */
const certificateRequestFields: Readonly<Record<string, FieldSet>> = {
  '': fieldSet(['spec'], ['status']),
  status: fieldSet(['spec'], ['status', 'conditions']),
  approval: fieldSet(['spec'], ['status', 'certificate']),
}

/** Fields that a write through this endpoint cannot change, and so cannot own. */
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

/** How an object of a built-in kind looks at the other versions that somebody owns fields of. */
function conversionOf({ catalog }: ClusterState, { group, plural, table }: ServedResource): ConvertObject {
  return (object, apiVersion) => {
    const other = parseApiVersion(apiVersion)
    // What was an event in another group is not recognized.
    const target = other.group === group ? catalog.find(group, other.version, plural) : undefined
    if (!target) return undefined
    const convert = kindConversion(table)
    const converted = convert ? convert(object as unknown as UntypedObject, apiVersion) : { ...object, apiVersion }
    return { object: converted as unknown as JsonObject, schema: target.schema }
  }
}

/** What a version cannot say is in annotations there, also of what was just sent. */
function asShown(served: ServedResource, object: UntypedObject): UntypedObject {
  const convert = kindConversion(served.table)
  const own = formatApiVersion(served)
  if (served.custom || !convert || own === served.storedAs) return object
  return convert(convert(object, served.storedAs), own)
}

/** The object with the record of who owns what after an update, which `live` had before. */
export function recordUpdate(
  state: ClusterState,
  writing: Writing,
  live: UntypedObject | undefined,
  updated: UntypedObject,
): UntypedObject {
  return state.recall(
    () => `update ${writingText(state, writing)} ${live ? textOnce(live) : ''} ${stringifyJson(updated)}`,
    () => withRecord(state, writing, live, updated),
  )
}

function withRecord(
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
    // Lists whose items cannot be told apart are stored like any other; only who owns them is not known.
    if (!isMusterError(error, 'SchemaMismatch')) throw error
    const { managedFields: _sent, ...metadata } = updated.metadata
    const managedFields = live?.metadata.managedFields
    return { ...updated, metadata: { ...metadata, ...(managedFields && { managedFields }) } }
  }
}

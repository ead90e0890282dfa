/**
 * `metadata.managedFields`: which field manager owns which fields of an object.
 *
 * There is one entry per manager, operation and subresource, and for `Update` also per API version: an applier that moves to
 * another version stays the same applier, while updates are kept separate. `time` is when the entry last gained or changed a
 * field.
 */
import { kubeErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../muster-error.ts'
import { equalJson, type Json } from '../json.ts'
import type { KubeObject, ManagedFieldsEntry } from '../object.ts'
import { compareText } from './canonical.ts'
import { difference, type FieldSet, fieldSet, union } from './field-set.ts'
import { decodeFields, encodeFields } from './fields-v1.ts'

/** One entry, decoded. */
export interface Ownership {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  readonly time: string | undefined
  readonly fields: FieldSet
}

/** Entries by {@link managerId}. */
export type Managers = ReadonlyMap<string, Ownership>

/** The identity of an entry; also the order in which the server processes managers. */
export function managerId({ manager, operation, apiVersion, subresource }: Omit<Ownership, 'fields' | 'time'>): string {
  return JSON.stringify({
    manager: manager || undefined,
    operation,
    apiVersion: operation === 'Update' ? apiVersion : undefined,
    subresource: subresource || undefined,
  })
}

/** Fields without an owner, because every write carries them or only the server sets them. */
const unownable: FieldSet = fieldSet(
  ['apiVersion'],
  ['kind'],
  ['metadata'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((name) => ['metadata', name]),
)

export function withoutUnownable(fields: FieldSet): FieldSet {
  return difference(fields, unownable)
}

/** Throws `InvalidFieldSet` for an invalid entry. */
export function decodeManagers(entries: readonly (ManagedFieldsEntry | null)[] | null = null): Managers {
  const managers = new Map<string, Ownership>()
  for (const [index, entry] of (entries ?? []).entries()) {
    const ownership = (entry && decoded.get(entry)) ?? decodeEntry(entry, index)
    if (entry) decoded.set(entry, ownership)
    managers.set(managerId(ownership), ownership)
  }
  return managers
}

/** Most entries are the same as after the previous write. Entries are immutable, so decoded and encoded forms are cached. */
const decoded = new WeakMap<ManagedFieldsEntry, Ownership>()
const encoded = new WeakMap<Ownership, ManagedFieldsEntry>()

function decodeEntry(entry: ManagedFieldsEntry | null, index: number): Ownership {
  const { manager = '', operation, apiVersion = '', subresource = '', time, fieldsType = '', fieldsV1 } = entry ?? {}
  const where = `managedFields[${index}] of ${JSON.stringify(manager)}`
  if (operation !== 'Apply' && operation !== 'Update') {
    throw new MusterError(kubeErrors.InvalidFieldSet, `${where}: operation must be \`Apply\` or \`Update\`.`)
  }
  if (apiVersion === '') throw new MusterError(kubeErrors.InvalidFieldSet, `${where}: apiVersion must not be empty.`)
  if (fieldsType !== 'FieldsV1') {
    throw new MusterError(
      kubeErrors.InvalidFieldSet,
      `${where}: fieldsType is ${JSON.stringify(fieldsType)}, not "FieldsV1".`,
    )
  }
  try {
    return { manager, operation, apiVersion, subresource, time, fields: decodeFields(fieldsV1) }
  } catch (cause) {
    if (!isMusterError(cause)) throw cause
    throw new MusterError(kubeErrors.InvalidFieldSet, `${where}: ${cause.message}`, { cause })
  }
}

/** Entries as the server writes them: appliers first, then by time (to the second), manager, version, subresource. */
export function encodeManagers(managers: Managers): readonly ManagedFieldsEntry[] {
  return [...managers.values()]
    .toSorted(
      (a, b) =>
        compareText(a.operation, b.operation) ||
        secondsOf(a.time) - secondsOf(b.time) ||
        compareText(a.manager, b.manager) ||
        compareText(a.apiVersion, b.apiVersion) ||
        compareText(a.subresource, b.subresource),
    )
    .map((ownership) => encoded.get(ownership) ?? encodeEntry(ownership))
}

function encodeEntry(ownership: Ownership): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource, time, fields } = ownership
  const entry: ManagedFieldsEntry = {
    ...(manager !== '' && { manager }),
    operation,
    apiVersion,
    ...(time !== undefined && { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: encodeFields(fields),
    ...(subresource !== '' && { subresource }),
  }
  encoded.set(ownership, entry)
  decoded.set(entry, ownership)
  return entry
}

/** The object with these managedFields; the object itself if it has them already. */
export function withManagers<T extends KubeObject>(object: T, managers: Managers): T {
  const { managedFields, ...metadata } = object.metadata
  if (managers.size === 0) return managedFields === undefined ? object : { ...object, metadata }
  const entries = encodeManagers(managers)
  if (sameJson(managedFields, entries)) return object
  return { ...object, metadata: { ...metadata, managedFields: entries } }
}

/**
 * `updated`, with the times of `live` if nothing else differs: a write without a change must not cause a new resourceVersion.
 * For the very last step, after defaults and resets.
 */
export function withSettledTimes<T extends KubeObject>(live: T, updated: T): T {
  const was = live.metadata.managedFields
  const is = updated.metadata.managedFields
  if (!was || !is || was.length !== is.length || is.length === 0) return updated
  const timeless = (object: T): KubeObject => {
    const managedFields = object.metadata.managedFields?.map(({ time: _time, ...entry }) => entry)
    return { ...object, metadata: { ...object.metadata, managedFields: managedFields ?? [] } }
  }
  return sameJson(timeless(live), timeless(updated)) ? live : updated
}

function sameJson(a: unknown, b: unknown): boolean {
  return equalJson(a as Json | undefined, b as Json | undefined)
}

function secondsOf(time: string | undefined): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1000)
}

/** Whether a client clears managedFields: an empty list, or one empty entry. */
export function asksForReset(entries: readonly (ManagedFieldsEntry | null)[] | null = null): boolean {
  if (!entries || entries.length > 1) return false
  return entries.every((entry) => Object.values(entry ?? {}).every(isBlank))
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** Limit of update entries. Each client version or Pod name may be another manager. */
const mostUpdaters = 10
const bucketName = 'ancient-changes'

/** Merges the oldest update entries into one per API version, until there are at most ten. */
export function capUpdaters(managers: Managers): Managers {
  const updaters = [...managers.entries()].filter(([, { operation }]) => operation === 'Update')
  if (updaters.length <= mostUpdaters) return managers
  updaters.sort(([idA, a], [idB, b]) => secondsOf(a.time) - secondsOf(b.time) || compareText(idA, idB))
  const out = new Map(managers)
  const firstOfVersion = new Map<string, string>()
  let count = updaters.length
  for (const [id, { apiVersion, fields, time }] of updaters) {
    if (count <= mostUpdaters) break
    const first = firstOfVersion.get(apiVersion)
    if (first === undefined) {
      firstOfVersion.set(apiVersion, id)
      continue
    }
    const bucket = { manager: bucketName, operation: 'Update', apiVersion, subresource: '' } as const
    const bucketId = managerId(bucket)
    let collected = out.get(bucketId)?.fields
    if (!collected) {
      collected = out.get(first)?.fields ?? []
      out.delete(first)
    }
    out.set(bucketId, { ...bucket, fields: union(fields, collected), time })
    // If the merged entry itself is second in line, it is merged with its contents, as in the server.
    out.delete(id)
    count--
  }
  return out
}

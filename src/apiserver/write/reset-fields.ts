/**
 * Reset fields: which part of an object each endpoint can change. `/status` writes status, the main endpoint everything
 * else, `/approval` the conditions of an approver. All other fields in the body are silently reset to their live
 * values.
 */
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { StoredObject } from '../storage/storage.ts'
import { keepsMetadataFromStatus } from '../kinds/strategy/strategy.ts'
import type { Writing } from './writing.ts'

/** `object` with all fields that this endpoint cannot change reset to their live values. */
export function resetFields(
  { served, subresource }: Writing,
  live: StoredObject,
  object: UntypedObject,
): UntypedObject {
  const { apiVersion } = object
  if (subresource === 'status') {
    const { status: _status, ...rest } = live
    const labels = live.metadata.labels
    const { labels: _labels, ...others } = object.metadata
    const metadata =
      served.table === 'deployments.apps'
        ? { ...others, ...(labels && { labels }) }
        : keepsMetadataFromStatus(served)
          ? live.metadata
          : object.metadata
    const managedFields = live.metadata.managedFields
    return {
      ...rest,
      apiVersion,
      metadata: withSystemMetadata({ ...metadata, ...(managedFields && { managedFields }) }, live),
      ...(object['status'] !== undefined && { status: object['status'] }),
    }
  }
  const reset = partialEndpoints[subresource]
  if (reset)
    return {
      ...reset(live, object),
      apiVersion,
      metadata: withSystemMetadata(endpointMetadata(subresource, live, object), live),
    }
  const metadata = withSystemMetadata(object.metadata, live)
  if (!served.hasStatus) return { ...object, metadata }
  const { status: _status, ...rest } = object
  const status = live['status']
  return { ...rest, metadata, ...(status !== undefined && { status }) }
}

/** Approvers may also change labels and annotations; `ephemeralcontainers` and `resize` change no metadata. */
function endpointMetadata(subresource: string, live: StoredObject, object: UntypedObject): UntypedObject['metadata'] {
  const { uid } = object.metadata
  return subresource === 'approval' ? object.metadata : { ...live.metadata, ...(uid !== undefined && { uid }) }
}

const fixed = ['name', 'namespace', 'resourceVersion', 'generation', 'creationTimestamp', 'generateName'] as const
/** Immutable as well, but a different value is rejected instead of being reset. */
const rejectedIfChanged = ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const

/** Fields that the server controls keep their live values. */
function withSystemMetadata(metadata: UntypedObject['metadata'], live: StoredObject): UntypedObject['metadata'] {
  const entries = new Map<string, unknown>(Object.entries(metadata))
  for (const member of rejectedIfChanged) {
    const value = live.metadata[member]
    // Once deletionTimestamp is set, the value in the body is ignored.
    if (!entries.get(member) || (member === 'deletionTimestamp' && value !== undefined)) entries.set(member, value)
    if (entries.get(member) === undefined) entries.delete(member)
  }
  for (const member of fixed) {
    const value = live.metadata[member]
    if (value === undefined) entries.delete(member)
    else entries.set(member, value)
  }
  entries.delete('selfLink')
  return Object.fromEntries(entries)
}

/** Endpoints that change a single field. */
const partialEndpoints: Readonly<Record<string, (live: StoredObject, object: UntypedObject) => UntypedObject>> = {
  approval(live, object) {
    const { conditions: _before, ...status } = memberOf(live, 'status')
    const { conditions } = memberOf(object, 'status')
    return { ...live, status: { ...status, ...(isJsonArray(conditions) && conditions.length > 0 && { conditions }) } }
  },
  ephemeralcontainers: (live, object) => ({
    ...live,
    spec: { ...memberOf(live, 'spec'), ephemeralContainers: memberOf(object, 'spec')['ephemeralContainers'] ?? [] },
  }),
  resize: (live, object) => ({
    ...live,
    spec: {
      ...memberOf(live, 'spec'),
      ...resized(live, object, 'containers'),
      ...resized(live, object, 'initContainers'),
    },
  }),
}

function memberOf(object: UntypedObject, name: string): JsonObject {
  const member = object[name]
  return isJsonObject(member) ? member : {}
}

/** The live containers with the resources of the request. */
function resized(live: StoredObject, object: UntypedObject, list: string): JsonObject {
  const before = memberOf(live, 'spec')[list]
  const after = memberOf(object, 'spec')[list]
  if (!Array.isArray(before) || !Array.isArray(after)) return {}
  const desired = new Map((after as readonly JsonObject[]).map((one) => [one['name'], one]))
  const containers = (before as readonly JsonObject[]).map((container) => {
    const { resources, resizePolicy } = desired.get(container['name']) ?? container
    const sizes = { ...(resources !== undefined && { resources }), ...(resizePolicy !== undefined && { resizePolicy }) }
    return Object.assign({}, container, sizes)
  })
  return { [list]: containers }
}

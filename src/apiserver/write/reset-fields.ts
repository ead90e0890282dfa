/**
 * An endpoint is a door: `/status` lets status through, the main one everything else, `/approval` the word of an
 * approver. Whatever else a client sends through a door is put back to what it was, without a word.
 */
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { StoredObject } from '../storage/storage.ts'
import { keepsMetadataFromStatus } from '../kinds/strategy.ts'
import type { Writing } from './writing.ts'

/** `object` with everything that this endpoint cannot change put back to what it was. */
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
      metadata: withFixed({ ...metadata, ...(managedFields && { managedFields }) }, live),
      ...(object['status'] !== undefined && { status: object['status'] }),
    }
  }
  const door = narrow[subresource]
  if (door)
    return { ...door(live, object), apiVersion, metadata: withFixed(doorMetadata(subresource, live, object), live) }
  const metadata = withFixed(object.metadata, live)
  if (!served.hasStatus) return { ...object, metadata }
  const { status: _status, ...rest } = object
  const status = live['status']
  return { ...rest, metadata, ...(status !== undefined && { status }) }
}

/** Approvers may also label what they approve; who looks into a pod or resizes it changes nothing else. */
function doorMetadata(subresource: string, live: StoredObject, object: UntypedObject): UntypedObject['metadata'] {
  const { uid } = object.metadata
  return subresource === 'approval' ? object.metadata : { ...live.metadata, ...(uid !== undefined && { uid }) }
}

const fixed = ['name', 'namespace', 'resourceVersion', 'generation', 'creationTimestamp', 'generateName'] as const
/** Nobody changes these either, but who tries is told. */
const guarded = ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const

/** What the server alone sets stays. */
function withFixed(metadata: UntypedObject['metadata'], live: StoredObject): UntypedObject['metadata'] {
  const entries = new Map<string, unknown>(Object.entries(metadata))
  for (const member of guarded) {
    const value = live.metadata[member]
    // The mark of deletion is not looked at any more once it is there.
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

/** Doors for a single thing. */
const narrow: Readonly<Record<string, (live: StoredObject, object: UntypedObject) => UntypedObject>> = {
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

/** The same containers, with the resources that are asked for. */
function resized(live: StoredObject, object: UntypedObject, list: string): JsonObject {
  const before = memberOf(live, 'spec')[list]
  const after = memberOf(object, 'spec')[list]
  if (!Array.isArray(before) || !Array.isArray(after)) return {}
  const wanted = new Map((after as readonly JsonObject[]).map((one) => [one['name'], one]))
  const containers = (before as readonly JsonObject[]).map((container) => {
    const { resources, resizePolicy } = wanted.get(container['name']) ?? container
    const sizes = { ...(resources !== undefined && { resources }), ...(resizePolicy !== undefined && { resizePolicy }) }
    return Object.assign({}, container, sizes)
  })
  return { [list]: containers }
}

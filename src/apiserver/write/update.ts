/** Update (PUT): the client sends the whole desired object. */
import type { Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { change, checkUid, checkVersion } from './change.ts'
import { create } from './create.ts'
import { invalidField as invalidValue } from '../../kube/validation/field-error.ts'
import { invalid, notFound } from '../errors/status-error.ts'
import { ownersAfterScale } from './scale-owners.ts'
import { resetFields } from './reset-fields.ts'
import { type ClusterState, findObject } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { isCreatedByUpdate, needsVersion } from '../kinds/strategy/strategy.ts'
import { checkIdentity, decode, recordUpdate, type Writing } from './writing.ts'

export interface Updated {
  readonly object: StoredObject
  readonly isNew: boolean
}

export async function updateResource(state: ClusterState, writing: Writing, body: Json): Promise<Updated> {
  const { served, namespace, name = '' } = writing
  const object = decode(writing, body)
  checkIdentity(writing, object)
  if (!findObject(state, served, namespace, name)) {
    if (!isCreatedByUpdate(served)) throw notFound(served, name)
    const named = { ...object, metadata: { ...object.metadata, name } } as unknown as Json
    return { object: await create(state, { ...writing, name: undefined }, named, false), isNew: true }
  }
  if (!object.metadata.resourceVersion && needsVersion(served)) {
    // The only status error that names the resource instead of the kind.
    throw invalid({ group: served.group, kind: served.plural }, name, [
      invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'),
    ])
  }
  const changed = await change(state, writing, (live) => {
    checkUid(writing, live, object)
    return replacement(state, writing, live, object)
  })
  return { object: changed, isNew: false }
}

/** The object that replaces `live` after an update or patch, with its new managedFields. */
export function replacement(
  state: ClusterState,
  writing: Writing,
  live: StoredObject,
  object: UntypedObject,
): UntypedObject {
  checkVersion(writing.served, live, object)
  const settled = resetFields(writing, live, object)
  if (writing.subresource !== 'scale') return recordUpdate(state, writing, live, settled)
  const managedFields = ownersAfterScale(state, writing, live, settled)
  const { managedFields: _before, ...metadata } = settled.metadata
  return { ...settled, metadata: { ...metadata, ...(managedFields.length > 0 && { managedFields }) } }
}

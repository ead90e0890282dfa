/**
 * What a server would answer, worked out here: server-side apply is a pure function of the object, the wish and who wishes.
 * What a server adds of its own (defaults, what admission does) is left out: a plan shows what the operator writes. Only what
 * the server had filled in before and fills in again is kept.
 */
import { applyObject } from '../../kube/apply/apply.ts'
import { formatTime } from '../../kube/duration.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { typingOf } from '../../operator/desired.ts'
import { type Mutation, mutationName } from '../../operator/plan.ts'

export interface AssumptionOptions {
  /** Under which the operator owns fields. */
  readonly fieldManager: string
  readonly now: number
  /** What the server fills in of an object that exists. */
  readonly fill: (after: UntypedObject, live: UntypedObject, resource: Resource) => UntypedObject
}

/**
 * The object after the write; undefined: it is gone. The same object when nothing changes.
 * @throws as the server would: what does not fit the schema, fields that belong to others
 */
export function assume(
  mutation: Mutation,
  live: UntypedObject | undefined,
  { fieldManager, now, fill }: AssumptionOptions,
): UntypedObject | undefined {
  if (mutation.verb === 'delete') {
    if (!live?.metadata.finalizers?.length) return undefined
    return stamped(live, { ...live, metadata: { deletionTimestamp: formatTime(now), ...live.metadata } })
  }
  if (mutation.verb === 'finalizers') {
    if (!live) return undefined
    const { finalizers } = mutation
    if (finalizers.length === 0 && live.metadata.deletionTimestamp !== undefined) return undefined
    return stamped(live, { ...live, metadata: { ...live.metadata, finalizers } })
  }
  const { schema, definitions } = typingOf(mutation.resource)
  const after = applyObject<UntypedObject>({
    live,
    applied: mutation.object,
    manager: fieldManager,
    force: mutation.verb === 'status' || mutation.force,
    schema,
    definitions,
    now,
    ...(mutation.verb === 'status' && { subresource: 'status' }),
  })
  if (live) return stamped(live, fill(after, live, mutation.resource))
  const { namespace, name } = mutationName(mutation)
  const place = namespace === undefined ? name : `${namespace}/${name}`
  return {
    ...after,
    metadata: {
      ...after.metadata,
      // Others may refer to it before it has one.
      uid: `(uid of ${mutation.resource.kind} ${place})`,
      resourceVersion: '0',
      ...('spec' in after && { generation: 1 }),
    },
  }
}

/** A change has a version of its own, and a generation where it is one of what is wanted. */
function stamped(before: UntypedObject, after: UntypedObject): UntypedObject {
  if (equalJson(content(before), content(after))) return before
  const { resourceVersion = '0', generation } = before.metadata
  const isWish = !equalJson(wish(before), wish(after))
  return {
    ...after,
    metadata: {
      ...after.metadata,
      resourceVersion: `${resourceVersion}+`,
      ...(generation !== undefined && { generation: generation + Number(isWish) }),
    },
  }
}

/** Who owns what is no part of it. */
function content(object: UntypedObject): Json {
  const { managedFields: _managedFields, ...metadata } = object.metadata
  return { ...object, metadata } as unknown as Json
}

function wish(object: UntypedObject): Json {
  const { metadata: _metadata, status: _status, ...rest } = object
  return rest as unknown as Json
}

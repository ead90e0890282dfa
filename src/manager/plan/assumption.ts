/**
 * Predicts the result of a write: server-side apply is a pure function of the live object, the applied one and the
 * field manager. Defaults and admission are left out, since a plan shows what the operator writes; only values that the
 * server has defaulted before and would default again are kept.
 */
import { applyObject } from '../../kube/apply/apply.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { applyMergePatch } from '../../kube/patch/merge-patch.ts'
import { typingOf } from '../../operator/dependent/desired.ts'
import { type Mutation, mutationName } from '../../operator/plan.ts'

interface AssumptionOptions {
  /** The operator's field manager. */
  readonly fieldManager: string
  readonly now: number
  /** Restores values that the server had defaulted. */
  readonly fill: (after: UntypedObject, live: UntypedObject, resource: Resource) => UntypedObject
}

/**
 * The object after the write; undefined: it is deleted. The same object when nothing changes.
 * @throws as the server would: schema violations, conflicts with other field managers
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
  if (mutation.verb === 'marks') {
    if (!live) return undefined
    const { labels = {}, annotations = {} } = live.metadata
    const metadata = {
      ...live.metadata,
      labels: changed(labels, mutation.labels),
      annotations: changed(annotations, mutation.annotations),
    }
    const spec = mutation.spec && { spec: applyMergePatch(asJson(live)['spec'], mutation.spec) }
    return stamped(live, { ...live, metadata, ...spec })
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
      // A placeholder, since other objects may refer to it.
      uid: `(uid of ${mutation.resource.kind} ${place})`,
      resourceVersion: '0',
      ...('spec' in after && { generation: 1 }),
    },
  }
}

function changed(
  before: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries({ ...before, ...changes }).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
  )
}

/** A change gets a new resourceVersion, and a new generation if it changes more than metadata and status. */
function stamped(before: UntypedObject, after: UntypedObject): UntypedObject {
  if (equalJson(content(before), content(after))) return before
  const { resourceVersion = '0', generation } = before.metadata
  const isDesiredChange = !equalJson(desiredPart(before), desiredPart(after))
  return {
    ...after,
    metadata: {
      ...after.metadata,
      resourceVersion: `${resourceVersion}+`,
      ...(generation !== undefined && { generation: generation + Number(isDesiredChange) }),
    },
  }
}

/** Managed fields do not count as content. */
function content(object: UntypedObject): Json {
  const { managedFields: _managedFields, ...metadata } = object.metadata
  return { ...object, metadata } as unknown as Json
}

function desiredPart(object: UntypedObject): Json {
  const { metadata: _metadata, status: _status, ...rest } = object
  return rest as unknown as Json
}

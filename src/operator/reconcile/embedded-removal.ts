/** The end of embedded objects: those that are embedded no longer are deleted, and at the end of a holder what stays is let go. */
import { formatResource, type GroupVersionKind, type Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { type EmbeddedEntry, type Holder, isWrittenBy, releaseOf } from '../embedded/embedded-entry.ts'
import type { EmbeddedReference, EmbeddedSet, Pruning } from '../embedded/embedded-set.ts'
import type { HeldObjects } from '../embedded/held-objects.ts'
import { neededFields } from '../embedded/needed-fields.ts'
import type { Delete, SetMarks } from '../plan.ts'
import type { ReconcileRun, Waves } from './run.ts'

/** Deletes what is embedded no longer, the highest rank first. Returns what is still there. */
export async function* prune(
  run: ReconcileRun,
  wanted: readonly EmbeddedEntry[],
  holder: Holder,
  held: HeldObjects,
  { kinds, rank = () => 0, keeps, toNothing = false, derived = [], forces }: Pruning,
): Waves<readonly EmbeddedReference[]> {
  if (wanted.length === 0 && !toNothing) return []
  const keys = new Set(wanted.map(({ resource, name }) => embeddedKey(resource, name)))
  const resources = await servedKinds(held, [...kinds, ...wanted.map(({ kind }) => kind)])
  const madeByOthers = await servedKinds(held, derived)
  const obsolete = async (
    find: (resource: Resource) => Promise<readonly UntypedObject[]>,
  ): Promise<readonly ObsoleteObject[]> => {
    const found: ObsoleteObject[] = []
    for (const resource of resources) {
      for (const object of await find(resource)) {
        if (keys.has(embeddedKey(resource, object.metadata)) || !isWrittenBy(object, holder) || keeps?.(object))
          continue
        found.push({ resource, object, isForced: forces?.(object) ?? false, isDerived: false })
      }
    }
    for (const resource of madeByOthers) {
      for (const object of await find(resource)) {
        if (isWrittenBy(object, holder) || keeps?.(object)) continue
        found.push({ resource, object, isForced: forces?.(object) ?? false, isDerived: true })
      }
    }
    return found
  }
  const known = await obsolete((resource) => held.list(resource, holder.holder, neededFields(resource)))
  const left = yield* deleteRanks(run, known, holder, rank)
  if (left.length > 0 || !run.isFinalizing) return left
  const unseen = await obsolete((resource) => held.confirm(resource, holder.holder))
  return yield* deleteRanks(run, unseen, holder, rank)
}

/** Without its CRD there are no objects either. */
async function servedKinds(held: HeldObjects, kinds: readonly GroupVersionKind[]): Promise<readonly Resource[]> {
  const all = new Map(kinds.map((kind) => [`${kind.group} ${kind.kind}`, kind]))
  const resources: Resource[] = []
  for (const kind of all.values()) {
    const resource = await held.resourceOf(kind)
    if (resource) resources.push(resource)
  }
  return resources
}

/** Lets go what the holder still has; true when it has nothing any more. What is released is no longer found: a later run resumes. */
export async function* release(
  run: ReconcileRun,
  holder: Holder,
  held: HeldObjects,
  { release: released, prune: pruned }: EmbeddedSet,
): Waves<boolean> {
  const resources = await servedKinds(held, [...(released?.kinds ?? []), ...(pruned?.kinds ?? [])])
  const found: (SetMarks | Delete)[] = []
  for (const resource of resources) {
    for (const object of await held.confirm(resource, holder.holder)) {
      const { name = '', namespace, uid = '' } = object.metadata
      const target = { subject: describe({ resource, object }), resource, name: { name, namespace } }
      if (!isWrittenBy(object, holder)) continue
      const isDeleted = released?.deletes?.(object) ?? false
      const deletion = {
        ...target,
        verb: 'delete',
        uid,
        why: 'finalized',
        embedded: holder.label,
        as: holder.as,
      } as const
      found.push(isDeleted ? deletion : releaseOf(object, target, holder))
    }
  }
  if (found.length === 0) return true
  const outcomes = yield found
  let isDone = true
  for (const [index, { verb, subject, resource, name }] of found.entries()) {
    const outcome = outcomes[index]
    if (outcome?.result === 'failed') {
      isDone = false
      run.embeddedFailure ??= { subject, error: outcome.error }
    } else run.journal.note(subject, verb === 'delete' ? 'deleted' : 'released', { object: { kind: resource, name } })
  }
  return isDone
}

interface ObsoleteObject {
  readonly resource: Resource
  readonly object: UntypedObject
  /** Deleted without its grace period. */
  readonly isForced: boolean
  /** Goes by itself. */
  readonly isDerived: boolean
}

/** Deletes rank by rank; returns what is still there. */
async function* deleteRanks(
  run: ReconcileRun,
  obsolete: readonly ObsoleteObject[],
  holder: Holder,
  rank: NonNullable<Pruning['rank']>,
): Waves<readonly EmbeddedReference[]> {
  const ranks = [...new Set(obsolete.map(({ object }) => rank(object)))].toSorted((a, b) => b - a)
  for (const level of ranks) {
    const due = obsolete.filter(({ object }) => rank(object) === level)
    const left = yield* deleteAll(run, due, holder)
    if (left.length === 0) continue
    run.journal.waiting ??= `${describe(left[0]!)} is still being deleted${finalizersOf(left[0]!)}.`
    return [...left, ...obsolete.filter(({ object }) => rank(object) < level)].map(referenceOf)
  }
  return []
}

/** An object without finalizers is gone soon: what is waited for has some. */
function finalizersOf({ object }: ObsoleteObject): string {
  const { finalizers = [] } = object.metadata
  return finalizers.length === 0 ? '' : `: it has the finalizers ${finalizers.join(', ')}`
}

/** Returns those that are still there. */
async function* deleteAll(
  run: ReconcileRun,
  due: readonly ObsoleteObject[],
  holder: Holder,
): Waves<readonly ObsoleteObject[]> {
  const leaving = due.filter(({ object, isForced, isDerived }) => {
    // By force it is asked for once more, unless that was done.
    const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata
    if (isForced) return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0
    return isDerived || deletionTimestamp !== undefined
  })
  const asked = due.filter((one) => !leaving.includes(one))
  const deletions = asked.map((one): Delete => {
    const { name = '', namespace, uid = '' } = one.object.metadata
    const why = run.isFinalizing ? 'finalized' : 'pruned'
    const target = { verb: 'delete', subject: describe(one), resource: one.resource } as const
    const force = one.isForced && { gracePeriodSeconds: 0 }
    return { ...target, name: { name, namespace }, uid, why, embedded: holder.label, as: holder.as, ...force }
  })
  if (deletions.length === 0) return leaving
  const outcomes = yield deletions
  const left = [...leaving]
  for (const [index, { subject, resource, name }] of deletions.entries()) {
    const outcome = outcomes[index]
    if (outcome?.result === 'failed') {
      left.push(asked[index]!)
      run.embeddedFailure ??= { subject, error: outcome.error }
      continue
    }
    run.journal.note(subject, run.isFinalizing ? 'deleted' : 'pruned', { object: { kind: resource, name } })
    if (outcome?.result === 'done' && outcome.object) left.push(asked[index]!)
  }
  return left
}

function referenceOf({
  resource,
  object,
}: {
  readonly resource: Resource
  readonly object: KubeObject
}): EmbeddedReference {
  const { group, version, kind } = resource
  const { name = '', namespace } = object.metadata
  return { group, version, kind, name, namespace }
}

function describe({ resource, object }: { readonly resource: Resource; readonly object: KubeObject }): string {
  const { name, namespace } = object.metadata
  return `${resource.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`
}

/** Versions of a kind are the same objects. */
export function embeddedKey(
  { group, plural }: Resource,
  { namespace = '', name = '' }: { readonly namespace?: string | undefined; readonly name?: string | undefined },
): string {
  return `${formatResource({ group, plural, version: '' })} ${namespace}/${name}`
}

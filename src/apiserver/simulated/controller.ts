/**
 * A controller: it is told whose objects changed, and brings each into the shape that its spec asks for. What all of
 * them share is here: how they are told, what they hold in hand, and how they come by the objects that are theirs.
 */
import { controllerOf, ownerReference, removeOwner } from '../../kube/owner.ts'
import type { KubeObject } from '../../kube/object.ts'
import { labelsOf, type LabelSelector, type LabelSelectorSpec, matchLabels } from '../../kube/selector.ts'
import type { StoredObject } from '../storage/storage.ts'
import type { SimulatedState, StoredIn, TableName } from './cluster.ts'
import type { Hand } from './object-writer.ts'
import type { Recorder } from './recorder.ts'

/** What a component of the cluster works with. */
export interface Tools {
  readonly cluster: SimulatedState
  readonly hand: Hand
  readonly record: Recorder
}

/** Whom a change of an object concerns: the keys of those to look at. */
export type Concern<K extends TableName> = (object: StoredIn<K>) => Iterable<string>

export interface SimulatedController {
  readonly workers?: number
  /** Looked at when it starts, whatever is there. */
  readonly first?: readonly string[]
  /** Looked at as soon as it changes. */
  readonly own?: { readonly [K in TableName]?: Concern<K> }
  /** Looked at when the dust has settled. */
  readonly others?: { readonly [K in TableName]?: Concern<K> }
  /** Told of every change at once, for what it keeps in mind. At the start, all that is there is new. */
  readonly follow?: (table: string, object: StoredObject | undefined, previous: StoredObject | undefined) => void
  /** Says in how many milliseconds to look again. */
  reconcile(key: string): Promise<number | undefined>
}

/** The key of the object of this kind that controls it. */
export function ownerOf(kind: string): (object: KubeObject) => readonly string[] {
  return (object) => {
    const owner = controllerOf(object)
    return owner?.kind === kind ? [`${object.metadata.namespace}/${owner.name}`] : []
  }
}

interface Selecting {
  readonly spec?: { readonly selector?: LabelSelectorSpec }
}

/** The same, or, for one that nobody controls, the keys of those who would adopt it. */
export function ownerOrAdopters(
  cluster: SimulatedState,
  kind: string,
  table: TableName,
): (object: KubeObject) => readonly string[] {
  const owner = ownerOf(kind)
  return (object) => {
    if (controllerOf(object)) return owner(object)
    const { namespace = '', labels } = object.metadata
    return cluster
      .list(table, namespace)
      .filter((one) => matchLabels(selectorOf(one as Selecting), labels))
      .map(({ metadata }) => `${namespace}/${metadata.name}`)
  }
}

// Labels are compared for each pod again and again: a selector is read once.
const selectors = new WeakMap<object, LabelSelector>()

export function selectorOf({ spec }: Selecting): LabelSelector {
  const source = spec?.selector
  if (!source) return labelsOf(undefined)
  const known = selectors.get(source) ?? labelsOf(source)
  selectors.set(source, known)
  return known
}

/**
 * The objects that the owner controls and its selector matches. Orphans that match are adopted, controlled objects that
 * do not are released; `finalizer` is added with the one and removed with the other.
 */
export async function claim<K extends 'pods' | 'replicasets.apps'>(
  { cluster, hand }: Tools,
  table: K,
  owner: StoredIn<TableName>,
  selector: LabelSelector,
  finalizer?: string,
): Promise<readonly StoredIn<K>[]> {
  const { namespace = '' } = owner.metadata
  const fits = ({ metadata }: StoredIn<K>): boolean => matchLabels(selector, metadata.labels)
  for (const own of cluster.controlled(table, owner)) {
    if (fits(own) || own.metadata.deletionTimestamp) continue
    const released = removeOwner(own as KubeObject, owner as KubeObject) as StoredIn<K>
    await hand.update(table, finalizer === undefined ? released : withoutFinalizer(released, finalizer))
  }
  if (!owner.metadata.deletionTimestamp) {
    for (const stray of cluster.orphans(table, namespace)) {
      if (!fits(stray) || stray.metadata.deletionTimestamp) continue
      const ownerReferences = [...(stray.metadata.ownerReferences ?? []), ownerReference(owner, { controller: true })]
      const finalizers = new Set([
        ...(stray.metadata.finalizers ?? []),
        ...(finalizer === undefined ? [] : [finalizer]),
      ])
      const metadata = {
        ...stray.metadata,
        ownerReferences,
        ...(finalizers.size > 0 && { finalizers: [...finalizers] }),
      }
      await hand.update(table, { ...stray, metadata })
    }
  }
  return cluster.controlled(table, owner).filter(fits)
}

export function withoutFinalizer<T extends { readonly metadata: StoredObject['metadata'] }>(
  object: T,
  finalizer: string,
): T {
  const { finalizers = [], ...metadata } = object.metadata
  const left = finalizers.filter((one) => one !== finalizer)
  return { ...object, metadata: { ...metadata, ...(left.length > 0 && { finalizers: left }) } }
}

/** Of a Deployment, a ReplicaSet: which pods it means. Old controllers say it by a plain map. */
export function selectorOfMap(matchLabelsMap: Readonly<Record<string, string>> | undefined): LabelSelector {
  return matchLabelsMap ? labelsOf({ matchLabels: matchLabelsMap }) : labelsOf(undefined)
}

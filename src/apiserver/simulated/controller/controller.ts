/**
 * A controller reconciles each changed object towards its spec. This file holds what all controllers share: how watch
 * events become keys, the tools they get, and how they adopt and release dependents.
 */
import { controllerOf, ownerReference, removeOwner } from '../../../kube/meta/owner.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { labelsOf, type LabelSelector, type LabelSelectorSpec, matchLabels } from '../../../kube/selector/selector.ts'
import type { StoredObject } from '../../storage/storage.ts'
import type { SimulatedState, StoredIn, TableName } from './cluster.ts'
import type { ObjectWriter } from './object-writer.ts'
import type { Recorder } from './recorder.ts'

/** What a component of the cluster works with. */
export interface Tools {
  readonly cluster: SimulatedState
  readonly writer: ObjectWriter
  readonly record: Recorder
}

/** Maps a changed object to the keys to reconcile. */
type KeyMapper<K extends TableName> = (object: StoredIn<K>) => Iterable<string>

export interface SimulatedController {
  readonly workers?: number
  /** Keys to reconcile at the start, whatever is stored. */
  readonly first?: readonly string[]
  /** Objects whose change is reconciled immediately. */
  readonly own?: { readonly [K in TableName]?: KeyMapper<K> }
  /**
   * Objects whose change is reconciled after a short delay, so that changes in quick succession cause one reconcile.
   */
  readonly others?: { readonly [K in TableName]?: KeyMapper<K> }
  /**
   * Called synchronously with every change, for state that the controller keeps in memory. At the start it is called
   * with every stored object.
   */
  readonly follow?: (table: string, object: StoredObject | undefined, previous: StoredObject | undefined) => void
  /** Returns in how many milliseconds to requeue the key. */
  reconcile(key: string): Promise<number | undefined>
}

/** The key of the controlling owner of this kind. */
export function ownerOf(kind: string): (object: KubeObject) => readonly string[] {
  return (object) => {
    const owner = controllerOf(object)
    return owner?.kind === kind ? [`${object.metadata.namespace}/${owner.name}`] : []
  }
}

interface Selecting {
  readonly spec?: { readonly selector?: LabelSelectorSpec }
}

/** The same; for an object without a controller, the keys of the owners that would adopt it. */
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

// Labels are matched for each pod again and again: each selector is parsed once.
const selectors = new WeakMap<object, LabelSelector>()

export function selectorOf({ spec }: Selecting): LabelSelector {
  const source = spec?.selector
  if (!source) return labelsOf(undefined)
  const known = selectors.get(source) ?? labelsOf(source)
  selectors.set(source, known)
  return known
}

/**
 * The objects that the owner controls and its selector matches. Matching orphans are adopted, controlled objects that
 * no longer match are released; `finalizer` is added on adoption and removed on release.
 */
export async function claim<K extends 'pods' | 'replicasets.apps'>(
  { cluster, writer }: Tools,
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
    await writer.update(table, finalizer === undefined ? released : withoutFinalizer(released, finalizer))
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
      await writer.update(table, { ...stray, metadata })
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

/** The selector of a ReplicationController or Service, which is a plain map. */
export function selectorOfMap(matchLabelsMap: Readonly<Record<string, string>> | undefined): LabelSelector {
  return matchLabelsMap ? labelsOf({ matchLabels: matchLabelsMap }) : labelsOf(undefined)
}

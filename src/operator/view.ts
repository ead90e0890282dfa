/**
 * A view: what a controller may read. Objects in it are frozen and shared; reads cost nothing and never reach a server.
 *
 * A view knows what its controller declared and refuses the rest. It also remembers what was read: an event concerns
 * exactly those who read what it changed, so nobody has to say how a Secret leads to the objects that mention it.
 */
import { MusterError } from '../kube/errors.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import { type LabelSelector, labelSelector, type LabelSelectorSource, matchLabels } from '../kube/selector.ts'
import type { TypedResource } from './typed-resource.ts'

/** Where an object is. `namespace` is left out for kinds without. */
export interface ObjectName {
  readonly name: string
  readonly namespace?: string | undefined
}

export interface Selection {
  /** @default all namespaces */
  readonly namespace?: string | undefined
  /** @default everything */
  readonly labels?: LabelSelectorSource | undefined
}

export interface View {
  get<T extends KubeObject>(resource: TypedResource<T>, name: ObjectName): T | undefined
  list<T extends KubeObject>(resource: TypedResource<T>, selection?: Selection): readonly T[]
  /** Objects that name this one as an owner. */
  ownedBy<T extends KubeObject>(resource: TypedResource<T>, owner: KubeObject): readonly T[]
  /** Whether the cluster serves the kind now. What depends on it is woken when that changes. */
  serves(resource: Resource): boolean
}

/** Where a view's objects come from: shared caches, a directory, a store in memory. */
export interface ViewSource {
  get(resource: Resource, name: ObjectName): KubeObject | undefined
  list(resource: Resource, namespace?: string): readonly KubeObject[]
  byOwner(resource: Resource, uid: string): readonly KubeObject[]
  serves(resource: Resource): boolean
}

/** One thing that was read. */
export type Read =
  | { readonly what: 'object'; readonly resource: Resource; readonly name: ObjectName }
  | {
      readonly what: 'list'
      readonly resource: Resource
      readonly namespace: string | undefined
      readonly labels: LabelSelector
    }
  | { readonly what: 'owned'; readonly resource: Resource; readonly uid: string }
  | { readonly what: 'kind'; readonly resource: Resource }

export interface RecordedView extends View {
  /** What was read so far. */
  readonly reads: readonly Read[]
}

export interface ViewOptions {
  readonly source: ViewSource
  /** Who looks: for messages. */
  readonly reader: string
  /** What may be read. */
  readonly inputs: readonly Resource[]
}

export function openView({ source, reader, inputs }: ViewOptions): RecordedView {
  const allowed = new Set(inputs.map(formatResource))
  const reads: Read[] = []
  const check = (resource: Resource): void => {
    const name = formatResource(resource)
    if (allowed.has(name)) return
    const declared = [...allowed].toSorted().join(', ') || 'nothing'
    throw new MusterError('UndeclaredInput', `${reader} reads ${name}, but declares ${declared} only.`)
  }
  return {
    reads,
    get<T extends KubeObject>(resource: TypedResource<T>, name: ObjectName) {
      check(resource)
      reads.push({ what: 'object', resource, name })
      return source.get(resource, name) as T | undefined
    },
    list<T extends KubeObject>(resource: TypedResource<T>, { namespace, labels = '' }: Selection = {}) {
      check(resource)
      const selector = labelSelector(labels)
      reads.push({ what: 'list', resource, namespace, labels: selector })
      const found = source.list(resource, namespace)
      return found.filter(({ metadata }) => matchLabels(selector, metadata.labels)) as unknown as readonly T[]
    },
    ownedBy<T extends KubeObject>(resource: TypedResource<T>, { metadata }: KubeObject) {
      check(resource)
      const uid = metadata.uid ?? ''
      reads.push({ what: 'owned', resource, uid })
      return source.byOwner(resource, uid) as unknown as readonly T[]
    },
    serves(resource) {
      reads.push({ what: 'kind', resource })
      return source.serves(resource)
    },
  }
}

/** Whether a change from `before` to `after` (either may be absent) could alter what was read. */
export function concerns(read: Read, change: Change): boolean {
  if (formatResource(read.resource) !== formatResource(change.resource)) return false
  return [change.before, change.after].some((object) => object !== undefined && sees(read, object))
}

export interface Change {
  readonly resource: Resource
  readonly before: KubeObject | undefined
  readonly after: KubeObject | undefined
}

function sees(read: Read, { metadata }: KubeObject): boolean {
  switch (read.what) {
    case 'object':
      return metadata.name === read.name.name && (metadata.namespace ?? '') === (read.name.namespace ?? '')
    case 'list':
      return (
        (read.namespace === undefined || read.namespace === metadata.namespace) &&
        matchLabels(read.labels, metadata.labels)
      )
    case 'owned':
      return metadata.ownerReferences?.some(({ uid }) => uid === read.uid) ?? false
    default:
      return false
  }
}

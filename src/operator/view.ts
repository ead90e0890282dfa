/**
 * A view: what a controller may read. Objects in it are frozen and shared; reads cost nothing and never reach a server.
 *
 * A view knows what its controller declared: it shows that and refuses the rest (`coverage.ts`). It also remembers what
 * was read: an event concerns exactly those who read what it changed, so nobody has to say how a Secret leads to the
 * objects that mention it.
 */
import { MusterError } from '../kube/errors.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import {
  formatLabels,
  type LabelSelector,
  labelSelector,
  type LabelSelectorSource,
  matchLabels,
} from '../kube/selector.ts'
import { coverageOf, type Coverage, selects } from './coverage.ts'
import { describeInput, type Input, inputOf, type Reference } from './input.ts'
import { type References, referencesIn } from './references.ts'
import type { TypedResource } from './typed-resource.ts'

/** Where an object is. `namespace` is left out for kinds without. */
export interface ObjectName {
  readonly name: string
  readonly namespace?: string | undefined
}

export interface ViewSelection {
  /** @default all namespaces */
  readonly namespace?: string | undefined
  /** @default everything */
  readonly labels?: LabelSelectorSource | undefined
}

export interface View {
  get<T extends KubeObject>(resource: TypedResource<T>, name: ObjectName): T | undefined
  list<T extends KubeObject>(resource: TypedResource<T>, selection?: ViewSelection): readonly T[]
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
export type ViewRead =
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
  readonly reads: readonly ViewRead[]
}

export interface ViewOptions {
  readonly source: ViewSource
  /** Who looks: for messages. */
  readonly reader: string
  /** What may be read. */
  readonly inputs: readonly (Resource | Input)[]
  /** The same, where it was made before: for whoever opens many views. */
  readonly coverage?: Coverage
  /** Who follows the references. @default they are looked up in the source */
  readonly references?: References
  /** Shown already: what it names may be asked for. */
  readonly given?: { readonly resource: Resource; readonly object: KubeObject }
  /** Told before a read is refused: what it reads, and what is declared. */
  readonly onRefused?: (message: string) => void
}

export function openView(options: ViewOptions): RecordedView {
  const { source, reader, inputs, given, onRefused } = options
  const coverage = options.coverage ?? coverageOf(inputs.map(inputOf))
  const reads: ViewRead[] = []
  const shown = rememberShown(options.references ?? referencesIn(source))
  const { references } = shown
  if (given) shown.add(given.resource, [given.object])

  const refuse = (resource: Resource, where: string): never => {
    const name = formatResource(resource)
    const declared = coverage.of(resource)
    const all = declared.length > 0 ? declared.map(describeInput) : inputs.map((input) => describeInput(inputOf(input)))
    const listed = [...new Set(all)].toSorted().join(', ') || 'nothing'
    const message = `reads ${name}${declared.length > 0 ? where : ''}, but declares ${listed} only.`
    onRefused?.(message)
    throw new MusterError('UndeclaredInput', `${reader} ${message}`)
  }
  const visible = (resource: Resource, found: readonly KubeObject[]): readonly KubeObject[] => {
    const covered = coverage.isWhole(resource)
      ? found
      : found.filter((object) => coverage.shows(resource, object, references))
    if (coverage.isReferring(resource)) shown.add(resource, covered)
    return covered
  }

  return {
    reads,
    get<T extends KubeObject>(resource: TypedResource<T>, name: ObjectName) {
      // Also of what is refused: a reference that leads there from now on wakes whoever asked.
      reads.push({ what: 'object', resource, name })
      if (!coverage.mayGet(resource, name, references)) {
        refuse(resource, ` ${name.namespace === undefined ? '' : `${name.namespace}/`}${name.name}`)
      }
      const found = source.get(resource, name)
      return (found && visible(resource, [found])[0]) as T | undefined
    },
    list<T extends KubeObject>(resource: TypedResource<T>, { namespace, labels = '' }: ViewSelection = {}) {
      const selector = labelSelector(labels)
      reads.push({ what: 'list', resource, namespace, labels: selector })
      if (!coverage.mayList(resource, namespace, selector)) {
        refuse(resource, ` ${namespace ?? '*'}/[${formatLabels(selector)}]`)
      }
      const found = source.list(resource, namespace)
      const selected = found.filter(({ metadata }) => matchLabels(selector, metadata.labels))
      return visible(resource, selected) as unknown as readonly T[]
    },
    ownedBy<T extends KubeObject>(resource: TypedResource<T>, { metadata }: KubeObject) {
      const uid = metadata.uid ?? ''
      reads.push({ what: 'owned', resource, uid })
      if (coverage.of(resource).length === 0) refuse(resource, '')
      return visible(resource, source.byOwner(resource, uid)) as unknown as readonly T[]
    },
    serves(resource) {
      reads.push({ what: 'kind', resource })
      return source.serves(resource)
    },
  }
}

/**
 * Author code goes by what it was shown, and that may be older than what is known by now: what it names is declared,
 * too, even if the object names something else since.
 */
function rememberShown(live: References): {
  readonly references: References
  add(resource: Resource, objects: readonly KubeObject[]): void
} {
  const shown = new Map<string, (readonly KubeObject[])[]>()
  const wasNamed = (reference: Reference, { name, namespace }: ObjectName): boolean =>
    (shown.get(formatResource(reference.from.resource)) ?? []).some((objects) =>
      objects.some(
        (object) =>
          selects(reference.from, object, references) &&
          live.of(reference, object).some((other) => other.name === name && other.namespace === namespace),
      ),
    )
  const references: References = {
    of: (reference, object) => live.of(reference, object),
    has: (reference, name) => live.has(reference, name) || wasNamed(reference, name),
  }
  return {
    references,
    add(resource, objects) {
      if (objects.length === 0) return
      const kind = formatResource(resource)
      const known = shown.get(kind)
      if (known) known.push(objects)
      else shown.set(kind, [objects])
    },
  }
}

/** Whether a change from `before` to `after` (either may be absent) could alter what was read. */
export function readConcerns(read: ViewRead, change: InputChange): boolean {
  // Asked for every reader of every change: by identity first, for resources are mostly constants.
  const isSame = read.resource === change.resource || formatResource(read.resource) === formatResource(change.resource)
  if (!isSame) return false
  const { before, after } = change
  return (before !== undefined && sees(read, before)) || (after !== undefined && sees(read, after))
}

export interface InputChange {
  readonly resource: Resource
  readonly before: KubeObject | undefined
  readonly after: KubeObject | undefined
}

function sees(read: ViewRead, { metadata }: KubeObject): boolean {
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

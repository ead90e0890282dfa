/**
 * A view: what a controller may read. Its objects are frozen and shared; reads cost nothing and never reach an API
 * server.
 *
 * A view shows the declared inputs (of projected ones the declared fields) and refuses all other reads (`coverage.ts`). It records what was read: a watch event
 * requeues the CRs that read the changed object, so no author maps a Secret back to the CRs that refer to it. It also
 * records the Secrets among them (`secret-redaction.ts`).
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject, Named } from '../../kube/object.ts'
import {
  formatLabels,
  type LabelSelector,
  labelSelector,
  type LabelSelectorSource,
  matchLabels,
} from '../../kube/selector/selector.ts'
import { coverageOf, type Coverage, selects } from './coverage.ts'
import { describeInput, type Input, inputOf, type Reference } from './input.ts'
import { type References, referencesIn } from './references.ts'
import { recordSecrets, type SecretReads } from './secret-redaction.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'

/** The name of an object. `namespace` is absent for cluster-scoped kinds. */
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
  get<T extends KubeObject>(resource: TypedResource<T>, name: ObjectName): Named<T> | undefined
  list<T extends KubeObject>(resource: TypedResource<T>, selection?: ViewSelection): readonly Named<T>[]
  /** Objects with an owner reference to this one. */
  ownedBy<T extends KubeObject>(resource: TypedResource<T>, owner: KubeObject): readonly Named<T>[]
  /** Whether the cluster serves the kind now. A change requeues the CRs that asked. */
  serves(resource: Resource): boolean
}

/** The source of a view's objects: shared caches, a directory, a store in memory. */
export interface ViewSource {
  get(resource: Resource, name: ObjectName): KubeObject | undefined
  list(resource: Resource, namespace?: string): readonly KubeObject[]
  byOwner(resource: Resource, uid: string): readonly KubeObject[]
  serves(resource: Resource): boolean
}

/** One recorded read. */
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

/** A view that knows which Secrets were read through it. */
export interface ReadView extends View {
  readonly secrets: SecretReads
}

export interface RecordedView extends ReadView {
  /** The reads so far. */
  readonly reads: readonly ViewRead[]
}

interface ViewOptions {
  readonly source: ViewSource
  /** The reader, for messages. */
  readonly reader: string
  /** The declared inputs. */
  readonly inputs: readonly (Resource | Input)[]
  /** The coverage of `inputs`, if it was computed before: for callers that open many views. */
  readonly coverage?: Coverage
  /** Resolves references. @default they are looked up in the source */
  readonly references?: References
  /** The CR of this run: objects that it refers to may be read. */
  readonly given?: { readonly resource: Resource; readonly object: KubeObject }
  /** Called before a read is refused, with what was read and what is declared. */
  readonly onRefused?: (message: string) => void
}

export function openView(options: ViewOptions): RecordedView {
  const { source, reader, inputs, given, onRefused } = options
  const coverage = options.coverage ?? coverageOf(inputs.map(inputOf))
  const reads: ViewRead[] = []
  const secrets = recordSecrets()
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
    throw new MusterError(operatorErrors.UndeclaredInput, `${reader} ${message}`)
  }
  const visible = (resource: Resource, found: readonly KubeObject[]): readonly KubeObject[] => {
    const covered = coverage.isWhole(resource)
      ? found
      : found.filter((object) => coverage.shows(resource, object, references))
    if (coverage.isReferring(resource)) shown.add(resource, covered)
    const parts = coverage.isProjected(resource)
      ? covered.map((object) => coverage.projectionOf(resource, object, references).project(object))
      : covered
    secrets.note(resource, parts)
    return parts
  }

  return {
    reads,
    secrets,
    get<T extends KubeObject>(resource: TypedResource<T>, name: ObjectName) {
      // Refused reads are recorded, too: if a reference to that object appears, the reader is requeued.
      reads.push({ what: 'object', resource, name })
      if (!coverage.mayGet(resource, name, references)) {
        refuse(resource, ` ${name.namespace === undefined ? '' : `${name.namespace}/`}${name.name}`)
      }
      const found = source.get(resource, name)
      return (found && visible(resource, [found])[0]) as Named<T> | undefined
    },
    list<T extends KubeObject>(resource: TypedResource<T>, { namespace, labels = '' }: ViewSelection = {}) {
      const selector = labelSelector(labels)
      reads.push({ what: 'list', resource, namespace, labels: selector })
      if (!coverage.mayList(resource, namespace, selector)) {
        refuse(resource, ` ${namespace ?? '*'}/[${formatLabels(selector)}]`)
      }
      const found = source.list(resource, namespace)
      const selected = found.filter(({ metadata }) => matchLabels(selector, metadata.labels))
      return visible(resource, selected) as readonly Named<T>[]
    },
    ownedBy<T extends KubeObject>(resource: TypedResource<T>, { metadata }: KubeObject) {
      const uid = metadata.uid ?? ''
      reads.push({ what: 'owned', resource, uid })
      if (coverage.of(resource).length === 0) refuse(resource, '')
      return visible(resource, source.byOwner(resource, uid)) as readonly Named<T>[]
    },
    serves(resource) {
      reads.push({ what: 'kind', resource })
      return source.serves(resource)
    },
  }
}

/**
 * Author code relies on the objects that it read, which may be older than the reference table: what they refer to may
 * be read, even if the live object refers to something else by now.
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

/** Whether a change from `before` to `after` (either may be absent) affects a recorded read. */
export function readConcerns(read: ViewRead, change: InputChange): boolean {
  // A hot path: resources are mostly constants, so identity is compared first.
  const isSame = read.resource === change.resource || formatResource(read.resource) === formatResource(change.resource)
  if (!isSame) return false
  const { before, after } = change
  return (before !== undefined && matchesRead(read, before)) || (after !== undefined && matchesRead(read, after))
}

export interface InputChange {
  readonly resource: Resource
  readonly before: KubeObject | undefined
  readonly after: KubeObject | undefined
  /** The resource version of the change, as far as it is known. */
  readonly version?: string | undefined
  /** A change by another writer that a later write of this operator hides: the object is as the operator wrote it. */
  readonly isHidden?: boolean | undefined
}

function matchesRead(read: ViewRead, { metadata }: KubeObject): boolean {
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

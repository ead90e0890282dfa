/** One embedded object in a reconcile: what is embedded, what is live, and the write that follows from the two. */
import { hash as digest } from 'node:crypto'
import { lostFields } from '../../kube/apply/lost-fields.ts'
import { formatPath, type Path } from '../../kube/apply/path-element.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { type Health, healthOf } from '../../kube/meta/health.ts'
import { controllerOf } from '../../kube/meta/owner.ts'
import type { GroupVersionKind, Resource } from '../../kube/kind.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { desiredHash, hashAnnotation, managedByLabel, type Owner } from '../dependent/desired.ts'
import type { SettledEntry } from '../dependent/entry.ts'
import { operatorErrors } from '../errors.ts'
import type { Apply, Delete, SetMarks } from '../plan.ts'
import type { ObjectName } from '../view/view.ts'
import type { EmbeddedObject, EmbeddedSet, Embedding } from './embedded-set.ts'
import { isYielded, withoutField } from '../dependent/yielded-fields.ts'

export interface EmbeddedEntry {
  readonly embedded: EmbeddedObject
  readonly kind: GroupVersionKind
  /** `Deployment shop/web`. */
  readonly subject: string
  readonly resource: Resource
  readonly name: ObjectName
  /** The object as it is applied, with label and mark. */
  readonly desired: UntypedObject
  readonly hash: string
  live: UntypedObject | undefined
  /** The live object is not in the cache: a create was refused because of it. */
  isUnseen: boolean
  state: 'open' | 'settled' | 'failed'
  /** Fields that are left as another client set them. */
  drifted: readonly string[]
  problem: unknown
}

/** Who embeds it: the parts of a set that its entries need. */
export interface Holder extends Pick<EmbeddedSet, 'holder' | 'namespace' | 'drift' | 'missing' | 'as'> {
  readonly label: string
  readonly releasedAnnotation?: Embedding<KubeObject>['releasedAnnotation']
  readonly owner: Owner
}

/** Fields that the API server manages. */
const serverFields: ReadonlySet<string> = new Set([
  'creationTimestamp',
  'generation',
  'selfLink',
  'uid',
  'resourceVersion',
  'managedFields',
  'deletionTimestamp',
])

export function embeddedEntry(embedded: EmbeddedObject, resource: Resource, holder: Holder): EmbeddedEntry {
  const { status: _, ...content } = asJson(embedded.object)
  const meta = (content['metadata'] ?? {}) as JsonObject
  const { name = '', namespace = holder.namespace } = embedded.object.metadata
  const place: ObjectName = resource.namespaced ? { name, namespace } : { name }
  const kept = Object.fromEntries(Object.entries(meta).filter(([field]) => !serverFields.has(field)))
  delete kept['namespace']
  const labels = { ...(meta['labels'] as JsonObject | undefined), [holder.label]: holder.holder }
  const metadata: JsonObject = {
    ...kept,
    name,
    ...(place.namespace !== undefined && { namespace: place.namespace }),
    labels,
  }
  const hash = desiredHash({ ...content, metadata })
  const annotations = {
    ...(meta['annotations'] as JsonObject | undefined),
    [hashAnnotation]: `${markOf(holder)}${hash}`,
  }
  return {
    embedded,
    kind: resource,
    subject: `${resource.kind} ${place.namespace === undefined ? name : `${place.namespace}/${name}`}`,
    resource,
    name: place,
    desired: asObject({ ...content, metadata: { ...metadata, annotations } }),
    hash,
    live: undefined,
    isUnseen: false,
    state: 'open',
    drifted: [],
    problem: undefined,
  }
}

/** What the marks of a holder's objects begin with: an object that lost its label is found by it. */
function markOf({ owner: { operator, controller }, holder }: Holder): string {
  return `${operator}.${controller}/${digest('sha256', holder).slice(0, 10)}:`
}

/** Drift of an object as a whole. */
const deletedField = 'deleted, or without its label'

type EmbeddedDecision =
  | { readonly what: 'nothing'; readonly operation: 'unchanged' | 'ignored' }
  | { readonly what: 'apply'; readonly mutation: Apply; readonly isAdoption: boolean }
  /** Before it is created again. */
  | { readonly what: 'delete'; readonly mutation: Delete }
  /** Before it is written: it was let go earlier. */
  | { readonly what: 'retake'; readonly mutation: SetMarks }

/** @throws NotOurs if a live object of that name has another owner */
export function decideEmbedded(
  entry: EmbeddedEntry,
  holder: Holder,
  settled: SettledEntry | undefined,
): EmbeddedDecision {
  const { embedded, live, desired, hash, subject, resource } = entry
  const { policy = 'apply', yields = [] } = embedded
  const target = { verb: 'apply', subject, resource, embedded: holder.label, as: holder.as } as const
  if (isOptional(policy) && (policy === 'ignore' || !live)) return { what: 'nothing', operation: 'ignored' }
  if (!live && holder.missing === 'report') {
    entry.drifted = holder.drift === 'report' ? [deletedField] : []
    return { what: 'nothing', operation: 'ignored' }
  }
  if (!live) {
    const mutation: Apply = { ...target, object: desired, why: 'missing', force: false }
    return { what: 'apply', mutation, isAdoption: false }
  }
  const isReleased = isReleasedBy(live, holder)
  if (isReleased && policy !== 'recreate') {
    // An object that is applied next gets its mark then.
    const mark = isCreatedOnce(policy) ? `${markOf(holder)}${hash}` : undefined
    const marks = { label: holder.holder, released: null, mark, why: 'retaken' } as const
    return { what: 'retake', mutation: marking(live, entry, holder, marks) }
  }
  const hasLabel = live.metadata.labels?.[holder.label] === holder.holder
  // A label can be copied, or set by a client that came first; the mark is written with the object.
  const isOurs = (hasLabel && policy !== 'create') || isMarkedBy(live, holder) || isReleased
  if (!isOurs && (policy === 'create' || embedded.adopts?.(live) !== true)) {
    if (policy === 'create-only') return { what: 'nothing', operation: 'ignored' }
    throw notOurs(live, holder, subject)
  }
  if (isCreatedOnce(policy)) return { what: 'nothing', operation: 'unchanged' }
  const isSame = isOurs && hasMark(live, entry, holder)
  // Written once more, so that the cache shows it: what it does not show is not deleted later.
  const isUnseen = entry.isUnseen && (holder.drift ?? 'correct') === 'correct'
  const { uid = '', resourceVersion = '' } = live.metadata
  if (policy === 'recreate') {
    const { name } = entry
    if (isSame) return { what: 'nothing', operation: 'unchanged' }
    return { what: 'delete', mutation: { ...target, verb: 'delete', name, uid, why: 'replaced' } }
  }
  if (isSame && !isUnseen && settled?.hash === hash && settled.resourceVersion === resourceVersion) {
    return { what: 'nothing', operation: 'unchanged' }
  }
  const lost = lostFields(asJson(desired), ownFields(live, holder))
  const yielded = lost.filter((path) => isYielded(path, yields))
  const drifted = lost.filter((path) => !yielded.includes(path))
  if (isSame && !isUnseen && (drifted.length === 0 || (holder.drift ?? 'correct') !== 'correct')) {
    entry.drifted = holder.drift === 'ignore' ? [] : fieldNames(drifted)
    return { what: 'nothing', operation: 'unchanged' }
  }
  const sent = yielded.reduce<Json>(withoutField, asJson(desired)) as JsonObject
  const mutation: Apply = {
    ...target,
    // The uid is a precondition: an object that was deleted and created again meanwhile is not written to.
    object: asObject({ ...sent, metadata: { ...(sent['metadata'] as JsonObject), uid } }),
    why: isSame ? 'drifted' : 'changed',
    fields: isSame ? fieldNames(drifted) : [],
    force: true,
  }
  return { what: 'apply', mutation, isAdoption: !isOurs }
}

/** Whether it need not exist. */
export function isOptional(policy: EmbeddedObject['policy']): boolean {
  return policy === 'ignore' || policy === 'update-only'
}

function isCreatedOnce(policy: EmbeddedObject['policy']): boolean {
  return policy === 'create' || policy === 'create-only'
}

/** The object stays as it is, and belongs to no holder. */
export function releaseOf(live: UntypedObject, target: MarkTarget, holder: Holder): SetMarks {
  return marking(live, target, holder, { label: null, released: holder.holder, mark: null, why: 'released' })
}

type MarkTarget = Pick<EmbeddedEntry, 'subject' | 'resource' | 'name'>

/** `null` removes one. */
interface Marks extends Pick<SetMarks, 'why'> {
  readonly label: string | null
  readonly released: string | null
  readonly mark: string | null | undefined
}

function marking(
  { metadata }: UntypedObject,
  { subject, resource, name }: MarkTarget,
  { label, releasedAnnotation, as }: Holder,
  marks: Marks,
): SetMarks {
  const { uid = '', resourceVersion = '' } = metadata
  return {
    verb: 'marks',
    subject,
    resource,
    name,
    uid,
    resourceVersion,
    labels: { [label]: marks.label },
    annotations: {
      ...(marks.mark !== undefined && { [hashAnnotation]: marks.mark }),
      ...(releasedAnnotation !== undefined && { [releasedAnnotation]: marks.released }),
    },
    why: marks.why,
    embedded: label,
    as,
  }
}

/** Whether this holder has let it go, and no other one has taken it; also if it took it back, and was not done. */
function isReleasedBy({ metadata }: UntypedObject, { label, holder, releasedAnnotation }: Holder): boolean {
  if (releasedAnnotation === undefined || metadata.annotations?.[releasedAnnotation] !== holder) return false
  const { [label]: other = holder } = metadata.labels ?? {}
  return other === holder
}

function fieldNames(paths: readonly Path[]): readonly string[] {
  return paths.map((path) => formatPath(path).slice(1))
}

function hasMark({ metadata }: UntypedObject, { hash }: EmbeddedEntry, holder: Holder): boolean {
  return metadata.annotations?.[hashAnnotation] === `${markOf(holder)}${hash}`
}

function isMarkedBy({ metadata }: UntypedObject, holder: Holder): boolean {
  return metadata.annotations?.[hashAnnotation]?.startsWith(markOf(holder)) ?? false
}

/** The fields that the operator has applied and still owns. */
function ownFields({ metadata }: UntypedObject, { owner }: Holder): Json | undefined {
  const own = metadata.managedFields?.find(
    ({ manager, operation, subresource = '' }) =>
      manager === owner.operator && operation === 'Apply' && subresource === '',
  )
  return own?.fieldsV1
}

/** Whether the operator wrote the object. A label alone says little: controllers copy the labels of a Service to others. */
export function isWrittenBy(object: UntypedObject, holder: Holder): boolean {
  return ownFields(object, holder) !== undefined
}

function notOurs(live: UntypedObject, holder: Holder, subject: string): MusterError {
  return new MusterError(
    operatorErrors.NotOurs,
    `${subject} exists already and belongs to ${otherOwner(live, holder)}. Remove it there, adopt it, or leave it out here.`,
  )
}

/** The other owner, by the best evidence that there is. */
function otherOwner({ metadata }: UntypedObject, { label, holder, releasedAnnotation = '' }: Holder): string {
  const { labels = {}, annotations = {}, managedFields = [] } = metadata
  const other = labels[label]
  if (other !== undefined && other !== holder) return `${other} (label ${label})`
  const released = annotations[releasedAnnotation]
  if (released !== undefined) return `no owner any more, since ${released} has let it go`
  const controller = controllerOf({ apiVersion: '', kind: '', metadata })
  if (controller) return `${controller.kind} ${controller.name}`
  const release = annotations['meta.helm.sh/release-name']
  if (release !== undefined) return `the Helm release ${annotations['meta.helm.sh/release-namespace'] ?? ''}/${release}`
  const managedBy = labels[managedByLabel]
  if (managedBy !== undefined) return `${managedBy} (label ${managedByLabel})`
  const managers = [...new Set(managedFields.map(({ manager }) => manager ?? ''))].filter((name) => name !== '')
  return managers.length > 0 ? `the field manager ${managers.join(', ')}` : 'another owner'
}

export function healthOfEmbedded({ embedded, live, problem }: EmbeddedEntry, now: number): Health {
  if (problem !== undefined && !live) {
    return {
      status: 'Failed',
      reason: 'NotWritten',
      message: problem instanceof Error ? problem.message : 'It was refused.',
    }
  }
  try {
    return live && embedded.health ? embedded.health(live, now) : healthOf(live, now)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { status: 'Unknown', reason: 'HealthUnknown', message: `Its health is unknown: ${message}` }
  }
}

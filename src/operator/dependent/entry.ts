/**
 * One object of a dependent in a reconcile: the desired and the live object, and the write that follows from the two.
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Health } from '../../kube/meta/health.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { formatApiVersion, formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { controllerOf, isControlledBy } from '../../kube/meta/owner.ts'
import { type Desired, hashAnnotation, managedByLabel, markOwner, type Owner, ownerLabel, typingOf } from './desired.ts'
import { differences } from './difference.ts'
import { lastMatched, noteMatched } from './drift-memo.ts'
import type { Apply, Delete } from '../plan.ts'
import type { ItemContext, Dependent } from './dependent.ts'
import { inHashScope, toSend } from './scope.ts'
import { sharedWrite, type WithheldField } from './shared-fields.ts'
import type { ObjectName, View } from '../view/view.ts'

export interface DependentEntry<CR extends KubeObject> {
  readonly dependent: Dependent<CR>
  readonly context: ItemContext<CR, unknown>
  readonly subject: string
  readonly name: ObjectName
  /** The live object. */
  live: UntypedObject | undefined
  /** Absent before Mutator. */
  desired: Desired | undefined
  /** `open`: still to be decided. */
  state: 'open' | 'settled' | 'failed'
  /** With the policy `share`: fields that are left to other managers. */
  withheld?: readonly WithheldField[]
}

/** An apply that changed nothing: not repeated until the live or the desired object changes. */
export interface SettledEntry {
  readonly hash: string
  readonly resourceVersion: string
}

type EntryDecision =
  | { readonly what: 'nothing'; readonly operation: 'unchanged' | 'ignored' }
  | { readonly what: 'apply'; readonly mutation: Apply; readonly isAdoption: boolean }

/** A create-only object that exists, and that need not be renewed: what its author would generate is not asked for. */
export function staysAsCreated<CR extends KubeObject>({
  dependent,
  live,
  context,
}: Pick<DependentEntry<CR>, 'dependent' | 'live' | 'context'>): boolean {
  return dependent.policy === 'create-only' && live !== undefined && !dependent.mustRenew(live, context)
}

/** @throws NotOurs if a live object of that name has another owner */
export function decide<CR extends KubeObject>(
  entry: DependentEntry<CR>,
  owner: Owner,
  settled: SettledEntry | undefined,
): EntryDecision {
  const { dependent, subject, live, desired, context } = entry
  const { kind, policy, scope } = dependent
  if (live && staysAsCreated({ dependent, live, context })) {
    const isOurs = belongsTo(live, dependent, context.cr, markOwner(dependent, context.cr, owner))
    return { what: 'nothing', operation: isOurs ? 'unchanged' : 'ignored' }
  }
  if (!desired) {
    throw new MusterError(
      operatorErrors.InvalidDependent,
      `Dependent ${subject} has no desired object: the step Mutator was skipped.`,
    )
  }
  const { hash } = desired
  const target = { verb: 'apply', subject, resource: kind } as const
  if (!live) {
    const mutation: Apply = { ...target, object: desired.object, why: 'missing', force: false }
    return { what: 'apply', mutation, isAdoption: false }
  }
  if (policy === 'share') {
    const { object, withheld } = sharedWrite(dependent, live, desired.object, context.cr, owner)
    entry.withheld = withheld
    const isSettled = settled?.hash === hash && settled.resourceVersion === live.metadata.resourceVersion
    if (!object || isSettled) return { what: 'nothing', operation: 'unchanged' }
    return { what: 'apply', mutation: { ...target, object, why: 'changed', force: false }, isAdoption: false }
  }
  const isOurs = belongsTo(live, dependent, context.cr, markOwner(dependent, context.cr, owner))
  if (!isOurs) {
    if (policy === 'ignore' || policy === 'create-only') return { what: 'nothing', operation: 'ignored' }
    const whose = ownerOf(live)
    if (policy === 'own' || whose !== undefined) throw notOurs(live, kind, context.cr, whose)
  }
  const isSame = markOf(live)?.hash === hash && isOurs
  const { uid, resourceVersion = '' } = live.metadata
  const isSettled = settled?.hash === hash && settled.resourceVersion === resourceVersion
  if (isSame && (isSettled || lastMatched(live)?.hash === hash)) return { what: 'nothing', operation: 'unchanged' }
  const wanted = asJson(desired.object)
  const is = asJson(live)
  // The mark is derived from the other fields, so it is no drift of its own.
  const differing = (): readonly string[] =>
    differences(is, inHashScope(wanted, scope), typingOf(kind)).filter((field) => field !== markField)
  const drifted = isSame ? differing() : undefined
  if (drifted?.length === 0) {
    noteMatched(live, desired)
    return { what: 'nothing', operation: 'unchanged' }
  }
  const { metadata, ...rest } = toSend(wanted, is, scope, typingOf(kind))
  // Preconditions: an object that was deleted and created again meanwhile is not written to; and fields outside of the scope are
  // sent as they were read, so that no later value of another client is lost.
  const read = Object.keys(scope).length > 0 && resourceVersion !== '' ? { resourceVersion } : {}
  const sent = asObject({ ...rest, metadata: { ...(metadata as JsonObject), uid: uid!, ...read } })
  const mutation: Apply = {
    ...target,
    object: sent,
    why: drifted ? 'drifted' : 'changed',
    force: true,
    // Computed only when they are reported: the apply does not need them.
    get fields() {
      return drifted ?? differing()
    },
  }
  return { what: 'apply', mutation, isAdoption: !isOurs }
}

function notOurs(live: UntypedObject, kind: Resource, cr: KubeObject, whose = 'another owner'): MusterError {
  const { name, namespace } = live.metadata
  const where = namespace === undefined ? name : `${namespace}/${name}`
  return new MusterError(
    operatorErrors.NotOurs,
    `${kind.kind} ${where} exists already and belongs to ${whose}, not to ${cr.kind} ${cr.metadata.name}.`,
  )
}

/** The owner of an object, for messages. An owned object is never adopted: both owners would write it in turns. */
function ownerOf(live: KubeObject): string | undefined {
  const controller = controllerOf(live)
  if (controller) return `${controller.kind} ${controller.name}`
  const uid = live.metadata.labels?.[ownerLabel]
  if (uid !== undefined) return `another object (uid ${uid})`
  return markOf(live)?.owner
}

const markField = `metadata.annotations["${hashAnnotation}"]`

/** The controller that wrote the object, and the hash of the object desired then: `memcached.memcached:HASH`. */
function markOf({ metadata }: KubeObject): { readonly owner: string; readonly hash: string } | undefined {
  const mark = metadata.annotations?.[hashAnnotation]
  const colon = mark?.lastIndexOf(':') ?? -1
  return mark === undefined || colon < 0 ? undefined : { owner: mark.slice(0, colon), hash: mark.slice(colon + 1) }
}

function belongsTo<CR extends KubeObject>(
  live: KubeObject,
  { ownership }: Dependent<CR>,
  cr: CR,
  owner: string,
): boolean {
  if (ownership === 'reference' && isControlledBy(live, cr)) return true
  const uid = live.metadata.labels?.[ownerLabel]
  if (ownership === 'label' && uid === cr.metadata.uid) return true
  // The mark is this controller's: a removed owner reference or label is restored.
  const isUnowned = ownership === 'none' || (!controllerOf(live) && uid === undefined)
  return isUnowned && markOf(live)?.owner === owner
}

/** The health of the live object. */
export function healthOfEntry<CR extends KubeObject>({
  dependent,
  live,
  context,
  subject,
}: DependentEntry<CR>): Health {
  try {
    if (live) return dependent.health(live, context)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { status: 'Unknown', reason: 'HealthUnknown', message: `Its health is unknown: ${message}` }
  }
  return { status: 'NotFound', reason: 'Missing', message: `${subject} does not exist yet.` }
}

/** Deletions of objects that this controller made for the CR and that are no longer desired. */
export function prunable<CR extends KubeObject>(
  view: View,
  cr: CR,
  dependents: readonly Dependent<CR>[],
  wanted: readonly DependentEntry<CR>[],
  owner: string,
): readonly Delete[] {
  const kept = new Set(wanted.map(({ dependent, name }) => keyOf(dependent.kind, name)))
  const seen = new Set<string>()
  return dependents.flatMap((dependent) =>
    dependentObjects(view, cr, dependent, owner).flatMap((object): readonly Delete[] => {
      const { name = '', namespace, uid = '', deletionTimestamp } = object.metadata
      const key = keyOf(dependent.kind, { name, namespace })
      if (deletionTimestamp || kept.has(key) || seen.has(key)) return []
      seen.add(key)
      return [
        {
          verb: 'delete',
          subject: dependent.id,
          resource: dependent.kind,
          name: { name, namespace },
          uid,
          why: 'pruned',
        },
      ]
    }),
  )
}

/** The live objects of a dependent's kind that this controller made for the CR. */
export function dependentObjects<CR extends KubeObject>(
  view: View,
  cr: CR,
  { kind, ownership }: Dependent<CR>,
  owner: string,
): readonly KubeObject[] {
  if (ownership === 'none') return []
  const found =
    ownership === 'reference'
      ? view.ownedBy(kind, cr).filter((object) => isControlledBy(object, cr))
      : view.list(kind, { labels: { matchLabels: { [ownerLabel]: cr.metadata.uid ?? '' } } })
  return found.filter((object) => isMadeBy(object, owner))
}

/** By its mark; if another actor removed it, by the label, since an operator has one controller per kind of CR. */
function isMadeBy(object: KubeObject, owner: string): boolean {
  const mark = markOf(object)
  if (mark) return mark.owner === owner
  const operator = object.metadata.labels?.[managedByLabel]
  return operator !== undefined && owner.startsWith(`${operator}.`)
}

function keyOf(kind: Resource, { namespace = '', name }: ObjectName): string {
  return `${formatResource(kind)} ${namespace}/${name}`
}

export function kindText(kind: Resource): string {
  return `${formatApiVersion(kind)} ${kind.kind}`
}

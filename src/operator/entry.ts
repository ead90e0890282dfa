/**
 * The registry of one reconcile: each object that is wanted, beside the one that is there, and what follows from the two.
 */
import { MusterError } from '../kube/errors.ts'
import type { Health } from '../kube/health.ts'
import type { JsonObject } from '../kube/json.ts'
import { formatApiVersion, formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import { controllerOf, isControlledBy } from '../kube/owner.ts'
import { type Desired, hashAnnotation, managedByLabel, markOwner, type Owner, ownerLabel, typingOf } from './desired.ts'
import { differences } from './difference.ts'
import { heldBy, noteHeld } from './holding.ts'
import type { Apply, Delete } from './plan.ts'
import type { ItemContext, Dependent } from './dependent.ts'
import { inHashScope, toSend } from './scope.ts'
import type { ObjectName, View } from './view.ts'

export interface DependentEntry<CR extends KubeObject> {
  readonly resource: Dependent<CR>
  readonly context: ItemContext<CR, unknown>
  readonly subject: string
  readonly name: ObjectName
  /** What is there. */
  live: UntypedObject | undefined
  /** What shall be; absent before Mutator. */
  desired: Desired | undefined
  /** Where it stands in this reconcile. */
  state: 'open' | 'settled' | 'failed'
}

/** What an apply brought nothing new for: known until the object or the wish changes. */
export interface SettledEntry {
  readonly hash: string
  readonly resourceVersion: string
}

export type EntryDecision =
  | { readonly what: 'nothing'; readonly operation: 'unchanged' | 'ignored' }
  | { readonly what: 'apply'; readonly mutation: Apply; readonly isAdoption: boolean }

/** @throws NotOurs when something else has the name */
export function decide<CR extends KubeObject>(
  { resource, subject, live, desired, context }: DependentEntry<CR>,
  owner: Owner,
  settled: SettledEntry | undefined,
): EntryDecision {
  const { kind, policy, scope } = resource
  if (!desired) {
    throw new MusterError('InvalidResource', `Resource ${subject}: no step said what it shall look like; Mutator does.`)
  }
  const { hash } = desired
  const target = { verb: 'apply', subject, resource: kind } as const
  if (!live) {
    const mutation: Apply = { ...target, object: desired.object, why: 'missing', force: false }
    return { what: 'apply', mutation, isAdoption: false }
  }
  const isOurs = belongsTo(live, resource, context.cr, markOwner(resource, context.cr, owner))
  if (!isOurs) {
    if (policy === 'ignore' || policy === 'create-only') return { what: 'nothing', operation: 'ignored' }
    const whose = ownerOf(live)
    if (policy === 'own' || whose !== undefined) throw notOurs(live, kind, context.cr, whose)
  }
  if (policy === 'create-only') return { what: 'nothing', operation: 'unchanged' }
  const isSame = markOf(live)?.hash === hash && isOurs
  const { uid, resourceVersion = '' } = live.metadata
  const isSettled = settled?.hash === hash && settled.resourceVersion === resourceVersion
  if (isSame && (isSettled || heldBy(live)?.hash === hash)) return { what: 'nothing', operation: 'unchanged' }
  const wanted = desired.object as unknown as JsonObject
  const is = live as unknown as JsonObject
  // The mark follows from the rest: it is no news of its own.
  const differing = (): readonly string[] =>
    differences(is, inHashScope(wanted, scope), typingOf(kind)).filter((field) => field !== markField)
  const drifted = isSame ? differing() : undefined
  if (drifted?.length === 0) {
    noteHeld(live, desired)
    return { what: 'nothing', operation: 'unchanged' }
  }
  const { metadata, ...rest } = toSend(wanted, is, scope, typingOf(kind))
  // The uid makes it this very object: one that was deleted and made anew meanwhile is not written to.
  const sent = { ...rest, metadata: { ...(metadata as JsonObject), uid: uid! } } as unknown as UntypedObject
  const mutation: Apply = {
    ...target,
    object: sent,
    why: drifted ? 'drifted' : 'changed',
    force: true,
    // It is written whatever they are: they are looked for when it is told what was.
    get fields() {
      return drifted ?? differing()
    },
  }
  return { what: 'apply', mutation, isAdoption: !isOurs }
}

function notOurs(live: UntypedObject, kind: Resource, cr: KubeObject, whose = 'somebody else'): MusterError {
  const { name, namespace } = live.metadata
  const where = namespace === undefined ? name : `${namespace}/${name}`
  return new MusterError(
    'NotOurs',
    `${kind.kind} ${where} exists already and belongs to ${whose}, not to ${cr.kind} ${cr.metadata.name}.`,
  )
}

/** Who says that it is his, in words. What is somebody's is adopted by nobody: both would write it for ever. */
function ownerOf(live: KubeObject): string | undefined {
  const controller = controllerOf(live)
  if (controller) return `${controller.kind} ${controller.name}`
  const uid = live.metadata.labels?.[ownerLabel]
  if (uid !== undefined) return `another object (uid ${uid})`
  return markOf(live)?.owner
}

const markField = `metadata.annotations["${hashAnnotation}"]`

/** Who wrote it and what was wanted then: `memcached.memcached:HASH`. */
export function markOf({ metadata }: KubeObject): { readonly owner: string; readonly hash: string } | undefined {
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
  // The mark is this controller's: where somebody took away the reference or the label, it is put back.
  const isNobodys = ownership === 'none' || (!controllerOf(live) && uid === undefined)
  return isNobodys && markOf(live)?.owner === owner
}

/** The health of an entry as far as it is known. */
export function healthOfEntry<CR extends KubeObject>({ resource, live, context, subject }: DependentEntry<CR>): Health {
  try {
    if (live) return resource.health(live, context)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { status: 'Unknown', reason: 'HealthUnknown', message: `Its health cannot be told: ${message}` }
  }
  return { status: 'NotFound', reason: 'Missing', message: `${subject} does not exist yet.` }
}

/** Deletions of what this controller made for the CR and does not want any more. */
export function prunable<CR extends KubeObject>(
  view: View,
  cr: CR,
  resources: readonly Dependent<CR>[],
  wanted: readonly DependentEntry<CR>[],
  owner: string,
): readonly Delete[] {
  const kept = new Set(wanted.map(({ resource, name }) => keyOf(resource.kind, name)))
  const seen = new Set<string>()
  return resources.flatMap((resource) =>
    made(view, cr, resource, owner).flatMap((object): readonly Delete[] => {
      const { name = '', namespace, uid = '', deletionTimestamp } = object.metadata
      const key = keyOf(resource.kind, { name, namespace })
      if (deletionTimestamp || kept.has(key) || seen.has(key)) return []
      seen.add(key)
      return [
        {
          verb: 'delete',
          subject: resource.id,
          resource: resource.kind,
          name: { name, namespace },
          uid,
          why: 'pruned',
        },
      ]
    }),
  )
}

/** What this controller made of a resource's kind for the CR. */
export function made<CR extends KubeObject>(
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

/** By its mark; where another actor took that away, by the label, since an operator has one controller for a kind of CRs. */
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

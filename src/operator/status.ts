/** The status of a CR: the author's report and what follows from the ledger, written only when it has changed. */
import { type Condition, type ConditionUpdate, findCondition } from '../kube/meta/condition.ts'
import { isJsonObject, type JsonObject } from '../kube/json.ts'
import { asJson } from '../kube/json-object.ts'
import { formatApiVersion } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import type { StatusReport } from './controller.ts'
import { desiredHash, typingOf } from './dependent/desired.ts'
import { differences, type Typing } from './dependent/difference.ts'
import type { SettledEntry } from './dependent/entry.ts'
import type { LifecycleStep } from './lifecycle/step.ts'
import { type Ledger, standardConditions, standardTypes, statedConditions } from './ledger.ts'
import type { WriteStatus } from './plan.ts'
import type { TypedResource } from '../kube/typed-resource.ts'

interface StatusInput<CR extends KubeObject> {
  readonly kind: TypedResource<CR>
  readonly cr: CR
  /** The status is another controller's: only reported conditions are written. */
  readonly isForeign: boolean
  /** Absent when the reconcile failed before the report: then the live report is kept. */
  readonly report: StatusReport<CR> | undefined
  /** Whether the author reports a status: if not, all but the conditions belongs to other writers. */
  readonly reports: boolean
  /** The next step of the application's life cycle, if it was observed. */
  readonly life: LifecycleStep | undefined
  readonly ledger: Ledger
  readonly settled: SettledEntry | undefined
}

/** The status write, the hash of the status, and the fields that changed. */
interface PendingStatus {
  readonly write: WriteStatus
  readonly hash: string
  readonly fields: readonly string[]
}

/** Undefined when the live status is up to date. */
export function statusWrite<CR extends KubeObject>({
  kind,
  cr,
  isForeign,
  report,
  reports,
  life,
  ledger,
  settled,
}: StatusInput<CR>): PendingStatus | undefined {
  const live = liveStatus(cr)
  if (isForeign) return foreignStatus(kind, cr, report?.conditions ?? [], ledger)
  const { conditions: reported = [], ...fields } = report ?? (reports ? keptFields(live) : {})
  const { generation: observedGeneration } = ledger
  const before = live['conditions'] as readonly Condition[] | undefined
  const updates = [
    ...standardConditions(ledger),
    ...reported.map((condition) => Object.assign({ observedGeneration }, condition)),
    ...(life ? [life.condition] : []),
    ...(report || !reports ? [] : keptConditions(before)),
  ]
  const conditions = statedConditions(before, updates, ledger.startedAt)
  const status = asJson({
    ...fields,
    ...(life && { lifecycle: life.status }),
    observedGeneration,
    conditions,
  })
  const typing = typingOf(kind)
  const changedFields = differences({ status: live }, { status }, typing)
  const isCurrent =
    changedFields.length === 0 &&
    !(reports && hasObsoleteFields(live, status, typing)) &&
    !hasObsoleteConditions(before, conditions)
  if (isCurrent) return undefined
  const hash = desiredHash(status)
  const { name = '', namespace, uid, resourceVersion } = cr.metadata
  if (settled?.hash === hash && settled.resourceVersion === resourceVersion) return undefined
  const object = {
    apiVersion: formatApiVersion(kind),
    kind: kind.kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      // A life cycle or a kept report is written on the condition that the CR is unchanged: it must not overwrite a
      // newer one.
      ...((life || (reports && !report)) && resourceVersion !== undefined && { resourceVersion }),
    },
    status,
  } as UntypedObject
  return { write: { verb: 'status', subject: 'cr', resource: kind, object }, hash, fields: changedFields }
}

/** Conditions beside those of the controller that the kind belongs to. One that is no longer reported stays as it is. */
function foreignStatus<CR extends KubeObject>(
  kind: TypedResource<CR>,
  cr: CR,
  reported: readonly Omit<ConditionUpdate, 'observedGeneration'>[],
  { startedAt }: Ledger,
): PendingStatus | undefined {
  if (reported.length === 0) return undefined
  const before = liveStatus(cr)['conditions'] as readonly Condition[] | undefined
  // Without observedGeneration, which conditions of some kinds do not have.
  const conditions = statedConditions(before, reported, startedAt)
  const status = asJson({ conditions })
  const fields = differences({ status: liveStatus(cr) }, { status }, typingOf(kind))
  if (fields.length === 0) return undefined
  const { name = '', namespace, uid } = cr.metadata
  const metadata = { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) }
  const object = { apiVersion: formatApiVersion(kind), kind: kind.kind, metadata, status } as UntypedObject
  return { write: { verb: 'status', subject: 'cr', resource: kind, object }, hash: desiredHash(status), fields }
}

function liveStatus(cr: KubeObject): JsonObject {
  const { status } = cr as UntypedObject
  return isJsonObject(status) ? status : {}
}

/** Set by the manager (`manager/findings/finding-reporter.ts`): the operator neither sets, keeps nor removes it. */
export const findingCondition = 'muster.dev/Finding'

const standardFields: ReadonlySet<string> = new Set(['conditions', 'observedGeneration'])

/** The live report, kept until there is a new one. */
function keptFields(status: JsonObject): StatusReport<KubeObject> {
  return Object.fromEntries(Object.entries(status).filter(([name]) => !standardFields.has(name)))
}

function keptConditions(conditions: readonly Condition[] | undefined): readonly Condition[] {
  return (conditions ?? []).filter(({ type }) => !standardTypes.has(type) && type !== findingCondition)
}

/**
 * Whether the live status has fields, at any depth, that are no longer reported. Conditions are shared with other
 * writers.
 */
function hasObsoleteFields(live: JsonObject, status: JsonObject, typing: Typing): boolean {
  const reported = Object.fromEntries(Object.entries(live).filter(([name]) => name !== 'conditions'))
  return differences({ status }, { status: reported }, typing).length > 0
}

function hasObsoleteConditions(before: readonly Condition[] | undefined, conditions: readonly Condition[]): boolean {
  return [...standardTypes].some((type) => findCondition(before, type) && !findCondition(conditions, type))
}

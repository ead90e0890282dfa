/** The status of a CR: what the author reports and what follows from the ledger, written only when it says something new. */
import { type Condition, findCondition } from '../kube/condition.ts'
import { isJsonObject, type JsonObject } from '../kube/json.ts'
import { formatApiVersion } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import type { StatusReport } from './controller.ts'
import { desiredHash, typingOf } from './desired.ts'
import { differences, type Typing } from './difference.ts'
import type { SettledEntry } from './entry.ts'
import type { LifecycleStep } from './lifecycle/step.ts'
import { type Ledger, standardConditions, standardTypes, statedConditions } from './ledger.ts'
import type { WriteStatus } from './plan.ts'
import type { TypedResource } from './typed-resource.ts'

export interface StatusInput<CR extends KubeObject> {
  readonly kind: TypedResource<CR>
  readonly cr: CR
  /** Absent when the reconcile did not come so far: then what was reported stays. */
  readonly report: StatusReport<CR> | undefined
  /** Whether the author reports at all: if not, all but the conditions is somebody else's. */
  readonly reports: boolean
  /** What became of the application's life, when it was looked at. */
  readonly life: LifecycleStep | undefined
  readonly ledger: Ledger
  readonly settled: SettledEntry | undefined
}

/** The write that is due, the hash of what it says, and where that is new. */
export interface StatusDue {
  readonly write: WriteStatus
  readonly hash: string
  readonly fields: readonly string[]
}

/** Undefined when the CR says it already. */
export function statusWrite<CR extends KubeObject>({
  kind,
  cr,
  report,
  reports,
  life,
  ledger,
  settled,
}: StatusInput<CR>): StatusDue | undefined {
  const live = liveStatus(cr)
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
  const status = {
    ...fields,
    ...(life && { lifecycle: life.status }),
    observedGeneration,
    conditions,
  } as unknown as JsonObject
  const typing = typingOf(kind)
  const news = differences({ status: live }, { status }, typing)
  const isSaid = news.length === 0 && !(reports && hasMore(live, status, typing)) && !hasOld(before, conditions)
  const hash = desiredHash(status)
  const { name = '', namespace, uid, resourceVersion } = cr.metadata
  if (isSaid || (settled?.hash === hash && settled.resourceVersion === resourceVersion)) return undefined
  const object = {
    apiVersion: formatApiVersion(kind),
    kind: kind.kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      // What is remembered of a life, or only repeated, goes by what was read: it must not undo what is newer.
      ...((life || (reports && !report)) && resourceVersion !== undefined && { resourceVersion }),
    },
    status,
  } as UntypedObject
  return { write: { verb: 'status', subject: 'cr', resource: kind, object }, hash, fields: news }
}

function liveStatus(cr: KubeObject): JsonObject {
  const { status } = cr as UntypedObject
  return isJsonObject(status) ? status : {}
}

/** What the manager found (`manager/findings/finding-reporter.ts` there): not the operator's to say, to keep or to take away. */
export const findingCondition = 'muster.dev/Finding'

const standardFields: ReadonlySet<string> = new Set(['conditions', 'observedGeneration'])

/** What was reported before stays until it can be told anew. */
function keptFields(status: JsonObject): StatusReport<KubeObject> {
  return Object.fromEntries(Object.entries(status).filter(([name]) => !standardFields.has(name)))
}

function keptConditions(conditions: readonly Condition[] | undefined): readonly Condition[] {
  return (conditions ?? []).filter(({ type }) => !standardTypes.has(type) && type !== findingCondition)
}

/** Something is there that is not reported any more, at whatever depth, and has to go. Conditions are shared. */
function hasMore(live: JsonObject, status: JsonObject, typing: Typing): boolean {
  const reported = Object.fromEntries(Object.entries(live).filter(([name]) => name !== 'conditions'))
  return differences({ status }, { status: reported }, typing).length > 0
}

function hasOld(before: readonly Condition[] | undefined, conditions: readonly Condition[]): boolean {
  return [...standardTypes].some((type) => findCondition(before, type) && !findCondition(conditions, type))
}

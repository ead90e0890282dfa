/**
 * Why an object is not ready, as data: the object, the objects that it owns, and what others reported about them. The first
 * cause is the deepest object that is not ready: a CR that waits for its Deployment is explained by a Pod that cannot be
 * scheduled.
 */
import type { Client } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import { builtinResource } from '../../kube/builtin.ts'
import { isJsonObject } from '../../kube/json.ts'
import { conditionsOf, type Health, healthOf, nothingToWaitFor } from '../../kube/meta/health.ts'
import { formatApiVersion, kindOf, type Resource } from '../../kube/kind.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import type {
  ControllerSummary,
  FindingSummary,
  ManagerReport,
  OperatorReport,
  RunSummary,
} from '../../manager/observability/report.ts'
import { pausedLabel } from '../../manager/run/paused.ts'
import { openOwnedObjects, type OwnedObjects } from './owned-objects.ts'
import type { NamedObject } from '../cluster/object-reference.ts'

export interface Explanation {
  readonly isReady: boolean
  /** The deepest object that is not ready, or what the manager says. */
  readonly because: string
  readonly object: ExplainedObject
  /** The operators of the manager that reconcile objects of its kind. */
  readonly operators: readonly HostingOperator[]
  readonly findings: readonly FindingSummary[]
  /** Newest first. */
  readonly recentRuns: readonly RunSummary[]
}

type HostingOperator = Pick<OperatorReport, 'name' | 'state' | 'heldBy'>

export interface ExplainedObject {
  /** `Deployment default/sample` */
  readonly object: string
  readonly health: Health
  readonly paused?: true
  readonly conditions: readonly { type: string; status: string; reason: string; message: string }[]
  /** Warnings first, then the newest. */
  readonly events: readonly { type: string; reason: string; message: string; count: number }[]
  /** Objects that it owns and that are not ready. */
  readonly owned: readonly ExplainedObject[]
  /** Number of objects that it owns and that are ready. */
  readonly readyOwned: number
  /** Number of objects that it owns and that were not examined. Absent: none. */
  readonly omittedOwned?: number
}

interface ExplainOptions {
  readonly client: Client
  readonly named: NamedObject
  readonly report: ManagerReport | undefined
  readonly now: number
  readonly signal: AbortSignal
}

/** An owner chain is short; limits keep large trees bounded. */
const deepest = 6
const mostOwned = 20
const mostEvents = 5

const events: Resource = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }

/** @throws NotFound, and errors of reading it */
export async function explainObject(options: ExplainOptions): Promise<Explanation> {
  const { client, named, report, signal } = options
  const { group, kind } = named.resource
  const root = { ...(await client.get(named.resource, named.ref, { signal })), ...typeOf(named.resource) }
  const hosts = report?.operators ?? []
  const controllers = hosts.flatMap((operator) => operator.controllers ?? [])
  const owned = await openOwnedObjects({ client, controllers, group, signal })
  const object = await explained(root, { ...options, owned, controllers, seen: new Set() }, 0)
  const { namespace, name } = root.metadata
  const key = namespace === undefined ? name : `${namespace}/${name}`
  const own = hosts.flatMap((operator) => {
    const names = (operator.controllers ?? [])
      .filter((one) => one.group === group && one.kind === kind)
      .map((one) => one.name)
    return names.length === 0 ? [] : [{ operator, names: new Set(names) }]
  })
  // Several kinds may have an object of this name: the controller tells them apart.
  const isAbout = ({ controller = '', key: of }: Keyed, names: ReadonlySet<string>): boolean =>
    of === key && names.has(controller)
  const findings = [
    ...own.flatMap(({ operator, names }) => operator.findings.latest.filter((one) => isAbout(one, names))),
    // Findings about the object as a dependent.
    ...hosts.flatMap((operator) => operator.findings.latest.filter((one) => one.object === object.object)),
  ]
  const recentRuns = own.flatMap(({ operator, names }) => operator.recentRuns.filter((one) => isAbout(one, names)))
  const operators = own.map(({ operator: { name: of, state, heldBy } }) => ({ name: of, state, heldBy }))
  const isReady = isReadyObject(object)
  return { isReady, because: causeOf(object, operators, findings, recentRuns), object, operators, findings, recentRuns }
}

type Keyed = Pick<FindingSummary, 'controller' | 'key'>

function typeOf(resource: Resource): Pick<KubeObject, 'apiVersion' | 'kind'> {
  return { apiVersion: formatApiVersion(resource), kind: resource.kind }
}

interface Walk extends ExplainOptions {
  readonly owned: OwnedObjects
  readonly controllers: readonly ControllerSummary[]
  /** Objects that were reached: owners and labels may form a circle. */
  readonly seen: Set<string>
}

async function explained(object: UntypedObject, walk: Walk, depth: number): Promise<ExplainedObject> {
  const { uid = '', labels } = object.metadata
  walk.seen.add(uid)
  const all = depth < deepest ? await walk.owned.of(object) : []
  const isCurrent = (child: UntypedObject): boolean => healthHere(child, walk).status === 'Current'
  const owned = all
    .filter(({ metadata }) => !walk.seen.has(metadata.uid ?? ''))
    .toSorted((one, other) => Number(isCurrent(one)) - Number(isCurrent(other)))
  const inner: ExplainedObject[] = []
  for (const child of owned.slice(0, mostOwned)) inner.push(await explained(child, walk, depth + 1))
  const health = healthHere(object, walk)
  const unready = inner.filter((child) => !isReadyObject(child))
  const isQuiet = health.status === 'Current' && unready.length === 0 && depth > 0
  const omitted = owned.length - inner.length
  return {
    object: nameOf(object),
    health,
    ...(labels?.[pausedLabel] === 'true' && { paused: true }),
    conditions: conditionsOf(object),
    events: isQuiet ? [] : await eventsAbout(object, walk),
    owned: unready,
    readyOwned: inner.length - unready.length,
    ...(omitted > 0 && { omittedOwned: omitted }),
  }
}

function isReadyObject({ health, owned }: ExplainedObject): boolean {
  return health.status === 'Current' && owned.length === 0
}

const notReconciled = 'NotReconciled'

/**
 * An object that reports nothing counts as current, by the rules of kstatus. A CR of a hosted kind always reports: without a
 * status its operator has not reconciled it.
 */
function healthHere(object: UntypedObject, { controllers, now }: Walk): Health {
  const health = healthOf(object, now)
  const { group, kind } = kindOf(object)
  const isHosted = controllers.some((one) => one.group === group && one.kind === kind)
  if (health.reason !== nothingToWaitFor || !isHosted || builtinResource(kindOf(object))) return health
  const status = object['status']
  if (isJsonObject(status) && status['observedGeneration'] !== undefined) return health
  return { status: 'InProgress', reason: notReconciled, message: 'Its operator has not reconciled it.' }
}

async function eventsAbout(
  { metadata }: UntypedObject,
  { client, signal }: ExplainOptions,
): Promise<ExplainedObject['events']> {
  try {
    const { items } = await client.list(events, {
      namespace: metadata.namespace ?? 'default',
      fieldSelector: `involvedObject.uid=${metadata.uid ?? ''}`,
      signal,
    })
    const read = items.map((event) => ({
      type: textOf(event, 'type'),
      reason: textOf(event, 'reason'),
      message: textOf(event, 'message'),
      count: typeof event['count'] === 'number' ? event['count'] : 1,
      at: textOf(event, 'lastTimestamp') || textOf(event, 'eventTime'),
    }))
    return read
      .toSorted((one, other) => other.at.localeCompare(one.at))
      .toSorted((one, other) => Number(other.type === 'Warning') - Number(one.type === 'Warning'))
      .slice(0, mostEvents)
      .map(({ type, reason, message, count }) => ({ type, reason, message, count }))
  } catch (error) {
    if (isMusterError(error, clientErrors.Forbidden)) return []
    throw error
  }
}

function textOf(object: UntypedObject, member: string): string {
  const value = object[member]
  return typeof value === 'string' ? value : ''
}

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`
}

function causeOf(
  object: ExplainedObject,
  operators: Explanation['operators'],
  findings: readonly FindingSummary[],
  [last]: readonly RunSummary[],
): string {
  if (object.paused) return `${object.object} is paused: muster resume ends that.`
  const { reason: why } = object.health
  const isBehind = why === notReconciled || why === 'LatestGenerationNotObserved'
  const held = isBehind ? operators.map(heldText).find((text) => text !== undefined) : undefined
  if (held !== undefined) return `${held}.`
  const [finding] = findings
  if (finding) return `${finding.kind}: ${finding.message}`
  if (last && (last.outcome === 'failed' || last.outcome === 'gaveUp')) return `its reconcile failed: ${last.why ?? ''}`
  const deep = deepestCause(object)
  if (!deep) return `${object.object} is ready.`
  const warning = deep.events.find(({ type }) => type === 'Warning')
  const { status, reason, message } = deep.health
  const text = status === 'Current' ? 'it is current' : `${reason}: ${message}`
  return `${deep.object}: ${text}${warning ? ` (${warning.reason}: ${warning.message})` : ''}`
}

/** Why an operator reconciles nothing at present. Undefined: it does. */
export function heldText({ name, state, heldBy }: HostingOperator): string | undefined {
  if (state === 'paused') return `operator ${name} is paused: muster resume ${name.split('@', 1)[0]} ends that`
  if (state === 'standby') return `operator ${name} is on standby here: another replica holds its Lease`
  return heldBy === 'budget' || heldBy === 'allowance' ? `operator ${name} is held by its ${heldBy}` : undefined
}

function deepestCause(object: ExplainedObject): ExplainedObject | undefined {
  for (const child of object.owned) {
    const found = deepestCause(child)
    if (found) return found
  }
  return object.health.status === 'Current' ? undefined : object
}

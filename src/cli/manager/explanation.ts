/**
 * Why an object is not ready, as data: the object, the objects that it owns, and what others reported about them. The first
 * cause is the deepest object that is not ready: a CR that waits for its Deployment is explained by a Pod that cannot be
 * scheduled.
 */
import type { Client, DiscoveredResource } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import { conditionsOf, type Health, healthOf } from '../../kube/meta/health.ts'
import { formatApiVersion, type Resource } from '../../kube/kind.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import type { FindingSummary, ManagerReport, RunSummary } from '../../manager/observability/report.ts'
import type { NamedObject } from '../cluster/object-reference.ts'

export interface Explanation {
  readonly isReady: boolean
  /** The deepest object that is not ready, or what the manager says. */
  readonly because: string
  readonly object: ExplainedObject
  readonly findings: readonly FindingSummary[]
  /** Newest first. */
  readonly recentRuns: readonly RunSummary[]
}

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
}

interface ExplainOptions {
  readonly client: Client
  readonly named: NamedObject
  readonly report: ManagerReport | undefined
  readonly now: number
  readonly signal: AbortSignal
}

/** An owner chain is short; a limit keeps circles and large trees bounded. */
const deepest = 4
const mostOwned = 20
const mostEvents = 5

/** What operators and workload controllers create; other kinds are found through the owner's own kind. */
const ownable: ReadonlySet<string> = new Set([
  'pods',
  'services',
  'configmaps',
  'secrets',
  'persistentvolumeclaims',
  'serviceaccounts',
  'deployments.apps',
  'replicasets.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'poddisruptionbudgets.policy',
  'ingresses.networking.k8s.io',
  'horizontalpodautoscalers.autoscaling',
])

const events: Resource = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }

/** @throws NotFound, and errors of reading it */
export async function explainObject(options: ExplainOptions): Promise<Explanation> {
  const { client, named, report, signal } = options
  const root = await client.get(named.resource, named.ref, { signal })
  const kinds = (await client.discovery.resources({ signal })).filter(isOwnable)
  const { namespace } = root.metadata
  const related = namespace === undefined ? [] : await objectsIn(client, kinds, namespace, signal)
  const object = await explained(root, related, options, 0)
  const key = namespace === undefined ? named.ref.name : `${namespace}/${named.ref.name}`
  const operators = report?.operators ?? []
  const findings = operators.flatMap((operator) => operator.findings.latest.filter((finding) => finding.key === key))
  const recentRuns = operators.flatMap((operator) => operator.recentRuns.filter((run) => run.key === key))
  const isReady = object.health.status === 'Current' && object.owned.length === 0
  return { isReady, because: causeOf(object, findings, recentRuns), object, findings, recentRuns }
}

function isOwnable({ group, plural }: DiscoveredResource): boolean {
  return ownable.has(group === '' ? plural : `${plural}.${group}`)
}

/** Kinds that the user may not list are left out: the explanation has less detail then. */
async function objectsIn(
  client: Client,
  kinds: readonly DiscoveredResource[],
  namespace: string,
  signal: AbortSignal,
): Promise<readonly UntypedObject[]> {
  const lists = kinds.map(async (resource) => {
    try {
      const { items } = await client.list(resource, { namespace, signal })
      // Items of a list may have no kind of their own.
      const kind = { apiVersion: formatApiVersion(resource), kind: resource.kind }
      return items.map((item) => Object.assign({}, item, kind))
    } catch (error) {
      if (isMusterError(error, clientErrors.Forbidden)) return []
      throw error
    }
  })
  return (await Promise.all(lists)).flat()
}

async function explained(
  object: UntypedObject,
  related: readonly UntypedObject[],
  options: ExplainOptions,
  depth: number,
): Promise<ExplainedObject> {
  const { uid, labels } = object.metadata
  const owned =
    depth < deepest && uid !== undefined
      ? related.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
      : []
  const inner: ExplainedObject[] = []
  for (const child of owned.slice(0, mostOwned)) inner.push(await explained(child, related, options, depth + 1))
  const isReady = ({ health, owned: below }: ExplainedObject): boolean =>
    health.status === 'Current' && below.length === 0
  const health = healthOf(object, options.now)
  const unready = inner.filter((child) => !isReady(child))
  const isQuiet = health.status === 'Current' && unready.length === 0 && depth > 0
  return {
    object: nameOf(object),
    health,
    ...(labels?.['muster.dev/paused'] === 'true' && { paused: true }),
    conditions: conditionsOf(object),
    events: isQuiet ? [] : await eventsAbout(object, options),
    owned: unready,
    readyOwned: inner.length - unready.length,
  }
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

function causeOf(object: ExplainedObject, findings: readonly FindingSummary[], [last]: readonly RunSummary[]): string {
  if (object.paused) return `${object.object} is paused: muster resume ends that.`
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

function deepestCause(object: ExplainedObject): ExplainedObject | undefined {
  for (const child of object.owned) {
    const found = deepestCause(child)
    if (found) return found
  }
  return object.health.status === 'Current' ? undefined : object
}

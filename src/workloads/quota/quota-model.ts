/**
 * All quota of a cluster, and which of it a workload is charged to. The same objects give the same model in any order, and no object
 * can make it fail: what is wrong is listed, and concerns only what it is about.
 *
 * Without objects of quota nothing is charged, and only nodes decide.
 */
import type { KubeObject } from '../../kube/object.ts'
import { matchLabels } from '../../kube/selector/selector.ts'
import { type KueueForest, type KueueObjects, readKueue } from './kueue-forest.ts'
import { defaultLocalQueue, priorityClassLabel, queueNameLabel } from './kueue-kinds.ts'
import type { QueueStop } from '../core/quota/quota-node.ts'
import type { QuotaPool } from './quota-pool.ts'
import type { QuotaProblem } from './quota-problem.ts'
import { defaultNode, readSubtrees, type SubtreeForest } from './subtree-forest.ts'

export interface QuotaObjects extends KueueObjects {
  readonly subtrees: readonly KubeObject[]
}

export const noQuotaObjects: QuotaObjects = {
  subtrees: [],
  clusterQueues: [],
  localQueues: [],
  cohorts: [],
  resourceFlavors: [],
  priorityClasses: [],
}

export interface QuotaOptions {
  /** QuotaSubtrees count. @default false, as in MCAD */
  readonly quotaEnabled?: boolean
  /** Owners of QuotaSubtrees get back what was borrowed, and higher priorities evict lower ones. @default false */
  readonly preemption?: boolean
  /** Queues of Kueue count. @default true */
  readonly kueueEnabled?: boolean
  /** The LocalQueue of workloads that name none. @default the LocalQueue `default` of their namespace, if there is one */
  readonly defaultQueueName?: string
}

/** What the charge of a workload depends on. */
interface ChargedWorkload {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly namespaceLabels: Readonly<Record<string, string>>
}

export type QuotaCharge =
  | {
      readonly kind: 'Charged'
      /** One of each tree; empty: no quota concerns it. */
      readonly pools: readonly string[]
      readonly stop: QueueStop
      /** Who says so, unless it is `None`: `ClusterQueue team-a`. */
      readonly stoppedBy?: string
    }
  /** It waits until the objects, or its labels, change. */
  | { readonly kind: 'Refused'; readonly reason: RefusalReason; readonly message: string }

export type RefusalReason =
  | 'UnknownQuotaNode'
  | 'UnknownLocalQueue'
  | 'UnknownClusterQueue'
  | 'InactiveClusterQueue'
  | 'NamespaceNotAllowed'

export interface QuotaModel {
  /** Parents and children in one list; a parent may come after its children. */
  readonly pools: readonly QuotaPool[]
  /** By object and field. */
  readonly problems: readonly QuotaProblem[]
  chargeOf(workload: ChargedWorkload): QuotaCharge
  /** The priority of the WorkloadPriorityClass that the labels name. */
  priorityOf(labels: Readonly<Record<string, string>>): number | undefined
}

export function readQuota(objects: QuotaObjects, options: QuotaOptions = {}): QuotaModel {
  const { quotaEnabled = false, preemption = false, kueueEnabled = true, defaultQueueName } = options
  const problems: QuotaProblem[] = []
  const forest = readSubtrees(quotaEnabled ? objects.subtrees : [], preemption, problems)
  const kueue = readKueue(kueueEnabled ? objects : noQuotaObjects, problems)
  return {
    pools: [...forest.pools, ...kueue.pools],
    problems: problems.toSorted(byPlace),
    chargeOf(workload) {
      const nodes = nodesOf(forest, workload)
      if ('kind' in nodes) return nodes
      // A queue that is named is waited for, also before there is any.
      const queue = kueueEnabled ? queueOf(kueue, workload, defaultQueueName) : noQueue
      return queue.kind === 'Refused' ? queue : { ...queue, pools: [...nodes.pools, ...queue.pools] }
    },
    priorityOf(labels) {
      const name = labels[priorityClassLabel]
      return name === undefined ? undefined : kueue.priorities.get(name)
    },
  }
}

function nodesOf(
  { trees }: SubtreeForest,
  { labels }: ChargedWorkload,
): { readonly pools: readonly string[] } | Extract<QuotaCharge, { kind: 'Refused' }> {
  const pools: string[] = []
  for (const [tree, nodes] of trees) {
    const label = Object.hasOwn(labels, tree) ? labels[tree]! : ''
    const name = label === '' ? defaultNode : label
    const pool = nodes.get(name)
    if (pool === undefined) {
      const message =
        label === ''
          ? `the tree "${tree}" has no node "${defaultNode}", and the label "${tree}" names none`
          : `the tree "${tree}" has no node "${name}"`
      return { kind: 'Refused', reason: 'UnknownQuotaNode', message }
    }
    pools.push(pool)
  }
  return { pools }
}

const noQueue: Extract<QuotaCharge, { kind: 'Charged' }> = { kind: 'Charged', pools: [], stop: 'None' }

function queueOf(
  { queues, localQueues }: KueueForest,
  { namespace, labels, namespaceLabels }: ChargedWorkload,
  defaultQueueName: string | undefined,
): QuotaCharge {
  const named = (Object.hasOwn(labels, queueNameLabel) && labels[queueNameLabel]) || defaultQueueName || undefined
  const name = named ?? defaultLocalQueue
  const local = localQueues.get(`${namespace}/${name}`)
  if (!local) {
    if (named === undefined) return noQueue
    return refused('UnknownLocalQueue', `there is no LocalQueue "${name}" in the namespace "${namespace}"`)
  }
  const queue = queues.get(local.clusterQueue)
  if (!queue) return refused('UnknownClusterQueue', `there is no ClusterQueue "${local.clusterQueue}"`)
  if (queue.inactive !== undefined)
    return refused('InactiveClusterQueue', `the ClusterQueue "${local.clusterQueue}" is not active: ${queue.inactive}`)
  const itself = { 'kubernetes.io/metadata.name': namespace }
  if (!matchLabels(queue.namespaces, { ...itself, ...namespaceLabels }))
    return refused(
      'NamespaceNotAllowed',
      `the ClusterQueue "${local.clusterQueue}" does not select the namespace "${namespace}"`,
    )
  const [stop, stoppedBy] = strictest(
    [queue.stop, `ClusterQueue ${local.clusterQueue}`],
    [local.stop, `LocalQueue ${namespace}/${name}`],
  )
  return { kind: 'Charged', pools: [queue.pool], stop, ...(stop !== 'None' && { stoppedBy }) }
}

type Stop = readonly [policy: QueueStop, object: string]

const severity: Readonly<Record<QueueStop, number>> = { None: 0, Hold: 1, HoldAndDrain: 2 }

function strictest(a: Stop, b: Stop): Stop {
  return severity[b[0]] > severity[a[0]] ? b : a
}

function refused(reason: RefusalReason, message: string): QuotaCharge {
  return { kind: 'Refused', reason, message }
}

function byPlace(a: QuotaProblem, b: QuotaProblem): number {
  const [first, second] = [`${a.object}\n${a.field}\n${a.message}`, `${b.object}\n${b.field}\n${b.message}`]
  return first < second ? -1 : Number(first > second)
}

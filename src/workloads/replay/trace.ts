/**
 * A trace: nodes, queues with their quota, and workloads that arrive at certain times. Read from YAML, checked field by
 * field, so that a mistake is named with its path.
 */
import type { PodSpec, Taint } from '../../kube/types/core/v1.ts'
import type { ResourceAmounts } from '../../kube/scheduling/pod-needs.ts'
import type { PodGroup } from '../core/nodes/node-table.ts'
import { makePodShape, podShapeOf } from '../core/pods/pod-shape.ts'
import type { QueueOptions } from '../core/queue/queue-state.ts'
import type { QuotaNode } from '../core/quota/quota-node.ts'
import {
  amountsOf,
  traceCount,
  fieldsOf,
  flagOf,
  invalidTrace,
  traceList,
  msOf,
  numberOf,
  traceText,
  textsOf,
} from './trace-fields.ts'
import { readFlavors, readQueues, readTaints } from './trace-queues.ts'

export interface WorkloadTrace {
  readonly settings: TraceSettings
  /** Without nodes only the quota decides. */
  readonly nodes: readonly TraceNodes[]
  /** Without queues only the nodes decide. */
  readonly queues: readonly QuotaNode[]
  readonly workloads: readonly TraceWorkloads[]
}

interface TraceSettings extends QueueOptions {
  /** Of the variation of durations: the same seed gives the same replay. */
  readonly seed: number
}

/** Equal nodes. */
interface TraceNodes {
  readonly count: number
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  readonly allocatable: ResourceAmounts
}

/** Equal workloads that arrive one after the other. */
export interface TraceWorkloads {
  /** Reported together. */
  readonly class: string
  readonly queue: string
  readonly priority: number
  readonly slope: number
  readonly count: number
  /** Of the first: milliseconds from the start. */
  readonly at: number
  /** Between two of them: milliseconds. */
  readonly every: number
  /** How long each runs: milliseconds. */
  readonly duration: number
  /** Durations differ by up to this share of it, in both directions. */
  readonly variation: number
  /** How long it takes to leave when it is evicted: milliseconds. */
  readonly shutdown: number
  readonly limitMs?: number
  readonly expectedMs?: number
  readonly minimumRunMs?: number
  readonly preemptible: boolean
  readonly groups: readonly PodGroup[]
}

const mostNodes = 100_000
const mostWorkloads = 1_000_000
const mostPods = 100_000

export function readTrace(value: unknown): WorkloadTrace {
  const trace = fieldsOf(value, 'trace', ['settings', 'flavors', 'nodes', 'queues', 'workloads'])
  const nodes = traceList(trace['nodes'], 'nodes').map(readNodes)
  const queues = readQueues(trace['queues'], readFlavors(trace['flavors']))
  const workloads = traceList(trace['workloads'], 'workloads').map(readWorkloads)
  if (workloads.length === 0) throw invalidTrace('workloads', 'a trace needs at least one workload')
  if (nodes.length + queues.length === 0)
    throw invalidTrace('trace', 'it has neither nodes nor queues: all would start at once')
  const sum = (counts: readonly { readonly count: number }[]): number =>
    counts.reduce((all, { count }) => all + count, 0)
  if (sum(nodes) > mostNodes) throw invalidTrace('nodes', `more than ${mostNodes} nodes`)
  if (sum(workloads) > mostWorkloads) throw invalidTrace('workloads', `more than ${mostWorkloads} workloads`)
  checkQueues(queues, workloads)
  return { settings: readSettings(trace['settings']), nodes, queues, workloads }
}

function checkQueues(queues: readonly QuotaNode[], workloads: readonly TraceWorkloads[]): void {
  const names = new Set<string>()
  for (const [index, { name }] of queues.entries()) {
    if (names.has(name)) throw invalidTrace(`queues[${index}].name`, `"${name}" is there twice`)
    names.add(name)
  }
  for (const [index, { parent }] of queues.entries())
    if (parent !== undefined && !names.has(parent))
      throw invalidTrace(`queues[${index}].parent`, `there is no queue "${parent}"`)
  if (queues.length === 0) return
  for (const [index, { queue }] of workloads.entries())
    if (!names.has(queue)) throw invalidTrace(`workloads[${index}].queue`, `there is no queue "${queue}"`)
}

function readNodes(value: unknown, index: number): TraceNodes {
  const path = `nodes[${index}]`
  const fields = fieldsOf(value, path, ['count', 'labels', 'taints', 'allocatable'])
  const allocatable = new Map(amountsOf(fields['allocatable'], `${path}.allocatable`))
  // The default of the kubelet.
  if (!allocatable.has('pods')) allocatable.set('pods', 110)
  return {
    count: traceCount(fields['count'], `${path}.count`, 1),
    labels: textsOf(fields['labels'], `${path}.labels`),
    taints: readTaints(fields['taints'], `${path}.taints`),
    allocatable,
  }
}

function readSettings(value: unknown): TraceSettings {
  const names = ['seed', 'dynamicPriority', 'preemption', 'fairSharing', 'backoff', 'headOfLineHolding', 'reserveAfter']
  const fields = fieldsOf(value ?? {}, 'settings', names)
  const flag = (name: string, missing: boolean): boolean => flagOf(fields[name], `settings.${name}`, missing)
  const duration = (name: string, missing: string): number => msOf(fields[name] ?? missing, `settings.${name}`)
  return {
    seed: numberOf(fields['seed'] ?? 1, 'settings.seed'),
    dynamicPriority: flag('dynamicPriority', true),
    preemption: flag('preemption', false),
    fairSharing: flag('fairSharing', false),
    backoffMs: duration('backoff', '0s'),
    headOfLineHoldingMs: duration('headOfLineHolding', '0s'),
    reserveAfterMs: duration('reserveAfter', '5m'),
  }
}

const workloadFields = [
  'class',
  'queue',
  'priority',
  'slope',
  'count',
  'at',
  'every',
  'duration',
  'variation',
  'shutdown',
  'limit',
  'expected',
  'minimumRun',
  'preemptible',
  'pods',
]

function readWorkloads(value: unknown, index: number): TraceWorkloads {
  const path = `workloads[${index}]`
  const fields = fieldsOf(value, path, workloadFields)
  const pods = traceList(fields['pods'], `${path}.pods`)
  if (pods.length === 0) throw invalidTrace(`${path}.pods`, 'a workload needs pods')
  return {
    class: traceText(fields['class'] ?? `${index}`, `${path}.class`),
    queue: traceText(fields['queue'] ?? '', `${path}.queue`),
    priority: numberOf(fields['priority'] ?? 0, `${path}.priority`),
    slope: numberOf(fields['slope'] ?? 0, `${path}.slope`),
    count: traceCount(fields['count'], `${path}.count`, 1),
    at: msOf(fields['at'] ?? '0s', `${path}.at`),
    every: msOf(fields['every'] ?? '0s', `${path}.every`),
    duration: msOf(fields['duration'], `${path}.duration`),
    variation: shareOf(fields['variation'], `${path}.variation`),
    shutdown: msOf(fields['shutdown'] ?? '0s', `${path}.shutdown`),
    ...(fields['limit'] !== undefined && { limitMs: msOf(fields['limit'], `${path}.limit`) }),
    ...(fields['expected'] !== undefined && { expectedMs: msOf(fields['expected'], `${path}.expected`) }),
    ...(fields['minimumRun'] !== undefined && { minimumRunMs: msOf(fields['minimumRun'], `${path}.minimumRun`) }),
    preemptible: flagOf(fields['preemptible'], `${path}.preemptible`, true),
    groups: pods.map((one, each) => readGroup(one, `${path}.pods[${each}]`)),
  }
}

function shareOf(value: unknown, path: string): number {
  const share = numberOf(value ?? 0, path)
  if (share < 0 || share >= 1) throw invalidTrace(path, 'not a share from 0 to less than 1')
  return share
}

function readGroup(value: unknown, path: string): PodGroup {
  const fields = fieldsOf(value, path, ['count', 'requests', 'spec'])
  const count = traceCount(fields['count'], `${path}.count`, 1)
  if (count > mostPods) throw invalidTrace(`${path}.count`, `more than ${mostPods} pods`)
  const { requests, spec } = fields
  if ((requests === undefined) === (spec === undefined))
    throw invalidTrace(path, 'it needs either requests, or the spec of a pod')
  if (requests !== undefined) return { count, shape: makePodShape(amountsOf(requests, `${path}.requests`)) }
  try {
    return { count, shape: podShapeOf(fieldsOf(spec, `${path}.spec`) as object as PodSpec) }
  } catch (error) {
    throw invalidTrace(`${path}.spec`, error instanceof Error ? error.message : String(error))
  }
}

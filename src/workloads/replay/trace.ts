/**
 * A trace: nodes, queues with their quota, and workloads that arrive at certain times. Read from YAML, checked field by
 * field, so that a mistake is named with its path.
 */
import { MusterError } from '../../kube/muster-error.ts'
import { nearest } from '../../kube/text/nearest.ts'
import { durationToMs, parseDuration } from '../../kube/units/duration.ts'
import { type ResourceAmounts, resourceAmounts } from '../../kube/scheduling/pod-needs.ts'
import type { PodGroup } from '../core/node-table.ts'
import { makePodShape, podShapeOf } from '../core/pod-shape.ts'
import type { QuotaLimit, QuotaNode } from '../core/quota-node.ts'
import { workloadErrors } from '../errors.ts'
import type { PodSpec } from '../../kube/types/core/v1.ts'

export interface WorkloadTrace {
  /** Without nodes only the quota decides. */
  readonly nodes: readonly TraceNodes[]
  /** Without queues only the nodes decide. */
  readonly queues: readonly QuotaNode[]
  readonly workloads: readonly TraceWorkloads[]
}

/** Equal nodes. */
interface TraceNodes {
  readonly count: number
  readonly labels: Readonly<Record<string, string>>
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
  readonly groups: readonly PodGroup[]
}

const mostNodes = 100_000
const mostWorkloads = 1_000_000
const mostPods = 100_000

export function readTrace(value: unknown): WorkloadTrace {
  const trace = fieldsOf(value, 'trace', ['nodes', 'queues', 'workloads'])
  const nodes = listOf(trace['nodes'], 'nodes').map(readNodes)
  const queues = listOf(trace['queues'], 'queues').map(readQueue)
  const workloads = listOf(trace['workloads'], 'workloads').map(readWorkloads)
  if (workloads.length === 0) throw invalid('workloads', 'a trace needs at least one workload')
  if (nodes.length + queues.length === 0)
    throw invalid('trace', 'it has neither nodes nor queues: all would start at once')
  const sum = (counts: readonly { readonly count: number }[]): number =>
    counts.reduce((all, { count }) => all + count, 0)
  if (sum(nodes) > mostNodes) throw invalid('nodes', `more than ${mostNodes} nodes`)
  if (sum(workloads) > mostWorkloads) throw invalid('workloads', `more than ${mostWorkloads} workloads`)
  checkQueues(queues, workloads)
  return { nodes, queues, workloads }
}

function checkQueues(queues: readonly QuotaNode[], workloads: readonly TraceWorkloads[]): void {
  const names = new Set<string>()
  for (const [index, { name }] of queues.entries()) {
    if (names.has(name)) throw invalid(`queues[${index}].name`, `"${name}" is there twice`)
    names.add(name)
  }
  for (const [index, { parent }] of queues.entries())
    if (parent !== undefined && !names.has(parent))
      throw invalid(`queues[${index}].parent`, `there is no queue "${parent}"`)
  if (queues.length === 0) return
  for (const [index, { queue }] of workloads.entries())
    if (!names.has(queue)) throw invalid(`workloads[${index}].queue`, `there is no queue "${queue}"`)
}

function readNodes(value: unknown, index: number): TraceNodes {
  const path = `nodes[${index}]`
  const fields = fieldsOf(value, path, ['count', 'labels', 'allocatable'])
  const allocatable = new Map(amountsOf(fields['allocatable'], `${path}.allocatable`))
  // The default of the kubelet.
  if (!allocatable.has('pods')) allocatable.set('pods', 110)
  return {
    count: countOf(fields['count'], `${path}.count`, 1),
    labels: textsOf(fields['labels'], `${path}.labels`),
    allocatable,
  }
}

function readQueue(value: unknown, index: number): QuotaNode {
  const path = `queues[${index}]`
  const fields = fieldsOf(value, path, ['name', 'parent', 'quota'])
  const quota = fieldsOf(fields['quota'] ?? {}, `${path}.quota`)
  const limits = new Map(
    Object.entries(quota).map(([resource, limit]): [string, QuotaLimit] => {
      const place = `${path}.quota.${resource}`
      const { nominal, borrowing, lending } = fieldsOf(limit, place, ['nominal', 'borrowing', 'lending'])
      return [
        resource,
        {
          nominal: amountOf(resource, nominal ?? 0, `${place}.nominal`),
          ...(borrowing !== undefined && { borrowing: amountOf(resource, borrowing, `${place}.borrowing`) }),
          ...(lending !== undefined && { lending: amountOf(resource, lending, `${place}.lending`) }),
        },
      ]
    }),
  )
  const { parent } = fields
  return {
    name: textOf(fields['name'], `${path}.name`),
    ...(parent !== undefined && { parent: textOf(parent, `${path}.parent`) }),
    limits,
  }
}

const workloadFields = ['class', 'queue', 'priority', 'slope', 'count', 'at', 'every', 'duration', 'pods']

function readWorkloads(value: unknown, index: number): TraceWorkloads {
  const path = `workloads[${index}]`
  const fields = fieldsOf(value, path, workloadFields)
  const pods = listOf(fields['pods'], `${path}.pods`)
  if (pods.length === 0) throw invalid(`${path}.pods`, 'a workload needs pods')
  return {
    class: textOf(fields['class'] ?? `${index}`, `${path}.class`),
    queue: textOf(fields['queue'] ?? '', `${path}.queue`),
    priority: numberOf(fields['priority'] ?? 0, `${path}.priority`),
    slope: numberOf(fields['slope'] ?? 0, `${path}.slope`),
    count: countOf(fields['count'], `${path}.count`, 1),
    at: msOf(fields['at'] ?? '0s', `${path}.at`),
    every: msOf(fields['every'] ?? '0s', `${path}.every`),
    duration: msOf(fields['duration'], `${path}.duration`),
    groups: pods.map((one, each) => readGroup(one, `${path}.pods[${each}]`)),
  }
}

function readGroup(value: unknown, path: string): PodGroup {
  const fields = fieldsOf(value, path, ['count', 'requests', 'spec'])
  const count = countOf(fields['count'], `${path}.count`, 1)
  if (count > mostPods) throw invalid(`${path}.count`, `more than ${mostPods} pods`)
  const { requests, spec } = fields
  if ((requests === undefined) === (spec === undefined))
    throw invalid(path, 'it needs either requests, or the spec of a pod')
  if (requests !== undefined) return { count, shape: makePodShape(amountsOf(requests, `${path}.requests`)) }
  try {
    return { count, shape: podShapeOf(fieldsOf(spec, `${path}.spec`) as object as PodSpec) }
  } catch (error) {
    throw invalid(`${path}.spec`, error instanceof Error ? error.message : String(error))
  }
}

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(value: unknown, path: string, known?: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(path, 'not an object')
  for (const name of known ? Object.keys(value) : []) {
    if (known!.includes(name)) continue
    const similar = nearest(name, known!)
    throw invalid(`${path}.${name}`, `unknown field${similar === undefined ? '' : `; did you mean "${similar}"?`}`)
  }
  return value as Fields
}

function listOf(value: unknown, path: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw invalid(path, 'not a list')
  return value
}

function textOf(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalid(path, 'not a string')
  return value
}

function textsOf(value: unknown, path: string): Readonly<Record<string, string>> {
  const fields = fieldsOf(value ?? {}, path)
  return Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, textOf(text, `${path}.${name}`)]))
}

function numberOf(value: unknown, path: string): number {
  const number = typeof value === 'bigint' ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number)) throw invalid(path, 'not a number')
  return number
}

function countOf(value: unknown, path: string, missing: number): number {
  const count = numberOf(value ?? missing, path)
  if (!Number.isInteger(count) || count < 1) throw invalid(path, 'not a whole number from 1')
  return count
}

function msOf(value: unknown, path: string): number {
  try {
    const ms = durationToMs(parseDuration(textOf(value, path)))
    if (ms >= 0) return ms
  } catch {
    // Reported below.
  }
  throw invalid(path, 'not a valid duration, such as 200ms, 90s or 2h')
}

function amountsOf(value: unknown, path: string): ResourceAmounts {
  const fields = fieldsOf(value ?? {}, path)
  return new Map(Object.entries(fields).map(([name, quantity]) => [name, amountOf(name, quantity, `${path}.${name}`)]))
}

function amountOf(resource: string, quantity: unknown, path: string): number {
  if (typeof quantity !== 'string' && typeof quantity !== 'number' && typeof quantity !== 'bigint')
    throw invalid(path, 'not a quantity')
  const source = typeof quantity === 'bigint' ? String(quantity) : quantity
  try {
    const amount = resourceAmounts({ [resource]: source }).get(resource)!
    if (amount >= 0) return amount
  } catch {
    // Reported below.
  }
  throw invalid(path, `"${source}" is not a valid quantity`)
}

function invalid(path: string, why: string): MusterError {
  return new MusterError(workloadErrors.InvalidTrace, `${path}: ${why}${why.endsWith('?') ? '' : '.'}`)
}

/** The queues of a trace: quota in trees, in flavors, with the policies of each queue. */
import type { Taint } from '../../kube/types/core/v1.ts'
import type { FlavorGroup, FlavorQuota, QueuePolicies, QuotaLimit, QuotaNode } from '../core/quota/quota-node.ts'
import {
  amountOf,
  fieldsOf,
  invalidTrace,
  traceList,
  numberOf,
  traceText,
  textsOf,
  type TraceFields,
  wordOf,
} from './trace-fields.ts'

type Flavors = ReadonlyMap<string, Pick<FlavorQuota, 'nodeLabels' | 'nodeTaints'>>

export function readFlavors(value: unknown): Flavors {
  return new Map(
    traceList(value, 'flavors').map((one, index) => {
      const path = `flavors[${index}]`
      const fields = fieldsOf(one, path, ['name', 'labels', 'taints'])
      const nodeLabels = textsOf(fields['labels'], `${path}.labels`)
      const nodeTaints = readTaints(fields['taints'], `${path}.taints`)
      return [traceText(fields['name'], `${path}.name`), { nodeLabels, nodeTaints }]
    }),
  )
}

export function readTaints(value: unknown, path: string): readonly Taint[] {
  return traceList(value, path).map((one, index): Taint => {
    const place = `${path}[${index}]`
    const { key, value: text, effect } = fieldsOf(one, place, ['key', 'value', 'effect'])
    const taint = { key: traceText(key, `${place}.key`), effect: traceText(effect, `${place}.effect`) }
    return text === undefined ? taint : Object.assign(taint, { value: traceText(text, `${place}.value`) })
  })
}

const queueFields = [
  'name',
  'parent',
  'quota',
  'groups',
  'otherResources',
  'stop',
  'strategy',
  'withinQueue',
  'reclaim',
  'whileBorrowing',
  'highestPriority',
  'whenCanBorrow',
  'whenCanPreempt',
  'weight',
]

export function readQueues(value: unknown, flavors: Flavors): readonly QuotaNode[] {
  return traceList(value, 'queues').map((one, index) => readQueue(one, `queues[${index}]`, flavors))
}

function readQueue(value: unknown, path: string, flavors: Flavors): QuotaNode {
  const fields = fieldsOf(value, path, queueFields)
  const { parent } = fields
  const otherResources = wordOf(fields['otherResources'], `${path}.otherResources`, ['unlimited', 'refused'])
  const stop = wordOf(fields['stop'], `${path}.stop`, ['None', 'Hold', 'HoldAndDrain'])
  return {
    name: traceText(fields['name'], `${path}.name`),
    ...(parent !== undefined && { parent: traceText(parent, `${path}.parent`) }),
    limits: limitsOf(fields['quota'], `${path}.quota`),
    groups: traceList(fields['groups'], `${path}.groups`).map((group, each) =>
      readGroup(group, `${path}.groups[${each}]`, flavors),
    ),
    ...(otherResources && { otherResources }),
    ...(stop && { stop }),
    policies: readPolicies(fields, path),
  }
}

function readGroup(value: unknown, path: string, known: Flavors): FlavorGroup {
  const fields = fieldsOf(value, path, ['resources', 'flavors'])
  return {
    resources: traceList(fields['resources'], `${path}.resources`).map((one, index) =>
      traceText(one, `${path}.resources[${index}]`),
    ),
    flavors: traceList(fields['flavors'], `${path}.flavors`).map((one, index) => {
      const place = `${path}.flavors[${index}]`
      const { name, quota } = fieldsOf(one, place, ['name', 'quota'])
      const flavor = known.get(traceText(name, `${place}.name`))
      if (!flavor) throw invalidTrace(`${place}.name`, `there is no flavor "${String(name)}"`)
      const { nodeLabels, nodeTaints } = flavor
      return {
        name: traceText(name, `${place}.name`),
        limits: limitsOf(quota, `${place}.quota`),
        nodeLabels,
        nodeTaints,
      }
    }),
  }
}

function limitsOf(value: unknown, path: string): ReadonlyMap<string, QuotaLimit> {
  return new Map(
    Object.entries(fieldsOf(value ?? {}, path)).map(([resource, limit]): [string, QuotaLimit] => {
      const place = `${path}.${resource}`
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
}

function readPolicies(fields: TraceFields, path: string): Partial<QueuePolicies> {
  const word = <const Words extends readonly string[]>(name: string, words: Words): Words[number] | undefined =>
    wordOf(fields[name], `${path}.${name}`, words)
  const strategy = word('strategy', ['StrictFIFO', 'BestEffortFIFO'])
  const withinQueue = word('withinQueue', ['Never', 'LowerPriority', 'LowerOrNewerEqualPriority'])
  const reclaim = word('reclaim', ['Never', 'LowerPriority', 'Any'])
  const policy = word('whileBorrowing', ['Never', 'LowerPriority'])
  const whenCanBorrow = word('whenCanBorrow', ['MayStopSearch', 'TryNextFlavor'])
  const whenCanPreempt = word('whenCanPreempt', ['MayStopSearch', 'TryNextFlavor'])
  const { highestPriority: highest, weight } = fields
  const highestPriority = highest === undefined ? undefined : numberOf(highest, `${path}.highestPriority`)
  return {
    ...(strategy && { strategy }),
    ...(withinQueue && { withinQueue }),
    ...(reclaim && { reclaim }),
    ...(policy && { whileBorrowing: { policy, ...(highestPriority !== undefined && { highestPriority }) } }),
    ...(whenCanBorrow && { whenCanBorrow }),
    ...(whenCanPreempt && { whenCanPreempt }),
    ...(weight !== undefined && { weight: numberOf(weight, `${path}.weight`) }),
  }
}

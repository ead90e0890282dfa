/** ClusterQueues, LocalQueues, Cohorts and WorkloadPriorityClasses of Kueue, field by field. */
import type { KubeObject } from '../../kube/object.ts'
import { type LabelSelector, labelsOf, nothing } from '../../kube/selector/selector.ts'
import { type QueuePolicies, queueDefaults, type QuotaLimit, type QueueStop } from '../core/quota/quota-node.ts'
import { type ObjectFields, specOf, wholeOf } from './object-fields.ts'
import type { QuotaProblem } from './quota-problem.ts'

export interface ClusterQueueQuota {
  readonly name: string
  readonly cohort: string | undefined
  readonly groups: readonly KueueGroup[]
  readonly namespaces: LabelSelector
  readonly stop: QueueStop
  readonly policies: QueuePolicies
  readonly fields: ObjectFields
}

export interface CohortQuota {
  readonly name: string
  readonly parent: string | undefined
  readonly groups: readonly KueueGroup[]
  readonly weight: number
  readonly fields: ObjectFields
}

export interface KueueGroup {
  readonly resources: readonly string[]
  readonly flavors: readonly KueueFlavor[]
}

interface KueueFlavor {
  readonly name: string
  readonly limits: ReadonlyMap<string, QuotaLimit>
  readonly fields: ObjectFields
}

export interface LocalQueueQuota {
  readonly clusterQueue: string
  readonly stop: QueueStop
  readonly fields: ObjectFields
}

const stopPolicies = ['None', 'Hold', 'HoldAndDrain'] as const

export function readClusterQueue(object: KubeObject, problems: QuotaProblem[]): ClusterQueueQuota {
  const spec = specOf(object, problems)
  if (spec.has('admissionChecks') || spec.has('admissionChecksStrategy'))
    spec.report('admissionChecks', 'IgnoredField', 'admission checks are not asked: they have no effect')
  return {
    name: object.metadata.name ?? '',
    // v1beta1, v1beta2
    cohort: spec.text('cohort') || spec.text('cohortName') || undefined,
    groups: readGroups(spec),
    namespaces: readSelector(spec, 'namespaceSelector'),
    stop: spec.word('stopPolicy', stopPolicies) ?? 'None',
    policies: readPolicies(spec),
    fields: spec,
  }
}

export function readCohort(object: KubeObject, problems: QuotaProblem[]): CohortQuota {
  const spec = specOf(object, problems)
  return {
    name: object.metadata.name ?? '',
    parent: spec.text('parentName') || spec.text('parent') || undefined,
    groups: readGroups(spec),
    weight: readWeight(spec),
    fields: spec,
  }
}

export function readLocalQueue(object: KubeObject, problems: QuotaProblem[]): LocalQueueQuota {
  const spec = specOf(object, problems)
  return {
    clusterQueue: spec.text('clusterQueue') ?? '',
    stop: spec.word('stopPolicy', stopPolicies) ?? 'None',
    fields: spec,
  }
}

/** @returns the priority; undefined if it has none that can be read */
export function readPriorityClass(object: KubeObject, problems: QuotaProblem[]): number | undefined {
  return wholeOf(object, problems).integer('value')
}

function readGroups(spec: ObjectFields): readonly KueueGroup[] {
  const known = new Set<string>()
  const isNew = (fields: ObjectFields, name: string, key: string, what: string): boolean => {
    if (known.has(key)) fields.report(name, 'Duplicate', `the ${what} is in this object already`)
    const isFirst = !known.has(key)
    known.add(key)
    return isFirst
  }
  return spec.each('resourceGroups').map((group) => {
    const resources = group
      .texts('coveredResources')
      .filter((resource) => isNew(group, 'coveredResources', `resource/${resource}`, `resource "${resource}"`))
    const flavors = group.each('flavors').flatMap((flavor): readonly KueueFlavor[] => {
      const name = flavor.text('name')
      if (!name) {
        flavor.report('name', 'InvalidField', 'a flavor needs a name')
        return []
      }
      if (!isNew(flavor, 'name', `flavor/${name}`, `flavor "${name}"`)) return []
      const limits = new Map(flavor.each('resources').flatMap((one) => readLimit(one)))
      return [{ name, limits, fields: flavor }]
    })
    return { resources, flavors }
  })
}

function readLimit(fields: ObjectFields): readonly (readonly [string, QuotaLimit])[] {
  const resource = fields.text('name')
  if (!resource) return []
  const [borrowing, lending] = [fields.amount('borrowingLimit', resource), fields.amount('lendingLimit', resource)]
  const limit: QuotaLimit = {
    nominal: fields.amount('nominalQuota', resource) ?? 0,
    ...(borrowing !== undefined && { borrowing }),
    ...(lending !== undefined && { lending }),
  }
  return [[resource, limit]]
}

/** A queue without a selector takes no namespace. */
function readSelector(spec: ObjectFields, name: string): LabelSelector {
  const value = spec.json(name)
  if (!value) return nothing
  try {
    return labelsOf(value)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    spec.report(name, 'InvalidField', `${why} It selects no namespace.`)
    return nothing
  }
}

const withinQueue = ['Never', 'LowerPriority', 'LowerOrNewerEqualPriority'] as const
const reclaim = ['Never', 'LowerPriority', 'Any'] as const
const whileBorrowing = ['Never', 'LowerPriority'] as const
/** `Borrow` and `Preempt` are the words of v1beta1. */
const fungibility = ['MayStopSearch', 'TryNextFlavor', 'Borrow', 'Preempt'] as const

function readPolicies(spec: ObjectFields): QueuePolicies {
  const [preemption, flavors] = [spec.below('preemption'), spec.below('flavorFungibility')]
  const borrow = preemption?.below('borrowWithinCohort')
  const highestPriority = borrow?.integer('maxPriorityThreshold')
  const search = (name: 'whenCanBorrow' | 'whenCanPreempt'): QueuePolicies['whenCanBorrow'] => {
    const word = flavors?.word(name, fungibility)
    return word === undefined ? queueDefaults[name] : word === 'TryNextFlavor' ? word : 'MayStopSearch'
  }
  return {
    strategy: spec.word('queueingStrategy', ['StrictFIFO', 'BestEffortFIFO']) ?? queueDefaults.strategy,
    withinQueue: preemption?.word('withinClusterQueue', withinQueue) ?? queueDefaults.withinQueue,
    reclaim: preemption?.word('reclaimWithinCohort', reclaim) ?? queueDefaults.reclaim,
    whileBorrowing: {
      policy: borrow?.word('policy', whileBorrowing) ?? 'Never',
      ...(highestPriority !== undefined && { highestPriority }),
    },
    whenCanBorrow: search('whenCanBorrow'),
    whenCanPreempt: search('whenCanPreempt'),
    weight: readWeight(spec),
  }
}

function readWeight(spec: ObjectFields): number {
  // A quantity such as 500m, which counts as a fraction.
  const milli = spec.below('fairSharing')?.amount('weight', 'cpu')
  return milli === undefined ? queueDefaults.weight : milli / 1000
}

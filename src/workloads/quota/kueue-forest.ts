/**
 * Queues and cohorts of Kueue as pools, and the way of a workload to its queue: a LocalQueue in its namespace names a ClusterQueue.
 *
 * A ClusterQueue is inactive while a flavor that it names is missing, or while its cohorts form a cycle: nothing starts in it, and it
 * lends and borrows nothing of a cycle. Objects may come in any order; it is active when the last one is there.
 */
import type { KubeObject } from '../../kube/object.ts'
import type { LabelSelector } from '../../kube/selector/selector.ts'
import { queueDefaults, type FlavorGroup, type QueueStop } from '../core/quota/quota-node.ts'
import {
  type ClusterQueueQuota,
  type CohortQuota,
  type KueueGroup,
  type LocalQueueQuota,
  readClusterQueue,
  readCohort,
  readLocalQueue,
  readPriorityClass,
} from './kueue-objects.ts'
import { oldestFirst } from './object-fields.ts'
import type { QuotaPool } from './quota-pool.ts'
import type { QuotaProblem } from './quota-problem.ts'
import { readResourceFlavor, type ResourceFlavorQuota } from './resource-flavor.ts'

export interface KueueForest {
  readonly pools: readonly QuotaPool[]
  readonly queues: ReadonlyMap<string, KueueQueue>
  /** By `namespace/name`. */
  readonly localQueues: ReadonlyMap<string, LocalQueueQuota>
  readonly priorities: ReadonlyMap<string, number>
}

interface KueueQueue {
  readonly pool: string
  readonly namespaces: LabelSelector
  readonly stop: QueueStop
  /** Why nothing starts in it. */
  readonly inactive?: string
}

export interface KueueObjects {
  readonly clusterQueues: readonly KubeObject[]
  readonly localQueues: readonly KubeObject[]
  readonly cohorts: readonly KubeObject[]
  readonly resourceFlavors: readonly KubeObject[]
  readonly priorityClasses: readonly KubeObject[]
}

export function readKueue(objects: KueueObjects, problems: QuotaProblem[]): KueueForest {
  const flavors = new Map(
    unique(objects.resourceFlavors).map((one) => [one.metadata.name ?? '', readResourceFlavor(one, problems)]),
  )
  const queues = unique(objects.clusterQueues).map((one) => readClusterQueue(one, problems))
  const declared = new Map(
    unique(objects.cohorts).map((one) => {
      const cohort = readCohort(one, problems)
      return [cohort.name, cohort]
    }),
  )
  const parents = parentsOf(declared, queues)
  const cyclic = inCycles(parents)
  for (const name of cyclic)
    declared.get(name)?.fields.report('parentName', 'Cycle', `the cohort "${name}" is in or below a cycle of parents`)
  const localQueues = new Map(
    unique(objects.localQueues, true).map((one) => {
      const { namespace = '', name = '' } = one.metadata
      return [`${namespace}/${name}`, readLocalQueue(one, problems)]
    }),
  )
  const names = new Set(queues.map(({ name }) => name))
  for (const { clusterQueue, fields } of localQueues.values())
    if (!names.has(clusterQueue))
      fields.report('clusterQueue', 'UnknownQueue', `there is no ClusterQueue "${clusterQueue}"`)
  return {
    pools: [
      ...[...parents.keys()]
        .filter((name) => !cyclic.has(name))
        .toSorted()
        .map((name) => cohortPool(name, parents.get(name), declared.get(name), flavors)),
      ...queues.map((queue) => queuePool(queue, cyclic, flavors)),
    ],
    queues: new Map(queues.map((queue) => [queue.name, queueOf(queue, cyclic, flavors)])),
    localQueues,
    priorities: new Map(
      unique(objects.priorityClasses).flatMap((one): readonly (readonly [string, number])[] => {
        const value = readPriorityClass(one, problems)
        return value === undefined ? [] : [[one.metadata.name ?? '', value]]
      }),
    ),
  }
}

/** An object that is given in two versions counts once. Sorted by age, then by name. */
function unique(objects: readonly KubeObject[], isNamespaced = false): readonly KubeObject[] {
  const byName = new Map<string, KubeObject>()
  for (const object of oldestFirst(objects)) {
    const { namespace = '', name = '' } = object.metadata
    const key = isNamespaced ? `${namespace}/${name}` : name
    const known = byName.get(key)
    if (!known || known.apiVersion < object.apiVersion) byName.set(key, object)
  }
  return [...byName.values()]
}

/** The parent of each cohort, also of those that are only named. */
function parentsOf(
  declared: ReadonlyMap<string, CohortQuota>,
  queues: readonly ClusterQueueQuota[],
): ReadonlyMap<string, string | undefined> {
  const parents = new Map<string, string | undefined>()
  for (const { cohort } of queues) if (cohort !== undefined) parents.set(cohort, undefined)
  for (const { parent } of declared.values()) if (parent !== undefined) parents.set(parent, undefined)
  for (const { name, parent } of declared.values()) parents.set(name, parent)
  return parents
}

function inCycles(parents: ReadonlyMap<string, string | undefined>): ReadonlySet<string> {
  const known = new Map<string, boolean>()
  for (const start of parents.keys()) {
    const way = new Set<string>()
    let at: string | undefined = start
    while (at !== undefined && !known.has(at) && !way.has(at)) {
      way.add(at)
      at = parents.get(at)
    }
    const isCyclic = at !== undefined && (known.get(at) ?? true)
    for (const name of way) known.set(name, isCyclic)
  }
  return new Set([...known].flatMap(([name, isCyclic]) => (isCyclic ? [name] : [])))
}

type Flavors = ReadonlyMap<string, ResourceFlavorQuota>

function cohortPool(
  name: string,
  parent: string | undefined,
  cohort: CohortQuota | undefined,
  flavors: Flavors,
): QuotaPool {
  return {
    name: cohortName(name),
    ...(parent !== undefined && { parent: cohortName(parent) }),
    groups: groupsOf(cohort?.groups ?? [], flavors),
    otherResources: 'refused',
    policies: { ...queueDefaults, weight: cohort?.weight ?? queueDefaults.weight },
  }
}

function queuePool(queue: ClusterQueueQuota, cyclic: ReadonlySet<string>, flavors: Flavors): QuotaPool {
  const { name, cohort, groups, policies } = queue
  return {
    name: queueName(name),
    ...(cohort !== undefined && !cyclic.has(cohort) && { parent: cohortName(cohort) }),
    groups: groupsOf(groups, flavors),
    otherResources: 'refused',
    policies,
  }
}

function queueOf(queue: ClusterQueueQuota, cyclic: ReadonlySet<string>, flavors: Flavors): KueueQueue {
  const { name, cohort, groups, namespaces, stop } = queue
  const missing = groups.flatMap((group) => group.flavors.filter((flavor) => !flavors.has(flavor.name)))
  for (const flavor of missing)
    flavor.fields.report('name', 'UnknownFlavor', `there is no ResourceFlavor "${flavor.name}"`)
  const inactive =
    cohort !== undefined && cyclic.has(cohort)
      ? `its cohort "${cohort}" is in or below a cycle of parents`
      : missing[0] && `there is no ResourceFlavor "${missing[0].name}"`
  return { pool: queueName(name), namespaces, stop, ...(inactive !== undefined && { inactive }) }
}

/** A flavor that does not exist has no quota. */
function groupsOf(groups: readonly KueueGroup[], flavors: Flavors): readonly FlavorGroup[] {
  return groups.map(({ resources, flavors: listed }) => ({
    resources,
    flavors: listed.flatMap(({ name, limits }) => {
      const flavor = flavors.get(name)
      const covered = new Map([...limits].filter(([resource]) => resources.includes(resource)))
      return flavor ? [{ name, limits: covered, ...flavor }] : []
    }),
  }))
}

function cohortName(name: string): string {
  return `cohort/${name}`
}

function queueName(name: string): string {
  return `queue/${name}`
}

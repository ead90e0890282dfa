/** What the pods of a workload ask for, as groups of equal pods: the form in which the queue judges it. */
import type { UntypedObject } from '../../../kube/object.ts'
import { resourceAmounts } from '../../../kube/scheduling/pod-needs.ts'
import type { Container, PodSpec, Toleration } from '../../../kube/types/core/v1.ts'
import type { PodGroup } from './node-table.ts'
import { type DeclaredPodSet, podSetsOf, podTemplateIn } from '../pods/pod-sets.ts'
import { makePodShape, type PodShape, podShapeOf } from '../pods/pod-shape.ts'

/** Pods that are declared by their requests alone. */
export interface DeclaredPods {
  readonly replicas: number
  readonly requests: Readonly<Record<string, string | number>>
  readonly limits?: Readonly<Record<string, string | number>> | undefined
}

/** What an admission adds to the pods of a pod set. */
interface PodPlacement {
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined
  readonly tolerations?: readonly Toleration[] | undefined
}

export interface WrappedPods {
  readonly template: UntypedObject
  readonly podSets?: readonly DeclaredPodSet[] | undefined
  /** By pod set. */
  readonly placements?: readonly PodPlacement[] | undefined
  /** Declared pods are the only source, if there are some. */
  readonly pods?: readonly DeclaredPods[] | undefined
  /** Kinds that are not known are read by `spec.replicas` and `spec.template`. */
  readonly isLenient?: boolean
}

interface Demand {
  readonly groups: readonly PodGroup[]
  /** By component, and by pod set: its group. */
  readonly groupOf: readonly (readonly number[])[]
}

/** Of a pod set without pods. */
const noGroup = -1

/** @throws InvalidPodSets */
export function demandOf(components: readonly WrappedPods[]): Demand {
  const groups = new Map<string, { readonly index: number; readonly shape: PodShape; count: number }>()
  const add = (shape: PodShape, count: number): number => {
    if (count === 0) return noGroup
    const known = groups.get(shape.key)
    if (known) known.count += count
    else groups.set(shape.key, { index: groups.size, shape, count })
    return known?.index ?? groups.size - 1
  }
  const groupOf = components.map(({ template, podSets, placements = [], pods = [], isLenient }) => {
    const [first] = pods.map(({ replicas, requests, limits }) => add(shapeOfRequests(requests, limits), replicas))
    return podSetsOf(template, podSets, isLenient).map((podSet, index) => {
      if (first !== undefined) return first
      const spec = podTemplateIn(template, podSet)['spec'] as object as PodSpec
      return add(podShapeOf(placed(spec, placements[index])), podSet.replicas)
    })
  })
  return { groups: [...groups.values()].map(({ shape, count }) => ({ shape, count })), groupOf }
}

/** How many pods there are when all of it runs. */
export function expectedPods(components: readonly WrappedPods[]): number {
  let total = 0
  for (const { template, podSets, isLenient } of components)
    for (const { replicas } of podSetsOf(template, podSets, isLenient)) total += replicas
  return total
}

/** A request of 0 means: as much as the limit. */
function shapeOfRequests(requests: DeclaredPods['requests'], limits: DeclaredPods['limits'] = {}): PodShape {
  const amounts = new Map(resourceAmounts(limits))
  for (const [name, amount] of resourceAmounts(requests)) if (amount > 0) amounts.set(name, amount)
  return makePodShape(new Map([...amounts].filter(([, amount]) => amount > 0)))
}

/** The spec as the pod will have it: with what the admission adds, and requests as high as the limits where there are none. */
function placed(spec: PodSpec, placement: PodPlacement | undefined): PodSpec {
  const { nodeSelector, tolerations } = placement ?? {}
  const { containers, initContainers } = spec
  const requested = {
    ...spec,
    containers: containers.map(withRequests),
    ...(initContainers && { initContainers: initContainers.map(withRequests) }),
  }
  if (!nodeSelector && !tolerations?.length) return requested
  return {
    ...requested,
    nodeSelector: { ...spec.nodeSelector, ...nodeSelector },
    tolerations: [...(spec.tolerations ?? []), ...(tolerations ?? [])],
  }
}

/** As the API server defaults it when the pod is created. */
function withRequests(container: Container): Container {
  const { limits, requests } = container.resources ?? {}
  return limits
    ? { ...container, resources: { ...container.resources, requests: { ...limits, ...requests } } }
    : container
}

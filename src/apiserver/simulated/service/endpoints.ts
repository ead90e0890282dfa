/** The Endpoints of a Service: the addresses of the selected pods, ready and not ready, grouped by ports. */
import { formatTime } from '../../../kube/units/duration.ts'
import { equalJson } from '../../../kube/json.ts'
import { matchLabels } from '../../../kube/selector/selector.ts'
import type { EndpointAddress, EndpointSubset } from '../../../kube/types/core/v1.ts'
import { type SimulatedState, simulatedKey, splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import { type SimulatedController, selectorOfMap, type Tools } from '../controller/controller.ts'
import { hostnameOf, isSameContent, portsOf, repack } from './endpoint-subsets.ts'
import { isFinished, isPodReady, isPodTerminating } from '../controller/pod-facts.ts'

type Service = StoredIn<'services'>

export const changedAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'
export const headlessLabel = 'service.kubernetes.io/headless'
const overCapacityAnnotation = 'endpoints.kubernetes.io/over-capacity'
const managedBy = 'endpoints.kubernetes.io/managed-by'
const manager = 'endpoint-controller'
/** Maximum number of addresses in one Endpoints object. */
const capacity = 1000

export function endpointsController(tools: Tools): SimulatedController {
  const { cluster, writer } = tools
  /** Deleted Services: their Endpoints are deleted. Endpoints that never had a Service stay. */
  const deleted = new Set<string>()
  return {
    own: { services: (service) => [simulatedKey(service)] },
    others: {
      pods: (pod) => servicesOf(cluster, pod),
      endpoints: (endpoints) => [simulatedKey(endpoints)],
    },
    follow(table, object, previous) {
      if (table === 'services' && !object && previous)
        deleted.add(`${previous.metadata.namespace}/${previous.metadata.name}`)
    },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const service = cluster.get('services', namespace, name)
      const live = cluster.get('endpoints', namespace, name)
      if (!service) {
        if (live && (deleted.has(key) || live.metadata.labels?.[managedBy] === manager))
          await writer.remove('endpoints', live)
        deleted.delete(key)
        return undefined
      }
      deleted.delete(key)
      if (service.spec?.type !== 'ExternalName' && service.spec?.selector) await write(tools, service, live)
      return undefined
    },
  }
}

/** Keys of the Services that select this pod. */
export function servicesOf(cluster: SimulatedState, { metadata }: StoredPod): readonly string[] {
  return cluster
    .list('services', metadata.namespace)
    .filter(({ spec }) => spec?.selector && matchLabels(selectorOfMap(spec.selector), metadata.labels))
    .map(simulatedKey)
}

/** The pods that a Service selects and that have an IP. */
export function endpointPodsOf(cluster: SimulatedState, { spec, metadata }: Service): readonly StoredPod[] {
  const selector = selectorOfMap(spec?.selector)
  return cluster
    .list('pods', metadata.namespace)
    .filter((pod) => matchLabels(selector, pod.metadata.labels) && !isFinished(pod) && pod.status?.podIP)
}

async function write(
  { cluster, writer }: Tools,
  service: Service,
  live: StoredIn<'endpoints'> | undefined,
): Promise<void> {
  const { namespace = '', name } = service.metadata
  const isHeadless = service.spec?.clusterIP === 'None'
  const { subsets, isCut } = cut(repack(endpointPodsOf(cluster, service).flatMap((pod) => subsetsOf(service, pod))))
  const { [headlessLabel]: _headless, ...own } = service.metadata.labels ?? {}
  const labels = { ...own, ...(isHeadless && { [headlessLabel]: '' }), [managedBy]: manager }
  const { [overCapacityAnnotation]: over, ...kept } = live?.metadata.annotations ?? {}
  if (
    live &&
    isSameContent(repack(live.subsets ?? []), subsets) &&
    equalJson(live.metadata.labels ?? {}, labels) &&
    (over === 'truncated') === isCut
  )
    return
  const annotations = {
    ...kept,
    [changedAnnotation]: formatTime(cluster.now()),
    ...(isCut && { [overCapacityAnnotation]: 'truncated' }),
  }
  const content = subsets.length > 0 ? { subsets } : {}
  if (!live) {
    const metadata = { name, namespace, labels, annotations }
    await writer.create('endpoints', { apiVersion: 'v1', kind: 'Endpoints', metadata, ...content })
    return
  }
  const { subsets: _subsets, ...rest } = live
  await writer.update('endpoints', { ...rest, metadata: { ...live.metadata, labels, annotations }, ...content })
}

/** The subsets of one pod: one for each of its ports. */
function subsetsOf(service: Service, pod: StoredPod): readonly EndpointSubset[] {
  const isTolerant = service.spec?.publishNotReadyAddresses === true
  if (isPodTerminating(pod) && !isTolerant) return []
  const { namespace = '', name, uid } = pod.metadata
  const hostname = hostnameOf(pod, service)
  const address: EndpointAddress = {
    ip: pod.status?.podIP ?? '',
    ...(hostname && { hostname }),
    ...(pod.spec?.nodeName && { nodeName: pod.spec.nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  }
  const member = isTolerant || isPodReady(pod) ? 'addresses' : 'notReadyAddresses'
  if ((service.spec?.ports ?? []).length === 0)
    return service.spec?.clusterIP === 'None' ? [{ [member]: [address] }] : []
  return portsOf(service, pod).map((port) => ({ [member]: [address], ports: [port] }))
}

/** Truncates to the capacity of one object: ready addresses first, each subset with its share. */
function cut(subsets: readonly EndpointSubset[]): {
  readonly subsets: readonly EndpointSubset[]
  readonly isCut: boolean
} {
  const count = (member: 'addresses' | 'notReadyAddresses'): number =>
    subsets.reduce((sum, subset) => sum + (subset[member]?.length ?? 0), 0)
  const [ready, unready] = [count('addresses'), count('notReadyAddresses')]
  if (ready + unready <= capacity) return { subsets, isCut: false }
  const [member, total, room] =
    ready > capacity
      ? (['addresses', ready, capacity] as const)
      : (['notReadyAddresses', unready, capacity - ready] as const)
  let left = room
  const shortened = subsets.map((subset) => {
    const { notReadyAddresses: _unready, ...others } = subset
    const all = subset[member] ?? []
    const part = all.slice(0, Math.min(Math.ceil((all.length / total) * room), left))
    left -= part.length
    return { ...(member === 'addresses' ? others : subset), [member]: part }
  })
  return { subsets: shortened, isCut: true }
}

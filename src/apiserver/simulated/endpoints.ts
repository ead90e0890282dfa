/**
 * Endpoints of services: where the pods are that a service selects, as EndpointSlices and in the old form. Pods that
 * are not ready are told of as such, so that who wants them all finds them.
 */
import { formatTime } from '../../kube/duration.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import { ownerReference } from '../../kube/owner.ts'
import { matchLabels } from '../../kube/selector.ts'
import type { ServicePort } from '../../kube/types/core/v1.ts'
import type { Endpoint, EndpointPort } from '../../kube/types/discovery/v1.ts'
import { type Cluster, keyOf, splitKey, type StoredIn, type StoredPod } from './cluster.ts'
import { type Controller, selectorOfMap, type Tools } from './controller.ts'
import { isFinished, isReady, isTerminating } from './pod-facts.ts'

type Service = StoredIn<'services'>
type Slice = StoredIn<'endpointslices.discovery.k8s.io'>

const sliceTable = 'endpointslices.discovery.k8s.io'
const managedBy = 'endpointslice.kubernetes.io/managed-by'
const manager = 'endpointslice-controller.k8s.io'
const serviceLabel = 'kubernetes.io/service-name'
const changedAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'
const perSlice = 100
/** The old form holds no more. */
const inOldForm = 1000

export function endpointsController(tools: Tools): Controller {
  const { cluster } = tools
  return {
    own: { services: (service) => [keyOf(service)] },
    others: {
      pods: (pod) => selecting(cluster, pod),
      endpoints: ({ metadata }) => [`${metadata.namespace}/${metadata.name}`],
      [sliceTable]: ({ metadata }: Slice) =>
        metadata.labels?.[managedBy] === manager ? [`${metadata.namespace}/${metadata.labels[serviceLabel]}`] : [],
    },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const service = cluster.get('services', namespace, name)
      const selector = service?.spec?.selector
      if (!service || service.metadata.deletionTimestamp || service.spec?.type === 'ExternalName' || !selector)
        return undefined
      const pods = cluster
        .list('pods', namespace)
        .filter(
          (pod) => matchLabels(selectorOfMap(selector), pod.metadata.labels) && !isFinished(pod) && pod.status?.podIP,
        )
      await writeSlices(tools, service, pods)
      await writeOldForm(tools, service, pods)
      return undefined
    },
  }
}

function selecting(cluster: Cluster, { metadata }: StoredPod): readonly string[] {
  return cluster
    .list('services', metadata.namespace)
    .filter(({ spec }) => spec?.selector && matchLabels(selectorOfMap(spec.selector), metadata.labels))
    .map(keyOf)
}

/** The number of a port that a service may have by its name. */
function portOf({ targetPort, port }: ServicePort, pods: readonly StoredPod[]): number | undefined {
  if (typeof targetPort !== 'string') return targetPort || port
  for (const { spec } of pods) {
    const found = spec?.containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === targetPort)
    if (found) return found.containerPort
  }
  return undefined
}

function portsOf({ spec }: Service, pods: readonly StoredPod[]): readonly EndpointPort[] {
  return (spec?.ports ?? []).flatMap((one) => {
    const port = portOf(one, pods)
    if (port === undefined) return []
    const { name = '', protocol = 'TCP', appProtocol } = one
    return [{ name, port, protocol, ...(appProtocol && { appProtocol }) }]
  })
}

function endpointOf(pod: StoredPod, service: Service, cluster: Cluster): Endpoint {
  const { namespace = '', name, uid } = pod.metadata
  const terminating = isTerminating(pod)
  const serving = isReady(pod)
  const nodeName = pod.spec?.nodeName ?? ''
  const zone = cluster.get('nodes', undefined, nodeName)?.metadata.labels?.['topology.kubernetes.io/zone']
  const hostname = pod.spec?.subdomain === service.metadata.name ? pod.spec.hostname : undefined
  return {
    addresses: [pod.status!.podIP!],
    conditions: {
      ready: service.spec?.publishNotReadyAddresses === true || (serving && !terminating),
      serving,
      terminating,
    },
    ...(hostname && { hostname }),
    nodeName,
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(zone && { zone }),
  }
}

async function writeSlices({ cluster, hand }: Tools, service: Service, pods: readonly StoredPod[]): Promise<void> {
  const { namespace = '', name } = service.metadata
  const known = cluster
    .list(sliceTable, namespace)
    .filter(({ metadata }) => metadata.labels?.[serviceLabel] === name && metadata.labels[managedBy] === manager)
  const endpoints = pods.map((pod) => endpointOf(pod, service, cluster))
  const ports = portsOf(service, pods)
  const isHeadless = service.spec?.clusterIP === 'None'
  const labels = {
    ...service.metadata.labels,
    [managedBy]: manager,
    [serviceLabel]: name,
    ...(isHeadless && { 'service.kubernetes.io/headless': '' }),
  }
  for (const [index, part] of spread(known, endpoints).entries()) {
    const slice = known[index]
    if (!slice) {
      await hand.create(sliceTable, {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          generateName: `${name}-`,
          namespace,
          labels,
          annotations: { [changedAnnotation]: formatTime(cluster.now()) },
          ownerReferences: [ownerReference(service, { controller: true })],
        },
        addressType: 'IPv4',
        endpoints: part,
        ports,
      })
    } else if (part.length === 0 && index > 0) {
      await hand.remove(sliceTable, slice)
    } else {
      const wanted = { endpoints: part, ports, labels }
      const has = { endpoints: slice.endpoints ?? [], ports: slice.ports ?? [], labels: slice.metadata.labels ?? {} }
      if (equalJson(has as unknown as Json, wanted as unknown as Json)) continue
      const annotations = { ...slice.metadata.annotations, [changedAnnotation]: formatTime(cluster.now()) }
      await hand.update(sliceTable, {
        ...slice,
        metadata: { ...slice.metadata, labels, annotations },
        endpoints: part,
        ports,
      })
    }
  }
}

/** Which slice has which endpoints: each stays where it is, new ones go where room is. There is always one slice. */
function spread(known: readonly Slice[], endpoints: readonly Endpoint[]): readonly (readonly Endpoint[])[] {
  const parts: Endpoint[][] = known.length > 0 ? known.map(() => []) : [[]]
  const home = new Map<string | undefined, number>()
  for (const [index, slice] of known.entries()) {
    for (const { targetRef } of slice.endpoints ?? []) home.set(targetRef?.uid, index)
  }
  let open = 0
  for (const endpoint of endpoints) {
    const index = home.get(endpoint.targetRef?.uid)
    if (index !== undefined) parts[index]!.push(endpoint)
  }
  for (const endpoint of endpoints) {
    if (home.has(endpoint.targetRef?.uid)) continue
    while ((parts[open]?.length ?? 0) >= perSlice) open++
    if (!parts[open]) parts.push([])
    parts[open]!.push(endpoint)
  }
  return parts
}

/** A port without a name has none, in the old form. */
function oldPort({ name, ...port }: EndpointPort): EndpointPort {
  return name ? { name, ...port } : port
}

async function writeOldForm({ cluster, hand }: Tools, service: Service, pods: readonly StoredPod[]): Promise<void> {
  const { namespace = '', name } = service.metadata
  const addressOf = (pod: StoredPod): object => ({
    ip: pod.status!.podIP!,
    ...(pod.spec?.subdomain === name && pod.spec.hostname && { hostname: pod.spec.hostname }),
    nodeName: pod.spec?.nodeName ?? '',
    targetRef: { kind: 'Pod', namespace, name: pod.metadata.name, uid: pod.metadata.uid },
  })
  const present = pods.filter((pod) => !isTerminating(pod)).slice(0, inOldForm)
  const counts = (pod: StoredPod): boolean => service.spec?.publishNotReadyAddresses === true || isReady(pod)
  const ready = present.filter(counts)
  const unready = present.filter((pod) => !counts(pod))
  const ports = portsOf(service, pods).map(oldPort)
  const subset = {
    ...(ready.length > 0 && { addresses: ready.map(addressOf) }),
    ...(unready.length > 0 && { notReadyAddresses: unready.map(addressOf) }),
    ...(ports.length > 0 && { ports }),
  }
  const subsets = present.length > 0 ? [subset] : []
  const labels = { ...service.metadata.labels, 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }
  const live = cluster.get('endpoints', namespace, name)
  const annotations = { ...live?.metadata.annotations, [changedAnnotation]: formatTime(cluster.now()) }
  if (!live) {
    await hand.create('endpoints', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name, namespace, labels, annotations },
      ...(subsets.length > 0 && { subsets: subsets as never }),
    })
    return
  }
  const { subsets: _subsets, ...rest } = live
  const isSame =
    equalJson((live.subsets ?? []) as unknown as Json, subsets as unknown as Json) &&
    equalJson(live.metadata.labels ?? {}, labels)
  if (isSame) return
  await hand.update('endpoints', {
    ...rest,
    metadata: { ...live.metadata, labels, annotations },
    ...(subsets.length > 0 && { subsets: subsets as never }),
  })
}

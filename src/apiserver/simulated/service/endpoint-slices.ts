/**
 * The EndpointSlices of a Service: the selected pods and their conditions, at most a hundred per slice. Pods with
 * different ports are in different slices.
 */
import { formatTime } from '../../../kube/units/duration.ts'
import { equalJson } from '../../../kube/json.ts'
import { ownerReference } from '../../../kube/meta/owner.ts'
import type { Endpoint, EndpointPort } from '../../../kube/types/discovery/v1.ts'
import { type SimulatedState, simulatedKey, splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import type { SimulatedController, Tools } from '../controller/controller.ts'
import { hostnameOf, isSameContent, portsKey, portsOf } from './endpoint-subsets.ts'
import { changedAnnotation, headlessLabel, endpointPodsOf, servicesOf } from './endpoints.ts'
import { isPodReady, isPodTerminating } from '../controller/pod-facts.ts'

type Service = StoredIn<'services'>
export type Slice = StoredIn<'endpointslices.discovery.k8s.io'>

export const sliceTable = 'endpointslices.discovery.k8s.io'
export const sliceManagedBy = 'endpointslice.kubernetes.io/managed-by'
export const serviceLabel = 'kubernetes.io/service-name'
const manager = 'endpointslice-controller.k8s.io'
const perSlice = 100

export function endpointSliceController(tools: Tools): SimulatedController {
  const { cluster } = tools
  return {
    own: { services: (service) => [simulatedKey(service)] },
    others: {
      pods: (pod) => servicesOf(cluster, pod),
      [sliceTable]: (slice: Slice) => ownersOfSlice(slice, manager),
    },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const service = cluster.get('services', namespace, name)
      if (service?.spec?.selector && service.spec.type !== 'ExternalName') await write(tools, service)
      return undefined
    },
  }
}

/** The key of the object that a slice of this manager is made from. */
export function ownersOfSlice({ metadata }: Slice, by: string): readonly string[] {
  const { [sliceManagedBy]: found, [serviceLabel]: name } = metadata.labels ?? {}
  return found === by && name ? [`${metadata.namespace}/${name}`] : []
}

export function slicesOf(cluster: SimulatedState, namespace: string, name: string, by: string): readonly Slice[] {
  return cluster
    .list(sliceTable, namespace)
    .filter(({ metadata }) => metadata.labels?.[serviceLabel] === name && metadata.labels[sliceManagedBy] === by)
}

/** Ports in the form of slices: a port without a name has an empty one. */
export function slicePorts(ports: readonly EndpointPort[]): readonly EndpointPort[] {
  return ports.map((port) => ({ ...port, name: port.name ?? '' }))
}

interface Group {
  readonly ports: readonly EndpointPort[]
  readonly endpoints: Endpoint[]
}

/** Pods by their ports. */
function groupsOf(cluster: SimulatedState, service: Service): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>()
  for (const pod of endpointPodsOf(cluster, service)) {
    const node = cluster.get('nodes', undefined, pod.spec?.nodeName ?? '')
    // A pod whose node is gone is about to be deleted.
    if (!node && service.spec?.publishNotReadyAddresses !== true) continue
    const ports = slicePorts(portsOf(service, pod))
    const key = portsKey(ports)
    const group = groups.get(key) ?? { ports, endpoints: [] }
    groups.set(key, group)
    group.endpoints.push(endpointOf(pod, service, node?.metadata.labels?.['topology.kubernetes.io/zone']))
  }
  return groups
}

function endpointOf(pod: StoredPod, service: Service, zone: string | undefined): Endpoint {
  const { namespace = '', name, uid } = pod.metadata
  const terminating = isPodTerminating(pod)
  const serving = isPodReady(pod)
  const hostname = hostnameOf(pod, service)
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating)
  return {
    addresses: [pod.status?.podIP ?? ''],
    conditions: { ready, serving, terminating },
    ...(hostname && { hostname }),
    ...(pod.spec?.nodeName && { nodeName: pod.spec.nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(zone && { zone }),
  }
}

async function write(tools: Tools, service: Service): Promise<void> {
  const { cluster, writer } = tools
  const { namespace = '', name, uid, deletionTimestamp } = service.metadata
  const known = slicesOf(cluster, namespace, name, manager)
  const isOwn = ({ metadata }: Slice): boolean => metadata.ownerReferences?.some((owner) => owner.uid === uid) === true
  const groups = groupsOf(cluster, service)
  const free = known.filter((slice) => isOwn(slice) && !groups.has(portsKey(slice.ports ?? [])))
  const contents: { readonly slice: Slice | undefined; readonly content: Content }[] = []
  for (const [key, { ports, endpoints }] of groups) {
    const own = known.filter((slice) => isOwn(slice) && portsKey(slice.ports ?? []) === key)
    for (const [index, part] of spread(own, endpoints).entries()) {
      if (part.length > 0) contents.push({ slice: own[index], content: { ports, endpoints: part } })
      else if (own[index]) free.push(own[index])
    }
  }
  // A Service without endpoints has one empty slice.
  if (contents.length === 0) contents.push({ slice: undefined, content: { ports: [], endpoints: [] } })
  for (const { slice, content } of contents) {
    const target = slice ?? free.shift()
    if (target) await updateSlice(tools, service, target, content)
    // The garbage collector is about to delete the slices of a Service that is being deleted.
    else if (!deletionTimestamp) await createSlice(tools, service, content)
  }
  for (const slice of [...free, ...known.filter((one) => !isOwn(one))]) await writer.remove(sliceTable, slice)
}

interface Content {
  readonly ports: readonly EndpointPort[]
  readonly endpoints: readonly Endpoint[]
}

function labelsOf({ metadata, spec }: Service): Readonly<Record<string, string>> {
  const { [headlessLabel]: _headless, ...own } = metadata.labels ?? {}
  const isHeadless = spec?.clusterIP === 'None'
  return {
    ...own,
    ...(isHeadless && { [headlessLabel]: '' }),
    [sliceManagedBy]: manager,
    [serviceLabel]: metadata.name,
  }
}

async function createSlice({ cluster, writer }: Tools, service: Service, { ports, endpoints }: Content): Promise<void> {
  await writer.create(sliceTable, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      generateName: `${service.metadata.name}-`,
      namespace: service.metadata.namespace ?? '',
      labels: labelsOf(service),
      annotations: { [changedAnnotation]: formatTime(cluster.now()) },
      ownerReferences: [ownerReference(service, { controller: true })],
    },
    addressType: 'IPv4',
    endpoints,
    ports,
  })
}

async function updateSlice(
  { cluster, writer }: Tools,
  service: Service,
  slice: Slice,
  { ports, endpoints }: Content,
): Promise<void> {
  const labels = labelsOf(service)
  const isSame =
    isSameContent(slice.endpoints ?? [], endpoints) &&
    isSameContent(slice.ports ?? [], ports) &&
    equalJson(slice.metadata.labels ?? {}, labels)
  if (isSame) return
  const annotations = { ...slice.metadata.annotations, [changedAnnotation]: formatTime(cluster.now()) }
  await writer.update(sliceTable, { ...slice, metadata: { ...slice.metadata, labels, annotations }, endpoints, ports })
}

/** Distributes endpoints over slices: known ones stay in their slice, new ones fill free places. */
function spread(known: readonly Slice[], endpoints: readonly Endpoint[]): readonly (readonly Endpoint[])[] {
  const parts: Endpoint[][] = known.map(() => [])
  const home = new Map<string | undefined, number>()
  for (const [index, slice] of known.entries()) {
    for (const { targetRef } of slice.endpoints ?? []) home.set(targetRef?.uid, index)
  }
  const isNew: Endpoint[] = []
  for (const endpoint of endpoints) {
    const index = home.get(endpoint.targetRef?.uid)
    if (index === undefined) isNew.push(endpoint)
    else parts[index]!.push(endpoint)
  }
  let open = 0
  for (const endpoint of isNew) {
    while ((parts[open]?.length ?? 0) >= perSlice) open++
    if (!parts[open]) parts.push([])
    parts[open]!.push(endpoint)
  }
  return parts
}

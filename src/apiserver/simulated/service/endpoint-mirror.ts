/**
 * Mirrors Endpoints that a user wrote for a Service without a selector to EndpointSlices: one slice for each subset and
 * address family.
 */
import { ownerReference } from '../../../kube/meta/owner.ts'
import type { EndpointAddress } from '../../../kube/types/core/v1.ts'
import type { Endpoint, EndpointPort } from '../../../kube/types/discovery/v1.ts'
import { simulatedKey, splitKey, type StoredIn } from '../controller/cluster.ts'
import type { SimulatedController, Tools } from '../controller/controller.ts'
import {
  sliceManagedBy,
  ownersOfSlice,
  serviceLabel,
  type Slice,
  slicePorts,
  sliceTable,
  slicesOf,
} from './endpoint-slices.ts'
import { isSameContent, portsKey, repack } from './endpoint-subsets.ts'
import { changedAnnotation } from './endpoints.ts'

type Endpoints = StoredIn<'endpoints'>

const manager = 'endpointslicemirroring-controller.k8s.io'
const skipLabel = 'endpointslice.kubernetes.io/skip-mirror'
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader'
const notMirrored = new Set([changedAnnotation, 'kubectl.kubernetes.io/last-applied-configuration'])
const perSlice = 1000

export function endpointMirror(tools: Tools): SimulatedController {
  const { cluster } = tools
  return {
    own: { endpoints: (endpoints) => [simulatedKey(endpoints)] },
    others: {
      services: (service) => [simulatedKey(service)],
      [sliceTable]: (slice: Slice) => ownersOfSlice(slice, manager),
    },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const endpoints = cluster.get('endpoints', namespace, name)
      const service = cluster.get('services', namespace, name)
      const known = slicesOf(cluster, namespace, name, manager)
      const isMirrored = endpoints && mayMirror(endpoints) && service && !service.spec?.selector
      await write(tools, endpoints, known, isMirrored ? desiredOf(endpoints) : [])
      return undefined
    },
  }
}

function mayMirror({ metadata }: Endpoints): boolean {
  return metadata.labels?.[skipLabel] !== 'true' && metadata.annotations?.[leaderAnnotation] === undefined
}

interface Desired {
  readonly key: string
  readonly addressType: 'IPv4' | 'IPv6'
  readonly ports: readonly EndpointPort[]
  readonly endpoints: readonly Endpoint[]
}

function desiredOf({ subsets = [] }: Endpoints): readonly Desired[] {
  return repack(subsets).flatMap(({ addresses = [], notReadyAddresses = [], ports = [] }) => {
    const all = [
      ...addresses.map((address) => endpointOf(address, true)),
      ...notReadyAddresses.map((address) => endpointOf(address, false)),
    ].slice(0, perSlice)
    return (['IPv4', 'IPv6'] as const).flatMap((addressType) => {
      const endpoints = all.filter((one) => one.addresses[0]?.includes(':') === (addressType === 'IPv6'))
      const named = slicePorts(ports)
      return endpoints.length > 0
        ? [{ key: `${addressType} ${portsKey(named)}`, addressType, ports: named, endpoints }]
        : []
    })
  })
}

function endpointOf({ ip, targetRef, nodeName, hostname }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname && { hostname }),
    ...(nodeName && { nodeName }),
    ...(targetRef && { targetRef }),
  }
}

async function write(
  { writer }: Tools,
  endpoints: Endpoints | undefined,
  known: readonly Slice[],
  desired: readonly Desired[],
): Promise<void> {
  const free = new Set(known)
  const take = (fits: (slice: Slice) => boolean): Slice | undefined => {
    const found = [...free].find(fits)
    if (found) free.delete(found)
    return found
  }
  const placed = desired.map((one) => ({
    one,
    slice: take((slice) => `${slice.addressType} ${portsKey(slice.ports ?? [])}` === one.key),
  }))
  for (const { one, slice } of placed) {
    if (!endpoints) break
    const target = slice ?? take(({ addressType }) => addressType === one.addressType)
    const labels = { ...endpoints.metadata.labels, [serviceLabel]: endpoints.metadata.name, [sliceManagedBy]: manager }
    const annotations = Object.fromEntries(
      Object.entries(endpoints.metadata.annotations ?? {}).filter(([name]) => !notMirrored.has(name)),
    )
    const content = { ports: one.ports, endpoints: one.endpoints }
    if (!target) {
      if (endpoints.metadata.deletionTimestamp) continue
      await writer.create(sliceTable, {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          generateName: `${endpoints.metadata.name}-`,
          namespace: endpoints.metadata.namespace ?? '',
          labels,
          annotations,
          ownerReferences: [ownerReference(endpoints, { controller: true })],
        },
        addressType: one.addressType,
        ...content,
      })
    } else if (!isSame(target, { ...content, labels, annotations })) {
      await writer.update(sliceTable, { ...target, metadata: { ...target.metadata, labels, annotations }, ...content })
    }
  }
  for (const slice of free) await writer.remove(sliceTable, slice)
}

function isSame(slice: Slice, desired: object): boolean {
  const { labels = {}, annotations = {} } = slice.metadata
  const has = { ports: slice.ports ?? [], endpoints: slice.endpoints ?? [], labels, annotations }
  return isSameContent(has, desired)
}

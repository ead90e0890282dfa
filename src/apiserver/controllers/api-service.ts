/**
 * The Service `kubernetes` in the namespace `default`, with its Endpoints and its EndpointSlice: the way to the API
 * server for clients inside a cluster; and the ServiceCIDR of the same name, the range of its address and of all others.
 * The API server writes these objects, and writes them again when one is deleted.
 */
import { formatTime } from '../../kube/units/duration.ts'
import type { Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ClusterState } from '../cluster/state.ts'

const place = { name: 'kubernetes', namespace: 'default' }
/**
 * An embedded API server listens on loopback only. The port is the one that the Service names, wherever the server
 * listens.
 */
const address = '127.0.0.1'
const port = { name: 'https', port: 6443, protocol: 'TCP' }
const retryMs = 5000

/** The tables of these objects. */
const tables = new Set(['servicecidrs.networking.k8s.io', 'services', 'endpoints', 'endpointslices.discovery.k8s.io'])

/** By table. The Service has the first address of the range. */
function objectsIn(range: string): ReadonlyMap<string, UntypedObject> {
  const clusterIP = firstOf(range)
  return new Map<string, UntypedObject>([
    [
      'servicecidrs.networking.k8s.io',
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'ServiceCIDR',
        metadata: { name: place.name, generation: 1 },
        spec: { cidrs: [range] },
      },
    ],
    [
      'services',
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { ...place, labels: { component: 'apiserver', provider: 'kubernetes' } },
        spec: {
          type: 'ClusterIP',
          clusterIP,
          clusterIPs: [clusterIP],
          ipFamilies: ['IPv4'],
          ipFamilyPolicy: 'SingleStack',
          internalTrafficPolicy: 'Cluster',
          sessionAffinity: 'None',
          ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port.port }],
        },
        status: { loadBalancer: {} },
      },
    ],
    [
      'endpoints',
      {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { ...place, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
        subsets: [{ addresses: [{ ip: address }], ports: [port] }],
      },
    ],
    [
      'endpointslices.discovery.k8s.io',
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { ...place, generation: 1, labels: { 'kubernetes.io/service-name': place.name } },
        addressType: 'IPv4',
        endpoints: [{ addresses: [address], conditions: { ready: true } }],
        ports: [port],
      },
    ],
  ])
}

/** A network address is even: the next one differs in its last number alone. */
function firstOf(range: string): string {
  const [network = ''] = range.split('/')
  const numbers = network.split('.')
  return [...numbers.slice(0, 3), Number(numbers[3]) + 1].join('.')
}

/** Creates those of the objects that are missing. */
export function provideApiService({ storage, ids, clock, serviceRange }: ClusterState): void {
  for (const [table, object] of objectsIn(serviceRange)) {
    if (storage.table(table).get(object.metadata.namespace, place.name)) continue
    const time = formatTime(clock.now())
    const metadata = { ...object.metadata, uid: ids(), creationTimestamp: time }
    const isRange = object.kind === 'ServiceCIDR'
    storage.put(table, { ...object, metadata, ...(isRange && { status: { conditions: [readySince(time)] } }) })
  }
}

function readySince(lastTransitionTime: string): Json {
  const message = 'Kubernetes default Service CIDR is ready'
  return { type: 'Ready', status: 'True', lastTransitionTime, reason: '', message }
}

/** Recreates the objects whenever one is deleted. */
export function startApiServiceController(state: ClusterState): void {
  let isScheduled = false
  state.storage.onChange(({ name: table }, { type, object, isUndoing }) => {
    const { name, namespace } = object.metadata
    if (type !== 'DELETED' || name !== place.name || !tables.has(table)) return
    if (namespace !== undefined && namespace !== place.namespace) return
    if (isScheduled) return
    isScheduled = true
    const provide = (): void => {
      isScheduled = false
      provideApiService(state)
    }
    // A write that the journal failed to store is retried later.
    if (isUndoing) state.clock.after(retryMs, provide)
    else queueMicrotask(provide)
  })
}

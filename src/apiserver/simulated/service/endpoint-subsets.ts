/**
 * Subsets of Endpoints in their canonical form: addresses with the same ports are grouped. A named port is resolved by
 * each pod's containers, so the pods of one Service may have different ports.
 */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { EndpointAddress, EndpointPort, EndpointSubset, ServicePort } from '../../../kube/types/core/v1.ts'
import type { StoredIn, StoredPod } from '../controller/cluster.ts'

/** The ports of a Service as this pod resolves them. A named port that the pod does not have is omitted. */
export function portsOf({ spec }: StoredIn<'services'>, pod: StoredPod): readonly EndpointPort[] {
  return (spec?.ports ?? []).flatMap((one) => {
    const port = numberOf(one, pod)
    if (port === undefined) return []
    const { name, protocol = 'TCP', appProtocol } = one
    return [{ ...(name && { name }), port, protocol, ...(appProtocol && { appProtocol }) }]
  })
}

function numberOf({ targetPort, port, protocol = 'TCP' }: ServicePort, { spec }: StoredPod): number | undefined {
  if (typeof targetPort !== 'string') return targetPort || port
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  return [...(spec?.containers ?? []), ...sidecars]
    .flatMap(({ ports = [] }) => ports)
    .find((one) => one.name === targetPort && (one.protocol ?? 'TCP') === protocol)?.containerPort
}

export function hostnameOf({ spec }: StoredPod, { metadata }: StoredIn<'services'>): string | undefined {
  return spec?.subdomain === metadata.name && spec?.hostname ? spec.hostname : undefined
}

/** Sorted ports as a string: equal for equal sets of ports. */
export function portsKey(
  ports: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string }[],
): string {
  return ports
    .map((one) =>
      JSON.stringify([
        one.name ?? '',
        one.protocol ?? 'TCP',
        one.port ?? 0,
        'appProtocol' in one ? one.appProtocol : '',
      ]),
    )
    .toSorted()
    .join()
}

interface Offer {
  readonly address: EndpointAddress
  /** Its ports, and whether it is ready on each. */
  readonly ports: Map<string, { readonly port: EndpointPort | undefined; isReady: boolean }>
}

/** The same addresses and ports, with each address in as few subsets as possible. */
export function repack(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  const offers = new Map<string, Offer>()
  const add = (address: EndpointAddress, port: EndpointPort | undefined, isReady: boolean): void => {
    const key = `${address.ip} ${address.targetRef?.uid ?? ''}`
    const offer = offers.get(key) ?? { address, ports: new Map() }
    offers.set(key, offer)
    const portKey = port ? portsKey([port]) : ''
    const known = offer.ports.get(portKey)
    // An address that is listed both as ready and as not ready counts as not ready.
    if (known) known.isReady &&= isReady
    else offer.ports.set(portKey, { port, isReady })
  }
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    for (const port of ports.length > 0 ? ports : [undefined]) {
      for (const address of addresses) add(address, port, true)
      for (const address of notReadyAddresses) add(address, port, false)
    }
  }
  // Ports with the same addresses and readiness share a subset.
  const byPort = new Map<string, { port: EndpointPort | undefined; offers: [string, EndpointAddress, boolean][] }>()
  for (const [key, { address, ports }] of offers) {
    for (const [portKey, { port, isReady }] of ports) {
      const found = byPort.get(portKey) ?? { port, offers: [] }
      byPort.set(portKey, found)
      found.offers.push([key, address, isReady])
    }
  }
  const packed = new Map<string, { ports: EndpointPort[]; offers: readonly [string, EndpointAddress, boolean][] }>()
  for (const { port, offers: held } of byPort.values()) {
    const sorted = held.toSorted(([a], [b]) => compare(a, b))
    const key = JSON.stringify(sorted.map(([address, , isReady]) => [address, isReady]))
    const found = packed.get(key) ?? { ports: [], offers: sorted }
    packed.set(key, found)
    if (port) found.ports.push(port)
  }
  return [...packed.values()]
    .map(({ ports, offers: held }) => subsetOf(ports, held))
    .toSorted((a, b) => compare(JSON.stringify(a), JSON.stringify(b)))
}

type Held = readonly [key: string, address: EndpointAddress, isReady: boolean]

function subsetOf(ports: readonly EndpointPort[], held: readonly Held[]): EndpointSubset {
  const ready = held.flatMap(([, address, isReady]) => (isReady ? [address] : []))
  const unready = held.flatMap(([, address, isReady]) => (isReady ? [] : [address]))
  return {
    ...(ready.length > 0 && { addresses: ready }),
    ...(unready.length > 0 && { notReadyAddresses: unready }),
    ...(ports.length > 0 && { ports: ports.toSorted((a, b) => compare(portsKey([a]), portsKey([b]))) }),
  }
}

export function isSameContent(a: object, b: object): boolean {
  return equalJson(a as Json, b as Json)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Columns of Services, endpoints, Ingresses and network policies. */
import type { Endpoints, LoadBalancerIngress, Service } from '../../kube/types/core/v1.ts'
import type { EndpointSlice } from '../../kube/types/discovery/v1.ts'
import type { Ingress, IngressClass, IPAddress, NetworkPolicy, ServiceCIDR } from '../../kube/types/networking/v1.ts'
import { age, type Columns, fewOf, joined, labelText, nameCell, orNone, selectorText } from './cells.ts'

export const services: Columns<Service> = {
  Name: nameCell,
  Type: ({ spec }) => spec?.type ?? '',
  'Cluster-IP': ({ spec }) => spec?.clusterIPs?.[0] ?? '<none>',
  'External-IP': externalAddress,
  'Port(s)': ({ spec }) =>
    orNone(
      (spec?.ports ?? [])
        .map(({ port, nodePort, protocol }) => `${nodePort ? `${port}:${nodePort}` : port}/${protocol ?? ''}`)
        .join(','),
    ),
  Age: age,
  Selector: ({ spec }) => labelText(spec?.selector),
}

function externalAddress({ spec, status }: Service): string {
  const external = spec?.externalIPs ?? []
  switch (spec?.type) {
    case 'ClusterIP':
    case 'NodePort':
      return orNone(external.join(','))
    case 'LoadBalancer':
      return [...addresses(status?.loadBalancer?.ingress), ...external].join(',') || '<pending>'
    case 'ExternalName':
      return spec.externalName ?? ''
    default:
      return '<unknown>'
  }
}

function addresses(ingress: readonly Pick<LoadBalancerIngress, 'ip' | 'hostname'>[] | undefined): readonly string[] {
  const all = (ingress ?? []).map(({ ip, hostname }) => ip || (hostname ?? ''))
  return [...new Set(all.filter((address) => address !== ''))].toSorted()
}

export const endpoints: Columns<Endpoints> = {
  Name: nameCell,
  Endpoints({ subsets = [] }) {
    if (subsets.length === 0) return '<none>'
    const all = subsets.flatMap(({ addresses: hosts = [], ports = [] }) => {
      if (ports.length === 0) return hosts.map(({ ip }) => ip)
      return ports.flatMap(({ port }) => hosts.map(({ ip }) => `${ip.includes(':') ? `[${ip}]` : ip}:${port}`))
    })
    return fewOf(all, 3)
  },
  Age: age,
}

export const endpointSlices: Columns<EndpointSlice> = {
  Name: nameCell,
  AddressType: ({ addressType }) => addressType ?? '',
  Ports: ({ ports }) =>
    fewOf(
      (ports ?? []).map(({ port, name: word }) => String(port ?? word ?? '*')),
      3,
    ) || '<unset>',
  Endpoints: (slice) =>
    fewOf(
      (slice.endpoints ?? []).flatMap((one) => one.addresses ?? []),
      3,
    ) || '<unset>',
  Age: age,
}

export const ingresses: Columns<Ingress> = {
  Name: nameCell,
  Class: ({ spec }) => spec?.ingressClassName ?? '<none>',
  Hosts({ spec }) {
    const rules = spec?.rules ?? []
    const hosts = rules.map(({ host = '' }) => host).filter((host) => host !== '')
    if (hosts.length === 0) return '*'
    // Rules without a host also count as more, but only after the third host.
    const third = rules.indexOf(rules.filter(({ host }) => host)[2]!)
    const hasMore = third >= 0 && rules.length > third + 1
    const shown = hosts.slice(0, 3).join(',')
    return hasMore ? `${shown} + ${rules.length - 3} more...` : shown
  },
  Address: ({ status }) => addresses(status?.loadBalancer?.ingress).join(','),
  Ports: ({ spec }) => ((spec?.tls ?? []).length > 0 ? '80, 443' : '80'),
  Age: age,
}

export const ingressClasses: Columns<IngressClass> = {
  Name(ingressClass) {
    const isDefault = ingressClass.metadata?.annotations?.['ingressclass.kubernetes.io/is-default-class'] === 'true'
    return isDefault ? `${nameCell(ingressClass)} (default)` : nameCell(ingressClass)
  },
  Controller: ({ spec }) => spec?.controller ?? '',
  Parameters({ spec }) {
    const { parameters } = spec ?? {}
    if (!parameters) return '<none>'
    const { apiGroup, kind, name: named } = parameters
    return `${apiGroup === undefined ? kind : `${kind}.${apiGroup}`}/${named}`
  },
  Age: age,
}

export const networkPolicies: Columns<NetworkPolicy> = {
  Name: nameCell,
  'Pod-Selector': ({ spec }) => selectorText(spec?.podSelector),
  Age: age,
}

export const ipAddresses: Columns<IPAddress> = {
  Name: nameCell,
  ParentRef({ spec }) {
    const { parentRef } = spec ?? {}
    if (!parentRef) return '<none>'
    const { group, resource, namespace, name: named } = parentRef
    const kind = (group ? `${resource}.${group}` : resource).toLowerCase()
    return [kind, ...(namespace ? [namespace] : []), named].join('/')
  },
  // Has a cell but no column definition, as in kube-apiserver.
  Age: age,
}

export const serviceCidrs: Columns<ServiceCIDR> = {
  Name: nameCell,
  CIDRs: ({ spec }) => joined(spec?.cidrs),
  Age: age,
}

/** Networking, discovery and coordination: what is filled in, refused, and may not change. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { tryChange, tryCreate } from './outcome.ts'
import { openServer } from './server.ts'

const server = openServer()
let namespace = ''
beforeAll(async () => {
  namespace = await server.namespace()
})

const groups: Readonly<Record<string, string>> = {
  ingresses: 'networking.k8s.io/v1',
  ingressclasses: 'networking.k8s.io/v1',
  networkpolicies: 'networking.k8s.io/v1',
  servicecidrs: 'networking.k8s.io/v1',
  ipaddresses: 'networking.k8s.io/v1',
  endpointslices: 'discovery.k8s.io/v1',
  leases: 'coordination.k8s.io/v1',
}
const clustered = new Set(['ingressclasses', 'servicecidrs', 'ipaddresses'])
const pathOf = (plural: string): string =>
  `/apis/${groups[plural]}/${clustered.has(plural) ? plural : `namespaces/${namespace}/${plural}`}`

const backend = { service: { name: 'web', port: { number: 80 } } }
const path = { path: '/', pathType: 'Prefix', backend }
const ruled = (...paths: readonly JsonObject[]): JsonObject => ({
  spec: { rules: [{ host: 'a.example.com', http: { paths } }] },
})
const slice = { addressType: 'IPv4', endpoints: [{ addresses: ['1.2.3.4'] }], ports: [{ port: 80 }] }

describe('a new object', () => {
  it.each<[string, string, JsonObject]>([
    ['ingress', 'ingresses', ruled(path)],
    [
      'ingress of a default backend',
      'ingresses',
      { spec: { defaultBackend: backend, ingressClassName: 'x', tls: [{ hosts: ['a.b'], secretName: 's' }] } },
    ],
    [
      'ingress to a resource',
      'ingresses',
      { spec: { defaultBackend: { resource: { apiGroup: 'example.com', kind: 'Bucket', name: 'b' } } } },
    ],
    [
      'ingress of a wildcard',
      'ingresses',
      { spec: { rules: [{ host: '*.example.com' }] }, status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } },
    ],
    ['ingress class', 'ingressclasses', { spec: { controller: 'example.com/own' } }],
    [
      'ingress class with parameters',
      'ingressclasses',
      { spec: { controller: 'example.com/own', parameters: { apiGroup: 'example.com', kind: 'Own', name: 'x' } } },
    ],
    ['network policy for all', 'networkpolicies', { spec: { podSelector: {} } }],
    [
      'network policy',
      'networkpolicies',
      {
        spec: {
          podSelector: { matchLabels: { a: 'b' } },
          ingress: [
            { ports: [{ port: 80 }, { protocol: 'UDP', port: 100, endPort: 200 }], from: [{ podSelector: {} }] },
          ],
          egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }] }],
        },
      },
    ],
    ['service range', 'servicecidrs', { spec: { cidrs: ['10.99.0.0/24'] } }],
    [
      'address',
      'ipaddresses',
      { metadata: { name: '10.99.0.1' }, spec: { parentRef: { resource: 'services', name: 's', namespace: 'n' } } },
    ],
    ['slice', 'endpointslices', slice],
    [
      'slice of hosts',
      'endpointslices',
      {
        addressType: 'FQDN',
        endpoints: [{ addresses: ['a.example.com'], conditions: { ready: true } }],
        ports: [{ name: '', protocol: 'SCTP' }],
      },
    ],
    ['slice of nothing', 'endpointslices', { addressType: 'IPv6', endpoints: [] }],
    [
      'lease',
      'leases',
      { spec: { holderIdentity: 'me', leaseDurationSeconds: 15, renewTime: '2020-01-01T00:00:00.000000Z' } },
    ],
    ['lease of nothing', 'leases', {}],
  ])('%s', async (_what, plural, body) => {
    expect(await tryCreate(server, pathOf(plural), body)).toMatchSnapshot()
  })
})

describe('rejects', () => {
  it.each<[string, string, JsonObject]>([
    ['an empty ingress', 'ingresses', {}],
    ['an ingress without path type', 'ingresses', ruled({ path: '/', backend })],
    ['an ingress of an unknown path type', 'ingresses', ruled({ ...path, pathType: 'Regex' })],
    [
      'an ingress with relative paths',
      'ingresses',
      ruled(
        { ...path, path: 'x' },
        { ...path, path: '' },
        { ...path, path: '/a//b' },
        { ...path, path: '/a/../b' },
        { ...path, path: '/%2f' },
      ),
    ],
    ['an ingress without paths', 'ingresses', { spec: { rules: [{ http: { paths: [] } }] } }],
    ['an ingress without a backend', 'ingresses', ruled({ ...path, backend: {} })],
    ['an ingress to a service without port', 'ingresses', ruled({ ...path, backend: { service: { name: 'web' } } })],
    [
      'an ingress to a bad service',
      'ingresses',
      ruled({ ...path, backend: { service: { name: 'A', port: { number: 99_999 } } } }),
    ],
    [
      'an ingress to a port by two names',
      'ingresses',
      ruled({ ...path, backend: { service: { name: 'web', port: { number: 80, name: 'x' } } } }),
    ],
    [
      'an ingress to two backends',
      'ingresses',
      ruled({ ...path, backend: { ...backend, resource: { kind: 'K', name: 'n' } } }),
    ],
    [
      'an ingress of bad hosts',
      'ingresses',
      { spec: { rules: [{ host: '1.2.3.4' }, { host: 'A_b' }, { host: '*.*.com' }, { host: '*' }] } },
    ],
    [
      'an ingress of bad TLS',
      'ingresses',
      { spec: { defaultBackend: backend, tls: [{ hosts: ['A'], secretName: 'B' }], ingressClassName: 'C' } },
    ],
    [
      'an ingress of two classes',
      'ingresses',
      {
        metadata: { annotations: { 'kubernetes.io/ingress.class': 'a' } },
        spec: { defaultBackend: backend, ingressClassName: 'b' },
      },
    ],
    ['an ingress class without controller', 'ingressclasses', {}],
    [
      'an ingress class of a bad controller',
      'ingressclasses',
      { spec: { controller: 'own', parameters: { kind: '', name: '', scope: 'X' } } },
    ],
    [
      'an ingress class with parameters of no namespace',
      'ingressclasses',
      { spec: { controller: 'a.b/c', parameters: { kind: 'K', name: 'n', scope: 'Namespace' } } },
    ],
    [
      'an ingress class with parameters of a namespace too many',
      'ingressclasses',
      { spec: { controller: 'a.b/c', parameters: { kind: 'K', name: 'n', scope: 'Cluster', namespace: 'x' } } },
    ],
    [
      'a network policy of bad ports',
      'networkpolicies',
      {
        spec: {
          podSelector: {},
          ingress: [
            {
              ports: [
                { protocol: 'X', port: 0 },
                { port: 'a_b' },
                { endPort: 5 },
                { port: 9, endPort: 5 },
                { port: 'web', endPort: 5 },
              ],
            },
          ],
        },
      },
    ],
    [
      'a network policy of bad peers',
      'networkpolicies',
      {
        spec: {
          podSelector: {},
          egress: [
            {
              to: [
                {},
                { podSelector: {}, ipBlock: { cidr: 'x' } },
                { ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/8', '10.0.0.0/8', 'x'] } },
              ],
            },
          ],
        },
      },
    ],
    [
      'a network policy of bad types',
      'networkpolicies',
      { spec: { podSelector: { matchLabels: { 'a b': 'c' } }, policyTypes: ['X'] } },
    ],
    [
      'a network policy of too many types',
      'networkpolicies',
      { spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress', 'Ingress'] } },
    ],
    ['an empty service range', 'servicecidrs', {}],
    ['an invalid service range', 'servicecidrs', { spec: { cidrs: ['10.0.0.1/24', 'x', '10.1.0.0/24'] } }],
    [
      'an invalid address',
      'ipaddresses',
      { metadata: { name: 'x' }, spec: { parentRef: { resource: 'services', name: 's' } } },
    ],
    ['an address without a parent', 'ipaddresses', { metadata: { name: '10.99.0.1' }, spec: {} }],
    ['a slice of no type', 'endpointslices', { endpoints: [] }],
    ['a slice of an unknown type', 'endpointslices', { addressType: 'X', endpoints: [] }],
    [
      'a slice of bad addresses',
      'endpointslices',
      { addressType: 'IPv4', endpoints: [{ addresses: [] }, { addresses: ['x', '127.0.0.1', '::1'] }] },
    ],
    [
      'a slice of bad endpoints',
      'endpointslices',
      {
        ...slice,
        endpoints: [
          { addresses: ['1.2.3.4'], hostname: 'A', nodeName: 'B_', zone: 'x', deprecatedTopology: { 'a b': 'c' } },
        ],
      },
    ],
    [
      'a slice of bad ports',
      'endpointslices',
      { ...slice, ports: [{ name: 'A', port: 0, protocol: 'X' }, { name: 'b' }, { name: 'b', appProtocol: 'x y' }] },
    ],
    ['a slice of bad hosts', 'endpointslices', { addressType: 'FQDN', endpoints: [{ addresses: ['A_b'] }] }],
    ['a lease of no duration', 'leases', { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } }],
    ['a lease without a holder', 'leases', { spec: { holderIdentity: '' } }],
    ['a lease of a strategy without more', 'leases', { spec: { strategy: 'X', preferredHolder: 'y' } }],
  ])('%s', async (_what, plural, body) => {
    expect(await tryCreate(server, pathOf(plural), body)).toMatchSnapshot()
  })
})

describe('a change', () => {
  it.each<[string, string, JsonObject, JsonObject]>([
    [
      'of an ingress',
      'ingresses',
      ruled(path),
      { spec: { rules: [{ host: 'b.example.com' }] }, status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } },
    ],
    ['of an ingress to nothing', 'ingresses', ruled(path), { spec: { rules: null } }],
    [
      'of the controller of a class',
      'ingressclasses',
      { spec: { controller: 'a.b/c' } },
      { spec: { controller: 'a.b/d' } },
    ],
    [
      'of the parameters of a class',
      'ingressclasses',
      { spec: { controller: 'a.b/c' } },
      { spec: { parameters: { kind: 'K', name: 'n', scope: 'Cluster' } } },
    ],
    ['of a network policy', 'networkpolicies', { spec: { podSelector: {} } }, { spec: { policyTypes: ['Egress'] } }],
    ['of the type of a slice', 'endpointslices', { ...slice, endpoints: [] }, { addressType: 'IPv6' }],
    ['of the ports of a slice', 'endpointslices', slice, { ports: [{ port: 81, name: 'x' }] }],
    ['of a lease', 'leases', { spec: { holderIdentity: 'a' } }, { spec: { holderIdentity: 'b', leaseTransitions: 2 } }],
    [
      'of a lease backwards',
      'leases',
      { spec: { holderIdentity: 'a', leaseTransitions: 2 } },
      { spec: { leaseTransitions: 1 } },
    ],
  ])('%s', async (_what, plural, first, patch) => {
    expect(await tryChange(server, pathOf(plural), first, patch)).toMatchSnapshot()
  })
})

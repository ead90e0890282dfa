/** Services: what is filled in, allocated, refused, and kept. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { outcomeOf, tryChange, tryCreate } from './outcome.ts'
import { at, openServer } from './server.ts'

const server = openServer()
let services = ''
beforeAll(async () => {
  services = `/api/v1/namespaces/${await server.namespace()}/services`
})

const ports = [{ port: 80 }]
const named = [
  { name: 'a', port: 80 },
  { name: 'b', port: 81, targetPort: 'web', protocol: 'UDP', appProtocol: 'kubernetes.io/h2c' },
]
const balanced = { type: 'LoadBalancer', ports }

describe('a new service', () => {
  it.each<[string, JsonObject]>([
    ['without a type', { ports }],
    ['with a selector', { selector: { app: 'web' }, ports: named }],
    ['with sticky sessions', { ports, sessionAffinity: 'ClientIP' }],
    ['with an unused affinity configuration', { ports, sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }],
    ['headless', { clusterIP: 'None', selector: { app: 'web' } }],
    ['headless without selector', { clusterIP: 'None', ports }],
    ['by an external name', { type: 'ExternalName', externalName: 'example.com.' }],
    ['on node ports', { type: 'NodePort', ports: named }],
    [
      'on one node port for two protocols',
      {
        type: 'NodePort',
        ports: [
          { name: 'a', port: 53, protocol: 'UDP' },
          { name: 'b', port: 53, protocol: 'TCP' },
        ],
      },
    ],
    ['behind a load balancer', balanced],
    ['behind a load balancer, local', { ...balanced, externalTrafficPolicy: 'Local' }],
    ['behind a load balancer without node ports', { ...balanced, allocateLoadBalancerNodePorts: false }],
    ['with source ranges', { ...balanced, loadBalancerSourceRanges: ['10.0.0.0/8', ' 1.2.3.4/32 '] }],
    ['with external IPs', { ports, externalIPs: ['1.2.3.4'] }],
    ['with a requested address', { ports, clusterIP: '10.0.77.77' }],
    ['of one family', { ports, ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }],
    ['with PreferDualStack', { ports, ipFamilyPolicy: 'PreferDualStack' }],
    ['with a traffic distribution', { ports, trafficDistribution: 'PreferClose' }],
    ['with unready addresses', { ports, publishNotReadyAddresses: true }],
  ])('%s', async (_what, spec) => {
    expect(await tryCreate(server, services, { spec })).toMatchSnapshot()
  })
})

describe('rejects a service', () => {
  it.each<[string, JsonObject]>([
    ['without ports', {}],
    ['without spec and ports', { type: 'NodePort' }],
    ['of an unknown type', { type: 'Magic', ports }],
    ['of an unknown session affinity', { ports, sessionAffinity: 'Sometimes' }],
    [
      'with an absurd timeout',
      { ports, sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 90000 } } },
    ],
    ['whose ports have no names', { ports: [{ port: 80 }, { port: 81 }] }],
    [
      'whose ports share a name',
      {
        ports: [
          { name: 'a', port: 80 },
          { name: 'a', port: 81 },
        ],
      },
    ],
    [
      'whose ports share a number',
      {
        ports: [
          { name: 'a', port: 80 },
          { name: 'b', port: 80 },
        ],
      },
    ],
    [
      'whose ports are out of range',
      {
        ports: [
          { name: 'A_', port: 0 },
          { name: 'b', port: 70000, targetPort: 99999 },
        ],
      },
    ],
    ['with an unknown protocol', { ports: [{ port: 80, protocol: 'ICMP' }] }],
    ['with bad names of ports', { ports: [{ port: 80, targetPort: 'way-too-long-a-port-name', appProtocol: 'a b' }] }],
    ['with an invalid selector', { ports, selector: { 'x y': 'z z' } }],
    ['with a node port of type ClusterIP', { ports: [{ port: 80, nodePort: 30080 }] }],
    ['with an invalid address', { ports, clusterIP: 'here' }],
    ['with an address out of range', { ports, clusterIP: '192.168.1.1' }],
    ['with an address of the other family', { ports, clusterIP: 'fd00::1' }],
    ['whose addresses differ', { ports, clusterIP: '10.0.1.1', clusterIPs: ['10.0.1.2'] }],
    ['with addresses but no address', { ports, clusterIPs: ['10.0.1.2'] }],
    ['headless on a node port', { type: 'NodePort', clusterIP: 'None', ports }],
    ['headless behind a load balancer', { type: 'LoadBalancer', clusterIP: 'None', ports }],
    ['of an unavailable family', { ports, ipFamilies: ['IPv6'] }],
    ['of an unknown family and policy', { ports, ipFamilies: ['IPv5'], ipFamilyPolicy: 'Maybe' }],
    ['with RequireDualStack', { ports, ipFamilyPolicy: 'RequireDualStack' }],
    ['of an external name that is missing', { type: 'ExternalName' }],
    ['of an invalid external name', { type: 'ExternalName', externalName: 'a_b', clusterIP: '10.0.0.9' }],
    ['with invalid external IPs', { ports, externalIPs: ['x', '127.0.0.1', '0.0.0.0', '169.254.1.1', '01.2.3.4'] }],
    ['with invalid source ranges', { ...balanced, loadBalancerSourceRanges: ['10.0.0.1/8', 'x'] }],
    ['with unused source ranges', { ports, loadBalancerSourceRanges: ['10.0.0.0/8'] }],
    [
      'with load balancer settings of another type',
      {
        ports,
        allocateLoadBalancerNodePorts: true,
        loadBalancerClass: 'a/b',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 30001,
      },
    ],
    ['with an invalid class', { ...balanced, loadBalancerClass: 'a b' }],
    [
      'with unknown policies',
      {
        ...balanced,
        externalTrafficPolicy: 'Nearby',
        internalTrafficPolicy: 'Nearby',
        trafficDistribution: 'Nearby',
      },
    ],
  ])('%s', async (_what, spec) => {
    expect(await tryCreate(server, services, { spec })).toMatchSnapshot()
  })
})

describe('a service', () => {
  it.each(['1a', 'A', 'a.b', 'a'.repeat(64)])('named %s', async (name) => {
    expect(await tryCreate(server, services, { metadata: { name }, spec: { ports } })).toMatchSnapshot()
  })
})

describe('an updated service', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['keeps its address', { ports }, { clusterIP: null, clusterIPs: null, ports: [{ port: 81 }] }],
    ['cannot have another address', { ports }, { clusterIP: '10.0.99.99' }],
    ['cannot stop being headless', { ports }, { clusterIP: 'None', clusterIPs: ['None'] }],
    ['cannot change family', { ports }, { ipFamilies: ['IPv6'] }],
    ['gets node ports', { ports }, { type: 'NodePort' }],
    ['keeps its node ports', { type: 'NodePort', ports }, { ports: [{ port: 90 }] }],
    ['loses its node ports', { type: 'NodePort', ports }, { type: 'ClusterIP' }],
    ['loses its address', { ports }, { type: 'ExternalName', externalName: 'a.b' }],
    [
      'gets an address',
      { type: 'ExternalName', externalName: 'a.b' },
      { type: 'ClusterIP', externalName: null, ports },
    ],
    ['loses its load balancer', { ...balanced, loadBalancerClass: 'a/b' }, { type: 'ClusterIP' }],
    ['gets a health check', balanced, { externalTrafficPolicy: 'Local' }],
    ['loses its health check', { ...balanced, externalTrafficPolicy: 'Local' }, { externalTrafficPolicy: 'Cluster' }],
    ['keeps its class', { ...balanced, loadBalancerClass: 'a/b' }, { loadBalancerClass: 'a/c' }],
    ['loses all ports', { ports }, { ports: [] }],
    ['stays as it is', { ports }, {}],
  ])('%s', async (_what, first, patch) => {
    expect(await tryChange(server, services, { spec: first }, { spec: patch })).toMatchSnapshot()
  })

  it('has a unique address and unique ports', async () => {
    const body = { metadata: { name: 'first' }, spec: { type: 'NodePort', ports } }
    const { spec } = await server.must('POST', services, { body })
    server.cleanUp(`${services}/first`)
    const clusterIP = at(spec, 'clusterIP')!
    // A dry run does not look who has what.
    const other = { metadata: { name: 'other' }, spec: { ports, clusterIP } }
    expect(outcomeOf(server, await server.call('POST', services, { body: other }))).toMatchSnapshot('address')
    const nodePort = at(spec, 'ports', 0, 'nodePort') as number
    const second = { metadata: { name: 'second' }, spec: { type: 'NodePort', ports: [{ port: 80, nodePort }] } }
    const { status, body: refusal } = await server.call('POST', services, { body: second })
    expect(status).toBe(422)
    const message = at(refusal, 'message') as string
    expect(message.replace(String(nodePort), 'NODE-PORT')).toMatchSnapshot('port')
  })

  it('gets no node port out of range', async () => {
    const body = { metadata: { name: 'low' }, spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] } }
    expect(outcomeOf(server, await server.call('POST', services, { body }))).toMatchSnapshot()
  })

  it('reports its load balancer in its status', async () => {
    const created = await server.must('POST', services, { body: { metadata: { name: 'status' }, spec: balanced } })
    server.cleanUp(`${services}/status`)
    const set = (ingress: readonly JsonObject[]): JsonObject => ({ ...created, status: { loadBalancer: { ingress } } })
    const url = `${services}/status/status?dryRun=All`
    expect(outcomeOf(server, await server.call('PUT', url, { body: set([{ ip: '1.2.3.4' }]) }))).toMatchSnapshot('good')
    const bad = set([{ ip: 'x', hostname: '1.2.3.4', ipMode: 'Fast' }, { hostname: 'a_b' }])
    expect(outcomeOf(server, await server.call('PUT', url, { body: bad }))).toMatchSnapshot('bad')
  })
})

import { describe, expect, it } from 'vitest'
import {
  condition,
  openSimulatedCluster,
  type SimulatedCluster,
  template,
  webSelector,
} from '../../../../test/simulated-cluster.ts'
import type { EndpointSlice } from '../../../kube/types/discovery/v1.ts'

async function slicesOf(cluster: SimulatedCluster, service: string): Promise<readonly EndpointSlice[]> {
  const slices = await cluster.list('EndpointSlice')
  return slices.filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === service)
}

describe('the endpoints of a service', () => {
  it('are its ready pods, in Endpoints and EndpointSlices', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('Service', 'web', {
      spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    })
    await cluster.create('Deployment', 'web', { spec: { replicas: 3, selector: webSelector, template: template() } })
    await cluster.seconds(5)
    const ips = (await cluster.list('Pod')).map(({ status }) => status!.podIP!).toSorted()
    const slices = await slicesOf(cluster, 'web')
    expect(slices).toHaveLength(1)
    const [slice] = slices
    expect(slice!.metadata.labels).toMatchObject({
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    })
    expect(slice!.ports).toEqual([{ name: 'http', port: 8080, protocol: 'TCP' }])
    expect(slice!.endpoints?.flatMap(({ addresses }) => addresses).toSorted()).toEqual(ips)
    const old = await cluster.get('Endpoints', 'web')
    expect(old.subsets?.[0]?.addresses?.map(({ ip }) => ip).toSorted()).toEqual(ips)

    const [first] = await cluster.list('Pod')
    await cluster.merge('Pod', first!.metadata.name!, {
      metadata: { annotations: { 'simulated.muster.dev/ready': 'false' } },
    })
    await cluster.seconds(1)
    const after = (await slicesOf(cluster, 'web'))[0]!
    const unready = after.endpoints?.filter(({ conditions }) => conditions?.ready === false)
    expect(unready?.map(({ targetRef }) => targetRef?.name)).toEqual([first!.metadata.name])
    expect((await cluster.get('Endpoints', 'web')).subsets?.[0]?.notReadyAddresses).toHaveLength(1)
  })

  it('are spread over slices of a hundred, and removed with their pods', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('Service', 'web', { spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } })
    await cluster.create('ReplicaSet', 'web', { spec: { replicas: 230, selector: webSelector, template: template() } })
    await cluster.seconds(10)
    const sizes = async (): Promise<readonly number[]> =>
      (await slicesOf(cluster, 'web')).map(({ endpoints }) => endpoints?.length ?? 0).toSorted((a, b) => a - b)
    expect(await sizes()).toEqual([30, 100, 100])
    await cluster.merge('ReplicaSet', 'web', { spec: { replicas: 0 } })
    await cluster.seconds(10)
    expect(await sizes()).toEqual([0])
  })

  it('are deleted with their Service, while Endpoints that never had one stay', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('Service', 'web', { spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } })
    await cluster.create('Service', 'plain', { spec: { ports: [{ port: 80 }] } })
    await cluster.create('Endpoints', 'plain', { subsets: [{ addresses: [{ ip: '192.0.2.1' }] }] })
    await cluster.create('Endpoints', 'alone', { subsets: [{ addresses: [{ ip: '192.0.2.2' }] }] })
    await cluster.seconds(1)
    expect(await cluster.find('Endpoints', 'web')).toBeDefined()
    await cluster.remove('Service', 'web')
    await cluster.remove('Service', 'plain')
    await cluster.seconds(1)
    expect((await cluster.list('Endpoints')).map(({ metadata }) => metadata.name)).not.toContain('web')
    expect(await cluster.find('Endpoints', 'plain')).toBeUndefined()
    expect(await cluster.find('Endpoints', 'alone')).toBeDefined()
    expect(cluster.failures).toEqual([])
  })

  it('resolve named ports by the containers of each pod', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('Service', 'web', {
      spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
    })
    const pod = async (name: string, containerPort: number, portName = 'http'): Promise<void> =>
      void (await cluster.create(
        'Pod',
        name,
        { spec: { containers: [{ name: 'web', image: 'web', ports: [{ name: portName, containerPort }] }] } },
        { labels: { app: 'web' } },
      ))
    await pod('old', 8080)
    await pod('new', 9090)
    await pod('other', 7070, 'admin')
    await cluster.seconds(5)
    const offered = (await slicesOf(cluster, 'web')).flatMap(({ ports, endpoints }) =>
      (endpoints ?? []).map(({ targetRef }) => `${targetRef?.name} ${ports?.map(({ port }) => port).join() ?? ''}`),
    )
    expect(offered.toSorted()).toEqual(['new 9090', 'old 8080', 'other '])
    const { subsets = [] } = await cluster.get('Endpoints', 'web')
    const inSubsets = subsets.map(
      ({ addresses, ports }) => `${addresses?.map(({ targetRef }) => targetRef?.name).join()} ${ports?.[0]?.port}`,
    )
    expect(inSubsets.toSorted()).toEqual(['new 9090', 'old 8080'])

    await cluster.remove('Pod', 'old')
    await cluster.remove('Pod', 'other')
    await cluster.seconds(5)
    const left = await slicesOf(cluster, 'web')
    expect(left.map(({ ports }) => ports?.[0]?.port)).toEqual([9090])
  })

  it('are mirrored to slices if a user writes them', async () => {
    const cluster = await openSimulatedCluster()
    const mirrored = async (): Promise<readonly EndpointSlice[]> =>
      (await slicesOf(cluster, 'db')).toSorted((a, b) => (a.addressType < b.addressType ? -1 : 1))
    await cluster.create('Service', 'db', { spec: { ports: [{ port: 5432 }] } })
    await cluster.create('Endpoints', 'db', {
      subsets: [
        {
          addresses: [{ ip: '192.0.2.1', hostname: 'db-0' }, { ip: '2001:db8::1' }],
          notReadyAddresses: [{ ip: '192.0.2.2' }],
          ports: [{ port: 5432 }],
        },
      ],
    })
    await cluster.seconds(1)
    const [v4, v6] = await mirrored()
    expect(v4).toMatchObject({
      addressType: 'IPv4',
      ports: [{ name: '', port: 5432, protocol: 'TCP' }],
      endpoints: [
        { addresses: ['192.0.2.1'], conditions: { ready: true }, hostname: 'db-0' },
        { addresses: ['192.0.2.2'], conditions: { ready: false } },
      ],
    })
    expect(v4!.metadata.labels).toMatchObject({
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    })
    expect(v4!.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'Endpoints', name: 'db', controller: true })
    expect(v6).toMatchObject({ addressType: 'IPv6', endpoints: [{ addresses: ['2001:db8::1'] }] })

    await cluster.merge('Endpoints', 'db', {
      subsets: [{ addresses: [{ ip: '192.0.2.3' }], ports: [{ name: 'sql', port: 5433 }] }],
    })
    await cluster.seconds(1)
    expect(await mirrored()).toMatchObject([
      { ports: [{ name: 'sql', port: 5433 }], endpoints: [{ addresses: ['192.0.2.3'] }] },
    ])
    await cluster.merge('Service', 'db', { spec: { selector: { app: 'db' } } })
    await cluster.seconds(1)
    expect(
      (await mirrored()).map(({ metadata }) => metadata.labels?.['endpointslice.kubernetes.io/managed-by']),
    ).toEqual(['endpointslice-controller.k8s.io'])
    await cluster.remove('Service', 'db')
    await cluster.seconds(1)
    expect(await mirrored()).toEqual([])
    expect(cluster.failures).toEqual([])
  })
})

describe('a disruption budget', () => {
  it('reports how many disruptions are allowed', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('PodDisruptionBudget', 'web', { spec: { maxUnavailable: '50%', selector: webSelector } })
    await cluster.create('Deployment', 'web', { spec: { replicas: 4, selector: webSelector, template: template() } })
    await cluster.seconds(5)
    const budget = await cluster.get('PodDisruptionBudget', 'web')
    expect(budget.status).toMatchObject({
      expectedPods: 4,
      currentHealthy: 4,
      desiredHealthy: 2,
      disruptionsAllowed: 2,
    })
    expect(condition(budget, 'DisruptionAllowed')).toBe('True SufficientPods')
    const [first, second] = await cluster.list('Pod')
    for (const pod of [first, second]) {
      await cluster.merge('Pod', pod!.metadata.name!, {
        metadata: { annotations: { 'simulated.muster.dev/ready': 'false' } },
      })
    }
    await cluster.seconds(1)
    expect(condition(await cluster.get('PodDisruptionBudget', 'web'), 'DisruptionAllowed')).toBe(
      'False InsufficientPods',
    )
  })
})

import { describe, expect, it } from 'vitest'
import { condition, simulated, template, webSelector } from '../../../test/simulated.ts'

describe('the endpoints of a service', () => {
  it('are its ready pods, in both forms', async () => {
    const cluster = await simulated()
    await cluster.create('Service', 'web', {
      spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    })
    await cluster.create('Deployment', 'web', { spec: { replicas: 3, selector: webSelector, template: template() } })
    await cluster.seconds(5)
    const ips = (await cluster.list('Pod')).map(({ status }) => status!.podIP!).toSorted()
    const slices = await cluster.list('EndpointSlice')
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
    const after = (await cluster.list('EndpointSlice'))[0]!
    const unready = after.endpoints?.filter(({ conditions }) => conditions?.ready === false)
    expect(unready?.map(({ targetRef }) => targetRef?.name)).toEqual([first!.metadata.name])
    expect((await cluster.get('Endpoints', 'web')).subsets?.[0]?.notReadyAddresses).toHaveLength(1)
  })

  it('are spread over slices of a hundred, and gone with their pods', async () => {
    const cluster = await simulated()
    await cluster.create('Service', 'web', { spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } })
    await cluster.create('ReplicaSet', 'web', { spec: { replicas: 230, selector: webSelector, template: template() } })
    await cluster.seconds(10)
    const sizes = async (): Promise<readonly number[]> =>
      (await cluster.list('EndpointSlice')).map(({ endpoints }) => endpoints?.length ?? 0).toSorted((a, b) => a - b)
    expect(await sizes()).toEqual([30, 100, 100])
    await cluster.merge('ReplicaSet', 'web', { spec: { replicas: 0 } })
    await cluster.seconds(10)
    expect(await sizes()).toEqual([0])
  })
})

describe('a disruption budget', () => {
  it('knows how many pods may be taken away', async () => {
    const cluster = await simulated()
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

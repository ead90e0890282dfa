import { describe, expect, it } from 'vitest'
import {
  condition,
  openSimulatedCluster,
  type SimulatedCluster,
  template,
  webSelector,
} from '../../../../test/simulated-cluster.ts'
import { simulatedNodes } from '../simulation.ts'

const down = (value: string | null): object => ({ metadata: { annotations: { 'simulated.muster.dev/down': value } } })

async function taints(cluster: SimulatedCluster, name: string): Promise<readonly string[]> {
  return ((await cluster.get('Node', name)).spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`)
}

describe('a node', () => {
  it('becomes ready, whether initial or created by a client', async () => {
    const cluster = await openSimulatedCluster({ nodes: simulatedNodes(1) })
    await cluster.create('Node', 'bare', {})
    await cluster.seconds(1)
    for (const name of ['node-1', 'bare']) {
      expect(condition(await cluster.get('Node', name), 'Ready')).toBe('True KubeletReady')
      expect(await taints(cluster, name)).toEqual([])
    }
  })

  it('that is powered off becomes unreachable, and its pods are evicted after their toleration seconds', async () => {
    const cluster = await openSimulatedCluster({ nodes: simulatedNodes(2) })
    await cluster.create('Deployment', 'web', { spec: { replicas: 4, selector: webSelector, template: template() } })
    await cluster.seconds(5)
    await cluster.merge('Node', 'node-1', down('true'))
    await cluster.seconds(60)
    expect(condition(await cluster.get('Node', 'node-1'), 'Ready')).toBe('Unknown NodeStatusUnknown')
    expect(await taints(cluster, 'node-1')).toEqual([
      'node.kubernetes.io/unreachable:NoSchedule',
      'node.kubernetes.io/unreachable:NoExecute',
    ])
    expect((await cluster.get('Deployment', 'web')).status?.availableReplicas).toBe(2)
    await cluster.seconds(310)
    expect((await cluster.get('Deployment', 'web')).status?.availableReplicas).toBe(4)
    const stuck = (await cluster.list('Pod')).filter(({ spec }) => spec?.nodeName === 'node-1')
    expect(stuck.map(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([true, true])

    await cluster.merge('Node', 'node-1', down(null))
    await cluster.seconds(10)
    expect(condition(await cluster.get('Node', 'node-1'), 'Ready')).toBe('True KubeletReady')
    expect(await taints(cluster, 'node-1')).toEqual([])
    expect(await cluster.list('Pod')).toHaveLength(4)
  })

  it('that is deleted loses its pods', async () => {
    const cluster = await openSimulatedCluster({ nodes: simulatedNodes(2) })
    await cluster.create('Deployment', 'web', { spec: { replicas: 4, selector: webSelector, template: template() } })
    await cluster.seconds(5)
    await cluster.remove('Node', 'node-2')
    await cluster.seconds(60)
    const pods = await cluster.list('Pod')
    expect(pods.map(({ spec }) => spec?.nodeName)).toEqual(['node-1', 'node-1', 'node-1', 'node-1'])
  })

  it('with a NoExecute taint evicts pods that do not tolerate it', async () => {
    const cluster = await openSimulatedCluster({ nodes: simulatedNodes(1) })
    const tolerations = [{ key: 'repair', operator: 'Exists', tolerationSeconds: 30, effect: 'NoExecute' }]
    const containers = [{ name: 'main', image: 'x' }]
    await cluster.create('Pod', 'plain', { spec: { containers } })
    await cluster.create('Pod', 'patient', { spec: { containers, tolerations } })
    await cluster.seconds(3)
    const timeAdded = new Date(cluster.clock.now()).toISOString().replace('.000', '')
    await cluster.merge('Node', 'node-1', { spec: { taints: [{ key: 'repair', effect: 'NoExecute', timeAdded }] } })
    await cluster.seconds(5)
    expect((await cluster.list('Pod')).map(({ metadata }) => metadata.name)).toEqual(['patient'])
    await cluster.seconds(30)
    expect(await cluster.list('Pod')).toEqual([])
  })

  it('has a lease that never expires while it is up', async () => {
    const cluster = await openSimulatedCluster({ nodes: simulatedNodes(1) })
    for (let round = 0; round < 100; round++) {
      await cluster.seconds(7)
      const lease = cluster.state.storage.table('leases.coordination.k8s.io').get('kube-node-lease', 'node-1')
      const { renewTime, leaseDurationSeconds } = lease!['spec'] as { renewTime: string; leaseDurationSeconds: number }
      expect(cluster.clock.now() - Date.parse(renewTime)).toBeLessThan(leaseDurationSeconds * 1000)
    }
  })
})

import { describe, expect, it } from 'vitest'
import { condition, openSimulatedCluster, template, webSelector } from '../../../test/simulated-cluster.ts'
import { simulatedNodes, simulatedWorkloads } from './simulation.ts'

describe('simulated workloads', () => {
  it('run a Deployment: ReplicaSet, pods, nodes, ready, available', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('Deployment', 'web', { spec: { replicas: 3, selector: webSelector, template: template() } })
    await cluster.seconds(3)
    const deployment = await cluster.get('Deployment', 'web')
    expect(deployment.status).toMatchObject({
      replicas: 3,
      updatedReplicas: 3,
      availableReplicas: 3,
      observedGeneration: 1,
    })
    expect(deployment.metadata.generation).toBe(1)
    expect(condition(deployment, 'Available')).toBe('True MinimumReplicasAvailable')
    expect(condition(deployment, 'Progressing')).toBe('True NewReplicaSetAvailable')
    const pods = await cluster.list('Pod')
    expect(pods.map(({ status }) => status?.phase)).toEqual(['Running', 'Running', 'Running'])
    expect(new Set(pods.map(({ spec }) => spec?.nodeName)).size).toBe(3)
    expect(new Set(pods.map(({ status }) => status?.podIP)).size).toBe(3)
    const [owner] = pods[0]!.metadata.ownerReferences ?? []
    expect(owner).toMatchObject({ kind: 'ReplicaSet', controller: true, blockOwnerDeletion: true })
    expect(new Set(pods[0]!.metadata.managedFields?.map(({ manager }) => manager))).toEqual(
      new Set(['kube-controller-manager', 'kubelet']),
    )
    expect(cluster.failures).toEqual([])
  })

  it('write nothing but leases for a whole day if nothing changes', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('Deployment', 'web', { spec: { replicas: 5, selector: webSelector, template: template() } })
    await cluster.create('StatefulSet', 'db', {
      spec: {
        replicas: 2,
        serviceName: 'db',
        selector: { matchLabels: { app: 'db' } },
        template: template({}, {}, { app: 'db' }),
      },
    })
    await cluster.create('DaemonSet', 'agent', {
      spec: { selector: { matchLabels: { app: 'agent' } }, template: template({}, {}, { app: 'agent' }) },
    })
    await cluster.create('Service', 'web', { spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } })
    await cluster.create('PodDisruptionBudget', 'web', { spec: { minAvailable: 1, selector: webSelector } })
    await cluster.seconds(60)
    const written = new Set<string>()
    cluster.state.storage.onChange(({ name }) => void written.add(name))
    await cluster.seconds(86_400)
    expect([...written]).toEqual(['leases.coordination.k8s.io'])
    expect(cluster.failures).toEqual([])
  })

  it('continue where they were after a restart', async () => {
    const cluster = await openSimulatedCluster({ nodes: simulatedNodes(2) })
    await cluster.create('Deployment', 'web', { spec: { replicas: 4, selector: webSelector, template: template() } })
    await cluster.clock.advance(300)
    cluster.stop()
    await cluster.seconds(60)
    expect((await cluster.get('Deployment', 'web')).status?.availableReplicas).toBeUndefined()
    simulatedWorkloads({ nodes: simulatedNodes(2) })(cluster.state)
    await cluster.seconds(5)
    expect((await cluster.get('Deployment', 'web')).status?.availableReplicas).toBe(4)
    expect(await cluster.list('Pod')).toHaveLength(4)
  })

  it('are deterministic for the same seed', async () => {
    const run = async (): Promise<readonly unknown[]> => {
      const cluster = await openSimulatedCluster({}, 42)
      await cluster.create('Deployment', 'web', { spec: { replicas: 6, selector: webSelector, template: template() } })
      await cluster.seconds(5)
      return (await cluster.list('Pod')).map(({ metadata, spec }) => [metadata.name, metadata.uid, spec?.nodeName])
    }
    expect(await run()).toEqual(await run())
  })

  it('delete all dependents with their owner', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('Deployment', 'web', { spec: { replicas: 3, selector: webSelector, template: template() } })
    await cluster.seconds(3)
    await cluster.remove('Deployment', 'web')
    await cluster.seconds(3)
    expect(await cluster.list('ReplicaSet')).toEqual([])
    expect(await cluster.list('Pod')).toEqual([])
  })

  it('adopt a matching pod, and replace one that was relabelled', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create(
      'Pod',
      'stray',
      { spec: { containers: [{ name: 'main', image: 'x' }] } },
      { labels: { app: 'web' } },
    )
    await cluster.create('ReplicaSet', 'web', { spec: { replicas: 2, selector: webSelector, template: template() } })
    await cluster.seconds(3)
    expect(await cluster.list('Pod')).toHaveLength(2)
    expect((await cluster.get('Pod', 'stray')).metadata.ownerReferences?.[0]?.name).toBe('web')
    await cluster.merge('Pod', 'stray', { metadata: { labels: { app: 'debug' } } })
    await cluster.seconds(3)
    expect(await cluster.list('Pod')).toHaveLength(3)
    expect((await cluster.get('Pod', 'stray')).metadata.ownerReferences).toBeUndefined()
    expect((await cluster.get('ReplicaSet', 'web')).status).toMatchObject({ replicas: 2, readyReplicas: 2 })
  })

  it('report why pods cannot be created, and create them once they can', async () => {
    const cluster = await openSimulatedCluster()
    const spec = { replicas: 2, selector: webSelector, template: template({}, { priorityClassName: 'missing' }) }
    await cluster.create('Deployment', 'web', { spec })
    await cluster.seconds(5)
    expect(condition(await cluster.get('Deployment', 'web'), 'ReplicaFailure')).toBe('True FailedCreate')
    await cluster.create('PriorityClass', 'missing', { value: 1 })
    await cluster.seconds(60)
    const deployment = await cluster.get('Deployment', 'web')
    expect([deployment.status?.availableReplicas, condition(deployment, 'ReplicaFailure')]).toEqual([2, undefined])
    expect(cluster.failures).toEqual([])
  })

  it('start many pods at once', async () => {
    const cluster = await openSimulatedCluster({ nodes: simulatedNodes(5) })
    await cluster.create('Deployment', 'web', { spec: { replicas: 500, selector: webSelector, template: template() } })
    await cluster.seconds(5)
    const { status } = await cluster.get('Deployment', 'web')
    expect(status?.availableReplicas).toBe(500)
    const counts = Map.groupBy(await cluster.list('Pod'), ({ spec }) => spec?.nodeName)
    expect([...counts.values()].map((pods) => pods.length)).toEqual([100, 100, 100, 100, 100])
  })

  it('delete events after an hour', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('Pod', 'first', { spec: { containers: [{ name: 'main', image: 'x' }] } })
    await cluster.seconds(4000)
    await cluster.create('Pod', 'second', { spec: { containers: [{ name: 'main', image: 'x' }] } })
    await cluster.seconds(5)
    const names = new Set((await cluster.list('Event')).map(({ involvedObject }) => involvedObject.name))
    expect(names).toEqual(new Set(['second']))
  })

  it('run ReplicationControllers too', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('ReplicationController', 'old', {
      spec: { replicas: 2, selector: { app: 'web' }, template: template() },
    })
    await cluster.seconds(3)
    expect((await cluster.get('ReplicationController', 'old'))['status']).toMatchObject({
      replicas: 2,
      availableReplicas: 2,
    })
  })
})

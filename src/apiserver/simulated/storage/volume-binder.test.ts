import { describe, expect, it } from 'vitest'
import { openSimulatedCluster, type SimulatedCluster } from '../../../../test/simulated-cluster.ts'

async function claim(cluster: SimulatedCluster, spec: object = {}): Promise<void> {
  await cluster.create('PersistentVolumeClaim', 'data', {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } }, ...spec },
  })
}

async function consumer(cluster: SimulatedCluster): Promise<void> {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
  await cluster.create('Pod', 'user', { spec: { containers: [{ name: 'main', image: 'x' }], volumes } })
}

describe('a claim', () => {
  it('waits for its first consumer, and is then bound', async () => {
    const cluster = await openSimulatedCluster()
    await claim(cluster)
    await cluster.seconds(5)
    expect((await cluster.get('PersistentVolumeClaim', 'data')).status?.phase).toBe('Pending')
    await consumer(cluster)
    await cluster.seconds(5)
    expect((await cluster.get('PersistentVolumeClaim', 'data')).status).toMatchObject({
      phase: 'Bound',
      capacity: { storage: '5Gi' },
    })
    expect((await cluster.get('Pod', 'user')).status?.phase).toBe('Running')
  })

  it('is kept while a pod uses it, and is deleted with its volume', async () => {
    const cluster = await openSimulatedCluster()
    await claim(cluster)
    await consumer(cluster)
    await cluster.seconds(5)
    await cluster.remove('PersistentVolumeClaim', 'data')
    await cluster.seconds(5)
    expect((await cluster.get('PersistentVolumeClaim', 'data')).metadata.deletionTimestamp).toBeDefined()
    await cluster.remove('Pod', 'user')
    await cluster.seconds(5)
    expect(await cluster.find('PersistentVolumeClaim', 'data')).toBeUndefined()
    expect(await cluster.list('PersistentVolume')).toEqual([])
  })

  it('is bound to an existing volume, which its reclaim policy retains', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('PersistentVolume', 'disk', {
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '10Gi' },
        hostPath: { path: '/x' },
        storageClassName: 'manual',
      },
    })
    await claim(cluster, { storageClassName: 'manual' })
    await cluster.seconds(1)
    expect((await cluster.get('PersistentVolumeClaim', 'data')).spec?.volumeName).toBe('disk')
    await cluster.remove('PersistentVolumeClaim', 'data')
    await cluster.seconds(1)
    expect((await cluster.get('PersistentVolume', 'disk')).status?.phase).toBe('Released')
  })

  it('stays pending if its class does not exist', async () => {
    const cluster = await openSimulatedCluster()
    await claim(cluster, { storageClassName: 'nowhere' })
    await consumer(cluster)
    await cluster.seconds(5)
    expect((await cluster.get('PersistentVolumeClaim', 'data')).status?.phase).toBe('Pending')
    expect((await cluster.get('Pod', 'user')).status?.conditions?.[0]?.message).toContain(
      'pod has unbound immediate PersistentVolumeClaims',
    )
  })
})

describe('a VolumeAttributesClass', () => {
  it('is kept while a claim names it, and removed when none does', async () => {
    const cluster = await openSimulatedCluster()
    await cluster.create('VolumeAttributesClass', 'fast', {
      driverName: 'example.com/disks',
      parameters: { iops: '9' },
    })
    const { metadata } = await cluster.get('VolumeAttributesClass', 'fast')
    expect(metadata.finalizers).toEqual(['kubernetes.io/vac-protection'])
    await claim(cluster, { volumeAttributesClassName: 'fast' })
    await cluster.remove('VolumeAttributesClass', 'fast')
    await cluster.seconds(1)
    expect((await cluster.get('VolumeAttributesClass', 'fast')).metadata.deletionTimestamp).toBeDefined()
    await cluster.remove('PersistentVolumeClaim', 'data')
    await cluster.seconds(1)
    expect(await cluster.find('VolumeAttributesClass', 'fast')).toBeUndefined()
  })
})

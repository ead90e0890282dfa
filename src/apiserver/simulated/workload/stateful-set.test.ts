import { describe, expect, it } from 'vitest'
import {
  openSimulatedCluster,
  type SimulatedCluster,
  template,
  webSelector,
} from '../../../../test/simulated-cluster.ts'

async function set(
  cluster: SimulatedCluster,
  spec: object = {},
  script: Readonly<Record<string, string>> = {},
): Promise<void> {
  await cluster.create('StatefulSet', 'db', {
    spec: { replicas: 3, serviceName: 'db', selector: webSelector, template: template(script), ...spec },
  })
}

async function names(cluster: SimulatedCluster): Promise<readonly string[]> {
  return (await cluster.list('Pod')).map(({ metadata }) => metadata.name!)
}

async function images(cluster: SimulatedCluster): Promise<readonly string[]> {
  return (await cluster.list('Pod')).map(({ spec }) => spec!.containers[0]!.image!.split(':')[1]!)
}

const image = { spec: { template: { spec: { containers: [{ name: 'main', image: 'example.com/web:2' }] } } } }

describe('a StatefulSet', () => {
  it('creates its pods in order, and deletes them in reverse', async () => {
    const cluster = await openSimulatedCluster()
    const order: string[] = []
    cluster.state.storage.onChange(({ name }, { type, object }) => {
      if (name === 'pods' && type !== 'MODIFIED') order.push(`${type} ${object.metadata.name}`)
    })
    await set(cluster, {}, { 'ready-after-seconds': '5' })
    await cluster.seconds(7)
    expect(await names(cluster)).toEqual(['db-0', 'db-1'])
    await cluster.seconds(20)
    expect((await cluster.get('StatefulSet', 'db')).status).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      currentReplicas: 3,
    })
    await cluster.merge('StatefulSet', 'db', { spec: { replicas: 1 } })
    await cluster.seconds(20)
    expect(order).toEqual(['ADDED db-0', 'ADDED db-1', 'ADDED db-2', 'DELETED db-2', 'DELETED db-1'])
    const { metadata, spec } = await cluster.get('Pod', 'db-0')
    expect(spec).toMatchObject({ hostname: 'db-0', subdomain: 'db' })
    expect(metadata.labels).toMatchObject({
      'apps.kubernetes.io/pod-index': '0',
      'statefulset.kubernetes.io/pod-name': 'db-0',
    })
  })

  it('creates them together with policy Parallel, from its first ordinal on', async () => {
    const cluster = await openSimulatedCluster()
    await set(cluster, { podManagementPolicy: 'Parallel', ordinals: { start: 5 } }, { 'ready-after-seconds': '60' })
    await cluster.seconds(2)
    expect(await names(cluster)).toEqual(['db-5', 'db-6', 'db-7'])
  })

  it('gives each pod its volumes, and the same ones to its replacement', async () => {
    const cluster = await openSimulatedCluster()
    const claim = {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    }
    await set(cluster, { replicas: 2, volumeClaimTemplates: [claim] })
    await cluster.seconds(10)
    const claims = await cluster.list('PersistentVolumeClaim')
    expect(claims.map(({ metadata, status }) => [metadata.name, status?.phase])).toEqual([
      ['data-db-0', 'Bound'],
      ['data-db-1', 'Bound'],
    ])
    const before = claims[1]!.spec?.volumeName
    await cluster.remove('Pod', 'db-1')
    await cluster.seconds(10)
    expect((await cluster.get('Pod', 'db-1')).status?.phase).toBe('Running')
    expect((await cluster.get('PersistentVolumeClaim', 'data-db-1')).spec?.volumeName).toBe(before)
  })

  it('updates from the last pod down to the partition, one at a time', async () => {
    const cluster = await openSimulatedCluster()
    await set(cluster, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } })
    await cluster.seconds(10)
    await cluster.merge('StatefulSet', 'db', image)
    await cluster.seconds(30)
    expect(await images(cluster)).toEqual(['1', '2', '2'])
    const { status } = await cluster.get('StatefulSet', 'db')
    expect(status).toMatchObject({ currentReplicas: 1, updatedReplicas: 2 })
    await cluster.merge('StatefulSet', 'db', { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } })
    await cluster.seconds(30)
    expect(await images(cluster)).toEqual(['2', '2', '2'])
    const after = (await cluster.get('StatefulSet', 'db')).status
    expect(after?.currentRevision).toBe(after?.updateRevision)
    expect(after?.currentRevision).not.toBe(status?.currentRevision)
  })

  it('waits for the deletion of pods with strategy OnDelete', async () => {
    const cluster = await openSimulatedCluster()
    await set(cluster, { updateStrategy: { type: 'OnDelete' } })
    await cluster.seconds(10)
    await cluster.merge('StatefulSet', 'db', image)
    await cluster.seconds(10)
    expect(await images(cluster)).toEqual(['1', '1', '1'])
  })
})

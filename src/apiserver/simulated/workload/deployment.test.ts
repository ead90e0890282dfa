import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  condition,
  openSimulatedCluster,
  type SimulatedCluster,
  template,
  webSelector,
} from '../../../../test/simulated-cluster.ts'
import type { Pod } from '../../../kube/types/core/v1.ts'

const image = (tag: string): object => ({
  spec: { template: { spec: { containers: [{ name: 'main', image: `example.com/web:${tag}` }] } } },
})

async function deploy(cluster: SimulatedCluster, spec: object = {}): Promise<void> {
  await cluster.create('Deployment', 'web', {
    spec: { replicas: 4, selector: webSelector, template: template(), ...spec },
  })
  await cluster.seconds(5)
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false
const isGoing = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined || status?.phase === 'Failed' || status?.phase === 'Succeeded'

describe('a rolling update', () => {
  it('ends with the new version only, and keeps the old ReplicaSet', async () => {
    const cluster = await openSimulatedCluster()
    await deploy(cluster)
    await cluster.merge('Deployment', 'web', image('2'))
    await cluster.seconds(30)
    const pods = await cluster.list('Pod')
    expect(pods.map(({ spec }) => spec?.containers[0]?.image)).toEqual(
      Array.from({ length: 4 }, () => 'example.com/web:2'),
    )
    const sets = await cluster.list('ReplicaSet')
    expect(new Set(sets.map(({ spec }) => spec.replicas))).toEqual(new Set([0, 4]))
    expect((await cluster.get('Deployment', 'web')).metadata.annotations?.['deployment.kubernetes.io/revision']).toBe(
      '2',
    )
    await cluster.merge('Deployment', 'web', image('1'))
    await cluster.seconds(30)
    expect((await cluster.get('Deployment', 'web')).metadata.annotations?.['deployment.kubernetes.io/revision']).toBe(
      '3',
    )
    expect(await cluster.list('ReplicaSet')).toHaveLength(2)
  })

  it('stays within maxSurge and maxUnavailable whatever happens to spec and pods', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('image' as const), tag: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant('wait' as const), seconds: fc.integer({ min: 0, max: 4 }) }),
      fc.record({ kind: fc.constant('kill' as const), which: fc.nat(20) }),
      fc.record({ kind: fc.constant('sicken' as const), which: fc.nat(20) }),
    )
    const sizes = fc
      .record({ replicas: fc.integer({ min: 1, max: 6 }), maxSurge: fc.nat(2), maxUnavailable: fc.nat(2) })
      .filter(({ maxSurge, maxUnavailable }) => maxSurge + maxUnavailable > 0)
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.array(step, { minLength: 1, maxLength: 8 }),
        async ({ replicas, ...limits }, steps) => {
          const cluster = await openSimulatedCluster()
          await deploy(cluster, { replicas, strategy: { type: 'RollingUpdate', rollingUpdate: limits } })
          const least = replicas - Math.min(limits.maxUnavailable, replicas)
          const offences: string[] = []
          let isOurs = false
          cluster.state.storage.onChange(({ name }, { object, previous }) => {
            if (name !== 'pods') return
            const pods = cluster.state.storage.table('pods').objects() as unknown as readonly Pod[]
            const active = pods.filter((pod) => !isGoing(pod))
            if (active.length > replicas + limits.maxSurge) offences.push(`${active.length} pods`)
            const isTaken =
              object.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined
            // Killing is the test's doing; the controllers must not take away what is needed.
            if (isTaken && !isOurs && previous && isReady(previous as unknown as Pod)) {
              const available = active.filter(isReady).length
              if (available < least) offences.push(`${available} available`)
            }
          })
          for (const one of steps) {
            const pods = await cluster.list('Pod')
            const victim =
              one.kind === 'kill' || one.kind === 'sicken' ? pods[one.which % Math.max(pods.length, 1)] : undefined
            if (one.kind === 'image') await cluster.merge('Deployment', 'web', image(String(one.tag)))
            else if (one.kind === 'wait') await cluster.seconds(one.seconds)
            else if (one.kind === 'kill' && victim) {
              isOurs = true
              await cluster.remove('Pod', victim.metadata.name!)
              isOurs = false
            } else if (victim) {
              await cluster.merge('Pod', victim.metadata.name!, {
                metadata: { annotations: { 'simulated.muster.dev/ready': 'false' } },
              })
            }
          }
          await cluster.seconds(60)
          expect(offences).toEqual([])
          expect(cluster.failures).toEqual([])
          // Once every pod is healthy, the rollout completes.
          for (const { metadata } of await cluster.list('Pod')) {
            await cluster.merge('Pod', metadata.name!, {
              metadata: { annotations: { 'simulated.muster.dev/ready': null } },
            })
          }
          await cluster.seconds(60)
          const sets = (await cluster.list('ReplicaSet')).filter(({ spec }) => (spec.replicas ?? 0) > 0)
          expect(sets).toHaveLength(1)
          expect((await cluster.get('Deployment', 'web')).status).toMatchObject({
            replicas,
            updatedReplicas: replicas,
            availableReplicas: replicas,
          })
        },
      ),
      { numRuns: 10, seed: 3 },
    )
  })

  it('reports that the progress deadline is exceeded', async () => {
    const cluster = await openSimulatedCluster()
    await deploy(cluster, { progressDeadlineSeconds: 60 })
    await cluster.merge('Deployment', 'web', {
      spec: { template: { metadata: { annotations: { 'simulated.muster.dev/fail-image-pull': 'true' } } } },
    })
    await cluster.seconds(50)
    expect(condition(await cluster.get('Deployment', 'web'), 'Progressing')).toBe('True ReplicaSetUpdated')
    await cluster.seconds(20)
    const deployment = await cluster.get('Deployment', 'web')
    expect(condition(deployment, 'Progressing')).toBe('False ProgressDeadlineExceeded')
    expect(condition(deployment, 'Available')).toBe('True MinimumReplicasAvailable')
    expect(deployment.status?.availableReplicas).toBe(3)
  })

  it('does not progress while paused, but scales', async () => {
    const cluster = await openSimulatedCluster()
    await deploy(cluster)
    await cluster.merge('Deployment', 'web', { spec: { paused: true } })
    await cluster.merge('Deployment', 'web', image('2'))
    await cluster.merge('Deployment', 'web', { spec: { replicas: 6 } })
    await cluster.seconds(10)
    const pods = await cluster.list('Pod')
    expect(pods.map(({ spec }) => spec?.containers[0]?.image)).toEqual(
      Array.from({ length: 6 }, () => 'example.com/web:1'),
    )
    expect(condition(await cluster.get('Deployment', 'web'), 'Progressing')).toBe('Unknown DeploymentPaused')
    await cluster.merge('Deployment', 'web', { spec: { paused: false } })
    await cluster.seconds(30)
    expect((await cluster.get('Deployment', 'web')).status).toMatchObject({ updatedReplicas: 6, availableReplicas: 6 })
  })

  it('increments revisions of nineteen digits exactly', async () => {
    const cluster = await openSimulatedCluster()
    await deploy(cluster, { replicas: 1 })
    const revision = 'deployment.kubernetes.io/revision'
    const [first] = await cluster.list('ReplicaSet')
    await cluster.merge('ReplicaSet', first!.metadata.name!, {
      metadata: { annotations: { [revision]: '9007199254740993001' } },
    })
    await cluster.merge('Deployment', 'web', image('2'))
    await cluster.seconds(20)
    expect((await cluster.get('Deployment', 'web')).metadata.annotations?.[revision]).toBe('9007199254740993002')
    await cluster.merge('Deployment', 'web', image('1'))
    await cluster.seconds(20)
    const again = await cluster.get('ReplicaSet', first!.metadata.name!)
    expect(again.metadata.annotations).toMatchObject({
      [revision]: '9007199254740993003',
      'deployment.kubernetes.io/revision-history': '9007199254740993001',
    })
  })

  it('keeps no more old ReplicaSets than revisionHistoryLimit', async () => {
    const cluster = await openSimulatedCluster()
    await deploy(cluster, { replicas: 1, revisionHistoryLimit: 1 })
    for (const tag of ['2', '3', '4']) {
      await cluster.merge('Deployment', 'web', image(tag))
      await cluster.seconds(20)
    }
    expect(await cluster.list('ReplicaSet')).toHaveLength(2)
  })

  it('waits for minReadySeconds before it counts a pod as available', async () => {
    const cluster = await openSimulatedCluster()
    await deploy(cluster, { minReadySeconds: 30 })
    expect((await cluster.get('Deployment', 'web')).status).toMatchObject({ readyReplicas: 4, unavailableReplicas: 4 })
    await cluster.seconds(30)
    expect((await cluster.get('Deployment', 'web')).status?.availableReplicas).toBe(4)
  })
})

describe('strategy Recreate', () => {
  it('creates no new pod before the last old one is gone', async () => {
    const cluster = await openSimulatedCluster({ stopSeconds: 10 })
    await deploy(cluster, { strategy: { type: 'Recreate' } })
    const images = new Set<string>()
    cluster.state.storage.onChange(({ name }) => {
      if (name !== 'pods') return
      const pods = cluster.state.storage.table('pods').objects() as unknown as readonly Pod[]
      images.add([...new Set(pods.map(({ spec }) => spec?.containers[0]?.image))].join(' and '))
    })
    await cluster.merge('Deployment', 'web', image('2'))
    await cluster.seconds(30)
    expect(images).not.toContain('example.com/web:1 and example.com/web:2')
    expect((await cluster.get('Deployment', 'web')).status).toMatchObject({ updatedReplicas: 4, availableReplicas: 4 })
  })
})

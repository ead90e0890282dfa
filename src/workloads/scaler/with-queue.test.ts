/** Queue and node scaler beside each other, in one cluster with simulated nodes: from waiting to the end. */
import { expect, it } from 'vitest'
import { openAppWrapperEnvironment } from '../../../test/appwrapper-environment.ts'
import { simulateMachines } from '../../../test/simulated-machines.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { createClient } from '../../client/create-client.ts'
import { seededRandom } from '../../clock/random.ts'
import { findCondition } from '../../kube/meta/condition.ts'
import { hostOperator } from '../../manager/hosting/host.ts'
import { AppWrapper as AppWrapperKind } from '../appwrapper/appwrapper.ts'
import { ManagedNodePool } from './managed-node-pool.ts'
import { nodeScalerOperator } from './scaler-operator.ts'
import { resourceOf } from '../../kube/typed-resource.ts'

const crds = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')

it('an AppWrapper that fits no node waits, gets one, runs and completes, and the node goes', async () => {
  const environment = await openAppWrapperEnvironment()
  const { client, clock, server } = environment
  await client.create(crds, ManagedNodePool.crd())
  const machines = simulateMachines({ client })
  await machines.install()
  await machines.createPool('gpu', 'g4dn.xlarge')
  const random = seededRandom(2)
  const own = createClient({ transport: inProcessTransport(server), clock, random })
  const cache = createSharedCache({ client: own, clock, random })
  const host = hostOperator({ operator: nodeScalerOperator, client: own, cache, clock })
  const started = host.start()
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms)
    await environment.settle()
    if (await machines.step()) await environment.settle()
  }
  await clock.advance(1000)
  await started
  try {
    const requests = { cpu: '3' }
    const containers = [{ name: 'main', image: 'main:1', resources: { requests } }]
    const metadata = { labels: { app: 'train' }, annotations: { 'simulated.muster.dev/duration': '1m' } }
    const template = {
      metadata,
      spec: { restartPolicy: 'Never', containers, nodeSelector: { 'node.kubernetes.io/instance-type': 'g4dn.xlarge' } },
    }
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'train' }, spec: { template } }
    await environment.create(AppWrapperKind, {
      apiVersion: 'workload.codeflare.dev/v1beta2',
      kind: 'AppWrapper',
      metadata: { name: 'train', namespace: 'default', labels: { orderedinstance: 'g4dn.xlarge' } },
      spec: { components: [{ template: job }] },
    })
    const seen: string[] = []
    for (let round = 0; round < 60; round++) {
      await pass(5000)
      const { status } = await environment.appWrapper('train')
      const { reason } = findCondition(status?.conditions, 'NodesRequested') ?? {}
      const now = `${status?.phase}, ${reason}, ${await machines.replicas('gpu')}`
      if (now !== seen.at(-1)) seen.push(now)
    }
    expect(seen).toEqual(['Running, NotWaiting, 1', 'Succeeded, NotWaiting, 1', 'Succeeded, NotWaiting, 0'])
  } finally {
    await host.stop()
    cache.close()
    await environment.close()
  }
})

import { afterEach, describe, expect, it } from 'vitest'
import { inProcess, MisbehavingClusterManager } from '../../../test/misbehaving-cluster-manager.ts'
import { openScaler, type ScalerEnvironment } from '../../../test/scaler-environment.ts'
import { machineNamespace } from '../../../test/simulated-machines.ts'
import { findCondition } from '../../kube/meta/condition.ts'
import { Node, Pod, Secret } from '../../kube/kinds.ts'
import { offline } from '../../operator/live.ts'
import { AppWrapper } from '../appwrapper/appwrapper.ts'
import { clusterApiMachines, openShiftMachines } from './machine-kinds.ts'
import { ManagedNodePool } from './managed-node-pool.ts'

let environment: ScalerEnvironment
afterEach(() => environment.close())

const at = (name: string) => ({ name, namespace: 'default' })

describe.each([openShiftMachines, clusterApiMachines])('scenario 28, with $owner.kind', (api) => {
  it('an AppWrapper that lacks nodes gets one of its type, and it goes with the AppWrapper', async () => {
    environment = await openScaler({ api })
    const labels = { 'node.kubernetes.io/instance-type': 'g4dn.xlarge' }
    const annotations = {
      'capacity.cluster-autoscaler.kubernetes.io/labels': 'node.kubernetes.io/instance-type=g4dn.xlarge',
    }
    await environment.machines.createPool('gpu', 'g4dn.xlarge', 0, { labels, annotations })
    await environment.machines.createPool('other', 'm5.xlarge', 1)
    await environment.submit('train', 'g4dn.xlarge', 1)
    await environment.rest()
    expect(await environment.machines.replicas('gpu')).toBe(0)
    await environment.lacks('train')
    await environment.rest()
    expect(await environment.machines.replicas('gpu')).toBe(1)
    expect(await environment.conditionOf('train')).toMatchObject({ status: 'True', reason: 'NodesReady' })
    const [machine] = await environment.machines.machines('gpu')
    const node = await environment.client.get(Node, { name: machine!.metadata.name })
    expect(machine!.metadata.labels).toMatchObject({ 'train-default': 'train-default' })
    expect(node.metadata.labels).toMatchObject({ 'train-default': 'train-default' })
    await environment.starts('train')
    await environment.rest()
    expect(await environment.conditionOf('train')).toMatchObject({ status: 'False', reason: 'NotWaiting' })
    await environment.client.delete(AppWrapper, at('train'))
    await environment.rest()
    expect(await environment.machines.replicas('gpu')).toBe(1)
    await environment.rest(70_000)
    expect(await environment.machines.replicas('gpu')).toBe(0)
    expect(environment.machines.deleted).toEqual([machine!.metadata.name])
    expect(await environment.machines.replicas('other')).toBe(1)
  })
})

describe('scale-out', () => {
  it('scenario 29: of each type as many as its pod sets need; with an empty label, none', async () => {
    environment = await openScaler({ settings: { maxScaleoutAllowed: 10 } })
    await environment.machines.createPool('a', 'a')
    await environment.machines.createPool('b', 'b')
    await environment.submit('two', 'a_b', 1, 2)
    await environment.submit('none', '', 4)
    for (const name of ['two', 'none']) await environment.lacks(name)
    await environment.rest()
    expect([await environment.machines.replicas('a'), await environment.machines.replicas('b')]).toEqual([1, 2])
    expect(await environment.conditionOf('none')).toMatchObject({ status: 'False', reason: 'NoInstanceTypes' })
  })

  it('is for lack of nodes, never for lack of quota, although both messages say insufficient', async () => {
    environment = await openScaler()
    await environment.machines.createPool('a', 'a')
    await environment.submit('poor', 'a', 1)
    await environment.say('poor', 'Suspended', 'False', 'InsufficientQuota')
    await environment.rest()
    expect(await environment.machines.replicas('a')).toBe(0)
  })

  it('scenario 30: no more than the maximum, for all pools and AppWrappers together, and the condition says so', async () => {
    environment = await openScaler({ settings: { maxScaleoutAllowed: 3 } })
    await environment.machines.createPool('a', 'a')
    await environment.machines.createPool('b', 'b')
    await environment.submit('first', 'a', 2)
    await environment.submit('second', 'b', 2)
    await environment.submit('huge', 'b', 4)
    for (const name of ['first', 'second', 'huge']) await environment.lacks(name)
    await environment.rest()
    expect([await environment.machines.replicas('a'), await environment.machines.replicas('b')]).toEqual([2, 0])
    expect(await environment.conditionOf('second')).toMatchObject({
      status: 'False',
      reason: 'MaxScaleoutReached',
      message: 'It needs 2 machines more; all pools together may be given 3 (instascale.maxScaleoutAllowed).',
    })
    expect(await environment.conditionOf('huge')).toMatchObject({ status: 'False', reason: 'ExceedsMaxScaleout' })
  })

  it('by inference, from nodes that the pool has, and from annotations if it has none', async () => {
    environment = await openScaler()
    await environment.machines.createPool('known', 'a', 1)
    const annotations = { 'machine.openshift.io/vCPU': '64', 'machine.openshift.io/memoryMb': '262144' }
    await environment.machines.createPool('large', 'b', 0, { annotations })
    await environment.machines.createPool('unknown', 'c')
    await environment.rest()
    await environment.submit('small', undefined, 6)
    await environment.lacks('small')
    await environment.rest()
    expect([await environment.machines.replicas('known'), await environment.machines.replicas('large')]).toEqual([3, 0])
    await environment.submit('wide', undefined, 40)
    await environment.lacks('wide')
    await environment.rest()
    expect([await environment.machines.replicas('known'), await environment.machines.replicas('large')]).toEqual([3, 1])
  })

  it('tries the next pool after a stock-out, and after machines that take too long', async () => {
    environment = await openScaler()
    for (const name of ['a', 'b', 'c']) await environment.machines.createPool(name, 'g4dn.xlarge')
    environment.machines.behaviour.set('a', { failure: 'InsufficientInstanceCapacity' })
    environment.machines.behaviour.set('b', { isStuck: true })
    await environment.submit('train', 'g4dn.xlarge', 1)
    await environment.lacks('train')
    await environment.rest()
    await environment.rest()
    expect(await Promise.all(['a', 'b', 'c'].map((name) => environment.machines.replicas(name)))).toEqual([0, 1, 0])
    await environment.rest(901_000)
    await environment.rest()
    expect(await environment.conditionOf('train')).toMatchObject({ reason: 'NodesReady' })
    expect(await environment.machines.machines()).toHaveLength(1)
  })
})

describe('while the queue does not say what is short', () => {
  it('what an AppWrapper waited for stands, until it waits for something else', async () => {
    environment = await openScaler()
    await environment.machines.createPool('gpu', 'g4dn.xlarge')
    await environment.submit('train', 'g4dn.xlarge', 1)
    await environment.say('train', 'Suspended', 'False', 'BackingOff')
    await environment.rest()
    expect(await environment.machines.replicas('gpu')).toBe(0)
    await environment.lacks('train')
    await environment.rest()
    await environment.say('train', 'Suspended', 'False', 'BackingOff')
    await environment.rest(120_000)
    expect(await environment.machines.replicas('gpu')).toBe(1)
    expect(await environment.conditionOf('train')).toMatchObject({ reason: 'NodesReady' })
    await environment.say('train', 'Suspended', 'False', 'InsufficientQuota')
    await environment.rest(70_000)
    expect(await environment.machines.replicas('gpu')).toBe(0)
  })
})

describe('machines that were added', () => {
  it('scenario 31: are handed over to the next AppWrapper of the same types, and no machine is deleted', async () => {
    environment = await openScaler()
    await environment.machines.createPool('gpu', 'g4dn.xlarge', 1)
    await environment.submit('a', 'g4dn.xlarge', 2)
    await environment.lacks('a')
    await environment.rest()
    await environment.starts('a')
    await environment.submit('b', 'g4dn.xlarge', 2)
    await environment.lacks('b')
    await environment.rest()
    expect(await environment.conditionOf('b')).toMatchObject({ reason: 'MaxScaleoutReached' })
    const before = (await environment.machines.machines('gpu')).map(({ metadata }) => metadata.name)
    await environment.completes('a')
    await environment.rest()
    await environment.rest(120_000)
    expect(environment.machines.deleted).toEqual([])
    expect((await environment.machines.machines('gpu')).map(({ metadata }) => metadata.name)).toEqual(before)
    const nodes = await environment.client.list(Node)
    const labelsOf = (key: string) => nodes.items.filter(({ metadata }) => metadata.labels?.[key] === key).length
    expect([labelsOf('a-default'), labelsOf('b-default')]).toEqual([0, 2])
    expect(await environment.conditionOf('b')).toMatchObject({ reason: 'NodesReady' })
  })

  it('scenario 32: are there while it runs, and gone after it has completed; then nothing is written any more', async () => {
    environment = await openScaler()
    await environment.machines.createPool('gpu', 'g4dn.xlarge')
    await environment.submit('train', 'g4dn.xlarge', 1)
    await environment.lacks('train')
    await environment.rest()
    await environment.starts('train')
    await environment.rest(3_600_000)
    expect(await environment.machines.replicas('gpu')).toBe(1)
    await environment.completes('train')
    await environment.rest(70_000)
    expect(await environment.machines.replicas('gpu')).toBe(0)
    const { length } = environment.writes
    await environment.settle(86_400_000)
    expect(environment.writes).toHaveLength(length)
    const { metadata } = await environment.client.get(AppWrapper, at('train'))
    expect(metadata.finalizers ?? []).toEqual([])
  })

  it('are not removed while pods of an AppWrapper run on them', async () => {
    environment = await openScaler()
    await environment.machines.createPool('gpu', 'g4dn.xlarge')
    await environment.submit('train', 'g4dn.xlarge', 1)
    await environment.lacks('train')
    await environment.rest()
    const [machine] = await environment.machines.machines('gpu')
    await environment.submit('other', undefined, 1)
    await environment.starts('other')
    const containers = [{ name: 'main', image: 'main:1' }]
    const labels = { 'workload.codeflare.dev/appwrapper': 'other' }
    const spec = { nodeName: machine!.metadata.name, containers }
    await environment.create(Pod, { apiVersion: 'v1', kind: 'Pod', metadata: { ...at('pod'), labels }, spec })
    await environment.client.delete(AppWrapper, at('train'))
    await environment.rest(3_600_000)
    expect(await environment.machines.replicas('gpu')).toBe(1)
    await environment.client.delete(Pod, at('pod'), { gracePeriodSeconds: 0 })
    await environment.rest(70_000)
    expect(await environment.machines.replicas('gpu')).toBe(0)
  })

  it('are not claimed back after a person has scaled the pool in', async () => {
    environment = await openScaler()
    await environment.machines.createPool('gpu', 'g4dn.xlarge', 1)
    await environment.submit('train', 'g4dn.xlarge', 2)
    await environment.lacks('train')
    await environment.rest()
    const name = { name: 'gpu', namespace: machineNamespace }
    await environment.client.patch(openShiftMachines.owner, name, { spec: { replicas: 0 } }, { type: 'merge' })
    await environment.rest()
    expect(await environment.machines.replicas('gpu')).toBe(0)
    expect(await environment.conditionOf('train')).toMatchObject({ reason: 'PoolsUnavailable' })
    await environment.client.patch(openShiftMachines.owner, name, { spec: { replicas: 5 } }, { type: 'merge' })
    await environment.rest()
    expect(await environment.machines.replicas('gpu')).toBe(5)
  })
})

describe('the strategy duplicate', () => {
  it('copies the MachineSet for the AppWrapper, and deletes the copy', async () => {
    environment = await openScaler({ settings: { machineSetsStrategy: 'duplicate' } })
    await environment.machines.createPool('gpu', 'g4dn.xlarge', 1)
    await environment.submit('train', 'g4dn.xlarge', 2)
    await environment.lacks('train')
    await environment.rest()
    expect(await environment.machines.replicas('gpu')).toBe(1)
    const sets = async () =>
      (await environment.client.list(openShiftMachines.owner, { namespace: machineNamespace })).items
    const copy = (await sets()).find(({ metadata }) => metadata.name !== 'gpu')!
    expect(copy.metadata.name).toMatch(/^train-default-g4dn-xlarge-[0-9a-f]{8}$/)
    expect(copy.spec).toMatchObject({
      replicas: 2,
      template: { spec: { taints: [{ key: 'train', value: 'value1', effect: 'PreferNoSchedule' }] } },
    })
    expect(await environment.conditionOf('train')).toMatchObject({ reason: 'NodesReady' })
    await environment.client.delete(AppWrapper, at('train'))
    await environment.rest(70_000)
    await environment.rest()
    expect((await sets()).map(({ metadata }) => metadata.name)).toEqual(['gpu'])
    expect(await environment.machines.machines('gpu')).toHaveLength(1)
  })
})

describe('kinds that are absent', () => {
  it('are no obstacle, and are used when they appear', async () => {
    environment = await openScaler({ isBare: true })
    await environment.submit('train', 'g4dn.xlarge', 1)
    await environment.lacks('train')
    await environment.settle(60_000)
    expect(await environment.conditionOf('train')).toMatchObject({ reason: 'NoMatchingPool' })
    await environment.machines.install()
    await environment.machines.createPool('gpu', 'g4dn.xlarge')
    await environment.settle(120_000)
    await environment.rest()
    expect(await environment.conditionOf('train')).toMatchObject({ reason: 'NodesReady' })
  })
})

describe('managed pools', () => {
  const secretRef = { namespace: 'default', name: 'ocm' }
  let manager: MisbehavingClusterManager

  async function openManaged(token: string | undefined): Promise<void> {
    manager = new MisbehavingClusterManager()
    const settings = {
      ocmSecretRef: secretRef,
      ocm: { clusterId: manager.clusterId, url: 'https://ocm', tokenUrl: 'https://ocm/token' },
    }
    environment = await openScaler({
      settings,
      live: { ...offline, available: true, http: inProcess(manager) },
      log: () => undefined,
    })
    const data = token === undefined ? {} : { token: Buffer.from(token).toString('base64') }
    await environment.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: secretRef, data })
  }

  /** The cluster manager's part: nodes of its pools come and go. */
  async function makeNodes(): Promise<void> {
    const { items } = await environment.client.list(Node)
    const wanted = new Map<string, Record<string, string>>()
    for (const { id, replicas, labels } of manager.pools.values())
      for (let each = 0; each < replicas; each++) wanted.set(`${id}-${each}`, labels)
    for (const { metadata } of items) if (!wanted.has(metadata.name)) await environment.client.delete(Node, metadata)
    for (const [name, labels] of wanted)
      if (!items.some(({ metadata }) => metadata.name === name))
        await environment.client.create(Node, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } })
  }

  async function settle(horizonMs = 40_000): Promise<void> {
    await environment.settle(horizonMs)
    await makeNodes()
    await environment.settle()
  }

  const objects = async () => (await environment.client.list(ManagedNodePool)).items

  it('scenario 32: a pool is made, its nodes are the AppWrapper’s, and after it nothing is left', async () => {
    await openManaged('offline-token')
    await environment.machines.createPool('set', 'g4dn.xlarge')
    await environment.submit('train', 'g4dn.xlarge', 2)
    await environment.lacks('train')
    await settle()
    expect([...manager.pools.values()]).toMatchObject([{ instanceType: 'g4dn.xlarge', replicas: 2 }])
    expect(await environment.machines.replicas('set')).toBe(0)
    const { items } = await environment.client.list(Node)
    expect(items.map(({ metadata }) => metadata.labels?.['train-default'])).toEqual(['train-default', 'train-default'])
    expect(await environment.conditionOf('train')).toMatchObject({ status: 'True', reason: 'NodesReady' })
    await environment.starts('train')
    await settle()
    await environment.completes('train')
    await settle(70_000)
    await settle(70_000)
    expect(manager.pools.size).toBe(0)
    expect(await objects()).toEqual([])
  })

  it('are handed over, and resized for the next AppWrapper instead of made again', async () => {
    await openManaged('offline-token')
    await environment.submit('a', 'g4dn.xlarge', 1)
    await environment.lacks('a')
    await settle()
    await environment.starts('a')
    const [id] = manager.pools.keys()
    await environment.submit('b', 'g4dn.xlarge', 2)
    await environment.client.delete(AppWrapper, at('a'))
    await settle()
    await environment.lacks('b')
    await settle()
    expect([...manager.pools.values()]).toMatchObject([{ id, replicas: 2 }])
    await settle()
    expect(await environment.conditionOf('b')).toMatchObject({ reason: 'NodesReady' })
  })

  it('are never lost or doubled, however the cluster manager behaves', async () => {
    await openManaged('offline-token')
    manager.faults.push('hang', 'lose', 'fail', 'lie', 'garbage', 'throttle')
    await environment.submit('train', 'g4dn.xlarge', 1)
    await environment.lacks('train')
    for (let each = 0; each < 4; each++) await settle(120_000)
    expect(manager.pools.size).toBe(1)
    manager.faults.push('break', 'lie', 'fail', 'hang')
    await environment.client.delete(AppWrapper, at('train'))
    for (let each = 0; each < 4; each++) await settle(300_000)
    expect(manager.pools.size).toBe(0)
    expect(await objects()).toEqual([])
  })

  it('that are refused are given up, and not asked for in a loop', async () => {
    await openManaged('offline-token')
    manager.shortages.set('g4dn.xlarge', 'quota exceeded')
    await environment.submit('train', 'g4dn.xlarge', 1)
    await environment.lacks('train')
    await settle(60_000)
    expect(await environment.conditionOf('train')).toMatchObject({ reason: 'PoolsUnavailable' })
    const posts = () => manager.requests.filter(({ method, path }) => method === 'POST' && path !== '/token').length
    expect(posts()).toBe(1)
    await settle(6 * 3_600_000)
    // After 5, 10, 20, 40 and then every 80 minutes.
    expect(posts()).toBe(8)
  })

  it('need a token: without one, the object says what is missing', async () => {
    await openManaged(undefined)
    await environment.submit('train', 'g4dn.xlarge', 1)
    await environment.lacks('train')
    await environment.settle()
    const [object] = await objects()
    expect(findCondition(object?.status?.conditions, 'Reconciled')).toMatchObject({
      status: 'False',
      reason: 'NoToken',
      message: expect.stringContaining('Secret default/ocm has no key token.') as string,
    })
    const data = { token: Buffer.from('offline-token').toString('base64') }
    await environment.client.patch(Secret, secretRef, { data }, { type: 'merge' })
    await settle()
    expect(manager.pools.size).toBe(1)
  })
})

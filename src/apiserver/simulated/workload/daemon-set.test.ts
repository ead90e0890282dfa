import { describe, expect, it } from 'vitest'
import {
  openSimulatedCluster,
  type SimulatedCluster,
  template,
  webSelector,
} from '../../../../test/simulated-cluster.ts'
import { simulatedNodes } from '../simulation.ts'

async function nodesOf(cluster: SimulatedCluster): Promise<readonly string[]> {
  return (await cluster.list('Pod')).map(({ spec }) => spec?.nodeName ?? '').toSorted()
}

describe('a DaemonSet', () => {
  it('has one pod on every node, including nodes that are added later', async () => {
    const cluster = await openSimulatedCluster({ nodes: simulatedNodes(2) })
    await cluster.create('DaemonSet', 'agent', { spec: { selector: webSelector, template: template() } })
    await cluster.seconds(3)
    expect(await nodesOf(cluster)).toEqual(['node-1', 'node-2'])
    await cluster.create('Node', 'node-9', { status: { capacity: { cpu: '1', memory: '1Gi', pods: '10' } } })
    await cluster.seconds(5)
    expect(await nodesOf(cluster)).toEqual(['node-1', 'node-2', 'node-9'])
    expect((await cluster.get('DaemonSet', 'agent')).status).toMatchObject({
      desiredNumberScheduled: 3,
      numberReady: 3,
      numberAvailable: 3,
    })
  })

  it('records its template as Go clients compute it: members sorted by name', async () => {
    const cluster = await openSimulatedCluster({ nodes: simulatedNodes(1) })
    await cluster.create('DaemonSet', 'agent', { spec: { selector: webSelector, template: template() } })
    await cluster.seconds(3)
    const revisions = {
      group: 'apps',
      version: 'v1',
      kind: 'ControllerRevision',
      plural: 'controllerrevisions',
      namespaced: true,
    }
    const [revision] = (await cluster.client.list(revisions)).items
    const text = JSON.stringify((revision as { readonly data?: unknown }).data)
    expect(text).toMatch(
      /^\{"spec":\{"template":\{"\$patch":"replace","metadata":\{"labels":\{"app":"web"\}\},"spec":\{"containers":/,
    )
    const members = [...text.matchAll(/"(\w+)":/g)].map(([, name]) => name!)
    const ofPodSpec = members.slice(members.indexOf('dnsPolicy'))
    expect(ofPodSpec).toEqual(ofPodSpec.toSorted())
  })

  it('respects selectors and taints, and tolerates a cordon', async () => {
    const cluster = await openSimulatedCluster({
      nodes: [
        { name: 'a', labels: { gpu: 'yes' } },
        { name: 'b', labels: { gpu: 'yes' }, taints: [{ key: 'own', effect: 'NoSchedule' }] },
        { name: 'c' },
      ],
    })
    await cluster.merge('Node', 'a', { spec: { unschedulable: true } })
    await cluster.create('DaemonSet', 'agent', {
      spec: { selector: webSelector, template: template({}, { nodeSelector: { gpu: 'yes' } }) },
    })
    await cluster.seconds(3)
    expect(await nodesOf(cluster)).toEqual(['a'])
    await cluster.merge('Node', 'a', { metadata: { labels: { gpu: null } } })
    await cluster.seconds(5)
    expect(await nodesOf(cluster)).toEqual([])
  })

  it('updates maxUnavailable pods at a time', async () => {
    const cluster = await openSimulatedCluster({ nodes: simulatedNodes(4) })
    await cluster.create('DaemonSet', 'agent', {
      spec: {
        selector: webSelector,
        template: template(),
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } },
      },
    })
    await cluster.seconds(5)
    let least = 4
    cluster.state.storage.onChange(({ name }, { object }) => {
      const { numberAvailable = 0 } = (object['status'] ?? {}) as { readonly numberAvailable?: number }
      if (name === 'daemonsets.apps') least = Math.min(least, numberAvailable)
    })
    await cluster.merge('DaemonSet', 'agent', {
      spec: { template: { spec: { containers: [{ name: 'main', image: 'x:2' }] } } },
    })
    await cluster.seconds(30)
    expect(least).toBe(2)
    expect((await cluster.get('DaemonSet', 'agent')).status).toMatchObject({
      updatedNumberScheduled: 4,
      numberAvailable: 4,
    })
    expect((await cluster.list('Pod')).map(({ spec }) => spec?.containers[0]?.image)).toEqual([
      'x:2',
      'x:2',
      'x:2',
      'x:2',
    ])
  })
})

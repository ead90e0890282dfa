import { describe, expect, it, onTestFinished } from 'vitest'
import { crds } from '../../test/embedded.ts'
import { wrapper } from '../../test/queue-objects.ts'
import { Namespace, Node } from '../kube/kinds.ts'
import type { Resource } from '../kube/kind.ts'
import type { UntypedObject } from '../kube/object.ts'
import { openTestEnvironment } from '../manager/testing/test-environment.ts'
import { AppWrapper } from './appwrapper/appwrapper.ts'
import { kueueKinds } from './quota/kueue-kinds.ts'
import { workloadsOperator } from './workloads-operator.ts'

const { clusterQueue, localQueue, cohort, resourceFlavor, priorityClass } = kueueKinds('v1beta1')

/** As an administrator installs Kueue's. */
const crdOf = ({ group, version, kind, plural, namespaced }: Resource): UntypedObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
})

describe('the workloads operator', () => {
  it('counts queues of Kueue as soon as they exist, without a restart, in whatever order they come', async () => {
    const environment = await openTestEnvironment(workloadsOperator, { workloads: true })
    onTestFinished(() => environment.close())
    const { client } = environment
    const phaseOf = async (name: string): Promise<string> => {
      await environment.settle(30_000)
      const { status } = await client.get(AppWrapper, { name, namespace: 'team' })
      const reserved = status?.conditions?.find(({ type }) => type === 'QuotaReserved')
      return `${status?.phase} ${reserved?.status === 'True' ? '' : reserved?.reason}`.trim()
    }
    await environment.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    const allocatable = { cpu: '8', memory: '8Gi', pods: '20' }
    await environment.create(Node, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n' },
      status: { capacity: allocatable, allocatable },
    })
    const kueue = (kind: Resource, name: string, spec: object, metadata: object = {}) => ({
      apiVersion: 'kueue.x-k8s.io/v1beta1',
      kind: kind.kind,
      metadata: { name, ...metadata },
      spec,
    })
    const labels = { 'kueue.x-k8s.io/queue-name': 'main' }
    for (const name of ['first', 'second']) {
      const { status: _, metadata, ...rest } = wrapper(name, { requests: { cpu: 2 }, labels })
      await environment.create(AppWrapper, {
        ...rest,
        metadata: { name: metadata.name, namespace: metadata.namespace!, labels },
      })
      expect(await phaseOf(name)).toBe('Suspended UnknownLocalQueue')
    }
    for (const kind of [clusterQueue, localQueue, cohort, resourceFlavor, priorityClass])
      await environment.create(crds, crdOf(kind))
    await environment.settle()
    await environment.create(localQueue, kueue(localQueue, 'main', { clusterQueue: 'q' }, { namespace: 'team' }))
    expect(await phaseOf('first')).toBe('Suspended UnknownClusterQueue')
    const limits = [{ name: 'cpu', nominalQuota: 3 }]
    const groups = [{ coveredResources: ['cpu'], flavors: [{ name: 'any', resources: limits }] }]
    await environment.create(clusterQueue, kueue(clusterQueue, 'q', { namespaceSelector: {}, resourceGroups: groups }))
    expect(await phaseOf('first')).toBe('Suspended InactiveClusterQueue')
    await environment.create(resourceFlavor, kueue(resourceFlavor, 'any', {}))
    expect(await phaseOf('first')).toBe('Running')
    expect(await phaseOf('second')).toMatch(/^Suspended (?:InsufficientQuota|AwaitingEnds)$/)
  })
})

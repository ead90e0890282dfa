import { describe, expect, it } from 'vitest'
import { Namespace } from '../../kube/kinds.ts'
import type { KubeObject } from '../../kube/object.ts'
import { kueueKinds } from './kueue-kinds.ts'
import { createQuotaTracker } from './quota-tracker.ts'
import { QuotaSubtree } from './quota-subtree.ts'

const { clusterQueue, localQueue } = kueueKinds('v1beta1')

const object = (kind: string, name: string, spec: object, metadata: object = {}): KubeObject & { spec: object } => ({
  apiVersion: 'kueue.x-k8s.io/v1beta1',
  kind,
  metadata: { name, ...metadata },
  spec,
})

describe('the tracker of quota', () => {
  it('follows changes in any order, and works the model out once for all of them', () => {
    const tracker = createQuotaTracker({ quotaEnabled: true })
    const work = {
      ...object('AppWrapper', 'a', {}, { namespace: 'team', labels: { 'kueue.x-k8s.io/queue-name': 'q' } }),
    }
    const local = object('LocalQueue', 'q', { clusterQueue: 'blue' }, { namespace: 'team' })
    expect(tracker.take({ resource: localQueue, object: local })).toBe(true)
    expect(tracker.chargeOf(work)).toMatchObject({ reason: 'UnknownClusterQueue' })
    const selector = { namespaceSelector: { matchLabels: { tier: 'gold' } } }
    tracker.take({ resource: clusterQueue, object: object('ClusterQueue', 'blue', selector) })
    expect(tracker.chargeOf(work)).toMatchObject({ reason: 'NamespaceNotAllowed' })
    const namespace = object('Namespace', 'team', {}, { labels: { tier: 'gold' } })
    tracker.take({ resource: Namespace, object: namespace })
    expect(tracker.chargeOf(work)).toMatchObject({ kind: 'Charged', pools: ['queue/blue'] })
    expect(tracker.model()).toBe(tracker.model())
    tracker.take({ resource: Namespace, before: namespace })
    tracker.take({ resource: clusterQueue, before: object('ClusterQueue', 'blue', selector) })
    expect(tracker.chargeOf(work)).toMatchObject({ reason: 'UnknownClusterQueue' })
  })

  it('leaves other changes to others', () => {
    const tracker = createQuotaTracker()
    const { version } = tracker
    const pod = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
    expect(tracker.take({ resource: pod, object: object('Pod', 'p', {}) })).toBe(false)
    expect(tracker.version).toBe(version)
    tracker.take({ resource: QuotaSubtree, object: object('QuotaSubtree', 't', {}) })
    expect(tracker.version).toBeGreaterThan(version)
  })
})

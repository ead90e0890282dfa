import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../kube/object.ts'
import { Pod, type StatefulSet } from '../../kube/kinds.ts'
import { podsOf, readyPodCount, runningPodCount } from './pods.ts'
import { openView, type View } from './view.ts'

const set: StatefulSet = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db', namespace: 'one', uid: 'set' },
  spec: {
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: { metadata: { labels: { app: 'db' } }, spec: { containers: [] } },
  },
}

interface Traits {
  readonly phase?: string
  readonly ready?: boolean
  readonly owner?: string
  readonly namespace?: string
  readonly deleted?: boolean
}

const pod = (
  name: string,
  { phase = 'Running', ready = true, owner = 'set', namespace = 'one', deleted }: Traits = {},
): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace,
    labels: { app: 'db' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: owner, controller: true }],
    ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  },
  status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
})

function viewOf(pods: readonly UntypedObject[]): View {
  return openView({
    reader: 'test',
    inputs: [Pod],
    source: {
      get: () => undefined,
      list: (_, namespace) => pods.filter(({ metadata }) => metadata.namespace === namespace),
      byOwner: () => [],
      serves: () => true,
    },
  })
}

describe('the Pods of a workload', () => {
  const view = viewOf([
    pod('db-0'),
    pod('db-1', { ready: false }),
    pod('db-2', { phase: 'Pending', ready: false }),
    pod('db-3', { deleted: true }),
    pod('stray', { owner: 'another' }),
    pod('db-0', { namespace: 'two' }),
  ])

  it('are those that it controls in its own namespace', () => {
    expect(podsOf(view, set).map(({ metadata }) => metadata.name)).toEqual(['db-0', 'db-1', 'db-2', 'db-3'])
  })

  it('are running when started and not terminating, and ready when ready to serve', () => {
    expect(runningPodCount(view, set)).toBe(2)
    expect(readyPodCount(view, set)).toBe(1)
  })

  it('of a Deployment belong to its ReplicaSets, by the selector', () => {
    expect(podsOf(view, { ...set, kind: 'Deployment' })).toHaveLength(5)
  })

  it('are empty where nothing is selected', () => {
    expect(podsOf(view, { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'x' } })).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { withPods, wrapper } from '../../../test/queue-objects.ts'
import { Node } from '../../kube/kinds.ts'
import type { KubeObject } from '../../kube/object.ts'
import { workloadsConfig } from '../configuration/workloads-config.ts'
import { AppWrapper, type AppWrapperObject } from './appwrapper.ts'
import { queueCoordinator } from './queue-coordinator.ts'

const start = Date.UTC(2026, 0, 1)
const requests = { cpu: 4 }

/** The queue with one node that has room for one AppWrapper. */
function openQueue(dispatchResourceReservationTimeout: number) {
  const coordinator = queueCoordinator()
  const state = coordinator.start({ config: workloadsConfig.read({ mcad: { dispatchResourceReservationTimeout } }) })
  const status = { allocatable: { cpu: '4', pods: '10' } }
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', labels: {} }, spec: {}, status } as KubeObject
  coordinator.take(state, { resource: Node, object: node })
  return {
    add: (object: AppWrapperObject) => coordinator.take(state, { resource: AppWrapper, object }),
    addPod: (object: AppWrapperObject) => coordinator.take(state, withPods(object)[1]!),
    remove: (object: AppWrapperObject) => coordinator.take(state, { resource: AppWrapper, before: object }),
    decide(seconds: number) {
      const { decisions, again } = coordinator.decide(state, start + seconds * 1000)
      const started = [...decisions].filter(([, decision]) => decision?.what === 'start').map(([uid]) => uid)
      return { started, again: again === undefined ? undefined : (again - start) / 1000 }
    },
  }
}

const dispatched = wrapper('dispatched', { requests, isRunning: true })

describe('room for pods of a dispatched AppWrapper', () => {
  it('is kept for the time that is set, and then given to the next one', () => {
    const queue = openQueue(60_000)
    queue.add(dispatched)
    queue.add(wrapper('next', { requests }))
    queue.add(wrapper('last', { requests, created: '00:00:01' }))
    expect(queue.decide(1)).toMatchObject({ started: [] })
    expect(queue.decide(59)).toEqual({ started: [], again: 60 })
    expect(queue.decide(60).started).toEqual(['next'])
    // Its pods that come all the same count once: no other AppWrapper gets their room, also when the AppWrapper is gone and the pod is not.
    queue.addPod(dispatched)
    expect(queue.decide(61).started).toEqual([])
    queue.remove(dispatched)
    expect(queue.decide(62).started).toEqual([])
  })

  it('stays theirs once they are there', () => {
    const queue = openQueue(60_000)
    queue.add(dispatched)
    queue.addPod(dispatched)
    queue.add(wrapper('next', { requests }))
    for (const seconds of [1, 60, 3600]) expect(queue.decide(seconds).started).toEqual([])
  })

  it('is kept while its objects are deleted to be created anew', () => {
    const queue = openQueue(60_000)
    queue.add({ ...dispatched, status: { ...dispatched.status, phase: 'Resetting' } })
    queue.add(wrapper('next', { requests }))
    for (const seconds of [1, 60, 3600]) expect(queue.decide(seconds).started).toEqual([])
  })
})

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Health, healthOf } from './health.ts'
import type { KubeObject, ObjectMeta } from '../object.ts'

const now = Date.UTC(2026, 0, 1)

interface Parts {
  readonly metadata?: ObjectMeta
  readonly spec?: object
  readonly status?: object
}

const object = (apiVersion: string, kind: string, { metadata, ...rest }: Parts): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'x', ...metadata },
  ...rest,
})

const health = (apiVersion: string, kind: string, parts: Parts): Health =>
  healthOf(object(apiVersion, kind, parts), now)

/** `InProgress LessReady`: status and reason. */
const verdict = (apiVersion: string, kind: string, parts: Parts): string => {
  const { status, reason } = health(apiVersion, kind, parts)
  return `${status} ${reason}`
}

const condition = (type: string, status: string, reason = '', message = ''): object => ({
  type,
  status,
  reason,
  message,
})

describe('the health of any kind', () => {
  const widget = (parts: Parts): string => verdict('example.com/v1', 'Widget', parts)

  it('is not found when there is no object', () => {
    expect(healthOf(undefined, now)).toMatchObject({ status: 'NotFound', reason: 'NotFound' })
  })

  it('is terminating during deletion, whatever its status', () => {
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', generation: 2 }
    const status = { observedGeneration: 1, conditions: [condition('Stalled', 'True')] }
    expect(widget({ metadata, status })).toBe('Terminating Deleting')
  })

  it('is in progress until its controller has observed the newest generation', () => {
    const status = { observedGeneration: 1, conditions: [condition('Stalled', 'True'), condition('Ready', 'True')] }
    expect(widget({ metadata: { generation: 2 }, status })).toBe('InProgress LatestGenerationNotObserved')
    expect(health('example.com/v1', 'Widget', { metadata: { generation: 2 }, status }).message).toBe(
      'Its controller has seen generation 1 of 2.',
    )
    expect(widget({ metadata: { generation: 2 }, status: {} })).toBe('Current NothingToWaitFor')
    expect(widget({ status: { observedGeneration: 2 } })).toBe('Current NothingToWaitFor')
  })

  it.each([
    [[condition('Reconciling', 'True', 'Rolling')], 'InProgress Rolling'],
    [[condition('Stalled', 'True', 'Broken')], 'Failed Broken'],
    [[condition('Stalled', 'True')], 'Failed Stalled'],
    [[condition('Reconciling', 'True', 'Rolling'), condition('Ready', 'True')], 'InProgress Rolling'],
    [[condition('Stalled', 'False'), condition('Reconciling', 'Unknown')], 'Current NothingToWaitFor'],
    [[condition('Ready', 'True', 'Fine')], 'Current Fine'],
    [[condition('Ready', 'True')], 'Current Ready'],
    [[condition('Ready', 'False', 'Starting')], 'InProgress Starting'],
    [[condition('Ready', 'Unknown')], 'InProgress NotReady'],
    [[condition('Other', 'False')], 'Current NothingToWaitFor'],
    [[], 'Current NothingToWaitFor'],
  ])('follows the conditions %j: %s', (conditions, expected) => {
    expect(widget({ status: { conditions } })).toBe(expected)
  })

  it('has the message of the condition', () => {
    expect(
      health('example.com/v1', 'Widget', { status: { conditions: [condition('Ready', 'False', 'No', 'why')] } }),
    ).toEqual({
      status: 'InProgress',
      reason: 'No',
      message: 'why',
    })
  })

  it('applies general rules before those of the kind', () => {
    expect(verdict('v1', 'ConfigMap', { status: { conditions: [condition('Stalled', 'True', 'Broken')] } })).toBe(
      'Failed Broken',
    )
    expect(verdict('v1', 'Secret', { metadata: { deletionTimestamp: 'x' } })).toBe('Terminating Deleting')
  })

  it('does not fail for a status of any type', () => {
    const kinds = [
      'v1/Pod',
      'apps/v1/Deployment',
      'apps/v1/StatefulSet',
      'apps/v1/DaemonSet',
      'batch/v1/Job',
      'v1/Service',
    ]
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.json(), fc.json(), (kind, spec, status) => {
        const parts = { spec: JSON.parse(spec) as object, status: JSON.parse(status) as object }
        const cut = kind.lastIndexOf('/')
        expect(health(kind.slice(0, cut), kind.slice(cut + 1), parts).status).not.toBe('NotFound')
      }),
    )
    expect(verdict('v1', 'Pod', { status: { phase: 'Running', conditions: [null, 1, 'x'] } })).toBe(
      'InProgress PodRunningNotReady',
    )
  })
})

describe('the health of a Deployment', () => {
  const full = { replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 }
  const available = condition('Available', 'True')
  const rolledOut = condition('Progressing', 'True', 'NewReplicaSetAvailable')

  it.each([
    [{ ...full, conditions: [available, rolledOut] }, 'Current Available'],
    [
      { ...full, conditions: [condition('Progressing', 'False', 'ProgressDeadlineExceeded')] },
      'Failed ProgressDeadlineExceeded',
    ],
    [{ ...full, replicas: 1, conditions: [available, rolledOut] }, 'InProgress LessReplicas'],
    [{ ...full, updatedReplicas: 1, conditions: [available, rolledOut] }, 'InProgress LessUpdated'],
    [{ ...full, replicas: 3, conditions: [available, rolledOut] }, 'InProgress ExtraPods'],
    [{ ...full, availableReplicas: 1, conditions: [available, rolledOut] }, 'InProgress LessAvailable'],
    [{ ...full, readyReplicas: 1, conditions: [available, rolledOut] }, 'InProgress LessReady'],
    [
      { ...full, conditions: [available, condition('Progressing', 'True', 'ReplicaSetUpdated')] },
      'InProgress ReplicaSetNotAvailable',
    ],
    [{ ...full, conditions: [rolledOut] }, 'InProgress DeploymentNotAvailable'],
    [{ ...full, conditions: [rolledOut, condition('Available', 'False')] }, 'InProgress DeploymentNotAvailable'],
    [{}, 'InProgress LessReplicas'],
  ])('with status %j is %s', (status, expected) => {
    expect(verdict('apps/v1', 'Deployment', { spec: { replicas: 2, progressDeadlineSeconds: 600 }, status })).toBe(
      expected,
    )
  })

  it('needs no Progressing condition without a deadline', () => {
    const status = { ...full, conditions: [available] }
    expect(verdict('apps/v1', 'Deployment', { spec: { replicas: 2 }, status })).toBe('Current Available')
    const spec = { replicas: 2, progressDeadlineSeconds: 2147483647 }
    expect(verdict('apps/v1', 'Deployment', { spec, status })).toBe('Current Available')
  })

  it('expects one replica by default, and none if set to zero', () => {
    expect(health('apps/v1', 'Deployment', { spec: {}, status: {} }).message).toBe('0 of 1 replicas are created.')
    expect(verdict('apps/v1', 'Deployment', { spec: { replicas: 0 }, status: { conditions: [available] } })).toBe(
      'Current Available',
    )
  })
})

describe('the health of a StatefulSet', () => {
  const full = {
    replicas: 3,
    readyReplicas: 3,
    currentReplicas: 3,
    updatedReplicas: 3,
    currentRevision: 'a',
    updateRevision: 'a',
  }
  const stateful = (status: object, updateStrategy: object = {}): string =>
    verdict('apps/v1', 'StatefulSet', { spec: { replicas: 3, updateStrategy }, status })

  it.each([
    [full, 'Current Ready'],
    [{ ...full, replicas: 2 }, 'InProgress LessReplicas'],
    [{ ...full, readyReplicas: 2 }, 'InProgress LessReady'],
    [{ ...full, replicas: 4 }, 'InProgress ExtraPods'],
    [{ ...full, currentReplicas: 2 }, 'InProgress LessCurrent'],
    [{ ...full, updateRevision: 'b' }, 'InProgress RevisionMismatch'],
  ])('with status %j is %s', (status, expected) => {
    expect(stateful(status)).toBe(expected)
  })

  it('is updated up to the partition only', () => {
    const partitioned = { rollingUpdate: { partition: 2 } }
    expect(stateful({ ...full, updatedReplicas: 0, updateRevision: 'b' }, partitioned)).toBe(
      'InProgress PartitionRollout',
    )
    expect(stateful({ ...full, updatedReplicas: 1, updateRevision: 'b' }, partitioned)).toBe(
      'Current PartitionRolledOut',
    )
  })

  it('is current with strategy OnDelete', () => {
    expect(stateful({}, { type: 'OnDelete' })).toBe('Current OnDelete')
  })
})

describe('the health of a DaemonSet', () => {
  const full = {
    observedGeneration: 1,
    desiredNumberScheduled: 2,
    currentNumberScheduled: 2,
    updatedNumberScheduled: 2,
    numberAvailable: 2,
    numberReady: 2,
  }

  it.each([
    [full, 'Current Ready'],
    [{ ...full, currentNumberScheduled: 1 }, 'InProgress LessCurrent'],
    [{ ...full, updatedNumberScheduled: 1 }, 'InProgress LessUpdated'],
    [{ ...full, numberAvailable: 1 }, 'InProgress LessAvailable'],
    [{ ...full, numberReady: 1 }, 'InProgress LessReady'],
    [{ observedGeneration: 1 }, 'InProgress NoDesiredNumber'],
    [{ observedGeneration: 1, desiredNumberScheduled: 0 }, 'Current Ready'],
    [{}, 'InProgress NoObservedGeneration'],
  ])('with status %j is %s', (status, expected) => {
    expect(verdict('apps/v1', 'DaemonSet', { metadata: { generation: 1 }, status })).toBe(expected)
  })

  it('requires a generation', () => {
    expect(verdict('apps/v1', 'DaemonSet', { status: full })).toBe('InProgress NoGeneration')
  })
})

describe('the health of a ReplicaSet', () => {
  const full = { replicas: 2, fullyLabeledReplicas: 2, availableReplicas: 2, readyReplicas: 2 }

  it.each([
    [full, 'Current Available'],
    [{ ...full, conditions: [condition('ReplicaFailure', 'True')] }, 'InProgress ReplicaFailure'],
    [{ ...full, fullyLabeledReplicas: 1 }, 'InProgress LessLabelled'],
    [{ ...full, availableReplicas: 1 }, 'InProgress LessAvailable'],
    [{ ...full, readyReplicas: 1 }, 'InProgress LessReady'],
    [{ ...full, replicas: 3 }, 'InProgress ExtraPods'],
  ])('with status %j is %s', (status, expected) => {
    expect(verdict('apps/v1', 'ReplicaSet', { spec: { replicas: 2 }, status })).toBe(expected)
  })
})

describe('the health of a Pod', () => {
  const unschedulable = {
    phase: 'Pending',
    conditions: [condition('PodScheduled', 'False', 'Unschedulable', '0/3 nodes')],
  }
  const crashing = { name: 'app', state: { waiting: { reason: 'CrashLoopBackOff' } } }

  it.each([
    [{ phase: 'Succeeded' }, 'Current Succeeded'],
    [{ phase: 'Failed' }, 'Current Failed'],
    [{ phase: 'Running', conditions: [condition('Ready', 'True')] }, 'Current Ready'],
    [{ phase: 'Running', conditions: [condition('Ready', 'False')] }, 'InProgress PodRunningNotReady'],
    [
      { phase: 'Running', containerStatuses: [{ name: 'a', state: { running: {} } }, crashing] },
      'Failed ContainerCrashLooping',
    ],
    [{ phase: 'Running', conditions: [condition('Ready', 'True')], containerStatuses: [crashing] }, 'Current Ready'],
    [{ phase: 'Pending' }, 'InProgress PodPending'],
    [
      { phase: 'Pending', conditions: [condition('PodScheduled', 'False', 'SchedulingGated')] },
      'InProgress PodPending',
    ],
    [{ phase: 'Pending', conditions: [condition('PodScheduled', 'True', 'Unschedulable')] }, 'InProgress PodPending'],
    [{ phase: 'Pending', conditions: [condition('Other', 'False', 'Unschedulable')] }, 'InProgress PodPending'],
    [{}, 'InProgress PodNotObserved'],
    [{ phase: 'Unknown' }, 'Unknown UnknownPhase'],
  ])('with status %j is %s', (status, expected) => {
    expect(verdict('v1', 'Pod', { status })).toBe(expected)
  })

  it('names the crashing containers', () => {
    const status = { phase: 'Running', containerStatuses: [crashing, { ...crashing, name: 'sidecar' }] }
    expect(health('v1', 'Pod', { status }).message).toBe('Crashing again and again: app, sidecar.')
  })

  it('may be unschedulable for fifteen seconds', () => {
    const pod = object('v1', 'Pod', { metadata: { creationTimestamp: '2026-01-01T00:00:00Z' }, status: unschedulable })
    expect(healthOf(pod, now + 14_999)).toMatchObject({ status: 'InProgress', reason: 'PodNotScheduled' })
    expect(healthOf(pod, now + 15_000)).toEqual({ status: 'Failed', reason: 'PodUnschedulable', message: '0/3 nodes' })
  })
})

describe('the health of a Job', () => {
  it.each([
    [{ conditions: [condition('Complete', 'True')], succeeded: 1 }, 'Current Complete'],
    [{ conditions: [condition('Failed', 'True')] }, 'Failed JobFailed'],
    [{ conditions: [condition('Suspended', 'True')] }, 'Current Suspended'],
    [{ conditions: [condition('Complete', 'False')] }, 'InProgress JobNotStarted'],
    [{ startTime: '2026-01-01T00:00:00Z', active: 1 }, 'Current Running'],
    [{}, 'InProgress JobNotStarted'],
  ])('with status %j is %s', (status, expected) => {
    expect(verdict('batch/v1', 'Job', { status })).toBe(expected)
  })
})

describe('the health of a CustomResourceDefinition', () => {
  it.each([
    [[condition('NamesAccepted', 'True'), condition('Established', 'True')], 'Current Established'],
    [[condition('NamesAccepted', 'False', 'Conflict')], 'Failed Conflict'],
    [[condition('Established', 'True'), condition('NamesAccepted', 'False', 'Conflict')], 'Failed Conflict'],
    [[condition('NamesAccepted', 'True'), condition('Established', 'False', 'NotAccepted')], 'Failed NotAccepted'],
    [[condition('NamesAccepted', 'True'), condition('Established', 'False', 'Installing')], 'InProgress Installing'],
    [[], 'InProgress Installing'],
  ])('with conditions %j is %s', (conditions, expected) => {
    expect(verdict('apiextensions.k8s.io/v1', 'CustomResourceDefinition', { status: { conditions } })).toBe(expected)
  })
})

describe('the health of other built-in kinds', () => {
  it.each([
    ['v1', 'PersistentVolumeClaim', { status: { phase: 'Bound' } }, 'Current Bound'],
    ['v1', 'PersistentVolumeClaim', { status: { phase: 'Pending' } }, 'InProgress NotBound'],
    ['v1', 'PersistentVolumeClaim', {}, 'InProgress NotBound'],
    ['v1', 'Service', { spec: { type: 'ClusterIP' } }, 'Current Ready'],
    ['v1', 'Service', {}, 'Current Ready'],
    ['v1', 'Service', { spec: { type: 'LoadBalancer' } }, 'InProgress NoIPAssigned'],
    ['v1', 'Service', { spec: { type: 'LoadBalancer', clusterIP: '10.0.0.1' } }, 'Current Ready'],
    ['v1', 'ConfigMap', {}, 'Current AlwaysCurrent'],
    ['v1', 'Secret', {}, 'Current AlwaysCurrent'],
    ['batch/v1', 'CronJob', {}, 'Current AlwaysCurrent'],
    ['policy/v1', 'PodDisruptionBudget', {}, 'Current AlwaysCurrent'],
  ])('%s %s %j is %s', (apiVersion, kind, parts, expected) => {
    expect(verdict(apiVersion, kind, parts)).toBe(expected)
  })

  it('does not treat a foreign kind of the same name as built-in', () => {
    expect(verdict('example.com/v1', 'Pod', { status: { phase: 'Pending' } })).toBe('Current NothingToWaitFor')
  })
})

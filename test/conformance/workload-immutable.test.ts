/** What may change in pods and in the kinds that make them, once they exist. */
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { openServer } from './server.ts'
import {
  container,
  cronJob,
  job,
  pathOf,
  pod,
  refusalOf,
  sharedNamespace,
  template,
  web,
  workload,
} from './workload.ts'

const server = openServer()
const namespace = sharedNamespace(server)

interface Change {
  readonly plural: string
  readonly before: JsonObject
  /** A merge patch. */
  readonly patch: JsonObject
  readonly status?: JsonObject
  readonly subresource?: string
}

/** Creates, perhaps reports a status, and changes. */
async function changed({ plural, before, patch, status, subresource = '' }: Change): Promise<string> {
  const name = server.unique('web')
  const path = pathOf(plural, await namespace())
  await server.must('POST', path, { body: { metadata: { name }, ...before } })
  server.cleanUp(`${path}/${name}`)
  const type = 'application/merge-patch+json'
  if (status) await server.must('PATCH', `${path}/${name}/status`, { type, body: { status } })
  const answer = await server.call('PATCH', `${path}/${name}${subresource}`, { type, body: patch })
  return refusalOf(server, answer)
}

const spec = (members: JsonObject): JsonObject => ({ spec: members })
const claims = (size: string): JsonObject => ({
  volumeClaimTemplates: [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: size } } },
    },
  ],
})

describe('pods', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['an image', pod({}), spec({ containers: [{ ...web, image: 'nginx:2' }] })],
    ['an image with space around it', pod({}), spec({ containers: [{ ...web, image: ' nginx' }] })],
    ['no image', pod({}), spec({ containers: [{ name: 'web' }] })],
    ['a command', pod({}), spec({ containers: [{ ...web, command: ['x'] }] })],
    [
      'a command that Go escapes',
      container({ command: ['a && b'] }),
      spec({ containers: [{ ...web, command: ['a < b'] }] }),
    ],
    ['another container', pod({}), spec({ containers: [web, { name: 'b', image: 'b' }] })],
    ['an init container', pod({}), spec({ initContainers: [{ name: 'b', image: 'b' }] })],
    ['a node', pod({}), spec({ nodeName: 'n' })],
    ['a restart policy', pod({}), spec({ restartPolicy: 'Never' })],
    [
      'resources',
      container({ resources: { limits: { cpu: '1' } } }),
      spec({ containers: [{ ...web, resources: { limits: { cpu: '2' } } }] }),
    ],
    ['a first deadline', pod({}), spec({ activeDeadlineSeconds: 10 })],
    ['an earlier deadline', pod({ activeDeadlineSeconds: 10 }), spec({ activeDeadlineSeconds: 5 })],
    ['a later deadline', pod({ activeDeadlineSeconds: 10 }), spec({ activeDeadlineSeconds: 11 })],
    ['no deadline', pod({ activeDeadlineSeconds: 10 }), spec({ activeDeadlineSeconds: null })],
    ['fewer tolerations', pod({ tolerations: [{ operator: 'Exists' }] }), spec({ tolerations: [] })],
    [
      'more tolerations',
      pod({ tolerations: [{ operator: 'Exists' }] }),
      spec({ tolerations: [{ operator: 'Exists' }, { key: 'a', operator: 'Exists' }] }),
    ],
    [
      'a toleration for longer',
      pod({ tolerations: [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 }] }),
      spec({ tolerations: [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 2 }] }),
    ],
    [
      'an invalid toleration',
      pod({ tolerations: [{ operator: 'Exists' }] }),
      spec({ tolerations: [{ operator: 'Exists' }, { key: 'a', operator: 'Is' }] }),
    ],
    ['a grace period', pod({}), spec({ terminationGracePeriodSeconds: 5 })],
    ['a new gate', pod({}), spec({ schedulingGates: [{ name: 'a' }] })],
    [
      'a removed gate',
      pod({ schedulingGates: [{ name: 'a' }, { name: 'b' }] }),
      spec({ schedulingGates: [{ name: 'b' }] }),
    ],
    ['the node of a gated pod', pod({ schedulingGates: [{ name: 'a' }] }), spec({ nodeSelector: { a: 'b' } })],
    [
      'no node of a gated pod',
      pod({ schedulingGates: [{ name: 'a' }], nodeSelector: { a: 'b' } }),
      spec({ nodeSelector: { a: 'c' } }),
    ],
    ['the node of a pod', pod({}), spec({ nodeSelector: { a: 'b' } })],
    ['labels', pod({}), { metadata: { labels: { a: 'b' } } }],
    ['a mirror', pod({}), { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } }],
    ['an ephemeral container', pod({}), spec({ ephemeralContainers: [{ name: 'd', image: 'd' }] })],
  ])('%s', async (_what, before, patch) => {
    expect(await changed({ plural: 'pods', before, patch })).toMatchSnapshot('answer')
  })

  it.each<[string, JsonObject]>([
    ['a phase', { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }],
    ['another quality of service', { qosClass: 'Guaranteed' }],
    ['an address', { podIP: '10.0.0.1' }],
  ])('status: %s', async (_what, status) => {
    expect(
      await changed({ plural: 'pods', before: pod({}), patch: { status }, subresource: '/status' }),
    ).toMatchSnapshot('answer')
  })
})

describe('workload kinds', () => {
  it.each<[string, string, JsonObject, JsonObject]>([
    [
      'the selector of a deployment',
      'deployments.apps',
      workload(),
      spec({ selector: { matchLabels: { app: 'web', a: 'b' } } }),
    ],
    [
      'the selector and the labels',
      'deployments.apps',
      workload(),
      spec({ selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } } } }),
    ],
    [
      'the template of a deployment',
      'deployments.apps',
      workload(),
      spec({ template: { spec: { containers: [{ name: 'b', image: 'b' }] } } }),
    ],
    ['the strategy of a deployment', 'deployments.apps', workload(), spec({ strategy: { type: 'Recreate' } })],
    [
      'the strategy and its steps',
      'deployments.apps',
      workload(),
      spec({ strategy: { type: 'Recreate', rollingUpdate: null } }),
    ],
    [
      'the selector of a replica set',
      'replicasets.apps',
      workload(),
      spec({ selector: { matchLabels: { app: 'x' } }, template: { metadata: { labels: { app: 'x' } } } }),
    ],
    [
      'the selector of a replication controller',
      'replicationcontrollers',
      { spec: { template: template() } },
      spec({ selector: { app: 'x' }, template: { metadata: { labels: { app: 'x' } } } }),
    ],
    ['the service of a stateful set', 'statefulsets.apps', workload({ serviceName: 'a' }), spec({ serviceName: 'b' })],
    ['the claims of a stateful set', 'statefulsets.apps', workload(claims('1Gi')), spec(claims('2Gi'))],
    ['the order of a stateful set', 'statefulsets.apps', workload(), spec({ podManagementPolicy: 'Parallel' })],
    [
      'many fields of a stateful set',
      'statefulsets.apps',
      workload(),
      spec({ podManagementPolicy: 'Parallel', serviceName: 'b', selector: { matchLabels: { a: 'b' } }, replicas: -1 }),
    ],
    [
      'mutable fields of a stateful set',
      'statefulsets.apps',
      workload(),
      spec({
        replicas: 3,
        minReadySeconds: 5,
        updateStrategy: { rollingUpdate: { partition: 1 } },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
        revisionHistoryLimit: 1,
        ordinals: { start: 1 },
      }),
    ],
    ['the selector of a daemon set', 'daemonsets.apps', workload(), spec({ selector: { matchLabels: { app: 'x' } } })],
    ['the completions of a job', 'jobs.batch', job(), spec({ completions: 2 })],
    [
      'the parallelism of a job',
      'jobs.batch',
      job(),
      spec({ parallelism: 2, backoffLimit: 1, ttlSecondsAfterFinished: 5, activeDeadlineSeconds: 7, suspend: true }),
    ],
    ['the selector of a job', 'jobs.batch', job(), spec({ selector: { matchLabels: { a: 'b' } } })],
    ['the mode of a job', 'jobs.batch', job(), spec({ completionMode: 'Indexed' })],
    [
      'policies of a job',
      'jobs.batch',
      job({ completionMode: 'Indexed', completions: 2 }),
      spec({ backoffLimitPerIndex: 1, managedBy: 'example.com/me' }),
    ],
    [
      'completions of an indexed job',
      'jobs.batch',
      job({ completionMode: 'Indexed', completions: 2 }),
      spec({ completions: 3 }),
    ],
    [
      'completions in tandem',
      'jobs.batch',
      job({ completionMode: 'Indexed', completions: 2 }),
      spec({ completions: 3, parallelism: 3 }),
    ],
    [
      'the template of a job',
      'jobs.batch',
      job(),
      spec({ template: { spec: { containers: [{ ...web, image: 'b' }] } } }),
    ],
    ['labels of the template of a job', 'jobs.batch', job(), spec({ template: { metadata: { labels: { x: 'y' } } } })],
    [
      'scheduling of a suspended job',
      'jobs.batch',
      job({ suspend: true }),
      spec({
        template: {
          metadata: { labels: { x: 'y' } },
          spec: { nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }] },
        },
      }),
    ],
    [
      'resources of a suspended job',
      'jobs.batch',
      job({ suspend: true }),
      spec({ template: { spec: { containers: [{ ...web, resources: { requests: { cpu: '1' } } }] } } }),
    ],
    [
      'the image of a suspended job',
      'jobs.batch',
      job({ suspend: true }),
      spec({ template: { spec: { containers: [{ ...web, image: 'b' }] } } }),
    ],
    ['a cron job', 'cronjobs.batch', cronJob(), spec({ schedule: '0 0 * * *', suspend: true, timeZone: 'UTC' })],
    ['the schedule of a cron job', 'cronjobs.batch', cronJob(), spec({ schedule: 'TZ=UTC 0 0 * * *' })],
    ['a pod template', 'podtemplates', { template: template() }, { template: { spec: { restartPolicy: 'x' } } }],
    [
      'the data of a controller revision',
      'controllerrevisions.apps',
      { revision: 1, data: { a: 1 } },
      { data: { a: 2 } },
    ],
    [
      'the number of a controller revision',
      'controllerrevisions.apps',
      { revision: 1, data: { a: 1 } },
      { revision: 2 },
    ],
  ])('%s', async (_what, plural, before, patch) => {
    expect(await changed({ plural, before, patch })).toMatchSnapshot('answer')
  })

  it('a daemon set counts generations of its template', async () => {
    const path = pathOf('daemonsets.apps', await namespace())
    const name = server.unique('count')
    await server.must('POST', path, { body: { metadata: { name }, ...workload() } })
    server.cleanUp(`${path}/${name}`)
    const type = 'application/merge-patch+json'
    const counts: unknown[] = []
    for (const members of [
      { minReadySeconds: 5 },
      { template: { spec: { hostPID: true } } },
      { template: { metadata: { labels: { b: 'c' } } } },
    ]) {
      const { metadata } = await server.must('PATCH', `${path}/${name}`, { type, body: spec(members) })
      const { annotations, generation } = metadata as { annotations: JsonObject; generation: number }
      counts.push([generation, annotations])
    }
    expect(counts).toMatchSnapshot('answer')
  })
})

const time = '2026-01-02T03:04:05Z'

describe('status', () => {
  it.each<[string, string, JsonObject, JsonObject]>([
    [
      'a deployment',
      'deployments.apps',
      workload(),
      { replicas: 2, readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1, observedGeneration: 1 },
    ],
    [
      'more ready than existing',
      'deployments.apps',
      workload(),
      { replicas: 1, readyReplicas: 2, updatedReplicas: 3, availableReplicas: 4 },
    ],
    ['negative counts', 'deployments.apps', workload(), { replicas: -1, observedGeneration: -1 }],
    [
      'a replica set',
      'replicasets.apps',
      workload(),
      { replicas: 1, fullyLabeledReplicas: 2, readyReplicas: 3, availableReplicas: 4 },
    ],
    [
      'a replication controller',
      'replicationcontrollers',
      { spec: { template: template() } },
      { replicas: 1, availableReplicas: 2 },
    ],
    [
      'a stateful set',
      'statefulsets.apps',
      workload(),
      { replicas: 1, currentReplicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 3 },
    ],
    [
      'a daemon set',
      'daemonsets.apps',
      workload(),
      { numberReady: -1, desiredNumberScheduled: -1, currentNumberScheduled: 0, numberMisscheduled: 0 },
    ],
    ['a job that runs', 'jobs.batch', job(), { active: 1, ready: 1, startTime: time }],
    ['a job with more ready than active', 'jobs.batch', job(), { ready: 1 }],
    [
      'a job that is complete',
      'jobs.batch',
      job(),
      {
        conditions: [
          { type: 'SuccessCriteriaMet', status: 'True' },
          { type: 'Complete', status: 'True' },
        ],
        startTime: time,
        completionTime: time,
        succeeded: 1,
      },
    ],
    ['a job that is complete too early', 'jobs.batch', job(), { conditions: [{ type: 'Complete', status: 'True' }] }],
    [
      'a job that failed without a reason',
      'jobs.batch',
      job(),
      { conditions: [{ type: 'Failed', status: 'True' }], startTime: time },
    ],
    [
      'a job that finished twice',
      'jobs.batch',
      job(),
      {
        conditions: [
          { type: 'Complete', status: 'True' },
          { type: 'Failed', status: 'True' },
        ],
        startTime: time,
        completionTime: time,
      },
    ],
  ])('%s', async (_what, plural, before, status) => {
    expect(await changed({ plural, before, patch: { status }, subresource: '/status' })).toMatchSnapshot('answer')
  })

  it.each<[string, JsonObject, JsonObject]>([
    ['decreasing counts', { succeeded: 2, failed: 2, startTime: time }, { succeeded: 1, failed: 1 }],
    [
      'a removed completion',
      { conditions: [{ type: 'FailureTarget', status: 'True' }], startTime: time },
      { conditions: [] },
    ],
    ['another start', { startTime: time }, { startTime: '2026-01-02T03:04:06Z' }],
  ])('of a job: %s', async (_what, status, next) => {
    const change = { plural: 'jobs.batch', before: job(), status, patch: { status: next }, subresource: '/status' }
    expect(await changed(change)).toMatchSnapshot('answer')
  })
})

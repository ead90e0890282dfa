/** What the server fills in where a workload was written in few words. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { openServer } from './server.ts'
import {
  container,
  cronJob,
  job,
  labels,
  objectOf,
  pathOf,
  pod,
  selector,
  sharedNamespace,
  template,
  volume,
  web,
  workload,
} from './workload.ts'

const server = openServer()
const namespace = sharedNamespace(server)

async function created(plural: string, body: JsonObject): Promise<Json> {
  const answer = await server.call('POST', pathOf(plural, await namespace()), {
    body: { metadata: { name: 'web' }, ...body },
    query: { dryRun: 'All' },
  })
  return objectOf(server, answer)
}

const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }

describe('defaults of pods', () => {
  it.each<[string, JsonObject]>([
    ['one container', pod({})],
    [
      'zeros that equal the default',
      {
        metadata: { name: 'web', labels: {}, annotations: {}, finalizers: [] },
        spec: {
          containers: [
            {
              ...web,
              args: [],
              command: [],
              env: [],
              ports: [],
              stdin: false,
              tty: false,
              workingDir: '',
              resources: { limits: {}, requests: {} },
            },
          ],
          hostNetwork: false,
          hostPID: false,
          initContainers: [],
          volumes: [],
          nodeSelector: {},
          hostname: '',
          dnsPolicy: '',
          restartPolicy: '',
          schedulerName: '',
          nodeName: '',
          priorityClassName: '',
        },
      },
    ],
    [
      'explicit zeros',
      pod({
        automountServiceAccountToken: false,
        shareProcessNamespace: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: 0,
        runtimeClassName: null,
        securityContext: { runAsUser: 0, runAsNonRoot: false },
      }),
    ],
    ['a service account by its deprecated name', pod({ serviceAccount: 'robot' })],
    ['two names of a service account', pod({ serviceAccount: 'old', serviceAccountName: 'new' })],
    ['a negative grace period', pod({ terminationGracePeriodSeconds: -5 })],
    [
      'the network of the host',
      pod({
        hostNetwork: true,
        containers: [{ ...web, ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 81, protocol: 'UDP' }] }],
      }),
    ],
    ['scheduling gates', pod({ schedulingGates: [{ name: 'example.com/wait' }] })],
    [
      'labels merged into affinities',
      {
        metadata: { name: 'web', labels: { app: 'web', hash: 'x' } },
        ...pod({
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: 'zone', labelSelector: selector, matchLabelKeys: ['hash'] },
              ],
            },
            podAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [
                {
                  weight: 1,
                  podAffinityTerm: { topologyKey: 'zone', labelSelector: {}, mismatchLabelKeys: ['hash', 'none'] },
                },
              ],
            },
          },
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'zone',
              whenUnsatisfiable: 'DoNotSchedule',
              labelSelector: selector,
              matchLabelKeys: ['hash'],
            },
          ],
        }),
      },
    ],
    [
      'resources of the pod as a whole',
      pod({
        resources: { limits: { cpu: '2', memory: '1Gi' } },
        containers: [{ ...web, resources: { requests: { cpu: '100m' } } }],
      }),
    ],
    [
      'init and sidecar containers',
      pod({
        initContainers: [
          { name: 'init', image: 'busybox', resources: { limits: { cpu: '1' } } },
          { name: 'side', image: 'proxy:v1', restartPolicy: 'Always', readinessProbe: { tcpSocket: { port: 1 } } },
        ],
      }),
    ],
  ])('%s', async (_what, body) => {
    expect(await created('pods', body)).toMatchSnapshot('defaults')
  })
})

describe('quality of service', () => {
  it.each<[string, JsonObject]>([
    ['limits alone', container({ resources: { limits: { cpu: '1', memory: '1Gi' } } })],
    ['a limit of one resource', container({ resources: { limits: { cpu: '1' } } })],
    ['requests alone', container({ resources: { requests: { memory: '64Mi' } } })],
    ['requests of zero', container({ resources: { requests: { cpu: '0' } } })],
    ['storage alone', container({ resources: { requests: { 'ephemeral-storage': '1Gi' } } })],
    [
      'one of two containers',
      pod({
        containers: [
          { ...web, resources: { limits: { cpu: '1', memory: '1Gi' } } },
          { name: 'b', image: 'b' },
        ],
      }),
    ],
  ])('%s', async (_what, body) => {
    const { status } = (await created('pods', body)) as { status: Json }
    expect(status).toMatchSnapshot('defaults')
  })
})

describe('defaults of containers', () => {
  it.each<[string, JsonObject]>([
    ['no tag', { image: 'nginx' }],
    ['latest', { image: 'nginx:latest' }],
    ['a port is no tag', { image: 'host:5000/nginx' }],
    ['a tag behind a port', { image: 'host:5000/team/nginx:v1' }],
    ['a digest', { image: `nginx@sha256:${'a'.repeat(64)}` }],
    ['a tag and a digest', { image: `nginx:latest@sha256:${'a'.repeat(64)}` }],
    ['an invalid name', { image: 'Not A Name' }],
    ['a bare digest', { image: 'b'.repeat(64) }],
  ])('pull policy: %s', async (_what, members) => {
    const { spec } = (await created('pods', container(members))) as { spec: { containers: JsonObject[] } }
    expect(spec.containers[0]!['imagePullPolicy']).toMatchSnapshot('defaults')
  })

  it.each<[string, JsonObject]>([
    [
      'probes',
      {
        livenessProbe: { httpGet: { port: 80 } },
        readinessProbe: { exec: { command: ['true'] }, periodSeconds: 0, failureThreshold: 5 },
        startupProbe: { grpc: { port: 9090 } },
      },
    ],
    ['hooks', { lifecycle: { postStart: { httpGet: { port: 'http' } }, preStop: { sleep: { seconds: 5 } } } }],
    ['ports', { ports: [{ containerPort: 80 }, { containerPort: 53, protocol: 'UDP', name: 'dns' }] }],
    [
      'variables',
      {
        env: [
          { name: 'A' },
          { name: 'B', value: '' },
          { name: 'C', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'D', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
          { name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: false } } },
        ],
      },
    ],
    [
      'quantities',
      {
        resources: {
          limits: { cpu: 1.5, memory: '1024Mi', 'example.com/gpu': 2 },
          requests: { cpu: '0.0001', memory: '1e3' },
        },
      },
    ],
    ['a security context', { securityContext: { privileged: false, capabilities: { add: [], drop: ['ALL'] } } }],
    ['mounts', { volumeMounts: [] }],
  ])('%s', async (_what, members) => {
    const { spec } = (await created('pods', container(members))) as { spec: { containers: JsonObject[] } }
    expect(spec.containers[0]).toMatchSnapshot('defaults')
  })
})

describe('defaults of volumes', () => {
  it.each<[string, JsonObject]>([
    ['nothing', {}],
    ['emptyDir', { emptyDir: { sizeLimit: '1024Mi' } }],
    ['hostPath', { hostPath: { path: '/' } }],
    ['secret', { secret: { secretName: 's' } }],
    ['configMap', { configMap: { name: 'c', defaultMode: 0 } }],
    ['downwardAPI', { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } }],
    [
      'projected',
      {
        projected: {
          sources: [
            { secret: { name: 's' } },
            { downwardAPI: { items: [{ path: 'n', fieldRef: { fieldPath: 'metadata.name' } }] } },
          ],
        },
      },
    ],
    ['ephemeral', { ephemeral: { volumeClaimTemplate: { spec: claim } } }],
    ['iscsi', { iscsi: { targetPortal: '10.0.0.1', iqn: 'iqn.2001-04.com.example:a', lun: 0 } }],
    ['rbd', { rbd: { monitors: ['a'], image: 'i' } }],
    ['azureDisk', { azureDisk: { diskName: 'd', diskURI: 'https://blob/d' } }],
    ['image', { image: { reference: 'data' } }],
    ['nfs', { nfs: { server: 's', path: '/p' } }],
    ['csi', { csi: { driver: 'd.example.com' } }],
  ])('%s', async (_what, source) => {
    const { spec } = (await created('pods', volume(source))) as { spec: { volumes: JsonObject[] } }
    expect(spec.volumes).toMatchSnapshot('defaults')
  })

  it('a token of the service account', async () => {
    const sources = [{ serviceAccountToken: { path: 'token' } }]
    const body = pod({ serviceAccountName: 'robot', volumes: [{ name: 'v', projected: { sources } }] })
    const { spec } = (await created('pods', body)) as { spec: { volumes: JsonObject[] } }
    expect(spec.volumes).toMatchSnapshot('defaults')
  })
})

describe('defaults of workloads', () => {
  it.each<[string, string, JsonObject]>([
    ['a deployment', 'deployments.apps', workload()],
    [
      'a deployment that recreates',
      'deployments.apps',
      workload({ strategy: { type: 'Recreate' }, replicas: 0, minReadySeconds: 0, paused: false }),
    ],
    [
      'a deployment with an incomplete strategy',
      'deployments.apps',
      workload({ strategy: { rollingUpdate: { maxSurge: 1 } } }),
    ],
    [
      'a template is not a pod',
      'deployments.apps',
      workload({
        template: template({
          terminationGracePeriodSeconds: -1,
          hostNetwork: true,
          containers: [{ ...web, ports: [{ containerPort: 80 }], resources: { limits: { cpu: 1 } } }],
        }),
      }),
    ],
    ['a replica set', 'replicasets.apps', workload()],
    ['a replication controller', 'replicationcontrollers', { spec: { template: template() } }],
    [
      'a replication controller with labels',
      'replicationcontrollers',
      {
        metadata: { name: 'web', labels: { own: 'x' } },
        spec: { selector: labels, template: template(), replicas: 3 },
      },
    ],
    [
      'a stateful set',
      'statefulsets.apps',
      workload({ serviceName: 'web', volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }] }),
    ],
    [
      'a stateful set that names its strategy',
      'statefulsets.apps',
      workload({ updateStrategy: { type: 'RollingUpdate' } }),
    ],
    [
      'a stateful set with an incomplete strategy',
      'statefulsets.apps',
      workload({
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } },
        persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' },
      }),
    ],
    [
      'a stateful set on delete',
      'statefulsets.apps',
      workload({ updateStrategy: { type: 'OnDelete' }, ordinals: { start: 0 } }),
    ],
    ['a daemon set', 'daemonsets.apps', workload()],
    [
      'a daemon set with counts',
      'daemonsets.apps',
      {
        metadata: { name: 'web', annotations: { 'deprecated.daemonset.template.generation': '7' } },
        ...workload({ updateStrategy: { type: 'OnDelete' } }),
      },
    ],
    ['a job', 'jobs.batch', job()],
    ['a job without labels', 'jobs.batch', job({ template: { spec: { containers: [web], restartPolicy: 'Never' } } })],
    [
      'a job with labels of its own',
      'jobs.batch',
      { metadata: { name: 'web', labels: { own: 'x' } }, ...job({ parallelism: 3 }) },
    ],
    [
      'an indexed job',
      'jobs.batch',
      job({ completionMode: 'Indexed', completions: 3, backoffLimitPerIndex: 1, suspend: true }),
    ],
    [
      'a job with a failure policy',
      'jobs.batch',
      job({ podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] } }),
    ],
    ['a job with a selector of its own', 'jobs.batch', job({ manualSelector: true, selector })],
    ['a cron job', 'cronjobs.batch', cronJob()],
    [
      'a cron job without history',
      'cronjobs.batch',
      cronJob({
        successfulJobsHistoryLimit: 0,
        failedJobsHistoryLimit: 0,
        suspend: true,
        concurrencyPolicy: 'Forbid',
        timeZone: 'Europe/Berlin',
      }),
    ],
    ['a pod template', 'podtemplates', { template: template() }],
    ['a controller revision', 'controllerrevisions.apps', { data: { spec: {} }, revision: 0 }],
  ])('%s', async (_what, plural, body) => {
    expect(await created(plural, body)).toMatchSnapshot('defaults')
  })
})

it('invalid quantities are rejected while decoding', async () => {
  const answers = ['abc', '1.5.2', '', '10 Mi'].map(
    async (cpu) => await created('pods', container({ resources: { limits: { cpu } } })),
  )
  expect(await Promise.all(answers)).toMatchSnapshot('defaults')
})

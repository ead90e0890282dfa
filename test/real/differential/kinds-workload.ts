/** Kinds that run something: what the generator writes to them. */
import { type Edits, gone, type Kind } from './step.ts'

const container = { name: 'main', image: 'nginx', ports: [{ containerPort: 80, name: 'http' }] }
const podTemplate = { metadata: { labels: { app: 'a' } }, spec: { containers: [container] } }

/** Changes of a pod's spec, wherever that is. */
function podEdits(spec: string): readonly Edits[] {
  const main = `${spec}/containers/0`
  return [
    [`${main}/image`, 'nginx:1.27', 'nginx@sha256:abc', '', ' nginx', gone],
    [`${main}/name`, 'other', 'Bad_Name', gone],
    [`${main}/imagePullPolicy`, 'Always', 'Never', 'Sometimes'],
    [`${main}/command`, ['sh', '-c', 'true'], []],
    [`${main}/args`, ['x'], gone],
    [
      `${main}/env`,
      [
        { name: 'A', value: '1' },
        { name: 'B', value: '' },
      ],
      [
        { name: 'A', value: '1' },
        { name: 'A', value: '2' },
      ],
      [],
      [{ name: 'F', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      [{ name: 'bad=name', value: 'x' }],
      [{ value: 'x' }],
    ],
    [`${main}/ports/0/containerPort`, 8080, 0, '80'],
    [`${main}/ports/0/protocol`, 'UDP', 'X'],
    [
      `${main}/ports/1`,
      { containerPort: 81 },
      { containerPort: 80, name: 'http' },
      { containerPort: 80, protocol: 'UDP' },
    ],
    [
      `${main}/resources`,
      { requests: { cpu: '100m', memory: '64Mi' } },
      { limits: { cpu: 1, memory: '1Gi' } },
      { requests: { cpu: '2' }, limits: { cpu: '1' } },
      { requests: { cpu: 'x' } },
      { requests: { cpu: '0.1', memory: '1024Ki' } },
      {},
    ],
    [
      `${main}/livenessProbe`,
      { httpGet: { path: '/', port: 80 } },
      { httpGet: { port: 'http' }, periodSeconds: 5 },
      { exec: { command: ['true'] } },
      {},
      { tcpSocket: { port: 0 } },
    ],
    [`${main}/readinessProbe`, { tcpSocket: { port: 80 }, failureThreshold: 5 }, { grpc: { port: 9 } }],
    [
      `${main}/securityContext`,
      { runAsUser: 1000 },
      { privileged: true },
      { capabilities: { add: ['NET_ADMIN'] } },
      {},
    ],
    [`${main}/volumeMounts`, [{ name: 'v', mountPath: '/v' }], [{ name: 'none', mountPath: '/v' }], []],
    [
      `${spec}/volumes`,
      [{ name: 'v', emptyDir: {} }],
      [{ name: 'v', configMap: { name: 'c' } }],
      [{ name: 'v' }],
      [
        { name: 'v', emptyDir: {} },
        { name: 'v', secret: { secretName: 's' } },
      ],
      [],
    ],
    [
      `${spec}/containers/1`,
      { name: 'side', image: 'busybox' },
      { name: 'main', image: 'again' },
      { name: 'side' },
      { image: 'x' },
    ],
    [`${spec}/containers`, [], gone],
    [
      `${spec}/initContainers`,
      [{ name: 'init', image: 'busybox', restartPolicy: 'Always' }],
      [{ name: 'init', image: 'busybox' }],
      [],
    ],
    [`${spec}/restartPolicy`, 'Always', 'OnFailure', 'Never', 'Odd'],
    [`${spec}/serviceAccountName`, 'sa', gone],
    [`${spec}/terminationGracePeriodSeconds`, 0, 5, -1, gone],
    [`${spec}/nodeSelector`, { disk: 'ssd' }, {}, gone],
    [`${spec}/tolerations`, [{ key: 'k', operator: 'Exists' }], [{ operator: 'Exists', value: 'x' }], []],
    [
      `${spec}/affinity`,
      {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
          },
        },
      },
      {},
    ],
    [`${spec}/dnsPolicy`, 'Default', 'None', 'Odd'],
    [`${spec}/securityContext`, { runAsNonRoot: true, fsGroup: 1 }, {}, { runAsUser: -1 }],
    [
      `${spec}/topologySpreadConstraints`,
      [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'a' } },
        },
      ],
      [{ maxSkew: 0, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
    ],
    [`${spec}/hostNetwork`, true, false],
    [`${spec}/imagePullSecrets`, [{ name: 'a' }, { name: 'b' }], [{}], []],
    [`${spec}/hostAliases`, [{ ip: '1.2.3.4', hostnames: ['a'] }], [{ ip: 'x' }]],
    [`${spec}/activeDeadlineSeconds`, 10, 0],
  ]
}

const templateEdits: readonly Edits[] = [
  ['spec/template/metadata/labels/app', 'b', gone],
  ['spec/template/metadata/labels/extra', 'x'],
  ['spec/template/metadata/annotations', { note: 'x' }, gone],
  ...podEdits('spec/template/spec'),
]

const selectorEdits: readonly Edits[] = [
  ['spec/selector/matchLabels/app', 'b', gone],
  ['spec/selector', gone, {}, { matchExpressions: [{ key: 'app', operator: 'In', values: ['a'] }] }],
]

const conditions = [
  { type: 'Ready', status: 'True', reason: 'Fine', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' },
]

export const workloadKinds: readonly Kind[] = [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    plural: 'pods',
    namespaced: true,
    template: { spec: { containers: [container] } },
    edits: [...podEdits('spec'), ['spec/nodeName', 'node-1', gone], ['spec/priority', 5], ['spec/hostname', 'h', 'H_']],
    status: [
      ['status/phase', 'Running', 'Succeeded', 'Failed', 'Odd'],
      ['status/podIP', '10.9.0.1', 'x'],
      ['status/podIPs', [{ ip: '10.9.0.1' }]],
      [
        'status/conditions',
        [{ type: 'Ready', status: 'True' }],
        [
          { type: 'Ready', status: 'False' },
          { type: 'Own', status: 'True' },
        ],
        [],
      ],
      [
        'status/containerStatuses',
        [{ name: 'main', ready: true, restartCount: 0, image: 'nginx', imageID: 'x', state: { running: {} } }],
        [
          {
            name: 'main',
            ready: false,
            restartCount: 1,
            image: 'nginx',
            imageID: 'x',
            state: { terminated: { exitCode: 1 } },
          },
        ],
      ],
      ['status/startTime', '2026-01-01T00:00:00Z'],
      ['status/message', 'm', gone],
      ['status/qosClass', 'Guaranteed', gone],
      ['status/nominatedNodeName', 'n'],
    ],
    actions: [
      {
        method: 'POST',
        subresource: 'binding',
        bodies: [
          { target: { kind: 'Node', name: 'node-1' } },
          { target: { name: '' } },
          { target: { kind: 'Pod', name: 'x' } },
          {},
        ],
      },
      {
        method: 'POST',
        subresource: 'eviction',
        bodies: [
          { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: '{{name}}' } },
          {
            apiVersion: 'policy/v1',
            kind: 'Eviction',
            metadata: { name: '{{name}}' },
            deleteOptions: { dryRun: ['All'] },
          },
          { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'another' } },
        ],
      },
      {
        method: 'PATCH',
        subresource: 'ephemeralcontainers',
        type: 'application/strategic-merge-patch+json',
        bodies: [
          { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] } },
          { spec: { ephemeralContainers: [{ name: 'main', image: 'busybox' }] } },
          { spec: { ephemeralContainers: [{ name: 'debug', image: 'other' }] } },
          { spec: { ephemeralContainers: [{ name: 'two', image: 'busybox', ports: [{ containerPort: 1 }] }] } },
        ],
      },
    ],
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    plural: 'deployments',
    namespaced: true,
    hasScale: true,
    template: { spec: { replicas: 2, selector: { matchLabels: { app: 'a' } }, template: podTemplate } },
    edits: [
      ['spec/replicas', 3, 0, -1, gone, '2', null, 1.5],
      [
        'spec/strategy',
        { type: 'Recreate' },
        { rollingUpdate: { maxSurge: '30%', maxUnavailable: 0 } },
        { type: 'Recreate', rollingUpdate: { maxSurge: 1 } },
        { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
        { type: 'Odd' },
        {},
      ],
      ['spec/minReadySeconds', 5, -1],
      ['spec/paused', true, false],
      ['spec/progressDeadlineSeconds', 5, 0, 100],
      ['spec/revisionHistoryLimit', 0, -1, 3],
      ...selectorEdits,
      ...templateEdits,
    ],
    status: [
      ['status/replicas', 2, -1, '2'],
      ['status/readyReplicas', 1, 2, 5],
      ['status/availableReplicas', 1],
      ['status/updatedReplicas', 1],
      ['status/observedGeneration', 1, -1],
      [
        'status/conditions',
        [
          {
            type: 'Available',
            status: 'True',
            reason: 'r',
            message: 'm',
            lastUpdateTime: '2026-01-01T00:00:00Z',
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
        [],
      ],
    ],
  },
  {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    plural: 'replicasets',
    namespaced: true,
    hasScale: true,
    template: { spec: { replicas: 1, selector: { matchLabels: { app: 'a' } }, template: podTemplate } },
    edits: [['spec/replicas', 3, 0, -1, gone], ['spec/minReadySeconds', 5, -1], ...selectorEdits, ...templateEdits],
    status: [
      ['status/replicas', 2, -1],
      ['status/readyReplicas', 1, 5],
      ['status/conditions', [{ type: 'ReplicaFailure', status: 'True' }]],
    ],
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    plural: 'statefulsets',
    namespaced: true,
    hasScale: true,
    template: {
      spec: { serviceName: 's', replicas: 1, selector: { matchLabels: { app: 'a' } }, template: podTemplate },
    },
    edits: [
      ['spec/replicas', 3, 0, -1, gone],
      ['spec/serviceName', 'other', gone],
      ['spec/podManagementPolicy', 'Parallel', 'Odd'],
      [
        'spec/updateStrategy',
        { type: 'OnDelete' },
        { rollingUpdate: { partition: 1 } },
        { type: 'Odd' },
        { rollingUpdate: { partition: -1 } },
      ],
      [
        'spec/volumeClaimTemplates',
        [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
        [],
      ],
      ['spec/minReadySeconds', 3],
      ['spec/persistentVolumeClaimRetentionPolicy', { whenDeleted: 'Delete' }, { whenScaled: 'Odd' }],
      ['spec/ordinals', { start: 1 }, { start: -1 }],
      ...selectorEdits,
      ...templateEdits,
    ],
    status: [
      ['status/replicas', 1, -1],
      ['status/currentRevision', 'x'],
      ['status/readyReplicas', 1, 5],
      ['status/collisionCount', 1],
    ],
  },
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    plural: 'daemonsets',
    namespaced: true,
    template: { spec: { selector: { matchLabels: { app: 'a' } }, template: podTemplate } },
    edits: [
      [
        'spec/updateStrategy',
        { type: 'OnDelete' },
        { rollingUpdate: { maxUnavailable: 2 } },
        { rollingUpdate: { maxUnavailable: 0 } },
        { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      ],
      ['spec/minReadySeconds', 3, -1],
      ['spec/revisionHistoryLimit', 1, -1],
      ...selectorEdits,
      ...templateEdits,
    ],
    status: [
      ['status/currentNumberScheduled', 1, -1],
      ['status/numberReady', 1],
      ['status/desiredNumberScheduled', 2],
    ],
  },
  {
    apiVersion: 'batch/v1',
    kind: 'Job',
    plural: 'jobs',
    namespaced: true,
    template: { spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } } },
    edits: [
      ['spec/parallelism', 2, 0, -1],
      ['spec/completions', 3, -1, 0],
      ['spec/backoffLimit', 0, -1, 3],
      ['spec/activeDeadlineSeconds', 100, -1],
      ['spec/ttlSecondsAfterFinished', 0, 60, -1],
      ['spec/suspend', true, false],
      ['spec/completionMode', 'Indexed', 'Odd'],
      ['spec/manualSelector', true],
      [
        'spec/podFailurePolicy',
        { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] },
        { rules: [{ action: 'Odd' }] },
      ],
      ...podEdits('spec/template/spec'),
    ],
    status: [
      ['status/active', 1, -1],
      ['status/succeeded', 1],
      ['status/startTime', '2026-01-01T00:00:00Z'],
      [
        'status/conditions',
        [{ type: 'Complete', status: 'True' }],
        [{ type: 'SuccessCriteriaMet', status: 'True' }],
        [],
      ],
      ['status/completionTime', '2026-01-01T00:00:01Z'],
    ],
  },
  {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    plural: 'cronjobs',
    namespaced: true,
    template: {
      spec: {
        schedule: '*/5 * * * *',
        jobTemplate: { spec: { template: { spec: { restartPolicy: 'OnFailure', containers: [container] } } } },
      },
    },
    edits: [
      ['spec/schedule', '@hourly', '61 * * * *', '', gone, 'TZ=UTC * * * * *'],
      ['spec/timeZone', 'Europe/Berlin', 'Nowhere/Here', ''],
      ['spec/concurrencyPolicy', 'Forbid', 'Odd'],
      ['spec/suspend', true, false],
      ['spec/successfulJobsHistoryLimit', 0, -1],
      ['spec/failedJobsHistoryLimit', 5, gone],
      ['spec/startingDeadlineSeconds', 10, -1],
      ['spec/jobTemplate/spec/backoffLimit', 1, -1],
      ['spec/jobTemplate/metadata', { labels: { a: 'b' } }, { labels: { a: 'not ok!' } }],
      ...podEdits('spec/jobTemplate/spec/template/spec'),
    ],
    status: [
      ['status/lastScheduleTime', '2026-01-01T00:00:00Z', null],
      ['status/active', [{ kind: 'Job', name: 'x' }], []],
    ],
  },
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    namespaced: true,
    template: { spec: { minAvailable: 1, selector: { matchLabels: { none: 'such' } } } },
    edits: [
      ['spec/minAvailable', '50%', 0, -1, '150%', gone, 'x'],
      ['spec/maxUnavailable', 1, '10%'],
      [
        'spec/selector',
        { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
        { matchExpressions: [{ key: 'a', operator: 'Odd' }] },
      ],
      ['spec/unhealthyPodEvictionPolicy', 'AlwaysAllow', 'Odd'],
    ],
    status: [
      ['status/disruptionsAllowed', 1, -1],
      ['status/currentHealthy', 1],
      ['status/conditions', conditions, []],
    ],
  },
  {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    plural: 'horizontalpodautoscalers',
    namespaced: true,
    template: {
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }, maxReplicas: 5 },
    },
    edits: [
      ['spec/minReplicas', 2, 0, 9, gone],
      ['spec/maxReplicas', 3, 0, gone],
      [
        'spec/metrics',
        [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } }],
        [{ type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } }],
        [{ type: 'Odd' }],
        [],
        [{ type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '10' } } }],
      ],
      [
        'spec/behavior',
        { scaleDown: { stabilizationWindowSeconds: 60 } },
        { scaleUp: { policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }] } },
        { scaleUp: { policies: [{ type: 'Pods', value: 0, periodSeconds: 60 }] } },
        {},
      ],
      ['spec/scaleTargetRef/name', 'e', '', gone],
      ['spec/scaleTargetRef/kind', 'StatefulSet', gone],
    ],
    status: [
      ['status/currentReplicas', 1, -1],
      ['status/desiredReplicas', 2],
      ['status/conditions', conditions, []],
    ],
  },
  {
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    plural: 'horizontalpodautoscalers',
    namespaced: true,
    template: {
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }, maxReplicas: 5 },
    },
    edits: [
      ['spec/minReplicas', 2, 0, 9, gone],
      ['spec/maxReplicas', 3, 0],
      ['spec/targetCPUUtilizationPercentage', 50, 0, gone],
      ['spec/scaleTargetRef/name', 'e', ''],
    ],
    status: [
      ['status/currentReplicas', 1, -1],
      ['status/desiredReplicas', 2],
      ['status/currentCPUUtilizationPercentage', 50, gone],
    ],
  },
  {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    plural: 'replicationcontrollers',
    namespaced: true,
    hasScale: true,
    template: { spec: { replicas: 1, selector: { app: 'a' }, template: podTemplate } },
    edits: [
      ['spec/replicas', 3, 0, -1, gone],
      ['spec/minReadySeconds', 5, -1],
      ['spec/selector', { app: 'b' }, {}, gone],
      ...templateEdits,
    ],
    status: [
      ['status/replicas', 2, -1],
      ['status/readyReplicas', 1, 5],
      ['status/conditions', [{ type: 'ReplicaFailure', status: 'True' }]],
    ],
  },
  {
    apiVersion: 'v1',
    kind: 'PodTemplate',
    plural: 'podtemplates',
    namespaced: true,
    template: { template: podTemplate },
    edits: [['template/metadata/labels/app', 'b', gone], ...podEdits('template/spec')],
  },
  {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    plural: 'controllerrevisions',
    namespaced: true,
    template: { revision: 1, data: { spec: { a: 1 } } },
    edits: [
      ['revision', 2, -1, gone, 'x'],
      ['data', { spec: { a: 2 } }, {}, gone, null],
    ],
  },
]

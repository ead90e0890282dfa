/** Objects to be asked for twice, as JSON and as protobuf: one of every built-in kind that can be made without help. */
import type { Vector } from '../read.ts'

export interface ProtobufVector extends Vector {
  /** What the server shows as JSON. */
  readonly object: object
  /** The same in base64, as the server sends it. */
  readonly protobuf: string
}

/** Created in a dry run; `__proto__` and integers beyond 2^53 included where a kind has room for them. */
export interface ProtobufCase {
  readonly path: string
  readonly body: object
}

const namespaced = '/namespaces/default/'
const selector = { matchLabels: { app: 'web' } }
const template = {
  metadata: { labels: { app: 'web' }, annotations: { 'example.com/note': 'Füße ☃ 𝄞' } },
  spec: {
    initContainers: [{ name: 'first', image: 'first', restartPolicy: 'Always' }],
    containers: [
      {
        name: 'main',
        image: 'main:1',
        command: ['run', ''],
        ports: [{ name: 'http', containerPort: 80 }],
        env: [
          { name: 'EMPTY', value: '' },
          { name: 'FROM', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: false } } },
          { name: 'SELF', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        ],
        envFrom: [{ prefix: 'P_', configMapRef: { name: 'c' } }],
        resources: { requests: { cpu: '100m', memory: '1.5Gi' }, limits: { cpu: '0.5', memory: '2Gi' } },
        livenessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 5 },
        readinessProbe: { tcpSocket: { port: 80 } },
        startupProbe: { exec: { command: ['true'] } },
        lifecycle: { preStop: { exec: { command: ['wait'] } } },
        securityContext: { runAsUser: 0, runAsNonRoot: false, capabilities: { drop: ['ALL'] } },
        volumeMounts: [{ name: 'data', mountPath: '/data', readOnly: true }],
      },
    ],
    volumes: [
      { name: 'data', emptyDir: { sizeLimit: '1Gi' } },
      { name: 'set', configMap: { name: 'c', items: [{ key: 'a', path: 'a', mode: 0 }] } },
      { name: 'all', projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }] } },
    ],
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] } },
        ],
      },
    },
    tolerations: [{ key: 'k', operator: 'Exists', tolerationSeconds: 9_007_199_254_740_993n, effect: 'NoExecute' }],
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: selector },
    ],
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['a'] }],
  },
}
const job = { template: { spec: { ...template.spec, restartPolicy: 'Never', initContainers: [] } } }
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 0, maximum: 10, default: 0 },
        part: { type: 'number', minimum: -0.5, maximum: 10.25, exclusiveMaximum: true },
        tags: { type: 'array', items: { type: 'string', maxLength: 10 }, maxItems: 3, 'x-kubernetes-list-type': 'set' },
        any: { 'x-kubernetes-preserve-unknown-fields': true },
        port: { 'x-kubernetes-int-or-string': true },
        kinds: { type: 'string', enum: ['a', 'b'], default: 'a' },
        byName: { type: 'object', additionalProperties: { type: 'string', nullable: true } },
        free: { type: 'object', default: { a: [1, null, { b: false }] }, 'x-kubernetes-preserve-unknown-fields': true },
      },
      'x-kubernetes-validations': [{ rule: 'self.size >= 0', message: 'too small', fieldPath: '.size' }],
    },
  },
}

export const protobufCases: readonly ProtobufCase[] = [
  core('ConfigMap', 'configmaps', {
    data: { a: '1', '__proto__x': '', constructor: 'c' },
    binaryData: { b: 'AP/+' },
    immutable: false,
  }),
  core('Secret', 'secrets', { type: 'Opaque', data: { a: 'AA==', empty: '' } }),
  core('ServiceAccount', 'serviceaccounts', { automountServiceAccountToken: false, imagePullSecrets: [{ name: 'p' }] }),
  core('Service', 'services', {
    spec: { clusterIP: 'None', selector: { app: 'web' }, ports: [{ name: 'a', port: 80, targetPort: 'http' }, { name: 'b', port: 81 }] },
  }),
  core('Endpoints', 'endpoints', { subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }] }),
  core('Pod', 'pods', { spec: { ...template.spec, nodeName: 'n', serviceAccountName: 'a' } }),
  core('PodTemplate', 'podtemplates', { template }),
  core('ReplicationController', 'replicationcontrollers', { spec: { replicas: 0, selector: { app: 'web' }, template } }),
  core('PersistentVolumeClaim', 'persistentvolumeclaims', {
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '10Gi' } } },
  }),
  core('ResourceQuota', 'resourcequotas', { spec: { hard: { pods: '10', 'requests.cpu': '1500m' } } }),
  core('LimitRange', 'limitranges', {
    spec: { limits: [{ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '0.1' }, max: { cpu: '2' } }] },
  }),
  core('Event', 'events', {
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
    firstTimestamp: '2026-01-02T03:04:05Z',
    eventTime: '2026-01-02T03:04:05.678901Z',
    reason: 'Because',
    message: 'so',
    type: 'Normal',
    action: 'Act',
    reportingComponent: 'c',
    reportingInstance: 'i',
  }),
  cluster('v1', 'Namespace', 'namespaces', { spec: { finalizers: ['kubernetes'] } }),
  cluster('v1', 'Node', 'nodes', {
    spec: { taints: [{ key: 'k', effect: 'NoSchedule' }], unschedulable: true },
    status: { capacity: { cpu: '4', memory: '8Gi' }, conditions: [{ type: 'Ready', status: 'True' }] },
  }),
  cluster('v1', 'PersistentVolume', 'persistentvolumes', {
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteMany'],
      csi: { driver: 'd.example.com', volumeHandle: 'h', volumeAttributes: { a: 'b' } },
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }] },
      },
    },
  }),
  grouped('apps/v1', 'Deployment', 'deployments', {
    spec: { replicas: 0, paused: true, selector, template, strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } } },
  }),
  grouped('apps/v1', 'ReplicaSet', 'replicasets', { spec: { selector, template } }),
  grouped('apps/v1', 'StatefulSet', 'statefulsets', {
    spec: {
      serviceName: 's',
      selector,
      template,
      volumeClaimTemplates: [
        { metadata: { name: 'd' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } } },
      ],
    },
  }),
  grouped('apps/v1', 'DaemonSet', 'daemonsets', { spec: { selector, template } }),
  grouped('apps/v1', 'ControllerRevision', 'controllerrevisions', { revision: 3, data: { a: [1, { b: null }] } }),
  grouped('batch/v1', 'Job', 'jobs', { spec: { ...job, completions: 3, completionMode: 'Indexed', parallelism: 0, suspend: true } }),
  grouped('batch/v1', 'CronJob', 'cronjobs', { spec: { schedule: '@daily', timeZone: 'Etc/UTC', jobTemplate: { spec: job } } }),
  grouped('autoscaling/v1', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
    spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' } },
  }),
  grouped('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
        { type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '1500m' } } },
      ],
      behavior: { scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }] } },
    },
  }),
  grouped('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', { spec: { minAvailable: '50%', selector } }),
  grouped('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', {
    spec: { podSelector: {}, ingress: [{}], egress: [{ ports: [{ port: 80, endPort: 90 }], to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }] },
  }),
  grouped('networking.k8s.io/v1', 'Ingress', 'ingresses', {
    spec: {
      rules: [{ host: 'a.example.com', http: { paths: [{ pathType: 'Prefix', path: '/', backend: { service: { name: 's', port: { number: 80 } } } }] } }],
      tls: [{ hosts: ['a.example.com'], secretName: 't' }],
    },
  }),
  cluster('networking.k8s.io/v1', 'IngressClass', 'ingressclasses', { spec: { controller: 'example.com/c' } }),
  grouped('coordination.k8s.io/v1', 'Lease', 'leases', {
    spec: { holderIdentity: '', leaseDurationSeconds: 15, acquireTime: '2026-01-02T03:04:05.000000Z', renewTime: '2026-01-02T03:04:05.000001Z' },
  }),
  grouped('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices', {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: false }, nodeName: 'n', targetRef: { kind: 'Pod', name: 'p' } }],
    ports: [{ name: '', port: 80 }],
  }),
  grouped('events.k8s.io/v1', 'Event', 'events', {
    eventTime: '2026-01-02T03:04:05.678901Z',
    reason: 'Because',
    action: 'Act',
    type: 'Warning',
    reportingController: 'c',
    reportingInstance: 'i',
    regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
  }),
  grouped('rbac.authorization.k8s.io/v1', 'Role', 'roles', { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }),
  grouped('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', name: 's', namespace: 'default' }, { kind: 'User', name: 'u' }],
  }),
  cluster('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', {
    rules: null,
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
  }),
  cluster('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
  }),
  cluster('storage.k8s.io/v1', 'StorageClass', 'storageclasses', { provisioner: 'example.com/p', parameters: { a: 'b' }, allowVolumeExpansion: false }),
  cluster('storage.k8s.io/v1', 'CSIDriver', 'csidrivers', { spec: { tokenRequests: [{ audience: 'a' }] } }),
  cluster('storage.k8s.io/v1', 'VolumeAttachment', 'volumeattachments', {
    spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'v' } },
  }),
  cluster('scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses', { value: -5, preemptionPolicy: 'Never' }),
  cluster('node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses', { handler: 'h', overhead: { podFixed: { cpu: '10m' } } }),
  cluster('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'flowschemas', {
    spec: { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 5, distinguisherMethod: { type: 'ByUser' } },
  }),
  cluster('certificates.k8s.io/v1', 'CertificateSigningRequest', 'certificatesigningrequests', {
    spec: {
      signerName: 'example.com/s',
      expirationSeconds: 86_400,
      usages: ['client auth'],
      request:
        'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISk1ISUNBUUF3RURFT01Bd0dBMVVFQXd3RllXeHBZMlV3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQgpCd05DQUFTMUtyNldrazZRRjdub0t1L2JlME9aRGdTL1A2RjdNWGxRRlRCVHVFTjVZcjg5SlBqTTJVSWRnNVQyCkloK0NtN2lEVWF5UVFqNGVlWCt3eWQwZXpVck1vQUF3Q2dZSUtvWkl6ajBFQXdJRFJ3QXdSQUlnYm9hR1RMYloKUEhMQlBKL3JubmI1dldYUDNxb0t4eldYTS9ZaG13V05WVVlDSUgweDI1S0VYcnJvMkwzaStkRGs0TTRjYXduQQpROUhzQ0NFWHhMWUp4RXpDCi0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=',
    },
  }),
  cluster('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', {
    webhooks: [
      {
        name: 'a.example.com',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        clientConfig: { url: 'https://127.0.0.1:1/' },
        rules: [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] }],
        matchConditions: [{ name: 'c', expression: 'true' }],
      },
    ],
  }),
  cluster('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies', {
    spec: {
      matchConstraints: { resourceRules: [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] }] },
      validations: [{ expression: 'true', reason: 'Invalid' }],
    },
  }),
  cluster('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', {
    metadata: { name: 'things.protobuf.example.com' },
    spec: {
      group: 'protobuf.example.com',
      scope: 'Namespaced',
      names: { kind: 'Thing', plural: 'things' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } },
          additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1 }],
        },
      ],
    },
  }),
  cluster('apiregistration.k8s.io/v1', 'APIService', 'apiservices', {
    metadata: { name: 'v1.protobuf.example.com' },
    spec: { group: 'protobuf.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 15 },
  }),
  review('authorization.k8s.io/v1', 'SelfSubjectAccessReview', 'selfsubjectaccessreviews', {
    spec: { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } },
  }),
  review('authorization.k8s.io/v1', 'SubjectAccessReview', 'subjectaccessreviews', {
    spec: { user: 'bob', groups: ['g'], extra: { 'example.com/a': ['1', '2'] }, nonResourceAttributes: { path: '/', verb: 'get' } },
  }),
  review('authentication.k8s.io/v1', 'TokenReview', 'tokenreviews', { spec: { token: 'nobody' } }),
]

function core(kind: string, plural: string, rest: object): ProtobufCase {
  return { path: `/api/v1${namespaced}${plural}`, body: { apiVersion: 'v1', kind, metadata: { name: 'protobuf' }, ...rest } }
}

function grouped(apiVersion: string, kind: string, plural: string, rest: object): ProtobufCase {
  return { path: `/apis/${apiVersion}${namespaced}${plural}`, body: { apiVersion, kind, metadata: { name: 'protobuf' }, ...rest } }
}

function cluster(apiVersion: string, kind: string, plural: string, rest: object): ProtobufCase {
  const root = apiVersion === 'v1' ? '/api' : '/apis'
  return { path: `${root}/${apiVersion}/${plural}`, body: { apiVersion, kind, metadata: { name: 'protobuf' }, ...rest } }
}

function review(apiVersion: string, kind: string, plural: string, rest: object): ProtobufCase {
  return { path: `/apis/${apiVersion}/${plural}`, body: { apiVersion, kind, ...rest } }
}

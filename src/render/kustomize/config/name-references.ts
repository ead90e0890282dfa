/** Where objects use the names of others: when a ConfigMap is renamed, these fields follow. */
import type { FieldSpec } from './field-spec.ts'
import type { NameReference } from './transformer-config.ts'

/** Kinds with a Pod, and the path of its spec. */
const podSpecs: readonly (readonly [kind: string, path: string])[] = [
  ['Pod', 'spec'],
  ['PodTemplate', 'template/spec'],
  ...['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet', 'Job'].map(
    (kind) => [kind, 'spec/template/spec'] as const,
  ),
  ['CronJob', 'spec/jobTemplate/spec/template/spec'],
]

/** Fields of the Pod specs of all workloads. */
function ofPods(paths: readonly string[]): readonly FieldSpec[] {
  return podSpecs.flatMap(([kind, spec]) =>
    paths.map((path) => ({ path: `${spec}/${path}`, kind, ...(kind === 'Pod' ? { version: 'v1' } : {}) })),
  )
}

/** Fields of the Pod specs of the kinds whose Pods use claims, accounts and priorities. */
function ofPodOwners(path: string): readonly FieldSpec[] {
  const template = 'spec/template/spec'
  return [
    { path: `spec/${path}`, kind: 'Pod' },
    ...['StatefulSet', 'Deployment', 'ReplicationController'].map((kind) => ({ path: `${template}/${path}`, kind })),
    { path: `spec/jobTemplate/${template}/${path}`, kind: 'CronJob' },
    ...['Job', 'DaemonSet'].map((kind) => ({ path: `${template}/${path}`, kind })),
  ]
}

const containers = ['containers', 'initContainers']
const ofContainers = (path: string): readonly string[] => containers.map((list) => `${list}/${path}`)

const roles: readonly FieldSpec[] = ['Role', 'ClusterRole'].map((kind) => ({ path: 'rules/resourceNames', kind }))
const rbac = { group: 'rbac.authorization.k8s.io' } as const
const webhooks = { group: 'admissionregistration.k8s.io' } as const

const configMap: NameReference = {
  kind: 'ConfigMap',
  version: 'v1',
  fieldSpecs: [
    ...ofPods([
      'volumes/configMap/name',
      ...ofContainers('env/valueFrom/configMapKeyRef/name'),
      ...ofContainers('envFrom/configMapRef/name'),
      'volumes/projected/sources/configMap/name',
    ]),
    { path: 'spec/configSource/configMap', kind: 'Node' },
    ...roles,
    { path: String.raw`metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap`, kind: 'Ingress' },
  ],
}

const ingressSecrets = [
  'spec/tls/secretName',
  String.raw`metadata/annotations/ingress.kubernetes.io\/auth-secret`,
  String.raw`metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret`,
  String.raw`metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret`,
]

const secret: NameReference = {
  kind: 'Secret',
  version: 'v1',
  fieldSpecs: [
    ...ofPods([
      'volumes/secret/secretName',
      ...ofContainers('env/valueFrom/secretKeyRef/name'),
      ...ofContainers('envFrom/secretRef/name'),
      'imagePullSecrets/name',
      'volumes/projected/sources/secret/name',
    ]),
    ...ingressSecrets.map((path) => ({ path, kind: 'Ingress' })),
    { path: 'imagePullSecrets/name', kind: 'ServiceAccount' },
    ...['secretName', 'adminSecretName', 'userSecretName', 'secretRef'].map((name) => ({
      path: `parameters/${name}`,
      kind: 'StorageClass',
    })),
    ...roles,
    {
      path: 'spec/template/spec/containers/env/valueFrom/secretKeyRef/name',
      kind: 'Service',
      group: 'serving.knative.dev',
      version: 'v1',
    },
    { path: 'spec/azureFile/secretName', kind: 'PersistentVolume' },
  ],
}

const service: NameReference = {
  kind: 'Service',
  version: 'v1',
  fieldSpecs: [
    { path: 'spec/serviceName', kind: 'StatefulSet', group: 'apps' },
    ...[
      'spec/rules/http/paths/backend/serviceName',
      'spec/backend/serviceName',
      'spec/rules/http/paths/backend/service/name',
      'spec/defaultBackend/service/name',
    ].map((path) => ({ path, kind: 'Ingress' })),
    { path: 'spec/service/name', kind: 'APIService', group: 'apiregistration.k8s.io' },
    { path: 'webhooks/clientConfig/service', kind: 'ValidatingWebhookConfiguration', ...webhooks },
    { path: 'webhooks/clientConfig/service', kind: 'MutatingWebhookConfiguration', ...webhooks },
  ],
}

export const nameReferences: readonly NameReference[] = [
  ...['Deployment', 'ReplicationController', 'ReplicaSet', 'StatefulSet'].map((kind) => ({
    kind,
    fieldSpecs: [{ path: 'spec/scaleTargetRef/name', kind: 'HorizontalPodAutoscaler' }],
  })),
  configMap,
  secret,
  service,
  { kind: 'Role', ...rbac, fieldSpecs: [{ path: 'roleRef/name', kind: 'RoleBinding', ...rbac }] },
  {
    kind: 'ClusterRole',
    ...rbac,
    fieldSpecs: ['RoleBinding', 'ClusterRoleBinding'].map((kind) => ({
      path: 'roleRef/name',
      kind,
      group: rbac.group,
    })),
  },
  {
    kind: 'ServiceAccount',
    version: 'v1',
    fieldSpecs: [
      ...['RoleBinding', 'ClusterRoleBinding'].map((kind) => ({ path: 'subjects', kind, group: rbac.group })),
      ...ofPodOwners('serviceAccountName'),
    ],
  },
  { kind: 'PersistentVolumeClaim', version: 'v1', fieldSpecs: ofPodOwners('volumes/persistentVolumeClaim/claimName') },
  {
    kind: 'PersistentVolume',
    version: 'v1',
    fieldSpecs: [
      { path: 'spec/volumeName', kind: 'PersistentVolumeClaim' },
      { path: 'rules/resourceNames', kind: 'ClusterRole' },
    ],
  },
  {
    kind: 'StorageClass',
    version: 'v1',
    group: 'storage.k8s.io',
    fieldSpecs: [
      { path: 'spec/storageClassName', kind: 'PersistentVolume' },
      { path: 'spec/storageClassName', kind: 'PersistentVolumeClaim' },
      { path: 'spec/volumeClaimTemplates/spec/storageClassName', kind: 'StatefulSet' },
    ],
  },
  { kind: 'PriorityClass', version: 'v1', group: 'scheduling.k8s.io', fieldSpecs: ofPodOwners('priorityClassName') },
  {
    kind: 'ValidatingAdmissionPolicy',
    ...webhooks,
    fieldSpecs: [{ path: 'spec/policyName', kind: 'ValidatingAdmissionPolicyBinding', ...webhooks }],
  },
]

/** The fields that kustomize changes by default. Names of objects, and where they are used, are in `name-references.ts`. */
import type { FieldSpec } from './field-spec.ts'
import { nameReferences } from './name-references.ts'
import { emptyConfig, mergeConfigs, type TransformerConfig } from './transformer-config.ts'
import { varReferences } from './var-references.ts'

const created = (path: string, kind: Omit<FieldSpec, 'path'> = {}): FieldSpec => ({ path, ...kind, create: true })

const apps = { group: 'apps' } as const
const batch = { group: 'batch' } as const

/** Labels of objects, and of the Pods that they create. */
const metadataLabels: readonly FieldSpec[] = [
  created('metadata/labels'),
  created('spec/template/metadata/labels', { version: 'v1', kind: 'ReplicationController' }),
  created('spec/template/metadata/labels', { kind: 'Deployment' }),
  created('spec/template/metadata/labels', { kind: 'ReplicaSet' }),
  created('spec/template/metadata/labels', { kind: 'DaemonSet' }),
  created('spec/template/metadata/labels', { ...apps, kind: 'StatefulSet' }),
  created('spec/template/metadata/labels', { ...batch, kind: 'Job' }),
  created('spec/jobTemplate/metadata/labels', { ...batch, kind: 'CronJob' }),
  created('spec/jobTemplate/spec/template/metadata/labels', { ...batch, kind: 'CronJob' }),
]

const volumeClaimLabels: readonly FieldSpec[] = [
  created('spec/volumeClaimTemplates[]/metadata/labels', { ...apps, kind: 'StatefulSet' }),
]

/** Selectors of the Pod template of a Deployment or StatefulSet, if they are there. */
const spreadSelectors: readonly string[] = [
  ...['podAffinity', 'podAntiAffinity'].flatMap((affinity) => [
    `spec/template/spec/affinity/${affinity}/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels`,
    `spec/template/spec/affinity/${affinity}/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels`,
  ]),
  'spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels',
]

const network = { group: 'networking.k8s.io', kind: 'NetworkPolicy' } as const

const selectors: readonly FieldSpec[] = [
  created('spec/selector', { version: 'v1', kind: 'Service' }),
  created('spec/selector', { version: 'v1', kind: 'ReplicationController' }),
  created('spec/selector/matchLabels', { kind: 'Deployment' }),
  created('spec/selector/matchLabels', { kind: 'ReplicaSet' }),
  created('spec/selector/matchLabels', { kind: 'DaemonSet' }),
  created('spec/selector/matchLabels', { ...apps, kind: 'StatefulSet' }),
  ...['Deployment', 'StatefulSet'].flatMap((kind) => spreadSelectors.map((path) => ({ path, group: 'apps', kind }))),
  { path: 'spec/selector/matchLabels', ...batch, kind: 'Job' },
  { path: 'spec/jobTemplate/spec/selector/matchLabels', ...batch, kind: 'CronJob' },
  { path: 'spec/selector/matchLabels', group: 'policy', kind: 'PodDisruptionBudget' },
  { path: 'spec/podSelector/matchLabels', ...network },
  { path: 'spec/ingress/from/podSelector/matchLabels', ...network },
  { path: 'spec/egress/to/podSelector/matchLabels', ...network },
]

const annotations: readonly FieldSpec[] = [
  created('metadata/annotations'),
  created('spec/template/metadata/annotations', { version: 'v1', kind: 'ReplicationController' }),
  ...['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet'].map((kind) =>
    created('spec/template/metadata/annotations', { kind }),
  ),
  created('spec/template/metadata/annotations', { ...batch, kind: 'Job' }),
  created('spec/jobTemplate/metadata/annotations', { ...batch, kind: 'CronJob' }),
  created('spec/jobTemplate/spec/template/metadata/annotations', { ...batch, kind: 'CronJob' }),
]

const namespaces: readonly FieldSpec[] = [
  created('metadata/name', { kind: 'Namespace' }),
  created('spec/service/namespace', { group: 'apiregistration.k8s.io', kind: 'APIService' }),
  {
    path: 'spec/conversion/webhook/clientConfig/service/namespace',
    group: 'apiextensions.k8s.io',
    kind: 'CustomResourceDefinition',
  },
]

const images: readonly FieldSpec[] = [
  'spec/containers[]/image',
  'spec/initContainers[]/image',
  'spec/volumes[]/image/reference',
  'spec/template/spec/containers[]/image',
  'spec/template/spec/initContainers[]/image',
  'spec/template/spec/volumes[]/image/reference',
  'spec/jobTemplate/spec/template/spec/volumes[]/image/reference',
].map((path) => created(path))

export const defaultConfig: TransformerConfig = mergeConfigs(
  emptyConfig,
  {
    namePrefix: [{ path: 'metadata/name' }],
    nameSuffix: [{ path: 'metadata/name' }],
    namespace: namespaces,
    commonLabels: [...selectors, ...metadataLabels, ...volumeClaimLabels],
    labels: [],
    templateLabels: metadataLabels,
    volumeClaimTemplateLabels: volumeClaimLabels,
    commonAnnotations: annotations,
    nameReference: nameReferences,
    varReference: varReferences,
    images,
    replicas: ['Deployment', 'ReplicationController', 'ReplicaSet', 'StatefulSet'].map((kind) =>
      created('spec/replicas', { kind }),
    ),
  },
  'defaults',
)

/**
 * Components that come with Muster, one of each shape: a chart, a kustomization, manifests, one with a kind of its own, and
 * façades. The package of workloads brings one more.
 */
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { kymaOperator, openDataHubOperator } from '../facade/operators.ts'
import { type BundledComponent, catalogueObjects } from './bundled-component.ts'
import { facadeVersion, ownVersion } from './operator-component.ts'

const greetingChart = (version: string): JsonObject => ({
  'Chart.yaml': `apiVersion: v2\nname: greeting\nversion: ${version}\n`,
  'values.yaml': 'replicas: 2\ntext: hello\nimage: greeting\n',
  'templates/config.yaml': `apiVersion: v1
kind: ConfigMap
metadata: { name: {{ .Release.Name }} }
data: { text: {{ .Values.text | quote }} }
`,
  'templates/service.yaml': `apiVersion: v1
kind: Service
metadata: { name: {{ .Release.Name }} }
spec: { selector: { app: {{ .Release.Name }} }, ports: [{ port: 80, targetPort: 8080 }] }
`,
  'templates/deployment.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: { name: {{ .Release.Name }} }
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: { app: {{ .Release.Name }} } }
  template:
    metadata: { labels: { app: {{ .Release.Name }} } }
    spec:
      containers:
        - name: greeting
          image: "{{ .Values.image }}:{{ .Chart.Version }}"
          envFrom: [{ configMapRef: { name: {{ .Release.Name }} } }]
`,
})

const priorityClasses: JsonObject = {
  'kustomization.yaml': 'namePrefix: platform-\nresources: [classes.yaml]\ncommonAnnotations: { owner: platform }\n',
  'classes.yaml': [
    { name: 'high', value: 10_000 },
    { name: 'low', value: 100 },
  ]
    .map(
      ({ name, value }) =>
        `apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: { name: ${name} }\nvalue: ${value}\n`,
    )
    .join('---\n'),
}

const guardrails = `apiVersion: v1
kind: LimitRange
metadata: { name: defaults }
spec:
  limits: [{ type: Container, default: { memory: 256Mi }, defaultRequest: { cpu: 50m, memory: 64Mi } }]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: deny-ingress }
spec: { podSelector: {}, policyTypes: [Ingress] }
`

const noticeCrd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: notices.bundled.platform.muster.dev }
spec:
  group: bundled.platform.muster.dev
  scope: Cluster
  names: { kind: Notice, plural: notices, singular: notice }
  versions:
    - name: v1
      served: true
      storage: true
      additionalPrinterColumns: [{ name: Text, type: string, jsonPath: .spec.text }]
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, required: [text], properties: { text: { type: string, maxLength: 1000 } } }
`

const bundled = (): readonly BundledComponent[] => [
  {
    name: 'greeting',
    title: 'Greeting',
    description: 'A web server that greets: a chart, in two versions.',
    channels: { stable: '1.0.0', fast: '1.1.0' },
    versions: {
      '1.0.0': { namespace: 'greeting', source: { chart: { files: greetingChart('1.0.0') } } },
      '1.1.0': { namespace: 'greeting', source: { chart: { files: greetingChart('1.1.0') } } },
    },
  },
  {
    name: 'priority-classes',
    title: 'Priority classes',
    description: 'Priorities for workloads of the platform: a kustomization.',
    channels: { stable: '1.0.0' },
    versions: { '1.0.0': { source: { kustomize: { files: priorityClasses } } } },
  },
  {
    name: 'guardrails',
    title: 'Guardrails',
    description: 'Limits and a closed network for a namespace: manifests. They need the priority classes.',
    channels: { stable: '1.0.0' },
    versions: {
      '1.0.0': {
        namespace: 'guarded',
        source: { manifests: { text: guardrails } },
        requires: [{ component: 'priority-classes' }],
      },
    },
  },
  {
    name: 'notices',
    title: 'Notices',
    description: 'Notices to the users of a cluster: a kind of its own, with a first object.',
    channels: { stable: '1.0.0' },
    versions: {
      '1.0.0': {
        source: { manifests: { text: noticeCrd } },
        crds: ['notices.bundled.platform.muster.dev'],
        defaultResource: {
          apiVersion: 'bundled.platform.muster.dev/v1',
          kind: 'Notice',
          metadata: { name: 'welcome' },
          spec: { text: 'This cluster has a platform: kubectl get platform.' },
        },
      },
    },
  },
  {
    name: 'open-data-hub',
    title: 'Façade of Open Data Hub',
    description: 'DataScienceClusters, mapped onto the Platform: an operator of Muster, in a Pod of its own.',
    channels: { stable: ownVersion },
    versions: {
      [ownVersion]: facadeVersion({
        operator: openDataHubOperator,
        module: '@muster-dev/muster/platform/open-data-hub',
      }),
    },
    preinstalled: { olmPackages: ['opendatahub-operator', 'rhods-operator'] },
  },
  {
    name: 'kyma',
    title: 'Façade of Kyma',
    description: 'Kymas, mapped onto the Platform: an operator of Muster, in a Pod of its own.',
    channels: { stable: ownVersion },
    versions: {
      [ownVersion]: facadeVersion({ operator: kymaOperator, module: '@muster-dev/muster/platform/kyma' }),
    },
  },
]

/** Components and their versions, as they are applied to a cluster. Made when asked for: the CRDs of the façades take a while. */
export function bundledComponents(): readonly UntypedObject[] {
  return bundled().flatMap((component) => catalogueObjects(component))
}

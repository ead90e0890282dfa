/**
 * An operator of this repository as a component: a façade, or any other one that a Platform switches on. It has the shape that
 * `muster generate deploy` gives a manager, for one operator: its CRDs, a service account with the least rights, a
 * Deployment of Muster's own image that runs it and, where it serves webhooks, the Service that leads to them.
 */
import { readFileSync } from 'node:fs'
import type { JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { writeYaml } from '../../kube/yaml/yaml.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import type { PolicyRule } from '../../kube/types/rbac/v1.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { installationNames, installationVariable, podLayer } from '../../manager/config/pod-layer.ts'
import type { Settings } from '../../manager/config/settings.ts'
import { managerRules } from '../../manager/runtime/manager-role.ts'
import {
  configurationName,
  mutatingConfigurations,
  validatingConfigurations,
} from '../../manager/webhooks/registration.ts'
import type { Operator } from '../../operator/operator.ts'
import { roleOf } from '../../operator/role.ts'
import { facadeAnnotation } from '../facade/facade-names.ts'

/** The version of this package: that of its image. Sources and built files are as deep. */
export const ownVersion: string = (
  JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { readonly version: string }
).version

interface OperatorComponent {
  readonly operator: Operator
  /** `@muster-dev/muster/platform/kyma`: what `muster run` hosts. */
  readonly module: string
  /** Its manager follows the ConfigMap of its name. @default false: it has no settings */
  readonly hasSettings?: boolean
  /** @default 256Mi */
  readonly memoryLimit?: string
}

/** The spec of the ComponentVersion of a façade: the kinds of the Platform are there already. */
export function facadeVersion({ operator, module }: OperatorComponent): JsonObject {
  const crds = operator.kinds
    .map((kind) => kind.crd())
    .filter(({ metadata }) => metadata.annotations?.[facadeAnnotation])
  // Before it hosts a façade, a manager looks whether the other project has installed the kind.
  const looksFirst: PolicyRule = {
    apiGroups: ['apiextensions.k8s.io'],
    resources: ['customresourcedefinitions'],
    resourceNames: crds.map(nameOf),
    verbs: ['get'],
  }
  return versionOf({ operator, module }, crds, [looksFirst])
}

/** The spec of the ComponentVersion of an operator that brings all of its kinds. */
export function operatorVersion(component: OperatorComponent): JsonObject {
  return versionOf(
    component,
    component.operator.kinds.map((kind) => kind.crd()),
  )
}

/** The chart has two values, the image and the limit of memory. */
function versionOf(
  { operator, module, hasSettings = false, memoryLimit = '256Mi' }: OperatorComponent,
  crds: readonly CustomResourceDefinition[],
  rules: readonly PolicyRule[] = [],
): JsonObject {
  const { name } = operator
  const { settings } = readConfiguration([podLayer({ namespace: name, installation: name })], [operator])
  // Created with the defaults by the manager, since people may not edit what an Installation keeps.
  const args = ['run', module, ...(hasSettings ? ['--configmap', name] : [])]
  return {
    source: {
      chart: {
        files: {
          'Chart.yaml': writeYaml({ apiVersion: 'v2', name, version: ownVersion }),
          'values.yaml': writeYaml({ image: `muster-dev/muster:${ownVersion}`, memoryLimit }),
          'templates/crds.yaml': documents(crds.map((crd) => asJson(crd))),
          'templates/access.yaml': documents(accessObjects(operator, { settings, hasSettings, rules })),
          ...(isServing(operator) && { 'templates/webhooks.yaml': documents(webhookObjects(operator, settings)) }),
          'templates/deployment.yaml': documents([deployment({ name, args, ports: webhookPorts(operator, settings) })]),
        },
      },
    },
    crds: crds.map(nameOf),
  }
}

const nameOf = ({ metadata }: CustomResourceDefinition): string => metadata?.name ?? ''

const documents = (objects: readonly JsonObject[]): string => objects.map((one) => writeYaml(one)).join('---\n')

const releaseNamespace = '{{ .Release.Namespace }}'

interface AccessOptions {
  readonly settings: Settings
  readonly hasSettings: boolean
  /** Further rules of the cluster. */
  readonly rules: readonly PolicyRule[]
}

function accessObjects(
  operator: Operator,
  { settings, hasSettings, rules: more }: AccessOptions,
): readonly JsonObject[] {
  const { name } = operator
  const places = managerRules({ settings, operators: [operator], ...(hasSettings && { configMap: `${name}/${name}` }) })
  const rulesAt = (isOwn: boolean): readonly PolicyRule[] =>
    places.filter(({ namespace }) => (namespace !== undefined) === isOwn).flatMap(({ rules }) => rules)
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
    ...boundRole(name, 'ClusterRole', [...(roleOf(operator).rules ?? []), ...rulesAt(false), ...more]),
    ...boundRole(name, 'Role', rulesAt(true)),
  ]
}

function isServing({ webhooks, conversions }: Operator): boolean {
  return webhooks.length + conversions.length > 0
}

function webhookPorts(operator: Operator, { webhooks }: Settings): readonly JsonObject[] {
  return isServing(operator) ? [{ name: 'webhooks', containerPort: webhooks.port }] : []
}

/**
 * The Service of the webhooks, and what the manager fills in: installed empty, so that it goes when the component goes. A
 * registration whose webhook server is gone would reject every write.
 */
function webhookObjects({ name, webhooks }: Operator, { webhooks: { servicePort } }: Settings): readonly JsonObject[] {
  const names = installationNames(name)
  const kinds = [
    ...(webhooks.some(({ validate }) => validate) ? [validatingConfigurations] : []),
    ...(webhooks.some(({ mutate }) => mutate) ? [mutatingConfigurations] : []),
  ]
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: names.webhooks },
      spec: { selector: labelsOf(name), ports: [{ name: 'webhooks', port: servicePort, targetPort: 'webhooks' }] },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: names.certificates }, type: 'Opaque' },
    ...kinds.map((resource) => ({
      apiVersion: formatApiVersion(resource),
      kind: resource.kind,
      metadata: { name: configurationName(name) },
    })),
  ]
}

const labelsOf = (name: string): JsonObject => ({ 'app.kubernetes.io/name': name })

function boundRole(name: string, kind: 'ClusterRole' | 'Role', rules: readonly PolicyRule[]): readonly JsonObject[] {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  return [
    { apiVersion, kind, metadata: { name }, rules: rules.map((rule) => asJson(rule)) },
    {
      apiVersion,
      kind: `${kind}Binding`,
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: releaseNamespace }],
    },
  ]
}

interface ManagerPod {
  readonly name: string
  readonly args: readonly string[]
  /** Besides that of the health checks. */
  readonly ports: readonly JsonObject[]
}

function deployment({ name, args, ports }: ManagerPod): JsonObject {
  const labels = labelsOf(name)
  const probe = (path: string): JsonObject => ({ httpGet: { path, port: 'health' }, periodSeconds: 10 })
  const container = {
    name: 'manager',
    image: '{{ .Values.image }}',
    args: [...args],
    env: [{ name: installationVariable, value: name }],
    ports: [{ name: 'health', containerPort: 8081 }, ...ports],
    startupProbe: { ...probe('/healthz'), failureThreshold: 30 },
    livenessProbe: probe('/healthz'),
    readinessProbe: probe('/readyz'),
    resources: { requests: { cpu: '10m', memory: '96Mi' }, limits: { memory: '{{ .Values.memoryLimit }}' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
    volumeMounts: [
      { name: 'state', mountPath: '/app/.muster' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  }
  const pod = {
    serviceAccountName: name,
    securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container],
    volumes: [
      { name: 'state', emptyDir: { sizeLimit: '16Mi' } },
      { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
    ],
  }
  // Two at once would write the same fields: the old one ends first.
  const spec = {
    replicas: 1,
    strategy: { type: 'Recreate' },
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: pod },
  }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec }
}

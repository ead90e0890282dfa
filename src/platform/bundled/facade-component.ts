/**
 * A façade as a component: an operator of this repository that a Platform switches on. It has the shape that
 * `muster generate deploy` gives a manager, for one operator: its CRD, a service account with the least rights, and a
 * Deployment of Muster's own image that runs it.
 */
import { readFileSync } from 'node:fs'
import type { JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { writeYaml } from '../../kube/yaml/yaml.ts'
import type { PolicyRule } from '../../kube/types/rbac/v1.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { installationVariable, podLayer } from '../../manager/config/pod-layer.ts'
import { managerRules } from '../../manager/runtime/manager-role.ts'
import type { Operator } from '../../operator/operator.ts'
import { roleOf } from '../../operator/role.ts'
import { facadeAnnotation } from '../facade/facade-names.ts'

/** The version of this package: that of its image. Sources and built files are as deep. */
export const ownVersion: string = (
  JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { readonly version: string }
).version

interface FacadeComponent {
  readonly operator: Operator
  /** `@muster-dev/muster/platform/kyma`: what `muster run` hosts. */
  readonly module: string
}

/** The spec of its ComponentVersion. The chart has one value, the image. */
export function facadeVersion({ operator, module }: FacadeComponent): JsonObject {
  const crds = operator.kinds
    .map((kind) => kind.crd())
    .filter(({ metadata }) => metadata.annotations?.[facadeAnnotation])
  const names = crds.map(({ metadata }) => metadata.name ?? '')
  const { name } = operator
  return {
    source: {
      chart: {
        files: {
          'Chart.yaml': writeYaml({ apiVersion: 'v2', name, version: ownVersion }),
          'values.yaml': writeYaml({ image: `muster-dev/muster:${ownVersion}` }),
          'templates/crds.yaml': documents(crds.map((crd) => asJson(crd))),
          'templates/access.yaml': documents(accessObjects(operator, names)),
          'templates/deployment.yaml': documents([deployment(name, module)]),
        },
      },
    },
    crds: names,
  }
}

const documents = (objects: readonly JsonObject[]): string => objects.map((one) => writeYaml(one)).join('---\n')

const releaseNamespace = '{{ .Release.Namespace }}'

function accessObjects(operator: Operator, crds: readonly string[]): readonly JsonObject[] {
  const { name } = operator
  const { settings } = readConfiguration([podLayer({ namespace: name, installation: name })], [operator])
  const own = managerRules({ settings, operators: [operator] }).flatMap(({ rules }) => rules)
  // Before it hosts a façade, a manager looks whether the other project has installed the kind.
  const looksFirst: PolicyRule = {
    apiGroups: ['apiextensions.k8s.io'],
    resources: ['customresourcedefinitions'],
    resourceNames: [...crds],
    verbs: ['get'],
  }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
    ...boundRole(name, 'ClusterRole', [...(roleOf(operator).rules ?? []), looksFirst]),
    ...boundRole(name, 'Role', own),
  ]
}

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

function deployment(name: string, module: string): JsonObject {
  const labels = { 'app.kubernetes.io/name': name }
  const probe = (path: string): JsonObject => ({ httpGet: { path, port: 'health' }, periodSeconds: 10 })
  const container = {
    name: 'manager',
    image: '{{ .Values.image }}',
    args: ['run', module],
    env: [{ name: installationVariable, value: name }],
    ports: [{ name: 'health', containerPort: 8081 }],
    startupProbe: { ...probe('/healthz'), failureThreshold: 30 },
    livenessProbe: probe('/healthz'),
    readinessProbe: probe('/readyz'),
    resources: { requests: { cpu: '10m', memory: '96Mi' }, limits: { memory: '256Mi' } },
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

/** Random objects of the kinds that kustomizations treat in a special way. */
import type { Json, JsonObject } from '../../src/kube/json.ts'
import type { Dice } from './dice.ts'

export interface ObjectShape {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly object: JsonObject
}

const names = ['a', 'b', 'web', 'cm', 'default']
const shapes: Readonly<Record<string, readonly [apiVersion: string, make: (dice: Dice) => JsonObject]>> = {
  ConfigMap: ['v1', (dice) => ({ data: { a: dice.pick(['1', '$(A)', 'x-y.z', '{"a": {"b": 1}}']), b: 'two' } })],
  Secret: ['v1', (dice) => ({ type: 'Opaque', [dice.pick(['data', 'stringData'])]: { a: 'Yg==', c: 'ZA==' } })],
  Service: [
    'v1',
    (dice) => ({
      spec: {
        selector: { app: 'x' },
        ports: [
          { port: 80, name: 'h' },
          { port: 443, targetPort: dice.pick([1, 'https']) },
        ],
      },
    }),
  ],
  ServiceAccount: ['v1', (dice) => ({ imagePullSecrets: [{ name: dice.pick(names) }] })],
  Namespace: ['v1', () => ({})],
  PersistentVolumeClaim: ['v1', (dice) => ({ spec: { storageClassName: dice.pick(names) } })],
  Pod: ['v1', (dice) => ({ spec: podSpec(dice) })],
  Deployment: ['apps/v1', (dice) => workload(dice)],
  StatefulSet: [
    'apps/v1',
    (dice) => ({
      spec: {
        ...(workload(dice)['spec'] as JsonObject),
        serviceName: dice.pick(names),
        volumeClaimTemplates: [{ metadata: { name: 'd' } }],
      },
    }),
  ],
  DaemonSet: ['apps/v1', (dice) => workload(dice)],
  Job: ['batch/v1', (dice) => ({ spec: { template: { spec: podSpec(dice) } } })],
  CronJob: [
    'batch/v1',
    (dice) => ({ spec: { schedule: '* * * * *', jobTemplate: { spec: { template: { spec: podSpec(dice) } } } } }),
  ],
  HorizontalPodAutoscaler: [
    'autoscaling/v2',
    (dice) => ({ spec: { scaleTargetRef: { kind: 'Deployment', apiVersion: 'apps/v1', name: dice.pick(names) } } }),
  ],
  Ingress: [
    'networking.k8s.io/v1',
    (dice) => ({
      spec: {
        tls: [{ secretName: dice.pick(names), hosts: ['$(A)'] }],
        rules: [{ host: 'h.$(B)', http: { paths: [{ backend: { service: { name: dice.pick(names) } } }] } }],
      },
    }),
  ],
  NetworkPolicy: [
    'networking.k8s.io/v1',
    () => ({
      spec: { podSelector: { matchLabels: { app: 'x' } }, ingress: [{ from: [{ podSelector: { matchLabels: {} } }] }] },
    }),
  ],
  PodDisruptionBudget: [
    'policy/v1',
    () => ({ spec: { selector: { matchLabels: { app: 'x' } }, minAvailable: '50%' } }),
  ],
  Role: [
    'rbac.authorization.k8s.io/v1',
    (dice) => ({
      rules: [
        {
          apiGroups: [''],
          resources: ['secrets'],
          resourceNames: dice.times(2, () => dice.pick(names)),
          verbs: ['get'],
        },
      ],
    }),
  ],
  ClusterRole: [
    'rbac.authorization.k8s.io/v1',
    (dice) => ({ rules: dice.chance(0.5) ? [] : [{ resourceNames: [dice.pick(names)], verbs: ['*'] }] }),
  ],
  RoleBinding: ['rbac.authorization.k8s.io/v1', (dice) => binding(dice, dice.pick(['Role', 'ClusterRole']))],
  ClusterRoleBinding: ['rbac.authorization.k8s.io/v1', (dice) => binding(dice, 'ClusterRole')],
  CustomResourceDefinition: [
    'apiextensions.k8s.io/v1',
    (dice) => ({
      spec: { conversion: { webhook: { clientConfig: { service: { name: dice.pick(names), namespace: 'old' } } } } },
    }),
  ],
  ValidatingWebhookConfiguration: [
    'admissionregistration.k8s.io/v1',
    (dice) => ({
      webhooks: [
        { name: 'w', clientConfig: { service: { name: dice.pick(names), namespace: dice.pick(['default', 'ns1']) } } },
      ],
    }),
  ],
  APIService: [
    'apiregistration.k8s.io/v1',
    (dice) => ({ spec: { service: { name: dice.pick(names), namespace: 'default' } } }),
  ],
  Thing: [
    'example.com/v1',
    (dice) => ({
      spec: {
        list: [{ name: 'x', value: 1 }],
        flag: dice.chance(0.5),
        ratio: 1.5,
        nothing: null,
        deep: {},
        containers: [{ name: 'c', image: 'nginx:1' }],
      },
    }),
  ],
}

export const kinds: readonly string[] = Object.keys(shapes)

export function randomObject(dice: Dice): ObjectShape {
  const kind = dice.pick(kinds)
  const [apiVersion, make] = shapes[kind]!
  const name = dice.pick(names)
  const metadata: Record<string, Json> = { name }
  if (dice.chance(0.25)) metadata['namespace'] = dice.pick(['ns1', 'default', 'old'])
  if (dice.chance(0.4)) metadata['labels'] = { app: dice.pick(['x', '$(A)', 'front']) }
  if (dice.chance(0.3))
    metadata['annotations'] = dice.chance(0.2) ? {} : { note: dice.pick(['n', '$(B) and $(A)', '$$(A)']) }
  return { apiVersion, kind, name, object: { apiVersion, kind, metadata, ...make(dice) } }
}

function workload(dice: Dice): JsonObject {
  return {
    spec: {
      ...(dice.chance(0.6) ? { replicas: dice.below(5) } : {}),
      selector: { matchLabels: { app: 'x' } },
      template: { metadata: { labels: { app: 'x' } }, spec: podSpec(dice) },
    },
  }
}

function podSpec(dice: Dice): JsonObject {
  return {
    ...(dice.chance(0.3) ? { serviceAccountName: dice.pick(names) } : {}),
    ...(dice.chance(0.2) ? { imagePullSecrets: [{ name: dice.pick(names) }] } : {}),
    ...(dice.chance(0.2) ? { initContainers: [container(dice, 'init')] } : {}),
    ...(dice.chance(0.2) ? { tolerations: [{ key: 'k' }], nodeSelector: { disk: 'ssd' } } : {}),
    containers: [container(dice, 'web'), ...(dice.chance(0.4) ? [container(dice, 'side')] : [])],
    ...(dice.chance(0.5)
      ? {
          volumes: [
            { name: 'v', configMap: { name: dice.pick(names) } },
            { name: 'w', secret: { secretName: dice.pick(names) } },
            { name: 'x', persistentVolumeClaim: { claimName: dice.pick(names) } },
          ],
        }
      : {}),
  }
}

function container(dice: Dice, name: string): JsonObject {
  return {
    name,
    image: dice.pick(['nginx', 'nginx:1.2', 'redis@sha256:abc', 'quay.io/org/app:v1', 'reg:5000/nginx:3']),
    ...(dice.chance(0.4) ? { args: ['--a=$(A)', '$(B)', 'plain'] } : {}),
    ...(dice.chance(0.5)
      ? {
          env: [
            { name: 'A', value: dice.pick(['1', '$(A)', '']) },
            { name: 'B', valueFrom: { configMapKeyRef: { name: dice.pick(names), key: 'k' } } },
            { name: 'C', valueFrom: { secretKeyRef: { name: dice.pick(names), key: 'k' } } },
          ],
        }
      : {}),
    ...(dice.chance(0.3)
      ? { envFrom: [{ configMapRef: { name: dice.pick(names) } }, { secretRef: { name: dice.pick(names) } }] }
      : {}),
    ...(dice.chance(0.4)
      ? {
          ports: [
            { containerPort: 80 },
            { containerPort: 80, protocol: 'UDP' },
            { containerPort: 81, protocol: 'TCP' },
          ].filter(() => dice.chance(0.6)),
        }
      : {}),
    ...(dice.chance(0.2) ? { volumeMounts: [{ name: 'v', mountPath: '/v' }] } : {}),
  }
}

function binding(dice: Dice, kind: string): JsonObject {
  return {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: dice.pick(names) },
    subjects: [
      {
        kind: 'ServiceAccount',
        name: dice.pick(names),
        ...(dice.chance(0.5) ? { namespace: dice.pick(['default', 'ns1']) } : {}),
      },
      { kind: 'User', name: 'jane' },
    ],
  }
}

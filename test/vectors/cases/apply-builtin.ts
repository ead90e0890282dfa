/** Server-side apply on built-in kinds. */
import type { JsonObject } from '../../../src/kube/json.ts'
import type { ApplyCase } from './apply.ts'
import { apply, create, force, json, merge, replace, sequence, spec, strategic } from './apply-steps.ts'
import { containerDefaults } from './patches.ts'

const configMap = sequence('configMap')
const deployment = sequence('deployment')
const service = sequence('service')
const pod = sequence('pod')

const data = (body: JsonObject): JsonObject => ({ data: body })

/** An object as `kubectl apply` left it before it knew server-side apply. */
const lastApplied = (name: string, values: JsonObject): JsonObject => {
  const applied = {
    apiVersion: 'v1',
    data: values,
    kind: 'ConfigMap',
    metadata: { annotations: {}, name, namespace: 'apply' },
  }
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': `${JSON.stringify(applied)}\n` }
  return { metadata: { annotations }, data: values }
}

const web = (image: string, more: JsonObject = {}): JsonObject => ({
  metadata: { labels: { app: 'web' } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image, ...containerDefaults, ...more }] },
    },
  },
})

const servicePort = (port: number, more: JsonObject = {}): JsonObject => ({
  port,
  protocol: 'TCP',
  targetPort: port,
  ...more,
})

export const builtinSequences: readonly ApplyCase[] = [
  // One manager.
  configMap('apply-creates', apply('a', data({ x: '1', y: '2' }))),
  configMap('apply-again-changes-nothing', apply('a', data({ x: '1' })), apply('a', data({ x: '1' }))),
  configMap('apply-less-removes', apply('a', data({ x: '1', y: '2' })), apply('a', data({ x: '1' }))),
  configMap('apply-nothing-removes-all', apply('a', data({ x: '1' })), apply('a', {})),
  configMap('apply-an-empty-map', apply('a', data({})), apply('a', data({ x: '1' })), apply('a', data({}))),
  configMap(
    'apply-labels-and-finalizers',
    apply('a', { metadata: { labels: { l: '1' }, annotations: { n: '1' }, finalizers: ['x.com/a', 'x.com/b'] } }),
    apply('a', { metadata: { labels: { m: '2' }, finalizers: ['x.com/b'] } }),
  ),
  configMap('apply-a-null', apply('a', data({ x: '1', y: null })), apply('a', data({ x: null }))),
  configMap('apply-a-wrong-type', apply('a', data({ x: 1 }))),
  configMap('apply-an-unknown-field', apply('a', { unknown: 1 })),
  configMap(
    'apply-with-managed-fields',
    apply('a', { metadata: { managedFields: [] }, data: { x: '1' } }),
    apply('a', { metadata: { managedFields: [{ manager: 'x' }] }, data: { x: '1' } }),
  ),
  // Two managers.
  configMap(
    'two-own-apart',
    apply('a', data({ x: '1' })),
    apply('b', data({ y: '2' })),
    apply('a', {}),
    apply('b', {}),
  ),
  configMap(
    'two-share-a-value',
    apply('a', data({ x: '1' })),
    apply('b', data({ x: '1' })),
    apply('a', {}),
    apply('b', {}),
  ),
  configMap('conflict', apply('a', data({ x: '1', y: '1' })), apply('b', data({ x: '2', y: '2', z: '2' }))),
  configMap(
    'conflict-forced',
    apply('a', data({ x: '1', y: '1' })),
    force('b', data({ x: '2' })),
    apply('a', data({ x: '1', y: '1' })),
    apply('a', data({ y: '1' })),
  ),
  configMap(
    'shared-then-changed',
    apply('a', data({ x: '1' })),
    apply('b', data({ x: '1' })),
    apply('b', data({ x: '2' })),
    force('b', data({ x: '2' })),
  ),
  configMap(
    'conflict-with-an-update',
    create('editor', data({ x: '1' })),
    apply('a', data({ x: '1' })),
    apply('a', data({ x: '2' })),
    force('a', data({ x: '3' })),
  ),
  configMap(
    'conflict-with-several',
    apply('a', data({ x: '1' })),
    apply('b', data({ x: '1', y: '1' })),
    merge('editor', data({ z: '1' })),
    apply('c', data({ x: '2', y: '2', z: '2' })),
  ),
  configMap(
    'update-takes-over',
    apply('a', data({ x: '1', y: '1' })),
    merge('editor', data({ x: '2' })),
    apply('a', data({ y: '1' })),
    apply('a', data({ x: '2', y: '1' })),
  ),
  configMap(
    'update-removes-what-was-applied',
    apply('a', data({ x: '1', y: '1' })),
    merge('editor', data({ x: null })),
    apply('a', data({ x: '1', y: '1' })),
  ),
  configMap(
    'update-that-changes-nothing',
    apply('a', data({ x: '1' })),
    merge('editor', data({ x: '1' })),
    replace('editor', data({ x: '1' })),
  ),
  configMap(
    'same-name-applies-and-updates',
    apply('a', data({ x: '1' })),
    merge('a', data({ y: '1' })),
    apply('a', data({ x: '1', y: '1' })),
    apply('a', {}),
  ),
  configMap(
    'update-by-three',
    create('one', data({ x: '1', y: '1', z: '1' })),
    merge('two', data({ y: '2' })),
    merge('three', data({ z: '3', y: '3' })),
    merge('one', data({ z: null })),
  ),
  configMap(
    'replace-drops-fields',
    create('one', data({ x: '1', y: '1' })),
    replace('two', data({ x: '1' })),
    replace('two', {}),
  ),
  configMap(
    'managed-fields-cleared',
    apply('a', data({ x: '1' })),
    merge('editor', { metadata: { managedFields: [{}] } }),
    apply('b', data({ x: '1', y: '1' })),
    apply('b', data({ x: '2' })),
  ),
  configMap(
    'managed-fields-dropped-by-a-patch',
    apply('a', data({ x: '1' })),
    merge('editor', { metadata: { managedFields: null }, data: { y: '1' } }),
  ),
  configMap(
    'managed-fields-emptied-by-a-patch',
    apply('a', data({ x: '1' })),
    merge('editor', { metadata: { managedFields: [] }, data: { y: '1' } }),
  ),
  configMap(
    'json-patch-owns',
    apply('a', { metadata: { annotations: { n: '1' } }, data: { x: '1' } }),
    json('editor', [
      { op: 'add', path: '/data/y', value: '1' },
      { op: 'remove', path: '/metadata/annotations' },
    ]),
  ),
  configMap(
    'finalizers-of-two',
    apply('a', { metadata: { finalizers: ['x.com/a'] } }),
    apply('b', { metadata: { finalizers: ['x.com/b'] } }),
    strategic('editor', { metadata: { finalizers: ['x.com/c'] } }),
    apply('a', {}),
  ),
  configMap(
    'owners-by-uid',
    apply('a', { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: '1' }] } }),
    apply('b', { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'm', uid: '2' }] } }),
    apply('a', {}),
  ),
  configMap(
    'binary-data',
    apply('a', { binaryData: { raw: 'AAEC' } }),
    apply('a', { binaryData: { raw: 'AAEC', more: 'AA==' } }),
  ),

  // Managers with a history.
  configMap(
    // In the order of their names, because updates within one second are ordered by name.
    'many-updaters-are-capped',
    ...Array.from({ length: 13 }, (_, index) => {
      const key = `k${String(index).padStart(2, '0')}`
      return (index === 0 ? create : merge)(`m-${key}`, data({ [key]: '1' }))
    }),
  ),
  configMap(
    'kubectl-moves-to-the-server',
    create('kubectl-client-side-apply', lastApplied('kubectl-moves-to-the-server', { x: '1', y: '1' })),
    apply('kubectl', { data: { x: '2', z: '2' } }),
    apply('kubectl', { data: { x: '2' } }),
  ),
  configMap(
    'kubectl-conflicts-with-others',
    create('kubectl-client-side-apply', lastApplied('kubectl-conflicts-with-others', { x: '1', y: '1' })),
    merge('editor', data({ y: '2' })),
    apply('kubectl', data({ x: '2', y: '3' })),
    apply('a', data({ x: '2' })),
    merge('editor', { metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'nonsense' } } }),
    apply('kubectl', data({ x: '3' })),
  ),

  // Deployments.
  deployment(
    'deployment-and-autoscaler',
    apply('a', web('main:1')),
    merge('autoscaler', spec({ replicas: 3 })),
    apply('a', web('main:2')),
    apply('a', { ...web('main:2'), spec: { ...(web('main:2')['spec'] as JsonObject), replicas: 3 } }),
  ),
  deployment('deployment-scaled', create('editor', web('main:1')), merge('autoscaler', spec({ replicas: 4 }), 'scale')),
  deployment(
    'deployment-sidecar',
    apply('a', web('main:1')),
    apply('injector', {
      spec: { template: { spec: { containers: [{ name: 'proxy', image: 'proxy:1', ...containerDefaults }] } } },
    }),
    apply('a', web('main:2')),
    apply('injector', { spec: { template: {} } }),
  ),
  deployment(
    'deployment-environment',
    apply(
      'a',
      web('main:1', {
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: '2' },
        ],
      }),
    ),
    apply('b', { spec: { template: { spec: { containers: [{ name: 'main', env: [{ name: 'C', value: '3' }] }] } } } }),
    apply('b', { spec: { template: { spec: { containers: [{ name: 'main', env: [{ name: 'A', value: 'x' }] }] } } } }),
    apply('a', web('main:1', { env: [{ name: 'B', value: '2' }] })),
  ),
  deployment(
    'deployment-ports',
    apply(
      'a',
      web('main:1', {
        ports: [
          { containerPort: 80, protocol: 'TCP' },
          { containerPort: 80, protocol: 'UDP' },
        ],
      }),
    ),
    apply('b', {
      spec: { template: { spec: { containers: [{ name: 'main', ports: [{ containerPort: 80, name: 'x' }] }] } } },
    }),
    strategic('editor', {
      spec: { template: { spec: { containers: [{ name: 'main', ports: [{ containerPort: 81, protocol: 'TCP' }] }] } } },
    }),
  ),
  deployment(
    'deployment-resources',
    apply('a', web('main:1', { resources: { limits: { cpu: '1', memory: '1Gi' } } })),
    apply('b', {
      spec: { template: { spec: { containers: [{ name: 'main', resources: { limits: { cpu: '1000m' } } }] } } },
    }),
    apply('b', {
      spec: { template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '0.5' } } }] } } },
    }),
    apply('a', web('main:1')),
  ),
  deployment(
    'deployment-command-and-selector',
    apply('a', web('main:1', { command: ['a', 'b'] })),
    apply('b', {
      spec: { template: { spec: { nodeSelector: { disk: 'ssd' }, containers: [{ name: 'main', command: ['a'] }] } } },
    }),
    merge('editor', { spec: { template: { spec: { nodeSelector: { disk: 'hdd' } } } } }),
  ),
  deployment(
    'deployment-status',
    create('editor', web('main:1')),
    merge(
      'controller',
      { status: { replicas: 1, conditions: [{ type: 'Available', status: 'True', reason: 'r', message: 'm' }] } },
      'status',
    ),
    apply(
      'controller-2',
      { status: { conditions: [{ type: 'Progressing', status: 'True', reason: 'r', message: 'm' }] } },
      'status',
    ),
  ),
  deployment(
    'deployment-recreated-by-update',
    create('editor', web('main:1', { env: [{ name: 'A', value: '1' }] })),
    apply('a', web('main:1', { env: [{ name: 'A', value: '1' }] })),
    apply('a', web('main:2', { env: [{ name: 'A', value: '1' }] })),
    force('a', web('main:2')),
    json('editor', [{ op: 'add', path: '/spec/template/spec/containers/0/args', value: ['x'] }]),
  ),

  // Services and pods.
  service(
    'service-ports',
    apply('a', spec({ clusterIP: 'None', selector: { app: 'x' }, ports: [servicePort(80, { name: 'http' })] })),
    apply('b', spec({ ports: [servicePort(443, { name: 'https' })] })),
    apply('b', spec({ ports: [servicePort(80, { name: 'web' })] })),
    apply('a', spec({ clusterIP: 'None', selector: { app: 'x' }, ports: [servicePort(81, { name: 'http' })] })),
  ),
  service(
    'service-port-without-protocol',
    apply('a', spec({ clusterIP: 'None', ports: [{ port: 80, targetPort: 80 }] })),
    apply('b', spec({ ports: [{ port: 80, targetPort: 8080 }] })),
  ),
  service(
    'service-selector-is-atomic',
    apply('a', spec({ clusterIP: 'None', selector: { app: 'x' }, ports: [servicePort(80)] })),
    apply('b', spec({ selector: { tier: 'y' } })),
    force('b', spec({ selector: { tier: 'y' } })),
  ),
  pod(
    'pod-of-two',
    apply('a', spec({ containers: [{ name: 'main', image: 'main:1', ...containerDefaults }] })),
    apply('b', { metadata: { labels: { l: '1' } }, spec: { containers: [{ name: 'main', image: 'main:2' }] } }),
    force('b', { metadata: { labels: { l: '1' } }, spec: { containers: [{ name: 'main', image: 'main:2' }] } }),
  ),
  pod(
    'pod-status',
    create('editor', spec({ containers: [{ name: 'main', image: 'main:1', ...containerDefaults }] })),
    strategic(
      'kubelet',
      {
        status: {
          phase: 'Running',
          podIPs: [{ ip: '10.1.1.1' }],
          podIP: '10.1.1.1',
          conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null }],
        },
      },
      'status',
    ),
  ),
  pod(
    'pod-tolerations-and-volumes',
    apply(
      'a',
      spec({
        containers: [
          { name: 'main', image: 'main:1', ...containerDefaults, volumeMounts: [{ name: 'v', mountPath: '/v' }] },
        ],
        volumes: [{ name: 'v', emptyDir: {} }],
        hostAliases: [{ ip: '10.0.0.1', hostnames: ['h'] }],
      }),
    ),
    apply('b', spec({ tolerations: [{ key: 'k', operator: 'Exists' }] })),
  ),
]

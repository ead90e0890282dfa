/** Strategic merge patch: lists merge by key where the schema says so, and `$` directives say more. */
import type { Json } from '../../../src/kube/json.ts'
import { type PatchCase, type PatchedObject, containerDefaults } from './patches.ts'

const on =
  (object: PatchedObject, subresource?: 'status') =>
  (name: string, patch: Json): PatchCase => ({
    name: `${object}: ${name}`,
    object,
    ...(subresource ? { subresource } : {}),
    patch,
  })
const configMap = on('configMap')
const deployment = on('deployment')
const service = on('service')
const serviceAccount = on('serviceAccount')
const role = on('role')
const nodeStatus = on('node', 'status')

const pod = (name: string, spec: Json): PatchCase => deployment(name, { spec: { template: { spec } } })
const main = (name: string, container: Readonly<Record<string, Json>>): PatchCase =>
  pod(name, { containers: [{ name: 'main', ...container }] })
const fresh = (name: string): Readonly<Record<string, Json>> => ({ name, image: `${name}:1`, ...containerDefaults })

export const strategicPatchCases: readonly PatchCase[] = [
  // Maps and scalars.
  configMap('empty', {}),
  configMap('set and add data', { data: { a: 'x', d: 'y' } }),
  configMap('delete a key', { data: { a: null } }),
  configMap('delete a missing key', { data: { none: null } }),
  configMap('delete all data', { data: null }),
  configMap('replace a map', { data: { $patch: 'replace', z: '1' } }),
  configMap('replace a map with nothing', { data: { $patch: 'replace' } }),
  configMap('delete a map by directive', { data: { $patch: 'delete' } }),
  configMap('merge a map by directive', { data: { $patch: 'merge', a: 'x' } }),
  configMap('unknown directive', { data: { $patch: 'swap', a: 'x' } }),
  configMap('directive of the wrong type', { data: { $patch: 1 } }),
  configMap('replace with a null inside', { data: { $patch: 'replace', a: null, z: '1' } }),
  configMap('replace a map that is not there', {
    immutable: false,
    metadata: { labels: { $patch: 'replace', x: '1' } },
  }),
  configMap('delete labels, set annotations', { metadata: { labels: null, annotations: { note: null, more: 'x' } } }),
  configMap('retainKeys on a map without that strategy', { data: { $retainKeys: ['a'], a: 'x' } }),
  configMap('unknown member', { unknown: { a: 1 } }),
  configMap('unknown member null', { unknown: null }),
  configMap('data of the wrong type', { data: { a: 1 } }),
  configMap('list where a map belongs', { data: ['a'] }),
  configMap('scalar for a patch', 1),
  configMap('list for a patch', []),
  configMap('null for a patch', null),
  configMap('replace the whole object', {
    $patch: 'replace',
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'config', namespace: 'patches' },
    data: { only: '1' },
  }),
  configMap('delete the whole object', { $patch: 'delete' }),
  configMap('the wrong resource version', { metadata: { resourceVersion: '1' }, data: { a: 'x' } }),
  // Lists of primitives.
  configMap('finalizers merge', { metadata: { finalizers: ['example.com/c'] } }),
  configMap('a finalizer already there', { metadata: { finalizers: ['example.com/b'] } }),
  configMap('finalizers, one new and one old', { metadata: { finalizers: ['example.com/c', 'example.com/a'] } }),
  configMap('the same new finalizer twice', { metadata: { finalizers: ['example.com/c', 'example.com/c'] } }),
  configMap('delete a finalizer', { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] } }),
  configMap('delete a finalizer that is not there', {
    metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/x'] },
  }),
  configMap('delete and add finalizers', {
    metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'], finalizers: ['example.com/c'] },
  }),
  configMap('delete all finalizers', {
    metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a', 'example.com/b'] },
  }),
  configMap('finalizers null', { metadata: { finalizers: null } }),
  configMap('finalizers empty', { metadata: { finalizers: [] } }),
  configMap('order finalizers', { metadata: { '$setElementOrder/finalizers': ['example.com/b', 'example.com/a'] } }),
  configMap('order and add finalizers', {
    metadata: {
      '$setElementOrder/finalizers': ['example.com/c', 'example.com/b', 'example.com/a'],
      finalizers: ['example.com/c'],
    },
  }),
  configMap('order some finalizers', { metadata: { '$setElementOrder/finalizers': ['example.com/b'] } }),
  configMap('order that misses an added finalizer', {
    metadata: { '$setElementOrder/finalizers': ['example.com/a'], finalizers: ['example.com/c'] },
  }),
  configMap('delete from a list that is none', { '$deleteFromPrimitiveList/data': ['a'] }),
  configMap('delete from a list, not given as a list', {
    metadata: { '$deleteFromPrimitiveList/finalizers': 'example.com/a' },
  }),
  configMap('order not given as a list', { metadata: { '$setElementOrder/finalizers': 'x' } }),
  // Lists by key: owners by uid.
  configMap('add an owner', {
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'three', uid: 'uid-3' }] },
  }),
  configMap('change an owner', { metadata: { ownerReferences: [{ uid: 'uid-1', blockOwnerDeletion: true }] } }),
  configMap('delete an owner', { metadata: { ownerReferences: [{ $patch: 'delete', uid: 'uid-1' }] } }),
  configMap('delete an owner that is not there', {
    metadata: { ownerReferences: [{ $patch: 'delete', uid: 'uid-9' }] },
  }),
  configMap('replace the owners', {
    metadata: {
      ownerReferences: [{ $patch: 'replace' }, { apiVersion: 'v1', kind: 'ConfigMap', name: 'three', uid: 'uid-3' }],
    },
  }),
  configMap('replace the owners with none', { metadata: { ownerReferences: [{ $patch: 'replace' }] } }),
  configMap('owners null', { metadata: { ownerReferences: null } }),
  configMap('an owner without its key', { metadata: { ownerReferences: [{ name: 'x' }] } }),
  configMap('delete without the key', { metadata: { ownerReferences: [{ $patch: 'delete', name: 'one' }] } }),
  configMap('directive merge in an element', {
    metadata: { ownerReferences: [{ $patch: 'merge', uid: 'uid-1', name: 'x' }] },
  }),
  configMap('scalars in a list of maps', { metadata: { ownerReferences: ['x'] } }),
  // Containers by name.
  main('change an image', { image: 'main:2' }),
  pod('add a container', { containers: [fresh('third')] }),
  pod('add a container and change another', { containers: [fresh('third'), { name: 'side', image: 'side:2' }] }),
  pod('delete a container', { containers: [{ name: 'side', $patch: 'delete' }] }),
  pod('replace a container', { containers: [{ $patch: 'replace', ...fresh('side') }] }),
  pod('replace all containers', { volumes: null, containers: [{ $patch: 'replace' }, fresh('only')] }),
  pod('order containers', { '$setElementOrder/containers': [{ name: 'side' }, { name: 'main' }] }),
  pod('order and change containers', {
    '$setElementOrder/containers': [{ name: 'side' }, { name: 'main' }],
    containers: [{ name: 'main', image: 'main:2' }],
  }),
  pod('order, add and delete containers', {
    '$setElementOrder/containers': [{ name: 'third' }, { name: 'main' }],
    containers: [fresh('third'), { name: 'side', $patch: 'delete' }],
  }),
  pod('order some containers', { '$setElementOrder/containers': [{ name: 'side' }] }),
  pod('order naming a container that is not there', {
    '$setElementOrder/containers': [{ name: 'none' }, { name: 'side' }, { name: 'main' }],
  }),
  pod('order that misses a changed container', {
    '$setElementOrder/containers': [{ name: 'side' }],
    containers: [{ name: 'main', image: 'main:2' }],
  }),
  pod('order in another order than the patch', {
    '$setElementOrder/containers': [{ name: 'side' }, { name: 'main' }],
    containers: [
      { name: 'main', image: 'main:2' },
      { name: 'side', image: 'side:2' },
    ],
  }),
  pod('the same container twice', {
    containers: [
      { name: 'main', image: 'main:2' },
      { name: 'main', image: 'main:3' },
    ],
  }),
  pod('a container without its key', { containers: [{ image: 'x:1' }] }),
  pod('containers null', { containers: null }),
  pod('init containers null', { initContainers: null }),
  pod('an init container', { initContainers: [{ name: 'setup', image: 'setup:2' }] }),
  // Within a container.
  main('change and add variables', {
    env: [
      { name: 'B', value: 'x' },
      { name: 'D', value: '4' },
    ],
  }),
  main('delete a variable', { env: [{ name: 'A', $patch: 'delete' }] }),
  main('replace the variables', { env: [{ $patch: 'replace' }, { name: 'Z', value: '26' }] }),
  main('a variable changes its source', { env: [{ name: 'C', value: '3', valueFrom: null }] }),
  main('variables null', { env: null }),
  main('order variables', { '$setElementOrder/env': [{ name: 'C' }, { name: 'A' }, { name: 'B' }] }),
  main('order and add variables', {
    '$setElementOrder/env': [{ name: 'D' }, { name: 'C' }, { name: 'A' }, { name: 'B' }],
    env: [{ name: 'D', value: '4' }],
  }),
  main('arguments are replaced', { args: ['--c'] }),
  main('arguments null', { args: null }),
  main('a port changes', { ports: [{ containerPort: 80, name: 'web', protocol: 'TCP' }] }),
  main('a port is added', { ports: [{ containerPort: 81, name: 'more', protocol: 'TCP' }] }),
  main('a port is deleted', { ports: [{ containerPort: 443, $patch: 'delete' }] }),
  main('the key of ports is the number alone', { ports: [{ containerPort: 53, protocol: 'TCP', name: 'dns' }] }),
  main('a mount changes', { volumeMounts: [{ mountPath: '/data', name: 'data', readOnly: true }] }),
  main('a mount is added', { volumeMounts: [{ mountPath: '/more', name: 'data' }] }),
  main('limits merge', { resources: { limits: { cpu: '2' }, requests: null } }),
  main('limits are replaced', { resources: { limits: { $patch: 'replace', cpu: '2' } } }),
  main('capabilities are replaced', { securityContext: { capabilities: { add: ['KILL'] } } }),
  main('a probe is added', {
    livenessProbe: {
      httpGet: { path: '/', port: 80, scheme: 'HTTP' },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    },
  }),
  // The pod's other lists.
  pod('a volume changes its source, keys retained', {
    volumes: [{ name: 'data', $retainKeys: ['name', 'configMap'], configMap: { name: 'c', defaultMode: 420 } }],
  }),
  pod('a volume changes its source, old one null', {
    volumes: [{ name: 'data', emptyDir: null, configMap: { name: 'c', defaultMode: 420 } }],
  }),
  pod('a volume with two sources', { volumes: [{ name: 'data', configMap: { name: 'c', defaultMode: 420 } }] }),
  pod('a volume retains too few keys', {
    volumes: [{ name: 'data', $retainKeys: ['name'], configMap: { name: 'c', defaultMode: 420 } }],
  }),
  pod('a volume is added', { volumes: [{ name: 'new', emptyDir: { medium: 'Memory' } }] }),
  pod('a volume is deleted with its mount', {
    volumes: [{ name: 'config', $patch: 'delete' }],
    containers: [{ name: 'main', volumeMounts: [{ mountPath: '/config', $patch: 'delete' }] }],
  }),
  pod('retainKeys not a list', { volumes: [{ name: 'data', $retainKeys: 'name' }] }),
  pod('pull secrets merge', { imagePullSecrets: [{ name: 'third' }] }),
  pod('a pull secret goes', { imagePullSecrets: [{ name: 'first', $patch: 'delete' }] }),
  pod('host aliases merge by address', { hostAliases: [{ ip: '10.0.0.1', hostnames: ['uno'] }] }),
  pod('tolerations are replaced', { tolerations: [{ key: 'x', operator: 'Exists' }] }),
  pod('spread constraints merge by key', {
    topologySpreadConstraints: [{ topologyKey: 'zone', maxSkew: 3, whenUnsatisfiable: 'DoNotSchedule' }],
  }),
  pod('node selector merges', { nodeSelector: { disk: null, arch: 'arm64' } }),
  pod('node selector is replaced', { nodeSelector: { $patch: 'replace', arch: 'arm64' } }),
  pod('affinity is added', {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }],
        },
      },
    },
  }),
  pod('security context of sysctls', {
    securityContext: { sysctls: [{ name: 'net.a', value: '1' }], supplementalGroups: [1, 2] },
  }),
  // Deployments.
  deployment('scale', { spec: { replicas: 5 } }),
  deployment('strategy, keys retained', { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } }),
  deployment('strategy, rolling update null', { spec: { strategy: { type: 'Recreate', rollingUpdate: null } } }),
  deployment('strategy, rolling update left over', { spec: { strategy: { type: 'Recreate' } } }),
  deployment('strategy retains a key it does not have', {
    spec: { strategy: { $retainKeys: ['type', 'rollingUpdate'], type: 'RollingUpdate' } },
  }),
  deployment('annotations of the template', { spec: { template: { metadata: { annotations: { a: null, c: '3' } } } } }),
  deployment('the template replaced', {
    spec: {
      template: {
        $patch: 'replace',
        metadata: { labels: { app: 'web' } },
        spec: {
          containers: [fresh('only')],
          restartPolicy: 'Always',
          terminationGracePeriodSeconds: 30,
          dnsPolicy: 'ClusterFirst',
          securityContext: {},
          schedulerName: 'default-scheduler',
        },
      },
    },
  }),
  // Services: ports by port.
  service('a port changes', { spec: { ports: [{ port: 80, name: 'http', protocol: 'TCP', targetPort: 9090 }] } }),
  service('a port is added', { spec: { ports: [{ port: 81, name: 'more', protocol: 'TCP', targetPort: 81 }] } }),
  service('a port is deleted', { spec: { ports: [{ port: 443, $patch: 'delete' }] } }),
  service('ports are ordered', { spec: { '$setElementOrder/ports': [{ port: 53 }, { port: 443 }, { port: 80 }] } }),
  service('ports are replaced', {
    spec: { ports: [{ $patch: 'replace' }, { name: 'only', port: 1, protocol: 'TCP', targetPort: 1 }] },
  }),
  service('the key given as text', { spec: { ports: [{ port: '80', targetPort: 1 }] } }),
  service('selector merges', { spec: { selector: { tier: 'front' } } }),
  // Others.
  serviceAccount('secrets merge', { secrets: [{ name: 'three' }] }),
  serviceAccount('a secret is deleted', { secrets: [{ name: 'one', $patch: 'delete' }] }),
  serviceAccount('pull secrets null', { imagePullSecrets: null }),
  role('rules are replaced', { rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }] }),
  role('directive in a list that is replaced', {
    rules: [{ $patch: 'replace' }, { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
  }),
  nodeStatus('conditions merge by type', {
    status: { conditions: [{ type: 'Ready', status: 'False', reason: 'Down', message: 'x' }] },
  }),
  nodeStatus('a condition is added', {
    status: {
      conditions: [
        {
          type: 'PIDPressure',
          status: 'False',
          reason: 'Ok',
          message: 'y',
          lastHeartbeatTime: null,
          lastTransitionTime: null,
        },
      ],
    },
  }),
  nodeStatus('a condition is deleted', { status: { conditions: [{ type: 'DiskPressure', $patch: 'delete' }] } }),
  nodeStatus('addresses merge by type', { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.2' }] } }),
  nodeStatus('addresses are replaced', {
    status: { addresses: [{ $patch: 'replace' }, { type: 'Hostname', address: 'other' }] },
  }),
  nodeStatus('conditions are ordered', {
    status: {
      '$setElementOrder/conditions': [{ type: 'DiskPressure' }, { type: 'Ready' }],
      conditions: [{ type: 'Ready', message: 'still' }],
    },
  }),
]

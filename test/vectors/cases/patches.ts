/**
 * Patches of all three kinds: an object, a patch, and what the server made of it. The objects are recorded as the
 * server keeps them, with its defaults, so that patching them again adds nothing but what the patch says.
 */
import type { Json, JsonObject } from '../../../src/kube/json.ts'
import type { UntypedObject } from '../../../src/kube/object.ts'

export interface PatchVector {
  readonly name: string
  /** Key of {@link patchedObjects}. */
  readonly object: PatchedObject
  readonly subresource?: 'status'
  readonly patch: Json
  readonly result?: JsonObject
  readonly refusal?: {
    readonly status: number
    readonly reason?: string
    readonly message: string
    /** Who refused: the patch itself, the reading of what it led to (a wrong type), or the checks on the new object. */
    readonly by: 'patch' | 'decoding' | 'validation'
  }
}

export type PatchCase = Omit<PatchVector, 'result' | 'refusal'>

/** The object before any patch, as the server has it. */
export interface PatchedObjectVector {
  readonly name: PatchedObject
  readonly before: JsonObject
}

export type PatchedObject = 'doc' | 'configMap' | 'deployment' | 'service' | 'serviceAccount' | 'role' | 'node'

const container = {
  imagePullPolicy: 'IfNotPresent',
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  resources: {},
}

/** What the server would add to a container; patches that bring a container of their own say all of it. */
export const containerDefaults: JsonObject = container

export const patchedObjects: Readonly<Record<PatchedObject, UntypedObject>> = {
  /** A custom resource that keeps whatever it is given. */
  doc: {
    apiVersion: 'patches.vectors.muster.test/v1',
    kind: 'Doc',
    metadata: { name: 'doc', namespace: 'patches', labels: { app: 'doc' } },
    spec: {
      number: 1,
      float: 1.5,
      big: 9007199254740993n,
      text: 'text',
      yes: true,
      nothing: null,
      list: [1, 2, 3],
      objects: [
        { k: 'a', v: 1 },
        { k: 'b', v: 2 },
      ],
      map: { x: 1, y: { z: 2 } },
      empty: {},
      emptyList: [],
      'a/b': 'slash',
      'm~n': 'tilde',
      '': 'blank',
      '-': 'dash',
      '0': 'zero',
      é: 'accent',
    },
  },
  configMap: {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'config',
      namespace: 'patches',
      labels: { app: 'web', tier: 'front' },
      annotations: { note: 'first', 'example.com/owner': 'team' },
      finalizers: ['example.com/a', 'example.com/b'],
      ownerReferences: [
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'one', uid: 'uid-1' },
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'two', uid: 'uid-2', controller: true },
      ],
    },
    data: { a: '1', b: '2', c: '3' },
    binaryData: { raw: 'AAEC' },
  },
  deployment: {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'patches', labels: { app: 'web' } },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: '25%' } },
      template: {
        metadata: { labels: { app: 'web' }, annotations: { a: '1', b: '2' } },
        spec: {
          nodeSelector: { disk: 'ssd', zone: 'a' },
          imagePullSecrets: [{ name: 'first' }, { name: 'second' }],
          hostAliases: [
            { ip: '10.0.0.1', hostnames: ['one'] },
            { ip: '10.0.0.2', hostnames: ['two'] },
          ],
          tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoSchedule' }],
          topologySpreadConstraints: [
            { topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' },
            { topologyKey: 'node', maxSkew: 2, whenUnsatisfiable: 'ScheduleAnyway' },
          ],
          initContainers: [{ name: 'setup', image: 'setup:1', ...container }],
          containers: [
            {
              name: 'main',
              image: 'main:1',
              ...container,
              args: ['--a', '--b'],
              env: [
                { name: 'A', value: '1' },
                { name: 'B', value: '2' },
                { name: 'C', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
              ],
              ports: [
                { name: 'http', containerPort: 80, protocol: 'TCP' },
                { name: 'https', containerPort: 443, protocol: 'TCP' },
                { name: 'dns', containerPort: 53, protocol: 'UDP' },
              ],
              volumeMounts: [
                { name: 'data', mountPath: '/data' },
                { name: 'config', mountPath: '/config', readOnly: true },
              ],
              resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } },
              securityContext: { capabilities: { add: ['NET_ADMIN', 'SYS_TIME'], drop: ['ALL'] } },
            },
            { name: 'side', image: 'side:1', ...container, command: ['side'] },
          ],
          volumes: [
            { name: 'data', emptyDir: {} },
            { name: 'config', configMap: { name: 'config', defaultMode: 420 } },
          ],
        },
      },
    },
  },
  service: {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'patches' },
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      selector: { app: 'web' },
      ports: [
        { name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 },
        { name: 'https', port: 443, protocol: 'TCP', targetPort: 'tls' },
        { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
      ],
    },
  },
  serviceAccount: {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'robot', namespace: 'patches' },
    secrets: [{ name: 'one' }, { name: 'two' }],
    imagePullSecrets: [{ name: 'pull' }],
  },
  role: {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'reader', namespace: 'patches' },
    rules: [
      { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
      { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list'] },
    ],
  },
  node: {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node' },
    spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] },
    status: {
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: 'node' },
      ],
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Ok',
          message: 'fine',
          lastHeartbeatTime: null,
          lastTransitionTime: null,
        },
        {
          type: 'DiskPressure',
          status: 'False',
          reason: 'Ok',
          message: 'fine',
          lastHeartbeatTime: null,
          lastTransitionTime: null,
        },
      ],
    },
  },
}

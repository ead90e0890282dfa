/** What the server refuses in pods and in the kinds that make them, in which words and order. */
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { openServer } from './server.ts'
import {
  container,
  cronJob,
  job,
  pathOf,
  pod,
  refusalOf,
  selector,
  sharedNamespace,
  template,
  volume,
  web,
  workload,
} from './workload.ts'

const server = openServer()
const namespace = sharedNamespace(server)

async function tried(plural: string, body: JsonObject): Promise<string> {
  const answer = await server.call('POST', pathOf(plural, await namespace()), {
    body: { metadata: { name: 'web' }, ...body },
    query: { dryRun: 'All' },
  })
  return refusalOf(server, answer)
}

const long = (length: number): string => 'a'.repeat(length)
const affinity = (members: JsonObject): JsonObject => pod({ affinity: members })
const nodeTerm = (term: JsonObject): JsonObject =>
  affinity({ nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } })
const podTerm = (term: JsonObject): JsonObject =>
  affinity({ podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } })

describe('pods', () => {
  it.each<[string, JsonObject]>([
    ['nothing', {}],
    ['no containers', pod({ containers: [] })],
    ['an empty container', pod({ containers: [{}] })],
    ['a container without image', pod({ containers: [{ name: 'web' }] })],
    ['a container name with capitals', container({ name: 'Web' })],
    ['an overlong container name', container({ name: long(64) })],
    ['two containers of one name', pod({ containers: [web, web] })],
    ['an init container of the same name', pod({ initContainers: [web] })],
    ['space around an image', container({ image: ' nginx ' })],
    [
      'two errors at once',
      pod({ containers: [{ name: 'A', image: 'x', imagePullPolicy: 'Sometimes' }], restartPolicy: 'Perhaps' }),
    ],
    ['enumerations', pod({ restartPolicy: 'always', dnsPolicy: 'Cluster' })],
    ['a DNS policy without configuration', pod({ dnsPolicy: 'None' })],
    ['a DNS policy without servers', pod({ dnsPolicy: 'None', dnsConfig: { searches: ['a.b'] } })],
    [
      'DNS configuration',
      pod({
        dnsConfig: {
          nameservers: ['1.1.1.1', 'x', '2.2.2.2', '3.3.3.3'],
          searches: ['A_', 'ok.', '.'],
          options: [{ value: 'x' }],
        },
      }),
    ],
    [
      'names',
      pod({
        serviceAccountName: 'A',
        nodeName: 'B',
        hostname: 'c.d',
        subdomain: 'e_f',
      }),
    ],
    ['deadlines', pod({ activeDeadlineSeconds: 0 })],
    ['a deadline beyond int32', pod({ activeDeadlineSeconds: 2147483648 })],
    ['host aliases', pod({ hostAliases: [{ ip: 'nowhere', hostnames: ['a', 'B'] }] })],
    ['node selectors', pod({ nodeSelector: { 'a b': 'c d' } })],
    ['shared processes twice', pod({ shareProcessNamespace: true, hostPID: true })],
    [
      'ports of the host',
      pod({ hostNetwork: true, containers: [{ ...web, ports: [{ containerPort: 80, hostPort: 81 }] }] }),
    ],
    ['readiness gates', pod({ readinessGates: [{ conditionType: 'a b' }] })],
    ['scheduling gates', pod({ schedulingGates: [{ name: 'a' }, { name: 'a' }, { name: '' }] })],
    ['a gated pod on a node', pod({ schedulingGates: [{ name: 'a' }], nodeName: 'n' })],
    ['ephemeral containers', pod({ ephemeralContainers: [{ name: 'debug', image: 'busybox' }] })],
    [
      'a mirror without node',
      { metadata: { name: 'web', annotations: { 'kubernetes.io/config.mirror': 'x' } }, ...pod({}) },
    ],
    [
      'a deletion cost',
      { metadata: { name: 'web', annotations: { 'controller.kubernetes.io/pod-deletion-cost': '+1' } }, ...pod({}) },
    ],
    ['a host name twice', pod({ hostnameOverride: 'A', setHostnameAsFQDN: true })],
    ['an operating system', pod({ os: { name: 'plan9' } })],
    [
      'windows',
      pod({
        os: { name: 'windows' },
        hostPID: true,
        securityContext: { runAsUser: 1, fsGroup: 2 },
        containers: [{ ...web, securityContext: { privileged: true, capabilities: {} } }],
      }),
    ],
    ['linux', pod({ os: { name: 'linux' }, securityContext: { windowsOptions: { hostProcess: false } } })],
    ['host users', pod({ hostUsers: false, hostIPC: true, hostPID: true })],
    ['overhead', pod({ overhead: { cpu: '-1' } })],
    [
      'resource claims',
      pod({
        resourceClaims: [
          { name: 'a' },
          { name: 'a', resourceClaimName: 'x' },
          { name: 'b', resourceClaimName: 'x', resourceClaimTemplateName: 'Y' },
        ],
      }),
    ],
    [
      'resources of the pod as a whole',
      pod({
        resources: { requests: { cpu: '100m' } },
        containers: [{ ...web, resources: { requests: { cpu: '200m' } } }],
      }),
    ],
    ['unknown resources of the pod', pod({ resources: { limits: { 'example.com/gpu': 1 } } })],
    ['a name that is not a host name', { metadata: { name: 'a.b' }, ...pod({}) }],
  ])('%s', async (_what, body) => {
    expect(await tried('pods', body)).toMatchSnapshot('answer')
  })
})

describe('containers', () => {
  it.each<[string, JsonObject]>([
    [
      'ports',
      {
        ports: [
          { containerPort: 0 },
          { containerPort: 65536, name: 'Toolongforaportname' },
          { containerPort: 80, hostPort: -1, protocol: 'tcp' },
          { name: '-a--1-', containerPort: 1 },
        ],
      },
    ],
    [
      'port names twice',
      {
        ports: [
          { containerPort: 1, name: 'a' },
          { containerPort: 2, name: 'a' },
        ],
      },
    ],
    [
      'host ports twice',
      {
        ports: [
          { containerPort: 1, hostPort: 80 },
          { containerPort: 2, hostPort: 80 },
        ],
      },
    ],
    [
      'variables',
      {
        env: [
          {},
          { name: 'a=b' },
          { name: 'ok', value: 'x', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
          { name: 'none', valueFrom: {} },
        ],
      },
    ],
    [
      'a variable from two places',
      {
        env: [
          { name: 'A', valueFrom: { secretKeyRef: { name: 'S', key: '' }, configMapKeyRef: { name: '', key: '..' } } },
        ],
      },
    ],
    [
      'fields',
      {
        env: [
          { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.labels' } } },
          { name: 'B', valueFrom: { fieldRef: { fieldPath: 'spec.containers' } } },
          { name: 'C', valueFrom: { fieldRef: { fieldPath: "spec.nodeName['a']" } } },
          { name: 'D', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a b']" } } },
          { name: 'E', valueFrom: { fieldRef: { fieldPath: '' } } },
          { name: 'F', valueFrom: { fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } } },
          { name: 'G', valueFrom: { fieldRef: { fieldPath: "metadata.annotations['Any']" } } },
        ],
      },
    ],
    [
      'resource fields',
      {
        env: [
          { name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.gpu' } } },
          { name: 'B', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } } },
          { name: 'C', valueFrom: { resourceFieldRef: { resource: 'requests.memory', divisor: '3Mi' } } },
        ],
      },
    ],
    [
      'environments',
      {
        envFrom: [
          {},
          { configMapRef: {} },
          { prefix: '=', secretRef: { name: 'S' } },
          { configMapRef: { name: 'c' }, secretRef: { name: 's' } },
        ],
      },
    ],
    [
      'mounts',
      {
        volumeMounts: [
          { name: 'none', mountPath: '/a' },
          { name: '', mountPath: '' },
          { name: 'x', mountPath: '/a', subPath: '../b', subPathExpr: '/c' },
        ],
      },
    ],
    [
      'mount modes',
      {
        volumeMounts: [
          { name: 'x', mountPath: '/a', mountPropagation: 'Bidirectional', recursiveReadOnly: 'Enabled' },
          { name: 'x', mountPath: '/b', mountPropagation: 'Up', recursiveReadOnly: 'Yes' },
        ],
      },
    ],
    [
      'devices',
      {
        volumeDevices: [
          { name: 'none', devicePath: '/a' },
          { name: 'none', devicePath: '../a' },
          { name: '', devicePath: '' },
        ],
      },
    ],
    ['policies', { imagePullPolicy: 'always', terminationMessagePolicy: 'Log' }],
    ['more than the limit', { resources: { limits: { cpu: '100m' }, requests: { cpu: '200m' } } }],
    ['negative amounts', { resources: { limits: { cpu: '-1' } } }],
    ['a resource without prefix', { resources: { limits: { gpu: '1' } } }],
    ['a resource for namespaces', { resources: { limits: { pods: '1' } } }],
    ['an invalid resource name', { resources: { limits: { 'a b': '1' } } }],
    ['a fraction of an extended resource', { resources: { limits: { 'example.com/gpu': '500m' } } }],
    ['an extended resource without limit', { resources: { requests: { 'example.com/gpu': '1' } } }],
    [
      'requests below the limit of an extended resource',
      { resources: { limits: { 'example.com/gpu': '2' }, requests: { 'example.com/gpu': '1' } } },
    ],
    ['huge pages alone', { resources: { limits: { 'hugepages-2Mi': '2Mi' } } }],
    ['half a huge page', { resources: { limits: { 'hugepages-2Mi': '1Mi', cpu: '1' } } }],
    ['an unknown claim', { resources: { claims: [{ name: 'a' }, { name: '' }] } }],
    ['a security context', { securityContext: { runAsUser: -1, runAsGroup: 2147483648, procMount: 'Bare' } }],
    [
      'contradictory privileges',
      {
        securityContext: {
          allowPrivilegeEscalation: false,
          privileged: true,
          capabilities: { add: ['CAP_SYS_ADMIN'] },
        },
      },
    ],
    ['seccomp', { securityContext: { seccompProfile: { type: 'Localhost' } } }],
    ['seccomp of another type', { securityContext: { seccompProfile: { type: 'Strict' } } }],
    [
      'an unused seccomp profile',
      {
        securityContext: {
          seccompProfile: { type: 'Unconfined', localhostProfile: 'x' },
          appArmorProfile: { type: 'Unconfined', localhostProfile: 'x' },
        },
      },
    ],
    ['AppArmor', { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: ' x' } } }],
    ['a probe without handler', { livenessProbe: {} }],
    ['a probe with two handlers', { readinessProbe: { exec: { command: ['a'] }, httpGet: { port: 80 } } }],
    [
      'probes',
      {
        livenessProbe: { exec: {}, successThreshold: 2, periodSeconds: -1, terminationGracePeriodSeconds: 0 },
        readinessProbe: { tcpSocket: { port: 0 }, terminationGracePeriodSeconds: 5 },
        startupProbe: {
          httpGet: { port: 'Too_long_for_a_port', scheme: 'ftp', httpHeaders: [{ name: 'a b', value: '' }] },
          successThreshold: 3,
        },
      },
    ],
    ['hooks', { lifecycle: { preStop: { sleep: { seconds: 31 } }, postStart: {} } }],
    ['an invalid stop signal', { lifecycle: { stopSignal: 'SIGTERM' } }],
    [
      'resize policies',
      {
        resizePolicy: [
          { resourceName: 'cpu', restartPolicy: 'Never' },
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
          { resourceName: 'gpu', restartPolicy: 'NotRequired' },
        ],
      },
    ],
    ['a restart policy', { restartPolicy: 'Sometimes' }],
    [
      'restart rules',
      { restartPolicyRules: [{ action: 'Stop' }, { action: 'Restart', exitCodes: { operator: 'Is', values: [1] } }] },
    ],
    [
      'duplicate variables',
      {
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      },
    ],
    [
      'ports that overlap',
      { ports: [{ containerPort: 80 }, { containerPort: 80 }, { containerPort: 80, hostPort: 80 }] },
    ],
    ['fractions of bytes', { resources: { limits: { memory: '100m' } } }],
    ['an address without port', { ports: [{ containerPort: 80, hostIP: '1.2.3.4' }] }],
  ])('%s', async (_what, members) => {
    expect(await tried('pods', container(members))).toMatchSnapshot('answer')
  })

  it('an init container has no probes', async () => {
    const members = { livenessProbe: { tcpSocket: { port: 1 } }, lifecycle: { preStop: { sleep: { seconds: 1 } } } }
    expect(await tried('pods', pod({ initContainers: [{ name: 'init', image: 'x', ...members }] }))).toMatchSnapshot(
      'answer',
    )
  })

  it('mounts and devices have different paths', async () => {
    const own = {
      ...web,
      volumeMounts: [{ name: 'v', mountPath: '/a' }],
      volumeDevices: [{ name: 'v', devicePath: '/a' }],
    }
    expect(await tried('pods', pod({ containers: [own], volumes: [{ name: 'v', emptyDir: {} }] }))).toMatchSnapshot(
      'answer',
    )
  })
})

describe('volumes', () => {
  it.each<[string, JsonObject]>([
    ['two sources', { emptyDir: {}, configMap: { name: 'c' } }],
    ['a name', { name: 'A', emptyDir: {} }],
    ['a negative limit', { emptyDir: { sizeLimit: '-1' } }],
    ['hostPath', { hostPath: { path: '/a/../b', type: 'Folder' } }],
    ['hostPath without path', { hostPath: { path: '' } }],
    [
      'secret',
      {
        secret: {
          defaultMode: 512,
          items: [
            { key: '', path: '/a' },
            { key: 'k', path: '../x', mode: -1 },
            { key: 'k', path: '..x' },
          ],
        },
      },
    ],
    ['configMap', { configMap: { items: [{ key: 'k', path: '' }] } }],
    [
      'downwardAPI',
      {
        downwardAPI: {
          items: [
            { path: 'a' },
            { path: '', fieldRef: { fieldPath: 'spec.nodeName' } },
            { path: 'c', resourceFieldRef: { resource: 'limits.cpu' } },
          ],
        },
      },
    ],
    [
      'projected',
      {
        projected: {
          sources: [
            { secret: { name: 's', items: [{ key: 'a', path: 'p' }] } },
            { configMap: { name: 'c', items: [{ key: 'a', path: 'p' }] } },
            { secret: {}, configMap: {} },
          ],
        },
      },
    ],
    ['a token', { projected: { sources: [{ serviceAccountToken: { path: '', expirationSeconds: 10 } }] } }],
    [
      'trust bundles',
      {
        projected: {
          sources: [
            { clusterTrustBundle: { path: 'a' } },
            { clusterTrustBundle: { name: 'b', signerName: 'example.com/s', path: 'a' } },
            { clusterTrustBundle: { name: 'A:b', labelSelector: {}, path: '../a' } },
            { clusterTrustBundle: { name: '', path: 'n' } },
            { clusterTrustBundle: { signerName: '', path: '' } },
            { clusterTrustBundle: { signerName: 'com/s', labelSelector: { matchLabels: { 'a b': '' } }, path: '/c' } },
            { clusterTrustBundle: { name: 'example.com:signer:good', path: 'good' } },
          ],
        },
      },
    ],
    [
      'certificates',
      {
        projected: {
          sources: [
            { podCertificate: { signerName: 'example.com/s', keyType: 'ED25519' } },
            { podCertificate: { signerName: 'a.b/c/d', keyType: 'DSA', keyPath: 'k' } },
            { podCertificate: { signerName: '', keyType: 'RSA3072', keyPath: 'k', certificateChainPath: '..c' } },
            {
              podCertificate: {
                signerName: 'example.com/s',
                keyType: 'RSA4096',
                credentialBundlePath: 'b',
                maxExpirationSeconds: 3599,
                userAnnotations: { plain: 'x' },
              },
            },
            {
              podCertificate: {
                signerName: 'example.com/s',
                keyType: 'ECDSAP256',
                credentialBundlePath: 'c',
                maxExpirationSeconds: 91 * 24 * 3600 + 1,
                userAnnotations: { 'example.com/Upper': 'x' },
              },
            },
            {
              podCertificate: {
                signerName: 'kubernetes.io/s',
                keyType: 'ECDSAP384',
                credentialBundlePath: 'd',
                maxExpirationSeconds: 24 * 3600 + 1,
                userAnnotations: { 'b a/d': 'x' },
              },
            },
            { podCertificate: { signerName: 'Exa_mple.com/S_', keyType: 'ECDSAP521', credentialBundlePath: 'e' } },
          ],
        },
      },
    ],
    ['claim', { persistentVolumeClaim: { claimName: '' } }],
    [
      'ephemeral',
      {
        ephemeral: {
          volumeClaimTemplate: {
            metadata: { name: 'x' },
            spec: { accessModes: ['Any'], volumeMode: 'Tape', storageClassName: 'A' },
          },
        },
      },
    ],
    ['ephemeral without template', { ephemeral: {} }],
    [
      'two data sources',
      {
        ephemeral: {
          volumeClaimTemplate: {
            spec: {
              accessModes: ['ReadWriteOnce'],
              resources: { requests: { storage: '1Gi' } },
              dataSource: { apiGroup: 'A', kind: 'K', name: 'n' },
              dataSourceRef: { kind: 'K', name: 'n' },
            },
          },
        },
      },
    ],
    [
      'overlapping files',
      {
        projected: {
          sources: [
            {},
            { configMap: { name: 'c', items: [{ key: 'a', path: 'a' }] } },
            { secret: { name: 's', items: [{ key: 'a', path: 'a/b' }] } },
          ],
        },
      },
    ],
    ['nfs', { nfs: { server: '', path: 'a' } }],
    ['csi', { csi: { driver: 'a b' } }],
    ['image', { image: { reference: '', pullPolicy: 'Now' } }],
    ['iscsi', { iscsi: { targetPortal: '', iqn: 'x', lun: 256 } }],
    ['removed volume types', { gitRepo: { repository: '', directory: '../x' } }],
    ['deprecated volume types', { rbd: { monitors: ['a'], image: 'i' } }],
  ])('%s', async (_what, source) => {
    expect(await tried('pods', volume(source))).toMatchSnapshot('answer')
  })

  it('two volumes of one name', async () => {
    expect(await tried('pods', pod({ volumes: [{ name: 'v' }, { name: 'v' }] }))).toMatchSnapshot('answer')
  })
})

describe('scheduling', () => {
  it.each<[string, JsonObject]>([
    [
      'no terms',
      affinity({ nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } }),
    ],
    [
      'node expressions',
      nodeTerm({
        matchExpressions: [
          { key: 'a', operator: 'In' },
          { key: 'a', operator: 'Exists', values: ['x'] },
          { key: 'a', operator: 'Gt', values: [] },
          { key: 'a', operator: 'Is' },
          { key: 'a b', operator: 'Exists' },
          { key: 'a', operator: 'In', values: ['x y'] },
        ],
      }),
    ],
    [
      'node fields',
      nodeTerm({
        matchFields: [
          { key: 'metadata.name', operator: 'In', values: ['a', 'B'] },
          { key: 'spec.x', operator: 'Exists' },
        ],
      }),
    ],
    [
      'weights',
      affinity({
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 0, preference: {} },
            { weight: 101, preference: { matchExpressions: [{ key: 'a', operator: 'In', values: ['x y'] }] } },
          ],
        },
      }),
    ],
    [
      'pod terms',
      podTerm({
        topologyKey: '',
        labelSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] },
        namespaces: ['A'],
      }),
    ],
    ['label keys', podTerm({ topologyKey: 'z', matchLabelKeys: ['a'], mismatchLabelKeys: ['a'] })],
    [
      'label keys twice',
      podTerm({ topologyKey: 'z', labelSelector: selector, matchLabelKeys: ['a', 'b c'], mismatchLabelKeys: ['a'] }),
    ],
    ['a null selector', podTerm({ topologyKey: 'z' })],
    [
      'weighted pod terms',
      affinity({
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: -1, podAffinityTerm: { topologyKey: 'a b' } }],
        },
      }),
    ],
    [
      'tolerations',
      pod({
        tolerations: [
          { operator: 'Equal' },
          { key: 'a', operator: 'Is' },
          { key: 'a', operator: 'Exists', value: 'x' },
          { key: 'a', value: 'x y' },
          { key: 'a', effect: 'Never' },
          { key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 },
        ],
      }),
    ],
    ['toleration keys', pod({ tolerations: [{ key: 'a b', operator: 'Is' }], restartPolicy: 'x' })],
    ['tolerations that compare', pod({ tolerations: [{ key: 'a', operator: 'Gt', value: '1' }] })],
    [
      'spread',
      pod({
        topologySpreadConstraints: [
          { maxSkew: 0, topologyKey: '', whenUnsatisfiable: 'Cry' },
          {
            maxSkew: 1,
            topologyKey: 'z',
            whenUnsatisfiable: 'ScheduleAnyway',
            minDomains: 0,
            nodeAffinityPolicy: 'x',
            labelSelector: {},
          },
        ],
      }),
    ],
    [
      'spread twice',
      pod({
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' },
          { maxSkew: 2, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' },
        ],
      }),
    ],
    [
      'pod security',
      pod({
        securityContext: {
          fsGroup: -1,
          runAsUser: -1,
          supplementalGroups: [1, -1],
          sysctls: [
            { name: 'A', value: '' },
            { name: 'net.a', value: '' },
            { name: 'net.a', value: '' },
          ],
          fsGroupChangePolicy: 'x',
          supplementalGroupsPolicy: 'y',
        },
      }),
    ],
    [
      'sysctls of the host',
      pod({ hostNetwork: true, securityContext: { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] } }),
    ],
    ['deprecated labels', pod({ nodeSelector: { 'beta.kubernetes.io/os': 'linux' } })],
  ])('%s', async (_what, body) => {
    expect(await tried('pods', body)).toMatchSnapshot('answer')
  })
})

describe('workload kinds', () => {
  it.each<[string, string, JsonObject]>([
    ['an empty deployment', 'deployments.apps', {}],
    ['a deployment without selector', 'deployments.apps', workload({ selector: null })],
    ['a deployment with an empty selector', 'deployments.apps', workload({ selector: {} })],
    ['a selector that does not match', 'deployments.apps', workload({ selector: { matchLabels: { app: 'other' } } })],
    [
      'an invalid selector',
      'deployments.apps',
      workload({ selector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } }),
    ],
    ['a selector with invalid labels', 'deployments.apps', workload({ selector: { matchLabels: { app: 'a b' } } })],
    ['a template without labels', 'deployments.apps', workload({ template: { spec: { containers: [web] } } })],
    [
      'a template with invalid labels',
      'deployments.apps',
      workload({ template: { metadata: { labels: { app: 'web', 'x y': 'z' } }, spec: { containers: [web] } } }),
    ],
    [
      'a template with another restart policy',
      'deployments.apps',
      workload({ template: template({ restartPolicy: 'Never', activeDeadlineSeconds: 5 }) }),
    ],
    [
      'a template with toleration keys',
      'deployments.apps',
      workload({ template: template({ tolerations: [{ key: 'a b', operator: 'Exists' }] }), replicas: -1 }),
    ],
    ['an unknown strategy', 'deployments.apps', workload({ strategy: { type: 'Replace' } })],
    [
      'a strategy with unknown fields',
      'deployments.apps',
      workload({ strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } }),
    ],
    [
      'steps of zero',
      'deployments.apps',
      workload({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } } }),
    ],
    [
      'invalid steps',
      'deployments.apps',
      workload({ strategy: { rollingUpdate: { maxSurge: 'x', maxUnavailable: '101%' } } }),
    ],
    [
      'negative numbers',
      'deployments.apps',
      workload({ replicas: -1, minReadySeconds: -1, revisionHistoryLimit: -1, progressDeadlineSeconds: -2 }),
    ],
    ['a deadline before ready', 'deployments.apps', workload({ minReadySeconds: 600 })],
    [
      'a deployment with ephemeral containers',
      'deployments.apps',
      workload({ template: template({ ephemeralContainers: [{ name: 'd', image: 'd' }] }) }),
    ],
    ['a deployment of a dotted name', 'deployments.apps', { metadata: { name: 'a.b' }, ...workload() }],
    ['a replica set without selector', 'replicasets.apps', workload({ selector: null, replicas: -1 })],
    ['a replication controller without template', 'replicationcontrollers', { spec: { replicas: -1 } }],
    [
      'a replication controller that does not match',
      'replicationcontrollers',
      { spec: { selector: { a: 'b' }, template: template(), minReadySeconds: -1 } },
    ],
    ['a stateful set of a dotted name', 'statefulsets.apps', { metadata: { name: 'a.b' }, ...workload() }],
    ['a stateful set without selector', 'statefulsets.apps', workload({ selector: null })],
    [
      'policies of a stateful set',
      'statefulsets.apps',
      workload({
        podManagementPolicy: 'Chaos',
        updateStrategy: { type: 'Recreate' },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Keep' },
        serviceName: 'A.b',
        ordinals: { start: -1 },
      }),
    ],
    [
      'steps of a stateful set',
      'statefulsets.apps',
      workload({ updateStrategy: { rollingUpdate: { partition: -1, maxUnavailable: 0 } } }),
    ],
    [
      'steps on delete',
      'statefulsets.apps',
      workload({ updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 1 } } }),
    ],
    [
      'claims of a stateful set',
      'statefulsets.apps',
      workload({
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: [] } }],
        template: template({ containers: [{ ...web, volumeMounts: [{ name: 'data', mountPath: '/d' }] }] }),
      }),
    ],
    [
      'a claim of a fraction of a byte',
      'statefulsets.apps',
      workload({
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1.5' } } },
          },
        ],
      }),
    ],
    ['a daemon set without selector', 'daemonsets.apps', workload({ selector: null })],
    ['a daemon set with an empty selector', 'daemonsets.apps', workload({ selector: {} })],
    ['steps of a daemon set', 'daemonsets.apps', workload({ updateStrategy: { rollingUpdate: { maxSurge: 1 } } })],
    [
      'no steps of a daemon set',
      'daemonsets.apps',
      workload({ updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } }),
    ],
    [
      'a strategy of a daemon set',
      'daemonsets.apps',
      workload({ updateStrategy: { type: 'Never' }, minReadySeconds: -1 }),
    ],
    ['a job with restart policy Always', 'jobs.batch', job({ template: template() })],
    ['a job with another restart policy', 'jobs.batch', job({ template: template({ restartPolicy: 'Maybe' }) })],
    ['a job with a selector', 'jobs.batch', job({ selector })],
    ['a job without its manual selector', 'jobs.batch', job({ manualSelector: true })],
    [
      'a job with labels of another',
      'jobs.batch',
      job({
        template: {
          metadata: { labels: { 'job-name': 'other' } },
          spec: { containers: [web], restartPolicy: 'Never' },
        },
      }),
    ],
    [
      'numbers of a job',
      'jobs.batch',
      job({
        parallelism: -1,
        completions: -1,
        activeDeadlineSeconds: -1,
        backoffLimit: -1,
        ttlSecondsAfterFinished: -1,
      }),
    ],
    ['an indexed job without completions', 'jobs.batch', job({ completionMode: 'Indexed', parallelism: 2 })],
    ['modes of a job', 'jobs.batch', job({ completionMode: 'Ordered', podReplacementPolicy: 'Never' })],
    ['index fields without an index', 'jobs.batch', job({ backoffLimitPerIndex: 1, maxFailedIndexes: 1 })],
    ['failed indexes alone', 'jobs.batch', job({ completionMode: 'Indexed', completions: 2, maxFailedIndexes: 3 })],
    [
      'a failure policy',
      'jobs.batch',
      job({
        podFailurePolicy: {
          rules: [
            { action: 'Retry', onExitCodes: { operator: 'In', values: [3, 0, 3], containerName: 'x' } },
            { action: 'FailIndex', onPodConditions: [{ type: 'A b', status: 'Yes' }] },
            { action: 'Ignore' },
          ],
        },
        template: template({ restartPolicy: 'OnFailure' }),
      }),
    ],
    ['a success policy without indexes', 'jobs.batch', job({ successPolicy: { rules: [{ succeededCount: 1 }] } })],
    [
      'a success policy',
      'jobs.batch',
      job({
        completionMode: 'Indexed',
        completions: 3,
        successPolicy: {
          rules: [
            {},
            { succeededCount: 5, succeededIndexes: '0-1' },
            { succeededIndexes: '2-1' },
            { succeededIndexes: '7' },
            { succeededIndexes: 'a' },
          ],
        },
      }),
    ],
    ['the manager of a job', 'jobs.batch', job({ managedBy: 'nobody' })],
    [
      'an indexed job of a long name',
      'jobs.batch',
      { metadata: { name: long(62) }, ...job({ completionMode: 'Indexed', completions: 100 }) },
    ],
    ['a cron job without schedule', 'cronjobs.batch', cronJob({ schedule: '' })],
    ['an empty cron job', 'cronjobs.batch', {}],
    ['a cron job of a long name', 'cronjobs.batch', { metadata: { name: long(53) }, ...cronJob() }],
    [
      'policies of a cron job',
      'cronjobs.batch',
      cronJob({
        concurrencyPolicy: 'Wait',
        startingDeadlineSeconds: -1,
        successfulJobsHistoryLimit: -1,
        failedJobsHistoryLimit: -1,
      }),
    ],
    ['a selector in a cron job', 'cronjobs.batch', cronJob({ jobTemplate: job({ selector, manualSelector: true }) })],
    [
      'a job in a cron job',
      'cronjobs.batch',
      cronJob({ jobTemplate: job({ template: template(), backoffLimit: -1 }) }),
    ],
    ['a pod template', 'podtemplates', { template: { spec: { containers: [{ name: 'A' }] } } }],
    ['a controller revision without data', 'controllerrevisions.apps', { revision: -1 }],
    ['a controller revision of a string', 'controllerrevisions.apps', { revision: 1, data: 'x' }],
  ])('%s', async (_what, plural, body) => {
    expect(await tried(plural, body)).toMatchSnapshot('answer')
  })
})

describe('schedules', () => {
  it.each([
    '* * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * 13 *',
    '* * * * 7',
    'a * * * *',
    '5-1 * * * *',
    '1-2-3 * * * *',
    '*/0 * * * *',
    '1/2/3 * * * *',
    '-1 * * * *',
    '@daily',
    '@often',
    '@every 5m',
    '@every x',
    'TZ=UTC * * * * *',
    '0 0 1 jan mon',
    '0,30 9-17/2 * * MON-FRI',
    '? ? ? ? ?',
    '*/x * * * *',
    '5/10 * * * *',
    '1,,2 * * * *',
  ])('%s', async (schedule) => {
    expect(await tried('cronjobs.batch', cronJob({ schedule }))).toMatchSnapshot('answer')
  })

  it.each([
    'Europe/Berlin',
    'UTC',
    'Local',
    '',
    'Nowhere/City',
    'europe/berlin',
    '../etc',
    'Etc/GMT+1',
    '+01:00',
    'Asia/Calcutta',
  ])('in %s', async (timeZone) => {
    expect(await tried('cronjobs.batch', cronJob({ timeZone }))).toMatchSnapshot('answer')
  })
})

/**
 * The Pods of a large cluster, as the API server returns them: the data of the cache benchmark.
 *
 * Everything derives from the seed, so two runs (and two programs) see the same bytes. Some hundred Deployments of
 * uneven size own the Pods; those of one ReplicaSet differ as real ones do: name, uid, versions, node, addresses,
 * times, container ids, the name of the token volume. Members are in the order of the API server, about 9 KB each, of
 * which some 40 % is managedFields.
 */
import { type Random, seededRandom } from '../src/clock/random.ts'

export interface FleetOptions {
  readonly pods: number
  /** Deployments. @default one for 250 Pods */
  readonly apps?: number
  /** @default one for 30 Pods */
  readonly nodes?: number
  readonly namespaces?: number
  readonly seed?: number
}

export interface Fleet {
  readonly size: number
  /**
   * One Pod as a get or a watch shows it, with kind and apiVersion. Lists are sorted by namespace and name, and so is
   * `index`.
   */
  pod(index: number, version?: number): string
  /** A page of a list: the items carry neither kind nor apiVersion. */
  listPage(start: number, count: number): string
  /** One watch event. Each `version` above 0 is a later state of the Pod: probes fail and recover, containers restart. */
  watchLine(type: 'ADDED' | 'MODIFIED' | 'DELETED', index: number, version?: number): string
}

interface App {
  readonly name: string
  readonly namespace: string
  readonly containers: readonly ContainerPlan[]
  readonly labels: Record<string, string>
  readonly annotations: Record<string, string>
  readonly isSpread: boolean
  readonly hasConfig: boolean
  readonly priorityClass: string | undefined
}

interface ContainerPlan {
  readonly name: string
  readonly image: string
  readonly digest: string
  readonly port: number
  readonly env: readonly object[]
  readonly requests: { readonly cpu: string; readonly memory: string }
  readonly limits: { readonly cpu: string; readonly memory: string }
}

/** The origin of a Pod: its owner and index, before any random value. */
interface Origin {
  readonly app: App
  readonly replicaSet: { readonly hash: string; readonly uid: string; readonly createdAt: number }
  readonly suffix: string
}

const alphabet = 'bcdfghjklmnpqrstvwxz2456789'
const epoch = Date.UTC(2026, 0, 5, 8, 0, 0)
const secondMs = 1000
const dayMs = 86_400_000

export function podFleet(options: FleetOptions): Fleet {
  const seed = options.seed ?? 1
  const appCount = options.apps ?? Math.max(1, Math.round(options.pods / 250))
  const nodeCount = options.nodes ?? Math.max(3, Math.round(options.pods / 30))
  const namespaceCount = options.namespaces ?? Math.max(1, Math.round(appCount / 10))
  const origins = drawOrigins(options.pods, appCount, namespaceCount, seededRandom(seed))

  const draw = (index: number, version: number): PodParts => {
    const origin = origins[index]
    if (!origin) throw new RangeError(`the fleet has no Pod ${index}`)
    return drawPod(origin, index, version, nodeCount, seed)
  }
  const write = (index: number, version: number): string =>
    JSON.stringify({ kind: 'Pod', apiVersion: 'v1', ...draw(index, version) })

  return {
    size: origins.length,
    pod: (index, version = 0) => write(index, version),
    listPage(start, count) {
      const end = Math.min(start + count, origins.length)
      const items: string[] = []
      for (let index = start; index < end; index++) items.push(JSON.stringify(draw(index, 0)))
      const left = origins.length - end
      const metadata = {
        resourceVersion: String(resourceVersion(origins.length, 0)),
        ...(left > 0 ? { continue: `token-${end}`, remainingItemCount: left } : {}),
      }
      return `{"kind":"PodList","apiVersion":"v1","metadata":${JSON.stringify(metadata)},"items":[${items.join(',')}]}\n`
    },
    watchLine: (type, index, version = 0) => `{"type":"${type}","object":${write(index, version)}}`,
  }
}

function drawOrigins(pods: number, appCount: number, namespaceCount: number, random: Random): readonly Origin[] {
  const weights = Array.from({ length: appCount }, () => 0.2 + random.next() ** 3 * 5)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const origins: Origin[] = []
  let due = 0
  weights.forEach((weight, index) => {
    const app = drawApp(index, namespaceCount, random)
    due += (weight / total) * pods
    const size = (index === appCount - 1 ? pods : Math.round(due)) - origins.length
    // An unfinished roll-out: one app in eight runs two ReplicaSets.
    const replicaSets = Array.from({ length: random.next() < 0.125 ? 2 : 1 }, () => ({
      hash: word(random, 10),
      uid: uuid(random),
      createdAt: epoch + Math.floor(random.next() * 90 * dayMs),
    }))
    const suffixes = new Set<string>()
    while (suffixes.size < size) suffixes.add(word(random, 5))
    for (const suffix of suffixes) origins.push({ app, replicaSet: pick(random, replicaSets), suffix })
  })
  const path = ({ app, replicaSet, suffix }: Origin): string =>
    `${app.namespace}/${app.name}-${replicaSet.hash}-${suffix}`
  return origins
    .map((origin) => ({ origin, key: path(origin) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ origin }) => origin)
}

function drawApp(index: number, namespaceCount: number, random: Random): App {
  const role = pick(random, ['api', 'worker', 'frontend', 'gateway', 'scheduler', 'indexer', 'billing', 'catalog'])
  const name = `${role}-${pick(random, ['core', 'edge', 'batch', 'public'])}-${index}`
  const team = `team-${String(index % namespaceCount).padStart(2, '0')}`
  const release = `${1 + Math.floor(random.next() * 9)}.${Math.floor(random.next() * 30)}.${Math.floor(random.next() * 9)}`
  const draw = random.next()
  const names = ['app', 'proxy', 'log-forwarder'].slice(0, draw < 0.85 ? 1 : draw < 0.97 ? 2 : 3)
  return {
    name,
    namespace: team,
    containers: names.map((container) => drawContainer(container, name, release, random)),
    labels: {
      'app.kubernetes.io/component': role,
      'app.kubernetes.io/instance': name,
      'app.kubernetes.io/managed-by': 'Helm',
      'app.kubernetes.io/name': role,
      'app.kubernetes.io/part-of': `suite-${index % 17}`,
      'app.kubernetes.io/version': release,
      'example.com/team': team,
    },
    annotations: {
      'checksum/config': hex(random, 64),
      'prometheus.io/port': '8080',
      'prometheus.io/scrape': 'true',
    },
    isSpread: random.next() < 0.25,
    hasConfig: random.next() < 0.7,
    priorityClass: random.next() < 0.2 ? 'business-critical' : undefined,
  }
}

function drawContainer(name: string, app: string, release: string, random: Random): ContainerPlan {
  const cpu = 50 * (1 + Math.floor(random.next() * 10))
  const memory = 64 * 2 ** Math.floor(random.next() * 5)
  const variables = Array.from({ length: name === 'app' ? 1 + Math.floor(random.next() * 4) : 1 }, (_, index) => ({
    name: `${pick(random, ['DATABASE', 'QUEUE', 'CACHE', 'TRACING', 'FEATURE'])}_${pick(random, ['URL', 'TIMEOUT', 'MODE', 'LIMIT'])}_${index}`,
    value: pick(random, [`${app}.svc.cluster.local:5432`, '30s', 'enabled', '1000', 'https://otel.observability:4317']),
  }))
  const node = { name: 'NODE_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'spec.nodeName' } } }
  const secret = {
    name: 'API_TOKEN',
    valueFrom: { secretKeyRef: { name: `${app}-credentials`, key: 'token' } },
  }
  const image =
    name === 'app' ? `registry.example.com/platform/${app}:v${release}` : `registry.example.com/mesh/${name}:v1.31.4`
  return {
    name,
    image,
    digest: `${image.slice(0, image.lastIndexOf(':'))}@sha256:${hex(name === 'app' ? random : seededRandom(name.length), 64)}`,
    port: 8080 + Math.floor(random.next() * 20),
    env: name === 'app' ? [...variables, node, secret] : [...variables, node],
    requests: { cpu: `${cpu}m`, memory: `${memory}Mi` },
    limits: { cpu: `${cpu * 4}m`, memory: `${memory * 2}Mi` },
  }
}

interface PodParts {
  readonly metadata: object
  readonly spec: object
  readonly status: object
}

function drawPod(origin: Origin, index: number, version: number, nodeCount: number, seed: number): PodParts {
  const { app, replicaSet, suffix } = origin
  const random = seededRandom(seed * 1_000_003 + index)
  const uid = uuid(random)
  const node = Math.floor(random.next() * nodeCount)
  const tokenVolume = `kube-api-access-${word(random, 5)}`
  const createdAt = replicaSet.createdAt + Math.floor(random.next() * 20 * dayMs)
  const metadata = {
    name: `${app.name}-${replicaSet.hash}-${suffix}`,
    generateName: `${app.name}-${replicaSet.hash}-`,
    namespace: app.namespace,
    uid,
    resourceVersion: String(resourceVersion(index, version)),
    generation: 1,
    creationTimestamp: time(createdAt),
    labels: { ...app.labels, 'pod-template-hash': replicaSet.hash },
    annotations: app.annotations,
    ownerReferences: [
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: `${app.name}-${replicaSet.hash}`,
        uid: replicaSet.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  }
  const spec = specOf(app, tokenVolume, `ip-10-${node >> 8}-${node & 255}-17.eu-central-1.compute.internal`)
  const status = drawStatus(app, version, createdAt, node, random)
  const managedFields = [
    {
      manager: 'kube-controller-manager',
      operation: 'Update',
      apiVersion: 'v1',
      time: time(createdAt),
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:metadata': fieldsOf({
          annotations: metadata.annotations,
          generateName: '',
          labels: metadata.labels,
          ownerReferences: metadata.ownerReferences,
        }),
        'f:spec': fieldsOf(template(spec)),
      },
    },
    {
      manager: 'kubelet',
      operation: 'Update',
      apiVersion: 'v1',
      time: time(createdAt + (5 + version * 60) * secondMs),
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:status': fieldsOf({ ...status, qosClass: undefined }) },
      subresource: 'status',
    },
  ]
  return { metadata: { ...metadata, managedFields }, spec, status }
}

function specOf(app: App, tokenVolume: string, nodeName: string): Record<string, unknown> {
  const mounts = [
    ...(app.hasConfig ? [{ name: 'config', readOnly: true, mountPath: '/etc/service' }] : []),
    { name: 'scratch', mountPath: '/tmp' },
    { name: tokenVolume, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
  ]
  const labelSelector = { matchLabels: { 'app.kubernetes.io/instance': app.name } }
  return {
    volumes: [
      ...(app.hasConfig ? [{ name: 'config', configMap: { name: `${app.name}-config`, defaultMode: 420 } }] : []),
      { name: 'scratch', emptyDir: {} },
      {
        name: tokenVolume,
        projected: {
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            {
              downwardAPI: {
                items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
              },
            },
          ],
          defaultMode: 420,
        },
      },
    ],
    containers: app.containers.map(({ name, image, port, env, requests, limits }) => ({
      name,
      image,
      ...(name === 'app'
        ? { args: ['--config=/etc/service/config.yaml', `--listen=:${port}`, '--log-format=json'] }
        : {}),
      ports: [{ name: 'http', containerPort: port, protocol: 'TCP' }],
      env,
      resources: { limits, requests },
      volumeMounts: mounts,
      ...(name === 'app' ? { livenessProbe: probe('/healthz', 20) } : {}),
      readinessProbe: probe('/readyz', 5),
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      imagePullPolicy: 'IfNotPresent',
      securityContext: {
        capabilities: { drop: ['ALL'] },
        runAsNonRoot: true,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
      },
    })),
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    serviceAccountName: app.name,
    serviceAccount: app.name,
    nodeName,
    securityContext: { runAsUser: 65_532, fsGroup: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
    schedulerName: 'default-scheduler',
    tolerations: ['not-ready', 'unreachable'].map((condition) => ({
      key: `node.kubernetes.io/${condition}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 300,
    })),
    ...(app.priorityClass === undefined ? {} : { priorityClassName: app.priorityClass }),
    priority: app.priorityClass === undefined ? 0 : 1_000_000,
    enableServiceLinks: true,
    preemptionPolicy: 'PreemptLowerPriority',
    ...(app.isSpread
      ? {
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'topology.kubernetes.io/zone',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector,
            },
          ],
        }
      : {}),
  }
}

function probe(path: string, seconds: number): object {
  return {
    httpGet: { path, port: 'http', scheme: 'HTTP' },
    initialDelaySeconds: seconds,
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  }
}

/** Odd versions are not ready; every fourth is a restart of the first container. */
function drawStatus(
  app: App,
  version: number,
  createdAt: number,
  node: number,
  random: Random,
): Record<string, unknown> {
  const scheduledAt = createdAt + Math.floor(random.next() * 2) * secondMs
  const startedAt = scheduledAt + (1 + Math.floor(random.next() * 4)) * secondMs
  const readyAt = startedAt + (10 + version * 60 + Math.floor(random.next() * 20)) * secondMs
  const isReady = version % 2 === 0
  const restarts = Math.floor(version / 4)
  const hostIP = `10.${node >> 8}.${node & 255}.17`
  const podIP = `10.${128 + (node & 63)}.${Math.floor(random.next() * 256)}.${1 + Math.floor(random.next() * 254)}`
  const condition = (type: string, at: number, isTrue = true): object => ({
    type,
    observedGeneration: 1,
    status: isTrue ? 'True' : 'False',
    lastProbeTime: null,
    lastTransitionTime: time(at),
    ...(isTrue
      ? {}
      : { reason: 'ContainersNotReady', message: `containers with unready status: [${app.containers[0]!.name}]` }),
  })
  return {
    observedGeneration: 1,
    phase: 'Running',
    conditions: [
      condition('PodReadyToStartContainers', startedAt),
      condition('Initialized', scheduledAt),
      condition('Ready', readyAt, isReady),
      condition('ContainersReady', readyAt, isReady),
      condition('PodScheduled', scheduledAt),
    ],
    hostIP,
    hostIPs: [{ ip: hostIP }],
    podIP,
    podIPs: [{ ip: podIP }],
    startTime: time(scheduledAt),
    containerStatuses: app.containers.map(({ name, image, digest, requests, limits }, index) => {
      const isFirst = index === 0
      const containerID = `containerd://${hex(random, 64)}`
      const ranFor = isFirst ? restarts : 0
      return {
        name,
        state: { running: { startedAt: time(startedAt + ranFor * 240 * secondMs) } },
        lastState:
          ranFor === 0
            ? {}
            : {
                terminated: {
                  exitCode: 137,
                  reason: 'OOMKilled',
                  startedAt: time(startedAt + (ranFor - 1) * 240 * secondMs),
                  finishedAt: time(startedAt + ranFor * 240 * secondMs - secondMs),
                  containerID,
                },
              },
        ready: isReady || !isFirst,
        restartCount: ranFor,
        image,
        imageID: digest,
        containerID,
        started: true,
        resources: { limits, requests },
      }
    }),
    qosClass: 'Burstable',
  }
}

/** The part of a spec that the ReplicaSet's template sets and its controller manages. */
function template(spec: Record<string, unknown>): Record<string, unknown> {
  const set = new Set([
    'containers',
    'restartPolicy',
    'terminationGracePeriodSeconds',
    'dnsPolicy',
    'nodeSelector',
    'serviceAccount',
    'serviceAccountName',
    'securityContext',
    'schedulerName',
    'enableServiceLinks',
    'topologySpreadConstraints',
  ])
  return Object.fromEntries(Object.entries(spec).filter(([key]) => set.has(key)))
}

const listKeys = ['uid', 'containerPort', 'mountPath', 'name', 'type', 'topologyKey', 'ip']

/** The fields of a value in the form of managedFields. */
function fieldsOf(value: unknown): object {
  if (Array.isArray(value)) {
    const key = listKeys.find((candidate) =>
      value.every((item) => typeof item === 'object' && item !== null && candidate in item),
    )
    // A list without a key is atomic, and so are the statuses of containers.
    if (key === undefined || value.some((item: object) => 'imageID' in item)) return {}
    const entries = value.map((item: Record<string, unknown>) => [
      `k:${JSON.stringify({ [key]: item[key] })}`,
      { '.': {}, ...fieldsOf(item) },
    ])
    return { '.': {}, ...Object.fromEntries(entries) }
  }
  if (typeof value !== 'object' || value === null) return {}
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(
    entries.map(([key, member]) => [`f:${key}`, fieldsOf(member)]).toSorted(([a], [b]) => (a! < b! ? -1 : 1)),
  )
}

function resourceVersion(index: number, version: number): number {
  return 400_000_000 + index * 7 + version * 1_000_003
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[Math.floor(random.next() * choices.length)]!
}

function word(random: Random, length: number): string {
  let result = ''
  for (let index = 0; index < length; index++) result += alphabet[Math.floor(random.next() * alphabet.length)]!
  return result
}

function hex(random: Random, length: number): string {
  let result = ''
  while (result.length < length)
    result += Math.floor(random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  return result.slice(0, length)
}

function uuid(random: Random): string {
  const digits = hex(random, 32)
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `a${digits.slice(17, 20)}`,
    digits.slice(20),
  ].join('-')
}

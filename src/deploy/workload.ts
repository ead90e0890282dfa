/**
 * The Deployment of the manager and what belongs to it: Services, disruption budget, network policy. The Pods run as an
 * unprivileged user without capabilities, on a read-only root.
 */
import { installationVariable } from '../manager/config/pod-layer.ts'
import type { InstallationDescription } from './description.ts'
import { imageFolder, imageUser } from './image.ts'
import { ownReferences } from './installed-settings.ts'
import { commonLabels, ownMetadata, ownName, ownNamespace, selectorLabels } from './object-parts.ts'
import { Entries, MapWith, placeholder, type OpenObject, ValueOf, When } from './template.ts'

const sharding = { path: 'sharding' }

export function deployment(description: InstallationDescription): OpenObject {
  const { settings } = description
  const { health, metrics, webhooks } = settings
  const probe = (path: string, more: OpenObject): OpenObject => ({
    httpGet: { path, port: 'health' },
    ...(more as object),
  })
  const labels = commonLabels(description)
  const container = {
    name: 'manager',
    image: placeholder('image'),
    imagePullPolicy: new ValueOf('image.pullPolicy', 'string'),
    args: ['run'],
    env: environment(description),
    ports: [
      ...(health.port > 0 ? [{ name: 'health', containerPort: health.port, protocol: 'TCP' }] : []),
      ...(metrics.port > 0 ? [{ name: 'metrics', containerPort: metrics.port, protocol: 'TCP' }] : []),
      ...(webhooks.port > 0 ? [{ name: 'webhooks', containerPort: webhooks.port, protocol: 'TCP' }] : []),
    ],
    ...(health.port > 0 && {
      // The API server may be slow to answer while a cluster comes up.
      startupProbe: probe('/healthz', { periodSeconds: 5, failureThreshold: 60 }),
      livenessProbe: probe('/healthz', { periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3 }),
      readinessProbe: probe('/readyz', { periodSeconds: 5, timeoutSeconds: 5 }),
    }),
    resources: new ValueOf('resources', 'yaml'),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      privileged: false,
      readOnlyRootFilesystem: true,
    },
    volumeMounts: [
      // Where "muster top" finds the manager, inside of the Pod.
      { name: 'state', mountPath: `${imageFolder}/.muster` },
      { name: 'tmp', mountPath: '/tmp' },
      new Entries('volumeMounts'),
    ],
  }
  const template = {
    metadata: {
      labels: new MapWith(labels, 'podLabels'),
      annotations: new MapWith({ 'kubectl.kubernetes.io/default-container': 'manager' }, 'podAnnotations'),
    },
    spec: {
      serviceAccountName: ownName,
      automountServiceAccountToken: true,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: imageUser,
        runAsGroup: imageUser,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      // Reconciles in progress end before the process does.
      terminationGracePeriodSeconds: 60,
      imagePullSecrets: new When({ path: 'imagePullSecrets' }, new ValueOf('imagePullSecrets', 'yaml')),
      priorityClassName: new When({ path: 'priorityClassName' }, new ValueOf('priorityClassName', 'string')),
      nodeSelector: new When({ path: 'nodeSelector' }, new ValueOf('nodeSelector', 'yaml')),
      tolerations: new When({ path: 'tolerations' }, new ValueOf('tolerations', 'yaml')),
      affinity: new When({ path: 'affinity' }, new ValueOf('affinity', 'yaml')),
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: selectorLabels(description) },
        },
      ],
      containers: [container],
      volumes: [
        { name: 'state', emptyDir: { sizeLimit: '16Mi' } },
        { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
        new Entries('volumes'),
      ],
    },
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: ownMetadata(description, ownName),
    spec: {
      replicas: new ValueOf('replicas', 'integer'),
      selector: { matchLabels: selectorLabels(description) },
      // A new replica is ready before an old one ends.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template,
    },
  }
}

/** What must agree with the roles is set here, above the configuration. */
function environment(description: InstallationDescription): OpenObject {
  const field = (name: string, fieldPath: string): OpenObject => ({ name, valueFrom: { fieldRef: { fieldPath } } })
  return [
    { name: installationVariable, value: ownName },
    field('POD_NAME', 'metadata.name'),
    field('POD_UID', 'metadata.uid'),
    field('POD_NAMESPACE', 'metadata.namespace'),
    { name: 'MUSTER__leaderElection__leaderElect', value: new When(sharding, 'false', 'true') },
    { name: 'MUSTER__sharding__enabled', value: new When(sharding, 'true', 'false') },
    // Without its Service no API server could call a webhook that is registered.
    new When({ path: 'webhooks.enabled', not: true }, { name: 'MUSTER__webhooks__port', value: '0' }),
    // Kubernetes expands the variable: a kustomization that sets another namespace stays consistent.
    ...ownReferences(description)
      .filter(({ isChosen }) => isChosen)
      .map(({ path, value }) => ({
        name: ['MUSTER', ...path.map((word) => word.replaceAll('-', '_'))].join('__'),
        value: value.replace(ownNamespace, '$(POD_NAMESPACE)'),
      })),
    new Entries('env'),
  ]
}

export function serviceObjects(description: InstallationDescription): readonly OpenObject[] {
  const { metrics, webhooks } = description.settings
  const service = (component: 'metrics' | 'webhooks', port: number): OpenObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownMetadata(description, `${ownName}-${component}`, component),
    spec: {
      selector: selectorLabels(description),
      ports: [{ name: component, port, targetPort: component, protocol: 'TCP' }],
    },
  })
  return [
    ...(metrics.port > 0 ? [service('metrics', metrics.port)] : []),
    ...(webhooks.port > 0 ? [new When({ path: 'webhooks.enabled' }, service('webhooks', webhooks.servicePort))] : []),
  ]
}

export function disruptionBudget(description: InstallationDescription): OpenObject {
  return new When(
    { path: 'podDisruptionBudget.enabled' },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: ownMetadata(description, ownName),
      spec: { maxUnavailable: 1, selector: { matchLabels: selectorLabels(description) } },
    },
  )
}

export function networkPolicy(description: InstallationDescription): OpenObject {
  const { health, metrics, webhooks } = description.settings
  const port = (name: string): OpenObject => ({ port: name, protocol: 'TCP' })
  return new When(
    { path: 'networkPolicy.enabled' },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: ownMetadata(description, ownName),
      spec: {
        podSelector: { matchLabels: selectorLabels(description) },
        policyTypes: ['Ingress', 'Egress'],
        // Kubelets and API servers are no Pods, and cannot be selected.
        ingress: [
          {
            ports: [
              ...(health.port > 0 ? [port('health')] : []),
              ...(metrics.port > 0 ? [port('metrics')] : []),
              ...(webhooks.port > 0 ? [new When({ path: 'webhooks.enabled' }, port('webhooks'))] : []),
            ],
          },
        ],
        egress: new ValueOf('networkPolicy.egress', 'yaml'),
      },
    },
  )
}

/** With the restricted Pod security standard, which the Pods comply with. Helm creates namespaces by itself. */
export function namespaceObject(description: InstallationDescription): OpenObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: ownNamespace,
      labels: { ...selectorLabels(description), 'pod-security.kubernetes.io/enforce': 'restricted' },
    },
  }
}

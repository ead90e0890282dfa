/**
 * The values of an installation: what a user sets without touching templates. One table; the defaults, `values.yaml`
 * with its comments and `values.schema.json` derive from it.
 */
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { writeYaml } from '../kube/yaml/yaml.ts'
import type { InstallationDescription } from './description.ts'

interface ValueInfo {
  readonly path: string
  readonly default: Json
  readonly help: string
  /** JSON Schema; the type derives from the default. */
  readonly schema?: JsonObject
}

const portOf = (port: number, protocol = 'TCP'): JsonObject => ({ port, protocol })

export function valueTable({ image, config, settings, operators }: InstallationDescription): readonly ValueInfo[] {
  const hasWebhooks = operators.some(({ webhooks, conversions }) => webhooks.length + conversions.length > 0)
  return [
    {
      path: 'fullnameOverride',
      default: '',
      help: 'The name of all objects. Empty: that of the release.',
      schema: { pattern: '^([a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?)?$' },
    },
    { path: 'image.repository', default: image.repository, help: 'The image of the manager with its operators.' },
    { path: 'image.tag', default: image.tag, help: 'Its tag; ignored if a digest is set.' },
    {
      path: 'image.digest',
      default: image.digest ?? '',
      help: 'Its digest, as sha256:…; an image that is named by its digest never changes.',
      schema: { pattern: '^(sha256:[0-9a-f]{64})?$' },
    },
    {
      path: 'image.pullPolicy',
      default: 'IfNotPresent',
      help: 'When the image is pulled.',
      schema: { enum: ['Always', 'IfNotPresent', 'Never'] },
    },
    { path: 'imagePullSecrets', default: [], help: 'Secrets for the registry: a list of name: NAME.' },
    {
      path: 'replicas',
      default: 2,
      help: 'One replica works and the others stand by; with sharding they split the operators.',
      schema: { minimum: 0 },
    },
    {
      path: 'sharding',
      default: settings.sharding.enabled,
      help: 'Replicas split the operators among themselves, instead of electing a leader.',
    },
    { path: 'config', default: config, help: 'The configuration of the manager: docs/configuration.md.' },
    {
      path: 'resources',
      default: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
      help: 'Resources of the container. Node sizes its heap by the memory limit.',
    },
    { path: 'podAnnotations', default: {}, help: 'Further annotations of the Pods.' },
    { path: 'podLabels', default: {}, help: 'Further labels of the Pods.' },
    { path: 'nodeSelector', default: {}, help: 'Nodes that the Pods may run on.' },
    { path: 'tolerations', default: [], help: 'Taints that the Pods tolerate.' },
    { path: 'affinity', default: {}, help: 'Affinity of the Pods; replicas are spread over nodes in any case.' },
    { path: 'priorityClassName', default: '', help: 'The priority class of the Pods.' },
    { path: 'env', default: [], help: 'Further environment variables of the container.' },
    { path: 'volumes', default: [], help: 'Further volumes of the Pods.' },
    { path: 'volumeMounts', default: [], help: 'Further volume mounts of the container.' },
    { path: 'serviceAccount.annotations', default: {}, help: 'Annotations of the service account of the manager.' },
    {
      path: 'rbac.rules',
      default: [],
      help: 'Further rules of the manager in all namespaces: for operators that were added to the image or configuration since.',
    },
    { path: 'rbac.namespaceRules', default: [], help: 'Further rules of the manager in its own namespace.' },
    {
      path: 'webhooks.enabled',
      default: hasWebhooks || operators.length === 0,
      help: 'The Service through which API servers call the webhooks of operators.',
    },
    { path: 'podDisruptionBudget.enabled', default: true, help: 'At most one replica is evicted at a time.' },
    { path: 'networkPolicy.enabled', default: true, help: 'Restricts the traffic of the Pods.' },
    {
      path: 'networkPolicy.egress',
      default: egressOf(settings),
      help: 'What the Pods may connect to: name servers, API servers, and what operators call. Adapt the port if your API server has another.',
    },
    { path: 'crds.install', default: true, help: 'Installs and upgrades the CRDs of the operators.' },
    {
      path: 'crds.keep',
      default: true,
      help: 'Keeps the CRDs when the release is uninstalled. Without its CRD every custom resource is deleted, too.',
    },
    { path: 'serviceMonitor.enabled', default: false, help: 'A ServiceMonitor; needs the Prometheus operator.' },
    { path: 'serviceMonitor.interval', default: '30s', help: 'How often metrics are scraped.' },
    { path: 'serviceMonitor.labels', default: {}, help: 'Labels by which Prometheus selects the ServiceMonitor.' },
    {
      path: 'prometheusRule.enabled',
      default: false,
      help: 'The alert rules as a PrometheusRule; needs the Prometheus operator.',
    },
    { path: 'prometheusRule.labels', default: {}, help: 'Labels by which Prometheus selects the PrometheusRule.' },
    {
      path: 'dashboard.enabled',
      default: false,
      help: 'The Grafana dashboard as a ConfigMap, for the sidecar of Grafana.',
    },
    {
      path: 'dashboard.labels',
      default: { grafana_dashboard: '1' },
      help: 'Labels by which the sidecar selects the ConfigMap.',
    },
  ]
}

/** Ports that API servers of the field listen on, and those that the settings name. */
function egressOf({ tracing, operators }: InstallationDescription['settings']): Json {
  const origins = [tracing.endpoint ?? [], ...Object.values(operators).map(({ outside }) => outside)].flat()
  const ports = origins.flatMap((origin) => {
    if (!URL.canParse(origin)) return []
    const { port, protocol } = new URL(origin)
    return [port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port)]
  })
  const reached = [...new Set([443, 6443, 8443, 16_443, ...ports])].toSorted((a, b) => a - b)
  return [{ ports: [portOf(53, 'UDP'), portOf(53)] }, { ports: reached.map((port) => portOf(port)) }]
}

export function defaultValues(table: readonly ValueInfo[]): JsonObject {
  return table.reduce<JsonObject>((all, { path, default: value }) => withValue(all, path.split('.'), value), {})
}

export function withValue(values: JsonObject, [name = '', ...rest]: readonly string[], value: Json): JsonObject {
  const below = values[name]
  return { ...values, [name]: rest.length === 0 ? value : withValue(isJsonObject(below) ? below : {}, rest, value) }
}

/** `values.yaml`, each value below its description. */
export function valuesText(table: readonly ValueInfo[]): string {
  const lines: string[] = ['# The values of the chart. Each has a default that works; set what differs.']
  let section: string | undefined
  for (const { path, default: value, help } of table) {
    const [first = '', ...rest] = path.split('.')
    const indent = rest.length > 0 ? '  ' : ''
    if (section !== first || rest.length === 0) lines.push('')
    if (rest.length > 0 && section !== first) lines.push(`${first}:`)
    section = first
    lines.push(`${indent}# ${help}`)
    const text = writeYaml({ [rest[0] ?? first]: value }).trimEnd()
    lines.push(...text.split('\n').map((line) => `${indent}${line}`))
  }
  return `${lines.join('\n')}\n`
}

/** `values.schema.json`: Helm refuses values that are misspelt or of another type. */
export function valuesSchema(table: readonly ValueInfo[]): JsonObject {
  const properties: Record<string, JsonObject> = {}
  for (const { path, default: value, help, schema = {} } of table) {
    const [first = '', second] = path.split('.')
    const own = { description: help, ...typeOf(value), ...schema }
    if (second === undefined) properties[first] = own
    else {
      const above = properties[first] ?? { type: 'object', additionalProperties: false, properties: {} }
      properties[first] = { ...above, properties: { ...(above['properties'] as JsonObject), [second]: own } }
    }
  }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    additionalProperties: false,
    // Helm adds values of its own to those of a chart that is a dependency.
    properties: { ...properties, global: { type: 'object' } },
  }
}

function typeOf(value: Json): JsonObject {
  if (Array.isArray(value)) return { type: 'array' }
  if (isJsonObject(value)) return { type: 'object' }
  return { type: typeof value === 'number' ? 'integer' : typeof value }
}

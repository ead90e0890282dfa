/**
 * All objects of an installation, in groups that become files: the one source of chart, kustomize base and manifests.
 */
import type { Json, JsonObject } from '../kube/json.ts'
import { isJsonObject } from '../kube/json.ts'
import { roles, accountObjects } from './access.ts'
import type { InstallationDescription } from './description.ts'
import { alertGroups } from './monitoring/alerts.ts'
import { dashboard } from './monitoring/dashboard.ts'
import { commonLabels, ownMetadata, ownName, selectorLabels } from './object-parts.ts'
import { configuration, records } from './records.ts'
import {
  MapWith,
  type PlaceholderName,
  resolve,
  type Scope,
  type OpenObject,
  type TemplateMap,
  ValueOf,
  installedValue,
  When,
} from './template.ts'
import { deployment, disruptionBudget, networkPolicy, serviceObjects } from './workload.ts'

/** `monitoring` needs kinds of the Prometheus operator. */
export type ObjectGroup = 'crds' | 'manager' | 'monitoring'

interface ObjectFile {
  /** Of the file, without its ending. */
  readonly name: string
  readonly group: ObjectGroup
  readonly documents: readonly OpenObject[]
}

/** In the order to apply them. */
export function installationObjects(description: InstallationDescription): readonly ObjectFile[] {
  const files: readonly ObjectFile[] = [
    { name: 'crds', group: 'crds', documents: crds(description) },
    { name: 'serviceaccounts', group: 'manager', documents: accountObjects(description) },
    { name: 'rbac', group: 'manager', documents: roles(description) },
    { name: 'configuration', group: 'manager', documents: [configuration(description)] },
    { name: 'records', group: 'manager', documents: records(description) },
    { name: 'services', group: 'manager', documents: serviceObjects(description) },
    { name: 'deployment', group: 'manager', documents: [deployment(description)] },
    { name: 'poddisruptionbudget', group: 'manager', documents: [disruptionBudget(description)] },
    { name: 'networkpolicy', group: 'manager', documents: [networkPolicy(description)] },
    { name: 'monitoring', group: 'monitoring', documents: monitoring(description) },
  ]
  return files.filter(({ documents }) => documents.length > 0)
}

/** Upgraded with the installation; Helm keeps them when it is uninstalled, unless the user decides otherwise. */
function crds(description: InstallationDescription): readonly OpenObject[] {
  const kinds = new Map(
    description.operators.flatMap(({ kinds: own }) => own.map((kind) => [kind.crd().metadata.name!, kind])),
  )
  return [...kinds.values()].map((kind) => {
    const { metadata, ...crd } = kind.crd() as unknown as JsonObject & { readonly metadata: JsonObject }
    const keep = new When({ path: 'crds.keep' }, { 'helm.sh/resource-policy': 'keep' })
    const own = metadata['annotations']
    const annotations: OpenObject = isJsonObject(own)
      ? { ...own, 'helm.sh/resource-policy': new When({ path: 'crds.keep' }, 'keep') }
      : keep
    return new When({ path: 'crds.install' }, { ...crd, metadata: { ...metadata, annotations } })
  })
}

function monitoring(description: InstallationDescription): readonly OpenObject[] {
  const labels = (path: string): OpenObject => new MapWith(commonLabels(description, 'monitoring'), path)
  const { metrics } = description.settings
  const monitor = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: { ...ownMetadata(description, ownName), labels: labels('serviceMonitor.labels') },
    spec: {
      selector: { matchLabels: { ...selectorLabels(description), 'app.kubernetes.io/component': 'metrics' } },
      endpoints: [{ port: 'metrics', interval: new ValueOf('serviceMonitor.interval', 'string') }],
    },
  }
  const rule = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { ...ownMetadata(description, ownName), labels: labels('prometheusRule.labels') },
    spec: alertGroups() as TemplateMap,
  }
  const grafana = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...ownMetadata(description, `${ownName}-dashboard`), labels: labels('dashboard.labels') },
    data: { 'muster.json': `${JSON.stringify(dashboard(), undefined, 2)}\n` },
  }
  return [
    ...(metrics.port > 0 ? [new When({ path: 'serviceMonitor.enabled' }, monitor)] : []),
    new When({ path: 'prometheusRule.enabled' }, rule),
    new When({ path: 'dashboard.enabled' }, grafana),
  ]
}

/** The objects of these files, with these values. */
export function resolvedObjects(files: readonly ObjectFile[], scope: Scope): readonly JsonObject[] {
  return files.flatMap(({ documents }) =>
    documents
      .map((document) => resolve(document, scope))
      .filter((object): object is JsonObject => isJsonObject(object)),
  )
}

/** What a user has chosen: names and values. */
export function releaseScope(
  values: JsonObject,
  release: { readonly name: string; readonly namespace: string },
): Scope {
  const names: Record<PlaceholderName, string> = {
    name: text(installedValue(values, 'fullnameOverride')) || release.name,
    namespace: release.namespace,
    image: imageOf(values),
  }
  return { values, names }
}

/** As `NAME.image` of the chart. */
function imageOf(values: JsonObject): string {
  const [repository, tag, digest] = ['repository', 'tag', 'digest'].map((name) =>
    text(installedValue(values, `image.${name}`)),
  )
  return digest ? `${repository}@${digest}` : `${repository}:${tag}`
}

function text(value: Json): string {
  return typeof value === 'string' ? value : ''
}

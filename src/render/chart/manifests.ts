/**
 * From rendered files to manifests: files are split at lines of three dashes, hooks are separated from the rest, and both are
 * sorted by kind in the order in which Helm installs them.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { renderErrors } from '../errors.ts'

export interface Manifest {
  /** The template: `web/templates/deployment.yaml`. */
  readonly path: string
  /** As rendered, comments included. */
  readonly text: string
  readonly kind: string
  /** The parsed text; null if it consists of comments. */
  readonly object: Json
}

type HookEvent =
  | 'pre-install'
  | 'post-install'
  | 'pre-delete'
  | 'post-delete'
  | 'pre-upgrade'
  | 'post-upgrade'
  | 'pre-rollback'
  | 'post-rollback'
  | 'test'

interface ChartHook extends Manifest {
  readonly name: string
  readonly events: readonly HookEvent[]
  /** Hooks of one event run by weight. @default 0 */
  readonly weight: number
  /** before-hook-creation, hook-succeeded, hook-failed. */
  readonly deletePolicies: readonly string[]
  readonly outputLogPolicies: readonly string[]
}

export interface SortedManifests {
  readonly manifests: readonly Manifest[]
  readonly hooks: readonly ChartHook[]
}

/** Kinds that others need come first; kinds that are not listed come last, by name. */
export const installOrder: readonly string[] = [
  'PriorityClass',
  'Namespace',
  'NetworkPolicy',
  'ResourceQuota',
  'LimitRange',
  'PodSecurityPolicy',
  'PodDisruptionBudget',
  'ServiceAccount',
  'Secret',
  'SecretList',
  'ConfigMap',
  'StorageClass',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'CustomResourceDefinition',
  'ClusterRole',
  'ClusterRoleList',
  'ClusterRoleBinding',
  'ClusterRoleBindingList',
  'Role',
  'RoleList',
  'RoleBinding',
  'RoleBindingList',
  'Service',
  'DaemonSet',
  'Pod',
  'ReplicationController',
  'ReplicaSet',
  'Deployment',
  'HorizontalPodAutoscaler',
  'StatefulSet',
  'Job',
  'CronJob',
  'IngressClass',
  'Ingress',
  'APIService',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
]
const rank = new Map(installOrder.map((kind, index) => [kind, index]))

const hookEvents: Readonly<Record<string, HookEvent>> = {
  'pre-install': 'pre-install',
  'post-install': 'post-install',
  'pre-delete': 'pre-delete',
  'post-delete': 'post-delete',
  'pre-upgrade': 'pre-upgrade',
  'post-upgrade': 'post-upgrade',
  'pre-rollback': 'pre-rollback',
  'post-rollback': 'post-rollback',
  test: 'test',
  'test-success': 'test',
}

/** A text of several documents, at lines that begin with three dashes; blank ones are dropped. */
export function splitManifests(text: string): readonly string[] {
  return text
    .replace(/^\s+/, '')
    .split(/^---[ \t]*/m)
    .map((part) => part.replace(/^\s+/, ''))
    .filter((part) => part !== '')
}

/** @throws InvalidManifest */
export function sortManifests(files: ReadonlyMap<string, string>): SortedManifests {
  const manifests: Manifest[] = []
  const hooks: ChartHook[] = []
  for (const path of [...files.keys()].toSorted()) {
    if (path.slice(path.lastIndexOf('/') + 1).startsWith('_')) continue
    for (const text of splitManifests(files.get(path) ?? '')) {
      const { object, kind, name, annotations } = readHead(text, path)
      const manifest = { path, text, kind, object }
      const hook = annotations['helm.sh/hook']
      if (hook === undefined) manifests.push(manifest)
      else {
        const events = listOf(hook).map((event) => hookEvents[event])
        // A hook for an event that Helm does not know is dropped.
        if (!events.every((event) => event !== undefined)) continue
        hooks.push({
          ...manifest,
          name,
          events,
          weight: weightOf(annotations['helm.sh/hook-weight'] ?? ''),
          deletePolicies: listOf(annotations['helm.sh/hook-delete-policy']),
          outputLogPolicies: listOf(annotations['helm.sh/hook-output-log-policy']),
        })
      }
    }
  }
  return { manifests: manifests.toSorted(byKind), hooks: hooks.toSorted(byKind) }
}

function byKind(a: Manifest, b: Manifest): number {
  const [one, other] = [rank.get(a.kind), rank.get(b.kind)]
  if (one !== undefined && other !== undefined) return one - other
  if (one === undefined && other === undefined) return a.kind === b.kind ? 0 : a.kind < b.kind ? -1 : 1
  return one === undefined ? 1 : -1
}

function listOf(text: string | undefined): readonly string[] {
  return text === undefined ? [] : text.split(',').map((part) => part.trim().toLowerCase())
}

function weightOf(text: string): number {
  return /^[+-]?\d{1,15}$/.test(text) ? Number(text) : 0
}

interface Head {
  readonly object: Json
  readonly kind: string
  readonly name: string
  readonly annotations: Readonly<Record<string, string>>
}

function readHead(text: string, path: string): Head {
  const object = readObject(text, path)
  if (object === null) return { object, kind: '', name: '', annotations: {} }
  if (!isJsonObject(object)) throw invalid(path, 'a manifest must be a mapping')
  scalar(object, 'apiVersion', path)
  const metadata = object['metadata'] ?? {}
  if (!isJsonObject(metadata)) throw invalid(path, 'metadata must be a mapping')
  const annotations = metadata['annotations'] ?? {}
  if (!isJsonObject(annotations)) throw invalid(path, 'metadata.annotations must be a mapping')
  return {
    object,
    kind: scalar(object, 'kind', path),
    name: scalar(metadata, 'name', path),
    annotations: Object.fromEntries(Object.keys(annotations).map((key) => [key, scalar(annotations, key, path)])),
  }
}

function readObject(text: string, path: string): Json {
  // A part of a character: text that was cut at a number of bytes, or binary data. YAML cannot hold it, and Helm refuses it, too.
  if (!text.isWellFormed()) throw invalid(path, 'the rendered text is not UTF-8')
  try {
    return readYamlDocuments(text, { source: path })[0] ?? null
  } catch (error) {
    if (!isMusterError(error)) throw error
    throw new MusterError(renderErrors.InvalidManifest, error.message, { cause: error })
  }
}

/** Text; numbers and booleans are taken as text. */
function scalar(object: JsonObject, field: string, path: string): string {
  const value = object[field] ?? ''
  if (typeof value === 'object') throw invalid(path, `${field} must be text`)
  return String(value)
}

function invalid(path: string, problem: string): MusterError {
  return new MusterError(renderErrors.InvalidManifest, `${path}: ${problem}.`)
}

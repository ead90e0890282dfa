/**
 * Which fields the transformations change: the built-in tables, and those that a kustomization adds with `configurations` and
 * `crds`. A kustomization passes its additions on to the one that uses it.
 */
import { readYamlDocuments } from '../../../kube/yaml/yaml.ts'
import { failingAt } from '../failure.ts'
import type { KustomizationFolder } from '../files.ts'
import { compareTexts } from '../model/value.ts'
import { type KindSelector } from '../model/resource-id.ts'
import { type FieldTable, readFields } from '../typed-fields.ts'
import { type FieldSpec, fieldSpecFields, mergeSpecs } from './field-spec.ts'

/** Objects of a kind, and the fields of others that have their names. */
export interface NameReference extends KindSelector {
  readonly fieldSpecs?: readonly FieldSpec[]
}

const specLists = [
  'namePrefix',
  'nameSuffix',
  'namespace',
  'commonLabels',
  'labels',
  'templateLabels',
  'volumeClaimTemplateLabels',
  'commonAnnotations',
  'varReference',
  'images',
  'replicas',
] as const

export type TransformerConfig = Readonly<Record<(typeof specLists)[number], readonly FieldSpec[]>> & {
  readonly nameReference: readonly NameReference[]
}

export const emptyConfig: TransformerConfig = {
  namePrefix: [],
  nameSuffix: [],
  namespace: [],
  commonLabels: [],
  labels: [],
  templateLabels: [],
  volumeClaimTemplateLabels: [],
  commonAnnotations: [],
  varReference: [],
  images: [],
  replicas: [],
  nameReference: [],
}

export function mergeConfigs(config: TransformerConfig, added: TransformerConfig, place: string): TransformerConfig {
  // Most kustomizations add nothing to the tables.
  if (config === added || added === emptyConfig) return config
  const merged = specLists.map((name) => [name, sorted(mergeSpecs(config[name], added[name], place))] as const)
  const nameReference = added.nameReference.reduce<readonly NameReference[]>(
    (list, reference) => mergeReference(list, reference, place),
    config.nameReference,
  )
  return { ...emptyConfig, ...Object.fromEntries(merged), nameReference: sorted(nameReference) }
}

function mergeReference(list: readonly NameReference[], added: NameReference, place: string): readonly NameReference[] {
  const isSame = (one: NameReference): boolean => kindSortKey(one) === kindSortKey(added)
  if (!list.some(isSame)) return [...list, added]
  return list.map((one) =>
    isSame(one) ? { ...one, fieldSpecs: mergeSpecs(one.fieldSpecs ?? [], added.fieldSpecs ?? [], place) } : one,
  )
}

/** Kinds that others depend on come first. */
export const firstKinds: readonly string[] = [
  'Namespace',
  'ResourceQuota',
  'StorageClass',
  'CustomResourceDefinition',
  'ServiceAccount',
  'PodSecurityPolicy',
  'Role',
  'ClusterRole',
  'RoleBinding',
  'ClusterRoleBinding',
  'ConfigMap',
  'Secret',
  'Endpoints',
  'Service',
  'LimitRange',
  'PriorityClass',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Deployment',
  'StatefulSet',
  'CronJob',
  'PodDisruptionBudget',
]
export const lastKinds: readonly string[] = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']

/** The rank of each kind in an order; a kind that is in neither list has rank 0. */
export function kindRanks(first: readonly string[], last: readonly string[]): (kind: string) => number {
  const ranks = new Map<string, number>()
  for (const [index, kind] of first.entries()) ranks.set(kind, index - first.length)
  for (const [index, kind] of last.entries()) ranks.set(kind, index + 1)
  return (kind) => ranks.get(kind) ?? 0
}

const rankOf = kindRanks(firstKinds, lastKinds)

function sorted<Spec extends KindSelector>(list: readonly Spec[]): readonly Spec[] {
  return list.toSorted(
    (a, b) => rankOf(a.kind ?? '') - rankOf(b.kind ?? '') || compareTexts(kindSortKey(a), kindSortKey(b)),
  )
}

/** For sorting: `~` comes after letters. */
export function kindSortKey({ group, version, kind }: KindSelector): string {
  return `${group || '~G'}_${version || '~V'}_${kind || '~K'}`
}

const fields = {
  ...Object.fromEntries(specLists.map((name) => [name, ['list', fieldSpecFields] as const])),
  nameReference: ['list', { group: 'text', version: 'text', kind: 'text', fieldSpecs: ['list', fieldSpecFields] }],
} as const satisfies FieldTable

/** The tables that a file of `configurations` adds. */
export function readTransformerConfig(folder: KustomizationFolder, name: string, place: string): TransformerConfig {
  const file = folder.pathOf(name)
  const text = folder.text(name, place)
  const [document] = failingAt('KustomizationInvalid', file, () =>
    readYamlDocuments(text, { source: file, keepsEnd: true }),
  )
  return { ...emptyConfig, ...(readFields(document ?? {}, fields, file) as Partial<TransformerConfig>) }
}

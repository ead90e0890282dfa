/** The kustomization file: its fields, and how it is read. */
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { asJson } from '../../kube/json-object.ts'
import { type FieldSpec, fieldSpecFields } from './config/field-spec.ts'
import { failingAt, failure } from './failure.ts'
import type { KustomizationFolder } from './files.ts'
import type { ObjectSelector } from './model/resource-list.ts'
import type { Behavior } from './model/resource.ts'
import { type FieldTable, readFields } from './typed-fields.ts'

type Texts = Readonly<Record<string, string>>

export interface GeneratorOptions {
  readonly labels?: Texts
  readonly annotations?: Texts
  readonly disableNameSuffixHash?: boolean
  readonly immutable?: boolean
}

export interface GeneratorArguments {
  readonly name?: string
  readonly namespace?: string
  readonly behavior?: string
  readonly literals?: readonly string[]
  readonly files?: readonly string[]
  readonly envs?: readonly string[]
  readonly env?: string
  readonly options?: GeneratorOptions
  /** Of a Secret. */
  readonly type?: string
}

export interface KustomizationPatch {
  readonly path?: string
  readonly patch?: string
  readonly target?: ObjectSelector
  readonly options?: { readonly allowNameChange?: boolean; readonly allowKindChange?: boolean }
}

export interface ImageChange {
  readonly name?: string
  readonly newName?: string
  readonly newTag?: string
  readonly tagSuffix?: string
  readonly digest?: string
}

export interface LabelChange {
  readonly pairs?: Texts
  readonly includeSelectors?: boolean
  readonly includeTemplates?: boolean
  readonly includeVolumeClaimTemplates?: boolean
  readonly fields?: readonly FieldSpec[]
}

export interface ReplacementOptions {
  readonly delimiter?: string
  readonly index?: number
  readonly encoding?: string
  readonly create?: boolean
}

export interface ReplacementSource {
  readonly group?: string
  readonly version?: string
  readonly kind?: string
  readonly name?: string
  readonly namespace?: string
  readonly fieldPath?: string
  readonly options?: ReplacementOptions
}

interface ReplacementTarget {
  readonly select?: ObjectSelector
  readonly reject?: readonly ObjectSelector[]
  readonly fieldPaths?: readonly string[]
  readonly options?: ReplacementOptions
}

export interface Replacement {
  readonly source?: ReplacementSource
  readonly sourceValue?: string
  readonly targets?: readonly ReplacementTarget[]
  readonly path?: string
}

export interface Var {
  readonly name?: string
  readonly objref?: {
    readonly apiVersion?: string
    readonly group?: string
    readonly version?: string
    readonly kind?: string
    readonly name?: string
    readonly namespace?: string
  }
  readonly fieldref?: { readonly fieldPath?: string }
}

export interface SortOptions {
  readonly order?: string
  readonly legacySortOptions?: { readonly orderFirst?: readonly string[]; readonly orderLast?: readonly string[] }
}

export interface Kustomization {
  readonly kind: 'Kustomization' | 'Component'
  /** Its path from the root of the files: for messages. */
  readonly file: string
  /** `kustomization.yaml`, or another name that is recognised. */
  readonly fileName: string
  readonly resources: readonly string[]
  readonly components: readonly string[]
  readonly crds: readonly string[]
  readonly configurations: readonly string[]
  readonly namePrefix: string
  readonly nameSuffix: string
  readonly namespace: string
  readonly commonLabels: Texts
  readonly commonAnnotations: Texts
  readonly labels: readonly LabelChange[]
  readonly patches: readonly KustomizationPatch[]
  readonly patchesStrategicMerge: readonly string[]
  readonly patchesJson6902: readonly KustomizationPatch[]
  readonly images: readonly ImageChange[]
  readonly replicas: readonly { readonly name?: string; readonly count?: number | bigint }[]
  readonly replacements: readonly Replacement[]
  readonly vars: readonly Var[]
  readonly configMapGenerator: readonly GeneratorArguments[]
  readonly secretGenerator: readonly GeneratorArguments[]
  readonly generatorOptions: GeneratorOptions | undefined
  readonly openapi: Texts | undefined
  readonly sortOptions: SortOptions | undefined
  readonly buildMetadata: readonly string[]
}

const texts = ['list', 'text'] as const
const selector = {
  group: 'text',
  version: 'text',
  kind: 'text',
  name: 'text',
  namespace: 'text',
} as const
const objectSelector = { ...selector, labelSelector: 'text', annotationSelector: 'text' } as const
const options = {
  labels: 'texts',
  annotations: 'texts',
  disableNameSuffixHash: 'boolean',
  immutable: 'boolean',
} as const
const generator = {
  name: 'text',
  namespace: 'text',
  behavior: 'text',
  literals: texts,
  files: texts,
  envs: texts,
  env: 'text',
  options,
} as const
const patches = [
  'list',
  {
    path: 'text',
    patch: 'text',
    target: objectSelector,
    options: { allowNameChange: 'boolean', allowKindChange: 'boolean' },
  },
] as const
const images = ['list', { name: 'text', newName: 'text', newTag: 'text', tagSuffix: 'text', digest: 'text' }] as const
const fieldOptions = { delimiter: 'text', index: 'integer', encoding: 'text', create: 'boolean' } as const
export const replacementFields: FieldTable = {
  source: { ...selector, fieldPath: 'text', options: fieldOptions },
  sourceValue: 'text',
  targets: [
    'list',
    { select: objectSelector, reject: ['list', objectSelector], fieldPaths: texts, options: fieldOptions },
  ],
}

const fields = {
  apiVersion: 'text',
  kind: 'text',
  metadata: { name: 'text', namespace: 'text', labels: 'texts', annotations: 'texts' },
  openapi: 'texts',
  namePrefix: 'text',
  nameSuffix: 'text',
  namespace: 'text',
  commonLabels: 'texts',
  commonAnnotations: 'texts',
  labels: [
    'list',
    {
      pairs: 'texts',
      includeSelectors: 'boolean',
      includeTemplates: 'boolean',
      includeVolumeClaimTemplates: 'boolean',
      fields: ['list', fieldSpecFields],
    },
  ],
  patches,
  patchesJson6902: patches,
  patchesStrategicMerge: texts,
  images,
  imageTags: images,
  replacements: ['list', { ...replacementFields, path: 'text' }],
  replicas: ['list', { name: 'text', count: 'integer' }],
  vars: ['list', { name: 'text', objref: { ...selector, apiVersion: 'text' }, fieldref: { fieldPath: 'text' } }],
  sortOptions: { order: 'text', legacySortOptions: { orderFirst: texts, orderLast: texts } },
  resources: texts,
  components: texts,
  crds: texts,
  bases: texts,
  configMapGenerator: ['list', generator],
  secretGenerator: ['list', { ...generator, type: 'text' }],
  helmGlobals: 'any',
  helmCharts: 'any',
  helmChartInflationGenerator: 'any',
  generatorOptions: options,
  configurations: texts,
  generators: texts,
  transformers: texts,
  validators: texts,
  buildMetadata: texts,
} as const satisfies FieldTable

const fileNames = ['kustomization.yaml', 'kustomization.yml', 'Kustomization']

/** Whether a folder has a kustomization file. */
export function hasKustomization(folder: KustomizationFolder): boolean {
  return fileNames.some((name) => folder.has(name))
}

/** Fields that would run or fetch something, and what to do instead. */
const refused: Readonly<Record<string, string>> = {
  helmCharts:
    'charts are not inflated inside of a kustomization. Render the chart on its own and add its objects to resources',
  helmChartInflationGenerator:
    'charts are not inflated inside of a kustomization. Render the chart on its own and add its objects to resources',
  generators: 'plugins do not run here. Use configMapGenerator and secretGenerator, or add the objects to resources',
  transformers: 'plugins do not run here. Use the fields of the kustomization: patches, labels, images, replacements',
  validators: 'plugins do not run here. Validate the objects after rendering',
}

interface RawKustomization extends Partial<Omit<Kustomization, 'kind' | 'file'>> {
  readonly apiVersion?: string
  readonly kind?: string
  readonly bases?: readonly string[]
  readonly imageTags?: readonly ImageChange[]
}

/** @throws KustomizationInvalid, KustomizationUnsupported, KustomizationFileMissing */
export function readKustomization(folder: KustomizationFolder): Kustomization {
  const [fileName, ...others] = fileNames.filter((name) => folder.has(name))
  if (fileName === undefined) {
    throw failure('KustomizationFileMissing', folder.path, `the folder has none of ${fileNames.join(', ')}`)
  }
  if (others.length > 0) {
    throw failure('KustomizationInvalid', folder.path, `there are several of ${fileNames.join(', ')}`)
  }
  const file = folder.pathOf(fileName)
  const [document] = failingAt('KustomizationInvalid', file, () =>
    readYamlDocuments(folder.text(fileName, file), { source: file, keepsEnd: true }),
  )
  const raw = readFields(document ?? {}, fields, file) as RawKustomization
  for (const [field, cure] of Object.entries(refused)) {
    const value = asJson(raw)[field]
    if (Array.isArray(value) && value.length > 0) throw failure('KustomizationUnsupported', `${file}: ${field}`, cure)
  }
  const { apiVersion: _apiVersion, kind: _kind, ...content } = raw
  if (Object.keys(content).length === 0) throw failure('KustomizationInvalid', file, 'the file is empty')
  return normalised(raw, file, fileName)
}

function normalised(raw: RawKustomization, file: string, fileName: string): Kustomization {
  const kind = raw.kind || 'Kustomization'
  if (kind !== 'Kustomization' && kind !== 'Component') {
    throw failure('KustomizationInvalid', file, 'kind must be Kustomization or Component')
  }
  const version = `kustomize.config.k8s.io/${kind === 'Component' ? 'v1alpha1' : 'v1beta1'}`
  if (raw.apiVersion && raw.apiVersion !== version) {
    throw failure('KustomizationInvalid', file, `apiVersion of a ${kind} must be ${version}`)
  }
  return {
    kind,
    file,
    fileName,
    resources: [...(raw.resources ?? []), ...(raw.bases ?? [])],
    components: raw.components ?? [],
    crds: raw.crds ?? [],
    configurations: raw.configurations ?? [],
    namePrefix: raw.namePrefix ?? '',
    nameSuffix: raw.nameSuffix ?? '',
    namespace: raw.namespace ?? '',
    commonLabels: raw.commonLabels ?? {},
    commonAnnotations: raw.commonAnnotations ?? {},
    labels: raw.labels ?? [],
    patches: raw.patches ?? [],
    patchesStrategicMerge: raw.patchesStrategicMerge ?? [],
    patchesJson6902: raw.patchesJson6902 ?? [],
    images: [...(raw.images ?? []), ...(raw.imageTags ?? [])],
    replicas: raw.replicas ?? [],
    replacements: raw.replacements ?? [],
    vars: raw.vars ?? [],
    configMapGenerator: raw.configMapGenerator ?? [],
    secretGenerator: raw.secretGenerator ?? [],
    generatorOptions: raw.generatorOptions,
    openapi: raw.openapi,
    sortOptions: raw.sortOptions,
    buildMetadata: raw.buildMetadata ?? [],
  }
}

/** The behavior of a generator; a text that is none of the three creates. */
export function behaviorOf(text: string | undefined): Behavior {
  return text === 'merge' || text === 'replace' || text === 'create' ? text : 'unspecified'
}

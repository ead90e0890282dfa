/** Applications of Argo CD (argoproj.io/v1alpha1) whose source is a Helm chart, or a directory in an OCI artifact. */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { withParameters } from './argo-parameters.ts'
import type { FieldReader } from './field-reader.ts'
import type { ObjectImport } from './import-installations.ts'
import type { DriftException, ImportedSource } from './installation-manifest.ts'

const inCluster = 'https://kubernetes.default.svc'
const cascade = 'resources-finalizer.argocd.argoproj.io'

const at = 'spec.source'

export const importApplication: ObjectImport = {
  normalize: withOneSource,
  known: {
    'spec.project': 'rights come from the service account of the Installation',
    'spec.info': 'it is for people; write annotations',
    'spec.revisionHistoryLimit': 'the number of revisions is a setting of the platform',
    'spec.syncPolicy.managedNamespaceMetadata': 'create the namespace with the Installation',
    'spec.syncPolicy.retry.backoff': 'retries come with growing pauses',
    'spec.syncPolicy.automated.allowEmpty': 'a render without objects never prunes',
    ...ofSource(),
  },
  spec: ({ fields }) => {
    if (isElsewhere(fields)) return undefined
    if (fields.value('spec.sources') !== undefined) {
      fields.note('spec.sources', 'an Installation has one source: write one for each; nothing is imported')
      return undefined
    }
    const source = sourceOf(fields)
    if (!source) return undefined
    const isAutomated = fields.has('spec.syncPolicy.automated')
    const isEnabled = fields.flag('spec.syncPolicy.automated.enabled') !== false && isAutomated
    if (!isEnabled)
      fields.note(
        'spec.syncPolicy.automated',
        'it is synced by hand: the Installation is suspended until you change it',
      )
    const isCorrected = fields.flag('spec.syncPolicy.automated.selfHeal') === true
    const retries = fields.integer('spec.syncPolicy.retry.limit')
    readSyncOptions(fields)
    return {
      source,
      releaseName: fields.text(`${at}.helm.releaseName`),
      targetNamespace: fields.text('spec.destination.namespace'),
      values: valuesOf(fields),
      drift: { mode: isCorrected ? 'correct' : 'warn', ignore: driftExceptions(fields) },
      remediation: { retries: retries !== undefined && retries >= 0 ? retries : undefined, strategy: 'none' },
      prune: fields.flag('spec.syncPolicy.automated.prune') === true,
      deletion: hasFinalizer(fields) ? 'delete' : 'orphan',
      suspend: isEnabled ? undefined : true,
      crds: fields.flag(`${at}.helm.skipCrds`) === true ? 'skip' : 'apply',
      skipSchemaValidation: fields.flag(`${at}.helm.skipSchemaValidation`) === true ? true : undefined,
    }
  },
}

/** Fields of a source that are not carried over. */
function ofSource(): Readonly<Record<string, string>> {
  const [values, asked] = ['copy the values to spec.values', 'it is asked of the cluster']
  const inSource = 'write it into the kustomization of the source'
  return {
    [`${at}.helm.valueFiles`]: `only the values.yaml of the chart is used: ${values}`,
    [`${at}.helm.fileParameters`]: values,
    [`${at}.helm.ignoreMissingValueFiles`]: values,
    [`${at}.helm.passCredentials`]: 'credentials are sent to the host of the repository only',
    [`${at}.helm.namespace`]: 'templates see the target namespace',
    [`${at}.helm.kubeVersion`]: asked,
    [`${at}.helm.apiVersions`]: asked,
    [`${at}.helm.version`]: 'there is one version of the language of charts',
    [`${at}.helm.skipTests`]: 'tests of the chart are not run',
    [`${at}.kustomize`]: inSource,
    [`${at}.directory`]: 'all manifests of the directory are used',
    [`${at}.plugin`]: 'there are no plugins',
    [`${at}.ref`]: 'sources do not refer to each other',
    [`${at}.name`]: 'it is for people',
  }
}

/** On another cluster an Installation would change the wrong one. */
function isElsewhere(fields: FieldReader): boolean {
  const [server, name] = [fields.text('spec.destination.server'), fields.text('spec.destination.name')]
  const isHere = (server === undefined || server === inCluster) && (name === undefined || name === 'in-cluster')
  if (!isHere) fields.note('spec.destination', 'it installs on another cluster: import it there; nothing is imported')
  return !isHere
}

/** A list of one source is a source. */
function withOneSource(object: JsonObject): JsonObject {
  const spec = ownMember(object, 'spec')
  const list = isJsonObject(spec) ? ownMember(spec, 'sources') : undefined
  if (!isJsonObject(spec) || !isJsonArray(list) || list.length !== 1) return object
  const { sources: _sources, ...rest } = spec
  return { ...object, spec: { ...rest, source: list[0] } }
}

function sourceOf(fields: FieldReader): ImportedSource | undefined {
  const [repository, chart] = [fields.text(`${at}.repoURL`), fields.text(`${at}.chart`)]
  const version = fields.text(`${at}.targetRevision`)
  if (repository === undefined) {
    fields.note(`${at}.repoURL`, 'it is needed; nothing is imported')
    return undefined
  }
  const isOci = repository.startsWith('oci://')
  if (chart !== undefined) {
    // Argo CD names chart repositories in OCI registries without a scheme.
    if (!isOci && repository.includes('://')) return { helm: { url: repository, chart, version }, ...polled(version) }
    const url = `${isOci ? '' : 'oci://'}${repository}`
    return { oci: { url: `${url}${url.endsWith('/') ? '' : '/'}${chart}`, version, kind: 'Chart' }, ...polled(version) }
  }
  if (!isOci) {
    fields.note(
      `${at}.repoURL`,
      'a git repository cannot be a source: publish it as an OCI artifact; nothing is imported',
    )
    return undefined
  }
  const path = fields.text(`${at}.path`)
  // Argo CD looks for a kustomization, too, before it takes the manifests.
  const kind = fields.has(`${at}.helm`) ? 'Chart' : 'Kustomization'
  return { oci: { url: repository, version, kind, path: path === '.' ? undefined : path }, ...polled(version) }
}

/** Argo CD looks for newer versions every three minutes. */
function polled(version: string | undefined): { readonly interval?: string } {
  return version !== undefined && /^v?\d+\.\d+\.\d+$/.test(version) ? {} : { interval: '3m' }
}

/** The object wins over the text, parameters over both. */
function valuesOf(fields: FieldReader): JsonObject | undefined {
  const text = fields.text(`${at}.helm.values`)
  const object = fields.object(`${at}.helm.valuesObject`)
  let values = object
  if (text !== undefined && object) fields.note(`${at}.helm.values`, 'valuesObject is set, and wins')
  else if (text !== undefined) values = valuesFromText(fields, `${at}.helm.values`, text)
  return withParameters(fields, `${at}.helm.parameters`, values)
}

function valuesFromText(fields: FieldReader, path: string, text: string): JsonObject | undefined {
  let values: Json
  try {
    values = readYaml(text)
  } catch (error) {
    if (!isMusterError(error)) throw error
    fields.note(path, 'it is no valid YAML')
    return undefined
  }
  if (isJsonObject(values)) return values
  if (values !== null) fields.note(path, 'it is no mapping')
  return undefined
}

/** What an Installation does anyway. */
const given = new Set([
  'ServerSideApply=true',
  'ApplyOutOfSyncOnly=true',
  'Validate=true',
  'RespectIgnoreDifferences=true',
])

function readSyncOptions(fields: FieldReader): void {
  for (const [index, option] of fields.texts('spec.syncPolicy.syncOptions').entries()) {
    const why =
      option === 'CreateNamespace=true' ? 'create the namespace with the Installation' : 'it has no counterpart'
    if (!given.has(option)) fields.note(`spec.syncPolicy.syncOptions[${index}]`, `${option}: ${why}`)
  }
}

function driftExceptions(fields: FieldReader): readonly DriftException[] | undefined {
  const list = fields.each<DriftException>(
    'spec.ignoreDifferences',
    {
      jqPathExpressions: 'fields are named by JSON pointers',
      managedFieldsManagers: 'fields are named by JSON pointers; those of other managers are never taken',
    },
    (item) => {
      const paths = item.texts('jsonPointers')
      const part = (name: string): string | undefined => {
        const text = item.text(name)
        return text === '*' ? undefined : text
      }
      const target = { group: part('group'), kind: part('kind'), name: part('name'), namespace: part('namespace') }
      return paths.length === 0 ? undefined : { paths, target }
    },
  )
  return list.length === 0 ? undefined : list
}

function hasFinalizer(fields: FieldReader): boolean {
  const metadata = fields.value('metadata')
  const finalizers = isJsonObject(metadata) ? ownMember(metadata, 'finalizers') : undefined
  return isJsonArray(finalizers) && finalizers.some((one) => typeof one === 'string' && one.startsWith(cascade))
}

/** Sources of Flux: chart repositories, OCI repositories and charts. Git repositories and buckets have no counterpart. */
import { FieldReader } from './field-reader.ts'
import type { ImportedObject } from './import-installations.ts'
import type { ImportedSource, OciSource } from './installation-manifest.ts'

const group = 'source.toolkit.fluxcd.io'
const sourceKinds = new Set([
  'HelmRepository',
  'OCIRepository',
  'HelmChart',
  'GitRepository',
  'Bucket',
  'ExternalArtifact',
])

export function isFluxSource(ofGroup: string, kind: string): boolean {
  return ofGroup === group && sourceKinds.has(kind)
}

/** A reference to a source: where its members are in the object that refers to it. */
interface SourceReference {
  /** `spec.chart.spec.sourceRef`. */
  readonly path: string
  readonly kind: string | undefined
  readonly name: string | undefined
  readonly namespace: string | undefined
}

export function readSourceReference(fields: FieldReader, path: string, namespace: string | undefined): SourceReference {
  fields.value(`${path}.apiVersion`)
  return {
    path,
    kind: fields.text(`${path}.kind`),
    name: fields.text(`${path}.name`),
    namespace: fields.text(`${path}.namespace`) ?? namespace,
  }
}

/** The source, opened for reading; undefined if it was not given or cannot be used, which is noted. */
function openSource(
  object: ImportedObject,
  { path, kind, name, namespace }: SourceReference,
  kinds: readonly string[],
): FieldReader | undefined {
  const { fields, notes } = object
  if (kind === undefined || name === undefined) {
    fields.note(path, 'it must name a source; nothing is imported')
    return undefined
  }
  if (!kinds.includes(kind)) {
    fields.note(
      path,
      `a ${kind} cannot be a source of an Installation: publish it as an OCI artifact; nothing is imported`,
    )
    return undefined
  }
  const source = object.find(group, kind, name, namespace)
  const about = `${kind} ${namespace ? `${namespace}/` : ''}${name}`
  if (!source) {
    fields.note(path, `${about} is needed and was not given; nothing is imported`)
    return undefined
  }
  const reader = new FieldReader(source, about, notes)
  for (const one of ['apiVersion', 'kind', 'metadata', 'status']) reader.value(one)
  if (reader.text('spec.secretRef.name') !== undefined && namespace !== object.namespace)
    reader.note(
      'spec.secretRef',
      `copy the Secret to the namespace ${object.namespace ?? 'default'} of the Installation`,
    )
  return reader
}

interface ChartOfSource {
  readonly chart: string
  readonly version: string | undefined
  /** How often its version is resolved; that of the repository if it is not set. */
  readonly interval: string | undefined
}

/** A chart of a HelmRepository. */
export function chartSource(
  object: ImportedObject,
  reference: SourceReference,
  { chart, version, interval }: ChartOfSource,
): ImportedSource | undefined {
  const source = openSource(object, reference, ['HelmRepository'])
  const url = source?.text('spec.url')
  if (!source) return undefined
  if (url === undefined) {
    source.note('spec.url', 'it is needed; nothing is imported')
    return undefined
  }
  const secretRef = secretReference(source)
  const isOci = source.text('spec.type') === 'oci' || url.startsWith('oci://')
  const own = source.text('spec.interval')
  const every = { interval: interval ?? own }
  const oci = isOci && { url: joinUrl(url, chart), version, secretRef, ...plainHttp(source), kind: 'Chart' as const }
  source.close(knownFields)
  return oci ? { oci, ...every } : { helm: { url, chart, version, secretRef }, ...every }
}

/** The chart of a HelmChart object. */
export function helmChartSource(object: ImportedObject, reference: SourceReference): ImportedSource | undefined {
  const source = openSource(object, reference, ['HelmChart'])
  const chart = source?.text('spec.chart')
  if (!source) return undefined
  if (chart === undefined) {
    source.note('spec.chart', 'it is needed; nothing is imported')
    return undefined
  }
  const [version, interval] = [source.text('spec.version'), source.text('spec.interval')]
  const repository = readSourceReference(source, 'spec.sourceRef', reference.namespace)
  source.close(knownFields)
  return chartSource({ ...object, fields: source }, repository, { chart, version, interval })
}

/** An OCIRepository, which holds a chart, manifests or a kustomization. */
export function ociSource(
  object: ImportedObject,
  reference: SourceReference,
  more: Pick<OciSource, 'kind' | 'path'>,
): ImportedSource | undefined {
  const source = openSource(object, reference, ['OCIRepository'])
  const url = source?.text('spec.url')
  if (!source) return undefined
  if (url === undefined) {
    source.note('spec.url', 'it is needed; nothing is imported')
    return undefined
  }
  // A digest wins over a range, a range over a tag.
  const [digest, version, tag = 'latest'] = ['digest', 'semver', 'tag'].map((name) => source.text(`spec.ref.${name}`))
  const isTagged = digest === undefined && version === undefined
  const secretRef = secretReference(source)
  const interval = source.text('spec.interval')
  const oci = { url: isTagged ? `${url}:${tag}` : url, version, digest, secretRef, ...plainHttp(source), ...more }
  source.close(knownFields)
  return { oci, interval: digest === undefined ? interval : undefined }
}

function plainHttp(source: FieldReader): Pick<OciSource, 'plainHttp'> {
  return source.flag('spec.insecure') ? { plainHttp: true } : {}
}

function secretReference(source: FieldReader): { readonly name: string } | undefined {
  const name = source.text('spec.secretRef.name')
  // One Secret holds the login and the CA: that of the CA serves where there is no login.
  const ofCa = name === undefined ? source.text('spec.certSecretRef.name') : undefined
  const found = name ?? ofCa
  return found === undefined ? undefined : { name: found }
}

function joinUrl(url: string, name: string): string {
  return url.endsWith('/') ? `${url}${name}` : `${url}/${name}`
}

const byCluster = 'credentials of the node or workload are not used: give a Secret in secretRef'

const knownFields = {
  'spec.certSecretRef': 'copy its ca.crt to the Secret of secretRef; client certificates are not used',
  'spec.proxySecretRef': 'a proxy is part of the settings of the manager',
  'spec.provider': byCluster,
  'spec.serviceAccountName': byCluster,
  'spec.insecure': 'chart repositories say http:// in their URL',
  'spec.passCredentials': 'credentials are sent to the host of the repository only',
  'spec.suspend': 'suspend the Installation',
  'spec.timeout': 'sources have the time limits of the manager',
  'spec.verify': 'signatures are not verified: pin the digest',
  'spec.layerSelector': 'the layer is chosen by its media type',
  'spec.ref.semverFilter': 'versions are chosen by the range alone',
  'spec.ignore': 'all files of the artifact are used',
  'spec.reconcileStrategy': 'the version decides',
  'spec.valuesFiles': 'only the values.yaml of the chart is used: copy the values to spec.values',
  'spec.ignoreMissingValuesFiles': 'only the values.yaml of the chart is used',
}

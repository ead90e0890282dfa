/** HelmReleases of Flux (helm.toolkit.fluxcd.io/v2). Defaults of Flux that differ from ours are written out. */
import type { FieldReader } from './field-reader.ts'
import { dependencies, driftExceptions, healthExpressions } from './flux-fields.ts'
import { chartSource, helmChartSource, ociSource, readSourceReference } from './flux-source.ts'
import type { ImportedObject, ObjectImport } from './import-installations.ts'
import type {
  InstallationDrift,
  InstallationManifestSpec,
  InstallationRemediation,
  ImportedSource,
  ImportedValues,
} from './installation-manifest.ts'

const noStorage = "Installations do not use Helm's storage"
const ownWay = 'Installations apply objects with server-side apply and wait for their health'

export const importHelmRelease: ObjectImport = {
  known: {
    'spec.postRenderers': 'rendered objects are not patched: use a kustomization, or values of the chart',
    'spec.commonMetadata': 'labels and annotations of all objects are not set: use values of the chart',
    'spec.storageNamespace': noStorage,
    'spec.maxHistory': noStorage,
    'spec.persistentClient': 'it has no counterpart',
    'spec.test': 'tests of the chart are not run',
    'spec.rollback': ownWay,
    'spec.uninstall': ownWay,
    'spec.install': ownWay,
    'spec.install.createNamespace': 'create the namespace with the Installation',
    'spec.upgrade': ownWay,
    'spec.waitStrategy': ownWay,
    'spec.chart.metadata': 'there is no HelmChart object',
    'spec.chart.spec.reconcileStrategy': 'the version decides',
    'spec.chart.spec.verify': 'signatures are not verified: pin the digest',
    'spec.chart.spec.valuesFiles': 'only the values.yaml of the chart is used: copy the values to spec.values',
    'spec.chart.spec.ignoreMissingValuesFiles': 'only the values.yaml of the chart is used',
  },
  spec: (object) => {
    const { fields, name, namespace } = object
    if (isRemote(fields)) return undefined
    const source = sourceOf(object)
    if (!source) return undefined
    const targetNamespace = fields.text('spec.targetNamespace')
    // Drift is seen by watches, and put right at once.
    fields.value('spec.interval')
    return {
      source,
      // Flux puts the target namespace in front of the default name.
      releaseName: releaseName(fields, targetNamespace === undefined ? undefined : `${targetNamespace}-${name}`),
      targetNamespace,
      values: fields.object('spec.values'),
      valuesFrom: valuesFrom(fields),
      dependsOn: dependencies(fields, namespace),
      serviceAccountName: fields.text('spec.serviceAccountName'),
      timeout: fields.text('spec.timeout'),
      drift: drift(fields),
      remediation: remediation(fields),
      suspend: fields.flag('spec.suspend') || undefined,
      crds: crds(fields),
      health: healthExpressions(fields),
    }
  },
}

/** An Installation applies to its own cluster: imported here, it would change the wrong one. */
export function isRemote(fields: FieldReader): boolean {
  if (fields.value('spec.kubeConfig') === undefined) return false
  fields.note('spec.kubeConfig', 'it installs on another cluster: import it there; nothing is imported')
  return true
}

function sourceOf(object: ImportedObject): ImportedSource | undefined {
  const { fields, namespace } = object
  if (fields.has('spec.chartRef')) {
    const reference = readSourceReference(fields, 'spec.chartRef', namespace)
    return reference.kind === 'HelmChart'
      ? helmChartSource(object, reference)
      : ociSource(object, reference, { kind: 'Chart' })
  }
  const chart = fields.text('spec.chart.spec.chart')
  if (chart === undefined) {
    fields.note('spec.chart', 'it must name a chart; nothing is imported')
    return undefined
  }
  const interval = fields.text('spec.chart.spec.interval')
  const version = fields.text('spec.chart.spec.version')
  const reference = readSourceReference(fields, 'spec.chart.spec.sourceRef', namespace)
  return chartSource(object, reference, { chart, version, interval })
}

/** Helm's limit; Flux cuts longer names and adds a hash. */
const longestName = 53

function releaseName(fields: FieldReader, preset: string | undefined): string | undefined {
  const given = fields.text('spec.releaseName') ?? preset
  if (given === undefined || given.length <= longestName) return given
  fields.note('spec.releaseName', `the name of the release is longer than ${longestName}: set the one that Flux made`)
  return undefined
}

function valuesFrom(fields: FieldReader): InstallationManifestSpec['valuesFrom'] {
  const list = fields.each<ImportedValues>(
    'spec.valuesFrom',
    { literal: 'values are parsed: quote the text' },
    (item) => {
      const [kind, name] = [item.text('kind'), item.text('name')]
      if ((kind !== 'ConfigMap' && kind !== 'Secret') || name === undefined) {
        item.note('', 'it must name a ConfigMap or a Secret')
        return undefined
      }
      return {
        kind,
        name,
        key: item.text('valuesKey'),
        path: item.text('targetPath'),
        optional: item.flag('optional') || undefined,
      }
    },
  )
  return list.length === 0 ? undefined : list
}

const driftModes: Readonly<Record<string, InstallationDrift['mode']>> = {
  enabled: 'correct',
  warn: 'warn',
  disabled: 'off',
}

function drift(fields: FieldReader): InstallationDrift {
  const mode = fields.text('spec.driftDetection.mode') ?? 'disabled'
  if (!Object.hasOwn(driftModes, mode)) fields.note('spec.driftDetection.mode', `there is no mode ${mode}`)
  const ignore = driftExceptions(fields, 'spec.driftDetection.ignore')
  return { mode: (Object.hasOwn(driftModes, mode) && driftModes[mode]) || 'off', ignore }
}

/** Flux remediates installs and upgrades by rules of their own, and does nothing without retries. */
function remediation(fields: FieldReader): InstallationRemediation {
  const install = fields.integer('spec.install.remediation.retries') ?? 0
  const upgrade = fields.integer('spec.upgrade.remediation.retries') ?? 0
  const strategy = fields.text('spec.upgrade.remediation.strategy') ?? 'rollback'
  const retries = upgrade === 0 ? install : upgrade
  if (retries < 0) fields.note('spec.upgrade.remediation.retries', 'retries go on by themselves, with growing pauses')
  if (install !== upgrade)
    fields.note('spec.install.remediation.retries', 'installs and upgrades have one rule, the one of upgrades')
  const limit = retries < 0 ? undefined : retries
  if (upgrade === 0) return { retries: limit || undefined, strategy: 'none' }
  if (strategy === 'rollback' || strategy === 'uninstall') return { retries: limit, strategy }
  fields.note('spec.upgrade.remediation.strategy', `there is no strategy ${strategy}`)
  return { retries: limit, strategy: 'none' }
}

function crds(fields: FieldReader): 'apply' | 'create-only' | 'skip' {
  const install = fields.text('spec.install.crds') ?? 'Create'
  const upgrade = fields.text('spec.upgrade.crds') ?? 'Skip'
  if (upgrade === 'CreateReplace') return 'apply'
  return install === 'Skip' && upgrade === 'Skip' ? 'skip' : 'create-only'
}

/** The versions of a CRD: which are served, in which one objects are stored, and the schema of each. */
import { equalJson } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '../../kube/types/apiextensions/v1.ts'
import { compareSchemas } from './schema-changes.ts'
import { type ChangeReport, type ChangeText, reportChange, type ChangePlace } from './unsafe-change.ts'

/** A version and its place in the list. */
interface ListedVersion {
  readonly index: number
  readonly version: CustomResourceDefinitionVersion
}

interface VersionPair {
  readonly old: ListedVersion
  readonly now: ListedVersion
}

export function compareCrdVersions(
  before: CustomResourceDefinition,
  after: CustomResourceDefinition,
  report: ChangeReport,
): void {
  const stored = new Set(before.status?.storedVersions)
  for (const [index, version] of before.spec.versions.entries()) {
    const old = { index, version }
    const now = listed(after, ({ name }) => name === version.name)
    if (now) compareVersion({ old, now }, report)
    else reportDropped(old, stored.has(version.name) || version.storage, report)
  }
  compareStorage(before, after, report)
}

function listed(
  { spec }: CustomResourceDefinition,
  matches: (version: CustomResourceDefinitionVersion) => boolean,
): ListedVersion | undefined {
  const index = spec.versions.findIndex(matches)
  return index < 0 ? undefined : { index, version: spec.versions[index]! }
}

function reportDropped({ index, version }: ListedVersion, isStored: boolean, report: ChangeReport): void {
  if (!isStored && !version.served) return
  reportChange(
    report,
    { version: version.name, field: '', before: ['spec', 'versions'], after: ['spec', 'versions'] },
    { key: String(index), before: { [index]: version }, after: {} },
    {
      change: 'the version is dropped',
      why: isStored
        ? 'objects are still stored in it: migrate them, then remove it from status.storedVersions'
        : 'programs that use it fail',
    },
  )
}

function compareVersion(pair: VersionPair, report: ChangeReport): void {
  const [old, now] = [pair.old.version, pair.now.version]
  const place = versionPlace(pair)
  const changed = (key: keyof CustomResourceDefinitionVersion, text: ChangeText): void =>
    reportChange(report, { ...place, field: '' }, { key, before: old, after: now }, text)
  if (old.served && !now.served)
    changed('served', { change: 'the version is no longer served', why: 'programs that use it fail' })
  compareSubresources(old, now, changed)
  const fields = new Set(now.selectableFields?.map(({ jsonPath }) => jsonPath))
  for (const { jsonPath } of old.selectableFields ?? []) {
    if (fields.has(jsonPath)) continue
    changed('selectableFields', {
      change: `field selector ${jsonPath} is dropped`,
      why: 'list and watch requests that select by it are refused',
    })
  }
  compareVersionSchemas(pair, report)
}

function compareSubresources(
  old: CustomResourceDefinitionVersion,
  now: CustomResourceDefinitionVersion,
  changed: (key: 'subresources', text: ChangeText) => void,
): void {
  const [before, after] = [old.subresources, now.subresources]
  if (before?.status && !after?.status) {
    changed('subresources', { change: 'the status subresource is dropped', why: 'programs that write the status fail' })
  }
  if (!before?.status && after?.status) {
    changed('subresources', {
      change: 'the status subresource is added',
      why: 'the status that programs write with the object is ignored',
    })
  }
  if (before?.scale && !(after?.scale && equalJson(asJson(before.scale), asJson(after.scale)))) {
    changed('subresources', {
      change: `the scale subresource ${after?.scale ? 'changes' : 'is dropped'}`,
      why: 'autoscalers and kubectl scale read and write other fields, or fail',
    })
  }
}

function versionPlace({ old, now }: VersionPair): ChangePlace {
  return {
    version: now.version.name,
    field: '',
    before: ['spec', 'versions', String(old.index)],
    after: ['spec', 'versions', String(now.index)],
  }
}

function compareVersionSchemas(pair: VersionPair, report: ChangeReport): void {
  const [old, now] = [pair.old.version.schema?.openAPIV3Schema, pair.now.version.schema?.openAPIV3Schema]
  const place = versionPlace(pair)
  // Most upgrades leave most schemas as they are, and some have a megabyte.
  if (old && now && equalJson(asJson(old), asJson(now))) return
  if (!now) {
    if (!old) return
    reportChange(
      report,
      place,
      { key: 'schema', before: pair.old.version, after: pair.now.version },
      { change: 'the schema is dropped', why: 'the API server refuses a version without a schema' },
    )
    return
  }
  const schema = ['schema', 'openAPIV3Schema']
  compareSchemas(
    old ?? withoutSchema,
    now,
    { ...place, before: old && [...place.before!, ...schema], after: [...place.after, ...schema] },
    report,
  )
}

/** What an API server allows without a schema. */
const withoutSchema: JSONSchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

/**
 * Another storage version: without a webhook objects are not converted, but read with the schema of the new one. So that
 * schema is compared with the one in which they were written.
 */
function compareStorage(before: CustomResourceDefinition, after: CustomResourceDefinition, report: ChangeReport): void {
  const old = listed(before, ({ storage }) => storage)
  const now = listed(after, ({ storage }) => storage)
  const isConverted = after.spec.conversion?.strategy === 'Webhook'
  if (!old || !now || old.version.name === now.version.name || isConverted) return
  compareVersionSchemas({ old, now }, report)
}

/**
 * Is the upgrade of a CRD safe? An API server accepts almost every new schema. Stored objects then lose fields that it does not
 * know, or cannot be updated any more, and programs that use a version find it gone. This check compares the CRD in the cluster
 * with the new one and names every such change before the new one is applied.
 *
 * It is conservative: what it cannot decide is reported, too, as `unjudged`.
 */
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import { type ChangeReport, reportChange, type ChangePlace, type UnsafeChange } from './unsafe-change.ts'
import { compareCrdVersions } from './versions.ts'

/**
 * @param before as the API server has it, with its status: the versions in which objects are stored are listed there
 * @param after one that the API server accepts: a dry run says so
 */
export function unsafeChanges(
  before: CustomResourceDefinition,
  after: CustomResourceDefinition,
): readonly UnsafeChange[] {
  const report: ChangeReport = { changes: [] }
  compareIdentity(before, after, report)
  compareNames(before, after, report)
  compareConversions(before, after, report)
  compareCrdVersions(before, after, report)
  return report.changes
}

/** A part of the CRD, of which `key` changes. */
function placeOf(key: string, ...path: readonly string[]): ChangePlace {
  return { version: undefined, field: [...path, key].join('.'), before: path, after: path }
}

function compareIdentity(
  before: CustomResourceDefinition,
  after: CustomResourceDefinition,
  report: ChangeReport,
): void {
  if (before.metadata.name !== after.metadata.name) {
    reportChange(
      report,
      placeOf('name', 'metadata'),
      { key: 'name', before: before.metadata, after: after.metadata },
      {
        change: `the name changes from ${before.metadata.name} to ${after.metadata.name}`,
        why: 'this is another CRD: stored objects belong to the old one',
      },
    )
  }
  for (const key of ['group', 'scope'] as const) {
    const [old, now] = [before.spec[key], after.spec[key]]
    if (old === now) continue
    reportChange(
      report,
      placeOf(key, 'spec'),
      { key, before: before.spec, after: after.spec },
      {
        change: `${key} changes from ${old} to ${now}`,
        why: 'it is immutable: the CRD would have to be deleted with all of its objects',
      },
    )
  }
  if (before.spec.preserveUnknownFields === true && after.spec.preserveUnknownFields !== true) {
    reportChange(
      report,
      placeOf('preserveUnknownFields', 'spec'),
      { key: 'preserveUnknownFields', before: before.spec, after: after.spec },
      { change: 'unknown fields are no longer preserved', why: 'they are pruned from stored objects' },
    )
  }
}

function compareNames(before: CustomResourceDefinition, after: CustomResourceDefinition, report: ChangeReport): void {
  const [old, now] = [before.spec.names, after.spec.names]
  // The API server fills in names that are left out.
  const filled = (names: typeof old): Readonly<Record<'plural' | 'kind' | 'singular' | 'listKind', string>> => ({
    plural: names.plural,
    kind: names.kind,
    singular: names.singular || names.kind.toLowerCase(),
    listKind: names.listKind || `${names.kind}List`,
  })
  const [was, is] = [filled(old), filled(now)]
  for (const key of ['plural', 'kind', 'singular', 'listKind'] as const) {
    if (was[key] === is[key]) continue
    reportChange(
      report,
      placeOf(key, 'spec', 'names'),
      { key, before: old, after: now },
      {
        change: `${key} changes from ${was[key]} to ${is[key]}`,
        why: 'stored objects, and programs that use them, have the old name',
      },
    )
  }
  for (const key of ['shortNames', 'categories'] as const) {
    const dropped = old[key]?.filter((name) => !now[key]?.includes(name)) ?? []
    if (dropped.length === 0) continue
    reportChange(
      report,
      placeOf(key, 'spec', 'names'),
      { key, before: old, after: now },
      { change: `${dropped.join(', ')} is dropped`, why: 'commands and scripts that use it fail' },
    )
  }
}

function compareConversions(
  before: CustomResourceDefinition,
  after: CustomResourceDefinition,
  report: ChangeReport,
): void {
  const [old, now] = [before.spec.conversion?.strategy ?? 'None', after.spec.conversion?.strategy ?? 'None']
  if (old === now) return
  reportChange(
    report,
    placeOf('strategy', 'spec', 'conversion'),
    { key: 'strategy', before: before.spec.conversion ?? {}, after: after.spec.conversion ?? {} },
    {
      change: `conversion changes from ${old} to ${now}`,
      why:
        now === 'None'
          ? 'objects stored in another version are read without conversion, and lose fields that it has not'
          : 'every read of an object that is stored in another version depends on the webhook',
    },
  )
}

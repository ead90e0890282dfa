/** Lists: the schema of their items, whether items may repeat, and by which keys they are merged. */
import { equalJson } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { openSchema, type SchemaWalk } from './schema-walk.ts'
import { type ChangeReport, reportChange, type ChangePlace } from './unsafe-change.ts'

export function compareLists(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  walk: SchemaWalk,
): void {
  compareItems(before, after, place, walk)
  compareListTypes(before, after, place, walk.report)
  if (after.uniqueItems === true && before.uniqueItems !== true) {
    reportChange(
      walk.report,
      place,
      { key: 'uniqueItems', before, after },
      { change: 'uniqueItems is set', why: 'stored lists with equal items are refused when they are updated' },
    )
  }
}

function compareItems(before: JSONSchemaProps, after: JSONSchemaProps, place: ChangePlace, walk: SchemaWalk): void {
  const { report, compare, depth } = walk
  const [old, now] = [before.items, after.items]
  if (Array.isArray(old) || Array.isArray(now)) {
    if (equalJson(old && asJson(old), now && asJson(now))) return
    reportChange(
      report,
      place,
      { key: 'items', before, after },
      { change: 'items differ', why: 'a schema for each item cannot be judged', verdict: 'unjudged' },
    )
    return
  }
  const field = `${place.field}[]`
  const itemsPath = (path: readonly string[]): readonly string[] => [...path, 'items']
  if (now) {
    const at = { ...place, field, after: itemsPath(place.after) }
    // Without a schema items could be anything.
    if (old)
      compare(
        old as JSONSchemaProps,
        now as JSONSchemaProps,
        { ...at, before: place.before && itemsPath(place.before) },
        depth,
      )
    else compare(openSchema, now as JSONSchemaProps, { ...at, before: undefined }, depth)
  } else if (old && after['x-kubernetes-preserve-unknown-fields'] !== true) {
    reportChange(
      report,
      { ...place, field },
      { key: 'items', before, after },
      { change: 'the schema of items is dropped', why: 'fields of stored items are pruned' },
    )
  }
}

function compareListTypes(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  const key = 'x-kubernetes-list-type'
  // A list whose type is not declared is atomic.
  const [old, now] = [before[key] ?? 'atomic', after[key] ?? 'atomic']
  if (old !== now) {
    const isStricter = now !== 'atomic'
    reportChange(
      report,
      place,
      { key, before, after },
      {
        change: `list type changes from ${old} to ${now}`,
        why: isStricter
          ? 'stored lists with equal items or keys are refused, and server-side apply merges the list in another way'
          : 'server-side apply merges the list in another way, and field managers lose items that they own',
      },
    )
  }
  const keys = 'x-kubernetes-list-map-keys'
  if (old !== 'map' || now !== 'map' || equalJson(before[keys]?.toSorted(), after[keys]?.toSorted())) return
  reportChange(
    report,
    place,
    { key: keys, before, after },
    {
      change: `keys of the list change from ${names(before[keys])} to ${names(after[keys])}`,
      why: 'items are identified by other keys: stored items may be duplicates, and owned items are lost',
    },
  )
}

function names(keys: readonly string[] = []): string {
  return keys.length === 0 ? 'none' : keys.join(', ')
}

/**
 * Members of objects and maps. A member that the new schema does not know is pruned from stored objects with the next write,
 * silently: that is the change which loses data.
 */
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { openSchema, type SchemaWalk } from './schema-walk.ts'
import { type ChangeReport, reportChange, type ChangePlace } from './unsafe-change.ts'
import { typeOfSchema } from './value-rules.ts'

interface MemberWalk extends SchemaWalk {
  readonly isRoot: boolean
}

const preserve = 'x-kubernetes-preserve-unknown-fields'
const embedded = 'x-kubernetes-embedded-resource'

export function compareMembers(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  walk: MemberWalk,
): void {
  compareProperties(before, after, place, walk)
  compareUndeclared(before, after, place, walk)
  compareRequired(before, after, place, walk)
  compareMarks(before, after, place, walk.report)
}

function compareProperties(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  walk: MemberWalk,
): void {
  const [old, now] = [before.properties ?? {}, after.properties ?? {}]
  const isResource = walk.isRoot || (before[embedded] === true && after[embedded] === true)
  for (const [name, schema] of Object.entries(old)) {
    const at = memberPlace(place, name)
    if (!Object.hasOwn(now, name)) compareDropped(name, before, after, { place, at, isResource }, walk)
    else if (isResource && name === 'metadata') walk.compare(metadata(schema), metadata(now[name]!), at, walk.depth)
    else walk.compare(schema, now[name]!, at, walk.depth)
  }
  for (const [name, schema] of Object.entries(now)) {
    if (Object.hasOwn(old, name)) continue
    const at = memberPlace(place, name)
    const without = { ...at, before: undefined }
    const { additionalProperties } = before
    if (isResource && isMeta(name)) {
      if (name === 'metadata') walk.compare(metadata({}), metadata(schema), without, walk.depth)
    } else if (typeof additionalProperties === 'object') {
      const inMap = { ...at, before: place.before && [...place.before, 'additionalProperties'] }
      walk.compare(additionalProperties, schema, inMap, walk.depth)
    } else if (additionalProperties === true || before[preserve] === true) {
      walk.compare(openSchema, schema, without, walk.depth)
    }
    // Otherwise the field is new: no stored object has it.
  }
}

interface DroppedProperty {
  readonly place: ChangePlace
  readonly at: ChangePlace
  readonly isResource: boolean
}

/** A property that the new schema does not list: a map may still hold it, or a place that preserves unknown fields. */
function compareDropped(
  name: string,
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  { place, at, isResource }: DroppedProperty,
  { compare, depth, report }: MemberWalk,
): void {
  const { additionalProperties } = after
  const schema = before.properties![name]!
  if (isResource && isMeta(name)) return
  if (typeof additionalProperties === 'object') {
    compare(schema, additionalProperties, { ...at, after: [...place.after, 'additionalProperties'] }, depth)
    return
  }
  if (after[preserve] === true || (additionalProperties === true && isScalar(schema))) return
  reportChange(
    report,
    { ...at, before: place.before && [...place.before, 'properties'] },
    { key: name, before: before.properties!, after: {} },
    { change: 'the field is dropped', why: 'it is pruned from stored objects' },
  )
}

/** Members that no property names: those of a map, or unknown ones. */
function compareUndeclared(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  walk: MemberWalk,
): void {
  const key = 'additionalProperties'
  const [old, now] = [before[key], after[key]]
  const { report } = walk
  const field = `${place.field}[*]`
  if (typeof now === 'object') {
    const at = { ...place, field, after: [...place.after, key] }
    if (typeof old === 'object')
      walk.compare(old, now, { ...at, before: place.before && [...place.before, key] }, walk.depth)
    else if (old === true || before[preserve] === true)
      walk.compare(openSchema, now, { ...at, before: undefined }, walk.depth)
  } else if (old !== undefined && old !== false) {
    if (now === true) {
      if (typeof old === 'object' && !isScalar(old)) {
        reportChange(
          report,
          { ...place, field },
          { key, before, after },
          {
            change: 'the schema of members is dropped',
            why: 'whether fields below them are pruned cannot be judged',
            verdict: 'unjudged',
          },
        )
      }
    } else if (after[preserve] !== true) {
      reportChange(
        report,
        { ...place, field },
        { key, before, after },
        { change: 'other members are no longer allowed', why: 'they are pruned from stored objects' },
      )
    }
  }
  if (before[preserve] === true && after[preserve] !== true && typeof now !== 'object') {
    reportChange(
      report,
      place,
      { key: preserve, before, after },
      { change: 'unknown fields are no longer preserved', why: 'they are pruned from stored objects' },
    )
  }
}

function compareRequired(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  { report, isRoot }: MemberWalk,
): void {
  const old = new Set(before.required)
  for (const name of new Set(after.required)) {
    const property = after.properties && Object.hasOwn(after.properties, name) ? after.properties[name] : undefined
    const isGiven = (property?.default ?? undefined) !== undefined || (isRoot && isMeta(name))
    if (old.has(name) || isGiven) continue
    reportChange(
      report,
      { ...place, field: below(place.field, name) },
      { key: 'required', before: {}, after },
      { change: 'the field becomes required, without a default', why: 'stored objects without it are refused' },
    )
  }
}

function compareMarks(before: JSONSchemaProps, after: JSONSchemaProps, place: ChangePlace, report: ChangeReport): void {
  const [wasEmbedded, isEmbedded] = [before[embedded] === true, after[embedded] === true]
  if (wasEmbedded !== isEmbedded && !(wasEmbedded && after[preserve] === true)) {
    reportChange(
      report,
      place,
      { key: embedded, before, after },
      isEmbedded
        ? {
            change: 'the field becomes an embedded object',
            why: 'stored values without apiVersion and kind are refused',
          }
        : {
            change: 'the field is no embedded object any more',
            why: 'apiVersion, kind and metadata below it are pruned',
          },
    )
  }
  const key = 'x-kubernetes-map-type'
  const [old, now] = [before[key] ?? 'granular', after[key] ?? 'granular']
  if (old === now) return
  reportChange(
    report,
    place,
    { key, before, after },
    {
      change: `map type changes from ${old} to ${now}`,
      why: 'server-side apply merges the field in another way, and field managers lose members that they own',
    },
  )
}

function memberPlace(place: ChangePlace, name: string): ChangePlace {
  return {
    ...place,
    field: below(place.field, name),
    before: place.before && [...place.before, 'properties', name],
    after: [...place.after, 'properties', name],
  }
}

function below(field: string, name: string): string {
  return field === '' ? name : `${field}.${name}`
}

function isMeta(name: string): boolean {
  return name === 'apiVersion' || name === 'kind' || name === 'metadata'
}

/** What every object has: metadata is never pruned, and a schema can restrict only the names in it. */
function metadata(schema: JSONSchemaProps): JSONSchemaProps {
  const name: JSONSchemaProps = { type: 'string' }
  return {
    type: 'object',
    [preserve]: true,
    ...schema,
    properties: { name, generateName: name, ...schema.properties },
  }
}

function isScalar(schema: JSONSchemaProps): boolean {
  const type = typeOfSchema(schema)
  return type !== undefined && type !== 'object' && type !== 'array'
}

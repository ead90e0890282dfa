/** What a schema says about single values: type, enum, pattern, format, null, default, and rules in CEL. */
import { formatGoValue } from '../../kube/go/go-text.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import { isKnownFormat } from '../../kube/structural/format.ts'
import type { JSONSchemaProps, ValidationRule } from '../../kube/types/apiextensions/v1.ts'
import { type ChangeReport, reportChange, type ChangePlace } from './unsafe-change.ts'

/** Undefined: any type. */
export function typeOfSchema(schema: JSONSchemaProps): string | undefined {
  return schema['x-kubernetes-int-or-string'] === true ? 'int-or-string' : schema.type || undefined
}

export function compareValueRules(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  compareEnums(before, after, place, report)
  comparePatterns(before, after, place, report)
  compareFormats(before, after, place, report)
  compareDefaults(before, after, place, report)
  compareCelRules(before, after, place, report)
  if (before.nullable === true && after.nullable !== true) {
    reportChange(
      report,
      place,
      { key: 'nullable', before, after },
      { change: 'nullable is removed', why: 'null in stored objects is dropped or refused' },
    )
  }
}

/** Whether both schemas have the same type, or the new one has none; the rest of a schema is comparable only then. */
export function compareTypes(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): boolean {
  const [old, now] = [typeOfSchema(before), typeOfSchema(after)]
  if (now === undefined || old === now) return true
  const key = (old ?? now) === 'int-or-string' ? 'x-kubernetes-int-or-string' : 'type'
  reportChange(
    report,
    place,
    { key, before, after },
    old === undefined
      ? { change: `type ${now} is added`, why: 'stored objects with values of other types are refused' }
      : {
          change: `type changes from ${old} to ${now}`,
          why: 'stored values, and programs that read or write the field, have the old type',
        },
  )
  return false
}

function compareEnums(before: JSONSchemaProps, after: JSONSchemaProps, place: ChangePlace, report: ChangeReport): void {
  if (!after.enum) return
  const allowed = new Set(after.enum.map(comparable))
  const dropped = before.enum?.filter((value) => !allowed.has(comparable(value)))
  if (dropped?.length === 0) return
  const change = dropped ? `enum no longer has ${list(dropped)}` : `enum ${list(after.enum)} is added`
  reportChange(
    report,
    place,
    { key: 'enum', before, after },
    { change, why: 'stored objects with other values are refused when they are updated' },
  )
}

/** Values of an enum are scalars; others are equal only with the same order of members. */
function comparable(value: Json): string {
  return formatGoValue(value)
}

/** Longer lists are cut: a message is read by a person. */
function list(values: readonly Json[]): string {
  const shown = values.slice(0, 10).map(formatGoValue).join(', ')
  return values.length > 10 ? `${shown} and ${values.length - 10} more` : shown
}

function comparePatterns(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  const [old, now] = [before.pattern ?? '', after.pattern ?? '']
  if (now === '' || old === now) return
  const why = 'stored texts that do not match it are refused when they are updated'
  reportChange(
    report,
    place,
    { key: 'pattern', before, after },
    old === ''
      ? { change: `pattern ${now} is added`, why }
      : { change: `pattern changes from ${old} to ${now}`, why, verdict: 'unjudged' },
  )
}

/** The format that each of these contains. */
const widerFormat: Readonly<Record<string, string>> = { int32: 'int64', float: 'double' }

function compareFormats(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  const [old, now] = [effectiveFormat(before), effectiveFormat(after)]
  if (now === '' || old === now || (Object.hasOwn(widerFormat, old) && widerFormat[old] === now)) return
  reportChange(
    report,
    place,
    { key: 'format', before, after },
    {
      change: old === '' ? `format ${now} is added` : `format changes from ${old} to ${now}`,
      why: 'stored values of another format are refused when they are updated',
    },
  )
}

const numberFormats = new Set(['int32', 'int64', 'float', 'double'])

/** A format that the API server does not know has no effect. */
function effectiveFormat({ format = '' }: JSONSchemaProps): string {
  return numberFormats.has(format) || isKnownFormat(format) ? format : ''
}

function compareDefaults(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  // A null default is none.
  const [old, now] = [before.default ?? undefined, after.default ?? undefined]
  // A field that is new has no objects without it that a reader could know.
  if (equalJson(old, now) || place.before === undefined) return
  const change =
    old === undefined
      ? `default ${formatGoValue(now!)} is added`
      : now === undefined
        ? `default ${formatGoValue(old)} is removed`
        : `default changes from ${formatGoValue(old)} to ${formatGoValue(now)}`
  reportChange(
    report,
    place,
    { key: 'default', before, after },
    { change, why: 'objects that leave the field out change their meaning' },
  )
}

function compareCelRules(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  const old = new Set(before['x-kubernetes-validations']?.map(effectOf))
  for (const rule of after['x-kubernetes-validations'] ?? []) {
    if (old.has(effectOf(rule))) continue
    reportChange(
      report,
      place,
      { key: 'x-kubernetes-validations', before: {}, after },
      {
        change: `rule ${rule.rule} is added or changed`,
        why: 'stored objects that violate it are refused when they are updated',
      },
    )
  }
}

/** What decides which objects a rule accepts; not its messages. */
function effectOf({ rule, optionalOldSelf = false }: ValidationRule): string {
  return `${optionalOldSelf}:${rule}`
}

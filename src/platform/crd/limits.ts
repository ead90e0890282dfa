/** Limits of numbers, texts, lists and maps: a limit that appears or becomes stricter refuses values that were valid. */
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { type ChangeReport, reportChange, type ChangePlace } from './unsafe-change.ts'

type Limit =
  | 'minimum'
  | 'maximum'
  | 'minLength'
  | 'maxLength'
  | 'minItems'
  | 'maxItems'
  | 'minProperties'
  | 'maxProperties'

const lower: readonly Limit[] = ['minimum', 'minLength', 'minItems', 'minProperties']
const upper: readonly Limit[] = ['maximum', 'maxLength', 'maxItems', 'maxProperties']

export function compareLimits(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  for (const key of [...lower, ...upper]) compareLimit(key, before, after, place, report)
  for (const key of ['exclusiveMinimum', 'exclusiveMaximum'] as const) {
    const limit = key === 'exclusiveMinimum' ? 'minimum' : 'maximum'
    const isStricter = after[key] === true && before[key] !== true && after[limit] !== undefined
    // Where the limit itself moved, its own report says all, or the old limit excluded the new one.
    if (isStricter && before[limit] === after[limit]) {
      reportChange(report, place, { key, before, after }, { change: `${key} is set`, why: refused })
    }
  }
  compareMultipleOf(before, after, place, report)
}

const refused = 'stored objects outside of the limit are refused when they are updated'

function compareLimit(
  key: Limit,
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  const [old, now] = [before[key], after[key]]
  if (now === undefined || old === now) return
  const isLower = lower.includes(key)
  // Every text, list and map has at least zero parts.
  if (old === undefined && isLower && key !== 'minimum' && now <= 0) return
  if (old === undefined) {
    reportChange(report, place, { key, before, after }, { change: `${key} ${now} is added`, why: refused })
    return
  }
  if (isLower ? now < old : now > old) return
  const moved = isLower ? 'raised' : 'lowered'
  reportChange(
    report,
    place,
    { key, before, after },
    { change: `${key} is ${moved} from ${old} to ${now}`, why: refused },
  )
}

function compareMultipleOf(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  const [old, now] = [before.multipleOf, after.multipleOf]
  // A multiple of 6 is a multiple of 3, too. With fractions rounding decides: only equal ones are equal.
  const isWider =
    now === undefined ||
    old === now ||
    (old !== undefined && Number.isSafeInteger(old) && Number.isSafeInteger(now) && old % now === 0)
  if (isWider) return
  const change = old === undefined ? `multipleOf ${now} is added` : `multipleOf changes from ${old} to ${now}`
  reportChange(
    report,
    place,
    { key: 'multipleOf', before, after },
    { change, why: 'stored objects with other numbers are refused when they are updated' },
  )
}

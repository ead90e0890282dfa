/** Fields that are left to another manager: patterns, and objects without the fields that they name. */
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { Path, PathElement } from '../../kube/apply/path-element.ts'

/** Whether a JSON pointer with `*` for any member or item names the field, or a parent of it. */
export function isYielded(path: Path, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const steps = pattern.split('/').slice(1).map(unescape)
    return steps.length <= path.length && steps.every((step, at) => step === '*' || isStep(path[at]!, step))
  })
}

function unescape(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** An item of a keyed list is named by any of its key fields. */
function isStep(element: PathElement, step: string): boolean {
  if (element.kind === 'field') return element.name === step
  if (element.kind === 'index') return String(element.index) === step
  const values = element.kind === 'key' ? element.fields.map(({ value }) => value) : [element.value]
  return values.some((value) => value === step || JSON.stringify(value) === step)
}

/** The object without one field. */
export function withoutField(value: Json, [first, ...rest]: Path): Json {
  if (!first) return value
  if (isJsonObject(value) && first.kind === 'field') {
    if (!Object.hasOwn(value, first.name)) return value
    const { [first.name]: member, ...others } = value
    return rest.length === 0 ? others : { ...others, [first.name]: withoutField(member!, rest) }
  }
  if (!isJsonArray(value)) return value
  const at = value.findIndex((item, index) => isItem(first, item, index))
  if (at < 0) return value
  return rest.length === 0 ? value.toSpliced(at, 1) : value.with(at, withoutField(value[at]!, rest))
}

function isItem(element: PathElement, item: Json, index: number): boolean {
  if (element.kind === 'index') return element.index === index
  if (element.kind === 'value') return item === element.value
  return (
    element.kind === 'key' &&
    isJsonObject(item) &&
    element.fields.every(({ name, value }) => item[name] === undefined || item[name] === value)
  )
}

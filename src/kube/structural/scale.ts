/** The scale subresource: replicas must be numbers that a Scale can hold, and the selector a string. */
import { type Cause, invalidValue } from '../validation/cause.ts'
import { formatGoNumber, isGoInteger } from '../go/go-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { isJsonArray, ownMember } from '../json-member.ts'
import type { CustomResourceSubresourceScale } from '../types/apiextensions/v1.ts'

const largest = 2_147_483_647

export function checkScaleSpec(
  object: JsonObject,
  { specReplicasPath }: CustomResourceSubresourceScale,
): readonly Cause[] {
  return checkReplicas(object, specReplicasPath)
}

export function checkScaleStatus(object: JsonObject, scale: CustomResourceSubresourceScale): readonly Cause[] {
  const causes = checkReplicas(object, scale.statusReplicasPath)
  const path = scale.labelSelectorPath
  if (path === undefined) return causes
  const found = readPath(object, path)
  if (found.problem === undefined && (found.value === undefined || typeof found.value === 'string')) return causes
  return [...causes, invalidValue(path, '', found.problem ?? wrongType(path, found.value!, 'string'))]
}

function checkReplicas(object: JsonObject, path: string): readonly Cause[] {
  const { value, problem } = readPath(object, path)
  if (problem !== undefined) return [invalidValue(path, 0, problem)]
  if (value === undefined) return []
  if ((typeof value !== 'number' && typeof value !== 'bigint') || !isGoInteger(value)) {
    return [invalidValue(path, 0, wrongType(path, value, 'int64'))]
  }
  if (value < 0) return [invalidValue(path, value, 'should be a non-negative integer')]
  return value > largest ? [invalidValue(path, value, `should be less than or equal to ${largest}`)] : []
}

/** The value at `.spec.replicas`, or why there is none. */
function readPath(object: JsonObject, path: string): { readonly value?: Json | undefined; readonly problem?: string } {
  const steps = path.replace(/^\./, '').split('.')
  let value: Json | undefined = object
  for (const [index, step] of steps.entries()) {
    if (value === undefined || value === null) return {}
    if (!isJsonObject(value)) {
      return { problem: wrongType(steps.slice(0, index + 1).join('.'), value, 'map[string]interface{}') }
    }
    value = ownMember(value, step)
  }
  return { value }
}

function wrongType(path: string, value: Json, wanted: string): string {
  const shown = goText(value)
  return `.${path.replace(/^\./, '')} accessor error: ${shown} is of the type ${goTypeOf(value)}, expected ${wanted}`
}

/** As Go prints a single value. */
function goText(value: Json): string {
  if (value === null) return '<nil>'
  if (isJsonArray(value)) return `[${value.map(goText).join(' ')}]`
  if (typeof value === 'number' || typeof value === 'bigint') return formatGoNumber(value)
  if (!isJsonObject(value)) return String(value)
  const names = Object.keys(value).toSorted()
  return `map[${names.map((name) => `${name}:${goText(value[name] ?? null)}`).join(' ')}]`
}

function goTypeOf(value: Json): string {
  if (value === null) return '<nil>'
  if (isJsonArray(value)) return '[]interface {}'
  if (isJsonObject(value)) return 'map[string]interface {}'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  return isGoInteger(value) ? 'int64' : 'float64'
}

/**
 * Reads JSON values by their shape. Absent is `undefined` and differs from `null`, which is an existing but empty map, list
 * or scalar.
 */
import type { Json, JsonObject } from '../json.ts'
import type { ApplyShape } from './shape.ts'

export type ValueKind = 'map' | 'scalar' | 'list'

/**
 * The type of `value`. `open` if the shape allows several types and the value does not decide, as for `null` and absent
 * values.
 */
export function valueKind(shape: ApplyShape, value: Json | undefined): ValueKind | 'open' {
  if (value !== undefined && value !== null) {
    const kind = typeof value !== 'object' ? 'scalar' : Array.isArray(value) ? 'list' : 'map'
    if (shape[kind]) return kind
  }
  const { map, scalar, list } = shape
  if (Number(map !== undefined) + Number(scalar !== undefined) + Number(list !== undefined) > 1) return 'open'
  return settleValue(shape, 'open')
}

/** The type to use for `value`, decided or not. */
export function kindIn(shape: ApplyShape, value: Json | undefined): ValueKind {
  return settleValue(shape, valueKind(shape, value))
}

/** An undecided value is a map if it may be one, else a scalar. */
export function settleValue(shape: ApplyShape, kind: ValueKind | 'open'): ValueKind {
  if (kind !== 'open') return kind
  return shape.map ? 'map' : shape.scalar ? 'scalar' : 'list'
}

export function asMap(value: Json | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

export function asList(value: Json | undefined): readonly Json[] | undefined {
  return Array.isArray(value) ? (value as readonly Json[]) : undefined
}

/** The names of the defined members. */
export function valueNames(map: JsonObject): readonly string[] {
  const names = Object.keys(map)
  for (const name of names) if (map[name] === undefined) return names.filter((one) => map[one] !== undefined)
  return names
}

export function isEmptyMap(map: JsonObject | undefined): boolean {
  for (const name in map) if (map[name] !== undefined) return false
  return true
}

/** Sets a member of a map under construction, whatever its name. */
export function setMember(map: Record<string, Json>, name: string, value: Json): void {
  if (name === '__proto__') {
    Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true })
  } else {
    map[name] = value
  }
}

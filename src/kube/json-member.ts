/**
 * Access to untrusted JSON: only own members count, so that a key like `constructor` or `__proto__` is a key like any
 * other.
 */
import type { Json, JsonObject } from './json.ts'

export function ownMember(object: JsonObject | undefined, name: string): Json | undefined {
  return object && Object.hasOwn(object, name) ? object[name] : undefined
}

/** `Array.isArray`, which does not narrow a readonly array by itself. */
export function isJsonArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

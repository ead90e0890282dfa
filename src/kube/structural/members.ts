/** Objects with some members changed: copied only if something changes. */
import type { Json, JsonObject } from '../json.ts'

/** The object with these members replaced; undefined removes one. Keys such as `__proto__` are safe. */
export function withMembers(object: JsonObject, changed: ReadonlyMap<string, Json | undefined>): JsonObject {
  const members: [string, Json | undefined][] = []
  for (const [name, member] of Object.entries(object)) {
    const value = changed.has(name) ? changed.get(name) : member
    if (value !== undefined) members.push([name, value])
  }
  return Object.fromEntries(members)
}

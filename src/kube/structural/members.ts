/** Objects with some members changed: a copy, made only when there is something to change. */
import type { Json, JsonObject } from '../json.ts'

/** The object with these members in place of its own; undefined takes one away. Keys of the language are safe. */
export function withMembers(object: JsonObject, changed: ReadonlyMap<string, Json | undefined>): JsonObject {
  const members: [string, Json | undefined][] = []
  for (const [name, member] of Object.entries(object)) {
    const value = changed.has(name) ? changed.get(name) : member
    if (value !== undefined) members.push([name, value])
  }
  return Object.fromEntries(members)
}

/** Compares two objects field by field: for programs, and for the summary of a plan. */
import { equalJson, isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'

export interface FieldChange {
  /** `spec.template.spec.containers[name=app].image` */
  readonly path: string
  /** Absent: the field did not exist. */
  readonly before?: Json
  /** Absent: the field does not exist any more. */
  readonly after?: Json
}

export function fieldChanges(before: Json | undefined, after: Json | undefined, path = ''): readonly FieldChange[] {
  if (before !== undefined && after !== undefined && equalJson(before, after)) return []
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return names.flatMap((name) => fieldChanges(ownMember(before, name), ownMember(after, name), joined(path, name)))
  }
  const keyed = keysOf(before, after)
  if (keyed) {
    const names = [...new Set([...keyed.before.keys(), ...keyed.after.keys()])]
    return names.flatMap((name) => {
      const at = `${path}[${keyed.by}=${name}]`
      return fieldChanges(keyed.before.get(name), keyed.after.get(name), at)
    })
  }
  if (before === undefined && after === undefined) return []
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }]
}

interface Keyed {
  readonly by: string
  readonly before: ReadonlyMap<string, Json>
  readonly after: ReadonlyMap<string, Json>
}

/** Lists whose items have a key are compared by it: an item that moved has not changed. */
function keysOf(before: Json | undefined, after: Json | undefined): Keyed | undefined {
  if (!isJsonArray(before) || !isJsonArray(after)) return undefined
  for (const by of ['name', 'type', 'uid', 'key']) {
    const [one, two] = [indexed(before, by), indexed(after, by)]
    if (one && two) return { by, before: one, after: two }
  }
  return undefined
}

function indexed(items: readonly Json[], by: string): ReadonlyMap<string, Json> | undefined {
  const found = new Map<string, Json>()
  for (const item of items) {
    const key = isJsonObject(item) ? ownMember(item, by) : undefined
    if (typeof key !== 'string' || found.has(key)) return undefined
    found.set(key, item)
  }
  return found
}

function joined(path: string, name: string): string {
  if (!/^[A-Za-z_][\w-]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}

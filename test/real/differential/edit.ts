/** One change of one place, and how each way to write says it: as a whole object, and as a patch of every kind. */
import { isJsonObject, type Json, type JsonObject } from '../../../src/kube/json.ts'
import { isJsonArray } from '../../../src/kube/json-member.ts'
import { gone } from './step.ts'

export interface Edit {
  readonly place: readonly string[]
  readonly value: Json
}

/** `a/b~1c/0` as its parts. */
export function placeOf(text: string): readonly string[] {
  return text.split('/').map((part) => part.replaceAll('~1', '/'))
}

export function edited(value: Json | undefined, { place, value: wanted }: Edit): Json {
  const [part, ...rest] = place
  if (part === undefined) return wanted
  const inner = { place: rest, value: wanted }
  const isRemoval = rest.length === 0 && wanted === gone
  if (isJsonArray(value)) {
    const index = Math.min(Number(part), value.length)
    if (Number.isNaN(index)) return value
    const item = isRemoval ? [] : [edited(value[index], inner)]
    return [...value.slice(0, index), ...item, ...value.slice(index + 1)]
  }
  const members = new Map(Object.entries(isJsonObject(value) ? value : {}))
  if (isRemoval) members.delete(part)
  else if (rest.length > 0 && wanted === gone && !members.has(part)) return value ?? {}
  else members.set(part, edited(members.get(part), inner))
  return Object.fromEntries(members)
}

/** A merge patch knows no lists: of one that is touched it sends the whole. */
export function mergePatchOf(edit: Edit, base: JsonObject): Json {
  return patchAt(edit.place, edit.value, base, () => undefined)
}

/** A strategic patch sends of a list the touched item alone, with what may be its key. */
export function strategicPatchOf(edit: Edit, base: JsonObject): Json {
  return patchAt(edit.place, edit.value, base, (list, index) => {
    const item = list[index]
    if (!isJsonObject(item)) return undefined
    return Object.fromEntries(Object.entries(item).filter(([name]) => keys.has(name)))
  })
}

const keys = new Set(['name', 'port', 'containerPort', 'type', 'key', 'mountPath', 'ip', 'protocol'])

function patchAt(
  place: readonly string[],
  wanted: Json,
  base: Json | undefined,
  keyOf: (list: readonly Json[], index: number) => JsonObject | undefined,
): Json {
  const [part, ...rest] = place
  if (part === undefined) return wanted === gone ? null : wanted
  if (isJsonArray(base)) {
    const key = keyOf(base, Number(part))
    const whole = edited(base, { place, value: wanted })
    if (!key || rest.length === 0) return whole
    const inner = patchAt(rest, wanted, base[Number(part)], keyOf)
    return [{ ...key, ...(isJsonObject(inner) ? inner : {}) }]
  }
  return { [part]: patchAt(rest, wanted, isJsonObject(base) ? base[part] : undefined, keyOf) }
}

export function pointerOf(place: readonly string[]): string {
  return place.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** The places of an object, leaves and branches, without its type and metadata. */
export function placesIn(value: Json, place: readonly string[] = []): readonly (readonly string[])[] {
  const own = place.length === 0 ? [] : [place]
  if (isJsonArray(value)) return [...own, ...value.flatMap((item, index) => placesIn(item, [...place, String(index)]))]
  if (!isJsonObject(value)) return own
  return [...own, ...Object.entries(value).flatMap(([name, member]) => placesIn(member ?? null, [...place, name]))]
}

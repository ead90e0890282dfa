/**
 * Merges an applied configuration into a live object. Nothing is removed here: of two leaves the applied one wins; maps and
 * keyed lists are merged part by part. Unchanged parts are the live ones themselves, so an apply without changes costs no
 * copy.
 */
import { equalJson, type Json } from '../json.ts'
import { ownMember } from '../json-member.ts'
import { itemElement } from './list-item.ts'
import { encodeElement } from './path-element.ts'
import { type ListShape, type MapShape, memberShape, type ApplyShape } from './shape.ts'
import { asList, asMap, isEmptyMap, kindIn, valueNames, setMember } from './value.ts'

/** Merges two values that conform to the shape. */
export function mergeValues(live: Json, applied: Json, shape: ApplyShape): Json {
  return mergeAt(live, applied, shape) ?? null
}

/** At most one side is absent. */
function mergeAt(live: Json | undefined, applied: Json | undefined, shape: ApplyShape): Json | undefined {
  const kind = kindIn(shape, applied === undefined ? live : applied)
  if (kind === 'map') return mergeMaps(live, applied, shape.map as MapShape)
  if (kind === 'list') return mergeLists(live, applied, shape.list as ListShape)
  return laterOf(live, applied)
}

function laterOf(live: Json | undefined, applied: Json | undefined): Json | undefined {
  return applied === undefined || (live !== undefined && equalJson(live, applied)) ? live : applied
}

/** An applied `null` or empty map removes nothing, but replaces a live one that is empty, too. */
function mergeMaps(live: Json | undefined, applied: Json | undefined, shape: MapShape): Json | undefined {
  const left = asMap(live)
  const right = asMap(applied)
  if (shape.atomic || (isEmptyMap(left) && isEmptyMap(right))) return laterOf(live, applied)
  const out: Record<string, Json> = {}
  let changed = left === undefined
  const put = (name: string): void => {
    const was = ownMember(left, name)
    const is = mergeAt(was, ownMember(right, name), memberShape(shape, name))
    if (is !== was) changed = true
    if (is !== undefined) setMember(out, name, is)
  }
  for (const name of valueNames(left ?? {})) put(name)
  for (const name of valueNames(right ?? {})) if (ownMember(left, name) === undefined) put(name)
  return changed ? out : left
}

function mergeLists(live: Json | undefined, applied: Json | undefined, shape: ListShape): Json | undefined {
  const left = asList(live) ?? []
  const right = asList(applied) ?? []
  if (shape.atomic || (left.length === 0 && right.length === 0)) return laterOf(live, applied)
  const out = mergeItems(left, right, shape)
  const same = out.length === left.length && out.every((item, at) => item === left[at])
  return same ? live : out
}

/**
 * Items in the order of both lists as far as they agree. Shared items come in the applied order; items of only one list keep
 * their place relative to the shared items around them, the live ones first.
 */
function mergeItems(live: readonly Json[], applied: readonly Json[], shape: ListShape): readonly Json[] {
  const item = shape.item()
  const keyOf = (value: Json): string => encodeElement(itemElement(shape, value))
  const lefts = live.map(keyOf)
  const rights = applied.map(keyOf)
  const liveByKey = new Map<string, Json>()
  for (const [at, key] of lefts.entries()) {
    // Several live items with one key cannot be merged with.
    liveByKey.set(key, liveByKey.has(key) ? null : (live[at] as Json))
  }
  const appliedKeys = new Set(rights)
  const shared = rights.filter((key) => liveByKey.has(key))
  const merged = new Set<string>()
  const out: Json[] = []
  let nextShared = 0
  let l = 0
  let r = 0
  const takeApplied = (): void => {
    const key = rights[r] as string
    merged.add(key)
    if (key === shared[nextShared]) nextShared++
    out.push(mergeAt(liveByKey.get(key), applied[r], item) as Json)
    r++
  }
  while (l < lefts.length || r < rights.length) {
    const key = lefts[l]
    if (key !== undefined && key === rights[r]) {
      takeApplied()
      l++
    } else if (key !== undefined && !appliedKeys.has(key)) {
      out.push(live[l] as Json)
      l++
    } else if (key !== undefined && r < rights.length && nextShared < shared.length && key !== shared[nextShared]) {
      // Shared, but another shared item comes first: this one follows at its position in the applied list.
      l++
    } else {
      if (key !== undefined && merged.has(key)) l++
      if (r < rights.length) takeApplied()
    }
  }
  return out
}

/**
 * Does an object hold what is wanted of it? Only what is wanted is looked at: what a server fills in and what others
 * write beside it are no difference. Amounts are compared as amounts, items of keyed lists by their keys.
 */
import { equalJson, isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { isJsonArray, ownMember } from '../kube/json-member.ts'
import { equalQuantities, parseQuantity } from '../kube/quantity.ts'
import { type Definitions, resolveSchema, type Schema } from '../kube/schema.ts'

export interface Typing {
  readonly schema: Schema | undefined
  readonly definitions: Definitions
}

/** Where a value is, written out only when something is wrong there. */
interface Place {
  readonly above: Place | undefined
  /** A member's name, or `[0]`, `[name="app"]`: which item. */
  readonly step: string
  readonly isItem: boolean
}

/** Paths at which `live` does not hold what `wanted` says; empty when it does. */
export function differences(live: Json | undefined, wanted: Json, { schema, definitions }: Typing): readonly string[] {
  const found: string[] = []
  compare(live, wanted, schema, undefined, false)
  return found

  /** `isOne`: part of a value that has one owner as a whole, so that nothing in it is another's. */
  function compare(
    is: Json | undefined,
    want: Json,
    at: Schema | undefined,
    place: Place | undefined,
    isOne: boolean,
  ): void {
    if (isEmpty(want) && isEmpty(is)) return
    const resolved = resolveSchema(at, definitions)
    const isWhole = isOne || resolved['x-kubernetes-map-type'] === 'atomic'
    if (isJsonObject(want) && isJsonObject(is)) compareObjects(is, want, resolved, place, isWhole)
    else if (isJsonArray(want) && isJsonArray(is)) compareLists(is, want, resolved, place, isOne)
    else if (!equalScalars(is, want, at)) found.push(pathOf(place))
  }

  function compareObjects(
    is: JsonObject,
    want: JsonObject,
    at: Schema,
    place: Place | undefined,
    isOne: boolean,
  ): void {
    const extra = typeof at.additionalProperties === 'object' ? at.additionalProperties : undefined
    for (const name in want) {
      compare(ownMember(is, name), want[name]!, propertyOf(at, name) ?? extra, memberAt(place, name), isOne)
    }
    if (!isOne || !extra) return
    // Fields may have been filled in by the server; entries of a map it does not invent.
    for (const name of Object.keys(is)) {
      if (ownMember(want, name) === undefined) found.push(pathOf(memberAt(place, name)))
    }
  }

  function compareLists(
    is: readonly Json[],
    want: readonly Json[],
    at: Schema,
    place: Place | undefined,
    isOne: boolean,
  ): void {
    const kind = at['x-kubernetes-list-type']
    const keys = at['x-kubernetes-list-map-keys'] ?? []
    if (kind === 'map' && keys.length > 0) {
      const items = resolveSchema(at.items, definitions)
      for (const item of want) {
        const name = keyOf(item, keys, items)
        const peer = is.find((other) => keyOf(other, keys, items) === name)
        if (peer === undefined) found.push(pathOf(itemAt(place, name)))
        else compare(peer, item, at.items, itemAt(place, name), isOne)
      }
      if (isOne && is.length > want.length) found.push(pathOf(place))
    } else if (kind === 'set') {
      for (const item of want) {
        if (!is.some((other) => equalJson(other, item))) found.push(pathOf(itemAt(place, `=${JSON.stringify(item)}`)))
      }
    } else if (is.length === want.length) {
      want.forEach((item, index) => compare(is[index], item, at.items, itemAt(place, String(index)), true))
    } else found.push(pathOf(place))
  }
}

function memberAt(above: Place | undefined, step: string): Place {
  return { above, step, isItem: false }
}

function itemAt(above: Place | undefined, step: string): Place {
  return { above, step, isItem: true }
}

function pathOf(place: Place | undefined): string {
  if (!place) return ''
  const { above, step, isItem } = place
  return isItem ? `${pathOf(above)}[${step}]` : joined(pathOf(above), step)
}

function propertyOf({ properties }: Schema, name: string): Schema | undefined {
  return properties && Object.hasOwn(properties, name) ? properties[name] : undefined
}

/** `name="app"`, `containerPort=80,protocol="TCP"`: which item of a keyed list it is. */
function keyOf(item: Json, keys: readonly string[], schema: Schema): string {
  const parts = keys.map((key) => {
    const value = isJsonObject(item) ? ownMember(item, key) : undefined
    return `${key}=${JSON.stringify(value ?? propertyOf(schema, key)?.default ?? '')}`
  })
  return parts.join(',')
}

/** Nothing, however it is written: servers drop empty values, and zeros where they mean nothing. */
function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return true
  return isJsonArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0
}

function equalScalars(is: Json | undefined, want: Json, schema: Schema | undefined): boolean {
  if (equalJson(is, want)) return true
  const isAmount = schema?.$ref?.endsWith('.Quantity') || schema?.allOf?.[0]?.$ref?.endsWith('.Quantity')
  if (!isAmount || !isAmountText(is) || !isAmountText(want)) return false
  try {
    return equalQuantities(parseQuantity(is), parseQuantity(want))
  } catch {
    return false
  }
}

function isAmountText(value: Json | undefined): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

function joined(path: string, name: string): string {
  if (!/^[A-Za-z_][\w-]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}

/**
 * Drift detection: does the live object have the desired fields? Only desired fields are compared: fields that the API
 * server defaults and fields of other managers are no drift. Quantities are compared by value, items of keyed lists by
 * their keys.
 *
 * Presence counts: a desired `false`, `0`, `""` or `{}` that the live object lacks is drift, except where the schema
 * treats zero and absent as the same value: in Go fields without a pointer (`kube/protobuf/zero-value.ts`), and for
 * `null` in a field that is not `nullable`.
 */
import { builtinDefinitions } from '../../kube/builtin.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { type ProtobufField, findMessage, type Message } from '../../kube/protobuf/table.ts'
import { fieldNamed, isZeroValue, fieldMessageOf } from '../../kube/protobuf/zero-value.ts'
import { equalQuantities, parseQuantity } from '../../kube/units/quantity.ts'
import { type Definitions, resolveSchema, type Schema } from '../../kube/schema.ts'

export interface Typing {
  readonly schema: Schema | undefined
  readonly definitions: Definitions
  /** The Go struct of a built-in kind; absent for custom kinds. */
  readonly message?: Message | undefined
}

/** The path of a value, formatted only when it is reported. */
interface Place {
  readonly above: Place | undefined
  /** A member's name, or `[0]`, `[name="app"]`: which item. */
  readonly step: string
  readonly isItem: boolean
}

/** The schema of a value; `message` is the Go struct of the value, of its items or of its entries. */
interface Typed extends Typing {
  /** The field of a Go struct that holds the value; absent for items and entries, and in custom kinds. */
  readonly field?: ProtobufField | undefined
  /** Part of an atomic value: no other manager owns anything in it. */
  readonly isAtomic: boolean
}

/** The paths at which `live` differs from `wanted`; empty without drift. */
export function differences(live: Json | undefined, wanted: Json, typing: Typing): readonly string[] {
  const found: string[] = []
  compare(live, wanted, { ...typing, isAtomic: false }, undefined)
  return found

  function compare(is: Json | undefined, want: Json, typed: Typed, place: Place | undefined): void {
    const { schema, definitions, message, isAtomic } = typed
    // A present entry is empty however that is written; only `unwrapped` values have several notations.
    const field = typed.field ?? (is !== undefined && message?.unwrapped ? message.fields[0] : undefined)
    if (field && isZeroValue(want, field) && isZeroValue(is, field)) return
    const resolved = resolveSchema(schema, definitions)
    if (want === null && is === undefined && !resolved.nullable) return
    const isWhole = isAtomic || resolved['x-kubernetes-map-type'] === 'atomic'
    if (isJsonObject(want) && isJsonObject(is))
      compareObjects(is, want, resolved, { ...typed, isAtomic: isWhole }, place)
    else if (isJsonArray(want) && isJsonArray(is)) compareLists(is, want, resolved, typed, place)
    else if (!equalScalars(is, want, schema)) found.push(pathOf(place))
  }

  function compareObjects(is: JsonObject, want: JsonObject, at: Schema, typed: Typed, place: Place | undefined): void {
    const isObject = place === undefined || at['x-kubernetes-embedded-resource'] === true
    for (const name in want) {
      if (isSameScalar(ownMember(is, name), want[name])) continue
      const member = isObject && name === 'metadata' ? metadataIn(typed) : memberIn(typed, at, name)
      compare(ownMember(is, name), want[name]!, member, memberAt(place, name))
    }
    if (!typed.isAtomic || typeof at.additionalProperties !== 'object') return
    // The API server may default fields, but it never adds entries to a map.
    for (const name of Object.keys(is)) {
      if (ownMember(want, name) === undefined) found.push(pathOf(memberAt(place, name)))
    }
  }

  function compareLists(
    is: readonly Json[],
    want: readonly Json[],
    at: Schema,
    typed: Typed,
    place: Place | undefined,
  ): void {
    const { definitions, message, isAtomic } = typed
    const each: Typed = { schema: at.items, definitions, message, isAtomic }
    const kind = at['x-kubernetes-list-type']
    const keys = at['x-kubernetes-list-map-keys'] ?? []
    if (kind === 'map' && keys.length > 0) {
      const items = resolveSchema(at.items, definitions)
      for (const item of want) {
        const name = keyOf(item, keys, items, message)
        const peer = is.find((other) => keyOf(other, keys, items, message) === name)
        if (peer === undefined) found.push(pathOf(itemAt(place, name)))
        else compare(peer, item, each, itemAt(place, name))
      }
      if (isAtomic && is.length > want.length) found.push(pathOf(place))
    } else if (kind === 'set') {
      for (const item of want) {
        if (!is.some((other) => equalJson(other, item))) found.push(pathOf(itemAt(place, `=${JSON.stringify(item)}`)))
      }
    } else if (is.length === want.length) {
      const whole = { ...each, isAtomic: true }
      want.forEach((item, index) => {
        if (!isSameScalar(is[index], item)) compare(is[index], item, whole, itemAt(place, String(index)))
      })
    } else found.push(pathOf(place))
  }
}

/** Below a place that keeps unknown fields, `null` is kept as well. */
const anything: Schema = { 'x-kubernetes-preserve-unknown-fields': true, nullable: true }

function memberIn({ definitions, message, field, isAtomic }: Typed, at: Schema, name: string): Typed {
  const extra = typeof at.additionalProperties === 'object' ? at.additionalProperties : undefined
  const unknown = at['x-kubernetes-preserve-unknown-fields'] ? anything : undefined
  const schema = propertyOf(at, name) ?? extra ?? unknown
  // An entry of a map is no field: the API server keeps an empty one.
  if (!message || field?.many === 'map') return { schema, definitions, message, isAtomic }
  const inner = fieldNamed(message, name)
  return { schema, definitions, field: inner, message: inner && fieldMessageOf(inner), isAtomic }
}

/** Metadata is a Go struct in custom and embedded objects, too; their own schema does not describe it. */
function metadataIn({ isAtomic }: Typed): Typed {
  const definitions = builtinDefinitions()
  const message = findMessage('meta/v1.ObjectMeta')
  return { schema: definitions['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'], definitions, message, isAtomic }
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
function keyOf(item: Json, keys: readonly string[], schema: Schema, message: Message | undefined): string {
  const parts = keys.map((key) => {
    const value = isJsonObject(item) ? ownMember(item, key) : undefined
    const field = message && fieldNamed(message, key)
    const given = field && isZeroValue(value, field) ? undefined : value
    return `${key}=${JSON.stringify(given ?? propertyOf(schema, key)?.default ?? value ?? '')}`
  })
  return parts.join(',')
}

/** Most values are that: no schema can make them differ. */
function isSameScalar(is: Json | undefined, want: Json | undefined): boolean {
  return is === want && typeof want !== 'object' && want !== undefined
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

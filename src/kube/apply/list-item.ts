/** Identity of list items: in a map list the key fields, in a set the item itself. */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { isJsonObject, type Json } from '../json.ts'
import { ownMember } from '../json-member.ts'
import { type KeyField, keyElement, type PathElement } from './path-element.ts'
import type { ListShape } from './shape.ts'

/** The path element of `item`, or a text with the reason why there is none. Not for atomic lists. */
export function identifyItem(list: ListShape, item: Json): PathElement | string {
  return list.keys.length > 0 ? identifyByKey(list, item) : identifyByValue(item)
}

/** The same for a list that was checked before. */
export function itemElement(list: ListShape, item: Json): PathElement {
  const element = identifyItem(list, item)
  if (typeof element === 'string') throw new MusterError(kubeErrors.SchemaMismatch, `${element}.`)
  return element
}

function identifyByKey(list: ListShape, item: Json): PathElement | string {
  if (item === null) return 'associative list with keys may not have a null element'
  if (!isJsonObject(item)) return 'associative list with keys may not have non-map elements'
  const fields: KeyField[] = []
  for (const name of list.keys) {
    // A key field that is omitted and has no default is not part of the key: that is a distinct identity.
    const value = ownMember(item, name) === undefined ? list.keyDefault(name) : ownMember(item, name)
    if (value !== undefined) fields.push({ name, value })
  }
  if (fields.length > 0) return keyElement(fields)
  const keys = list.keys.map((name) => JSON.stringify(name)).join(' ')
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`
}

function identifyByValue(item: Json): PathElement | string {
  if (item === null) return "associative list without keys has an element that's an explicit null"
  if (Array.isArray(item)) return 'not supported: associative list with lists as elements'
  if (typeof item === 'object') return "associative list without keys has an element that's a map type"
  return { kind: 'value', value: item }
}

/** Which item of a list is which: a map list tells items apart by their key fields, a set by the items themselves. */
import { MusterError } from '../errors.ts'
import { isJsonObject, type Json } from '../json.ts'
import { ownMember } from '../json-member.ts'
import { type KeyField, keyElement, type PathElement } from './path-element.ts'
import type { ListShape } from './shape.ts'

/** The element that stands for `item`, or a text that says why there is none. Not for atomic lists. */
export function identifyItem(list: ListShape, item: Json): PathElement | string {
  return list.keys.length > 0 ? identifyByKey(list, item) : identifyByValue(item)
}

/** The same where the list was checked before. */
export function itemElement(list: ListShape, item: Json): PathElement {
  const element = identifyItem(list, item)
  if (typeof element === 'string') throw new MusterError('SchemaMismatch', `${element}.`)
  return element
}

function identifyByKey(list: ListShape, item: Json): PathElement | string {
  if (item === null) return 'an item with a key cannot be null'
  if (!isJsonObject(item)) return 'an item with a key must be a map'
  const fields: KeyField[] = []
  for (const name of list.keys) {
    // A key field that is left out, and has no default, is no part of the key: that is an identity of its own.
    const value = ownMember(item, name) === undefined ? list.keyDefault(name) : ownMember(item, name)
    if (value !== undefined) fields.push({ name, value })
  }
  if (fields.length > 0) return keyElement(fields)
  return `leaves out all that makes its key: ${list.keys.join(', ')}`
}

function identifyByValue(item: Json): PathElement | string {
  if (item === null) return 'an item of a set cannot be null'
  if (Array.isArray(item)) return 'an item of a set cannot be a list'
  if (typeof item === 'object') return 'an item of a set cannot be a map'
  return { kind: 'value', value: item }
}

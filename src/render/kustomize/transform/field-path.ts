/**
 * Fields that a replacement reads and writes: `spec.template.spec.containers.[name=web].image`, `spec.ports.0`, `data.*`. A text on
 * the way that is YAML or JSON itself is entered, too.
 */
import { itemSlot, memberSlot, type Slot } from '../config/field-spec.ts'
import { found } from '../model/pattern.ts'
import { isMapping, isMissing, isScalar, textOf, unshared, type Value } from '../model/value.ts'
import { untypedScalar } from '../model/written-scalar.ts'

/** The value at a path without wildcards; undefined if there is none. @throws Error */
export function lookUp(value: Value, path: readonly string[]): Value | undefined {
  let current: Value | undefined = value
  for (const part of path.map((one) => one.trim()).filter((one) => one !== '')) {
    if (current === undefined) return undefined
    if (/^[+-]?\d+$/.test(part)) {
      if (Number(part) < 0) throw new Error(`the index ${part} is negative`)
      current = listAt(current, part)[Number(part)]
    } else if (part === '-') current = listAt(current, part).at(-1)
    else if (part === '*') throw new Error('a wildcard is only possible in a target')
    else if (isCondition(part)) {
      const { name, text } = conditionOf(part)
      current = listAt(current, part).find((item) =>
        name === ''
          ? textOf(item) === text
          : isMapping(item) && item.has(name) && (text === '' || textOf(item.get(name)) === text),
      )
    } else if (isMissing(current)) return undefined
    else if (isMapping(current)) current = current.get(part)
    else throw new Error(`${part} is not in a mapping`)
  }
  return unshared(current)
}

function listAt(value: Value, part: string): Value[] {
  if (Array.isArray(value)) return value
  throw new Error(`${part} is not in a list`)
}

function isCondition(part: string): boolean {
  return part.startsWith('[') && part.endsWith(']')
}

function conditionOf(part: string): { readonly name: string; readonly text: string } {
  const inner = part.slice(1, -1)
  const equals = inner.indexOf('=')
  if (equals < 0) throw new Error(`${part} has no "="`)
  return { name: inner.slice(0, equals), text: inner.slice(equals + 1) }
}

/** What a missing field becomes; undefined does not create. */
export type Creation = 'mapping' | 'list' | 'scalar' | undefined

/** All fields that a path names. @throws Error */
export function findSlots(root: Slot, path: readonly string[], create: Creation): readonly Slot[] {
  const [part, ...rest] = path
  if (part === undefined) return [root]
  const value = root.get()
  if (/^\d+$/.test(part)) return slotsOfIndex(value, part, rest, create)
  if (isCondition(part)) return slotsOfCondition(value, part, rest, create)
  if (part === '*') {
    const list = listAt(value, part)
    return list.flatMap((_item, index) => findSlots(itemSlot(list, index), rest, create))
  }
  if (isMissing(value)) return []
  if (!isMapping(value)) throw new Error(`${part} is not in a mapping`)
  if (!value.has(part)) {
    if (create === undefined) return []
    value.set(part, newValue(rest[0], create))
  }
  return findSlots(memberSlot(value, part), rest, create)
}

function slotsOfIndex(value: Value, part: string, rest: readonly string[], create: Creation): readonly Slot[] {
  const list = listAt(value, part)
  const index = Number(part)
  if (index === list.length && create !== undefined) list.push(newValue(rest[0], create))
  if (index >= list.length) throw new Error(`the index ${part} is beyond the ${list.length} items of the list`)
  return findSlots(itemSlot(list, index), rest, create)
}

function slotsOfCondition(value: Value, part: string, rest: readonly string[], create: Creation): readonly Slot[] {
  const list = listAt(value, part)
  const { name, text } = conditionOf(part)
  const matches = found(text, part)
  const search = (): readonly Slot[] =>
    list.flatMap((item, index): readonly Slot[] => {
      if (name === '') return matches(writtenItem(item)) ? [itemSlot(list, index)] : []
      const member = isMapping(item) ? item.get(name) : undefined
      return member !== undefined && matches(writtenItem(member)) ? findSlots(itemSlot(list, index), rest, create) : []
    })
  const slots = search()
  if (slots.length > 0 || create === undefined) return slots
  list.push(name === '' ? untypedScalar(text) : new Map<string, Value>([[name, untypedScalar(text)]]))
  return search()
}

/** The text of an item that a condition is compared with. */
function writtenItem(item: Value): string {
  return isScalar(item) ? textOf(item).trim() : ''
}

function newValue(next: string | undefined, create: Exclude<Creation, undefined>): Value {
  const kind = next === undefined ? create : isCondition(next) || /^\d+$/.test(next) ? 'list' : 'mapping'
  return kind === 'mapping' ? new Map() : kind === 'list' ? [] : untypedScalar('')
}

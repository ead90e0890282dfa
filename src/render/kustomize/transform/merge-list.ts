/** Lists whose items are merged by key. */
import { isEmptyValue, isMapping, isNull, replaceItems, textOf, type Value } from '../model/value.ts'

type MergeItem = (item: Value | undefined, change: Value | undefined) => Value | undefined

/** The texts of the keys of an item; an empty text for a key that it does not have. */
type KeyTexts = readonly string[]

/**
 * Merges the items of a patch into a list. Those of the patch come first, in its order. A list of scalars is merged by value.
 */
export function mergeItems(
  list: Value[],
  patch: Value[] | undefined,
  keys: readonly string[],
  mergeItem: MergeItem,
): Value[] | undefined {
  const names = keys.length === 0 ? [scalarKey] : keys
  const wanted = unified(distinct([...(patch ?? []), ...list].map((item) => keyTexts(item, names))))
  const usedNames = names.filter((_name, at) => wanted.some((texts) => texts[at] !== ''))
  const used = usedNames.length === 0 ? names : usedNames
  const merged: Value[] = []
  for (const texts of wanted) {
    const values = used.map((name) => texts[names.indexOf(name)]!)
    const find = (items: readonly Value[] | undefined): Value | undefined => items?.find(matcherOf(used, values))
    const item = mergeItem(find(list), find(patch))
    if (isEmptyValue(item) && !Array.isArray(item)) {
      replaceItems(list, withItem(list, undefined, used, values))
      continue
    }
    if (isMapping(item)) {
      for (const [at, name] of used.entries()) {
        if (!item.has(name) && values[at] !== '') item.set(name, scalarOf(values[at]!))
      }
    }
    replaceItems(merged, withItem(merged, item, used, values))
  }
  if (wanted.length === 0) return list
  for (const item of list) {
    const values = used.flatMap((name) => keyText(item, name) ?? [])
    if (used.length > 1) replaceItems(merged, withItem(merged, undefined, used, values))
    replaceItems(merged, withItem(merged, item, used, values))
  }
  return merged
}

/** Stands for the item itself. */
const scalarKey = ''

function keyText(item: Value, name: string): string | undefined {
  if (name === scalarKey) return textOf(item)
  const value = isMapping(item) ? item.get(name) : undefined
  return value === undefined ? undefined : textOf(value)
}

function keyTexts(item: Value, names: readonly string[]): KeyTexts {
  return names.map((name) => keyText(item, name) ?? '')
}

function distinct(all: readonly KeyTexts[]): readonly KeyTexts[] {
  return [...new Map(all.map((texts) => [JSON.stringify(texts), texts])).values()]
}

/** Items with several keys are the same if no key contradicts and one agrees: 8080 is 8080/TCP. */
function unified(all: readonly KeyTexts[]): readonly KeyTexts[] {
  if ((all[0]?.length ?? 0) < 2) return all
  const result = [...all]
  for (const i of result.keys()) {
    for (const j of result.keys()) {
      const joined = join(result[i]!, result[j]!)
      if (joined) result[i] = result[j] = joined
    }
  }
  return result
}

function join(a: KeyTexts, b: KeyTexts): KeyTexts | undefined {
  const isContradicted = a.some((text, at) => text !== '' && b[at] !== '' && text !== b[at])
  const isShared = a.some((text, at) => text === b[at])
  return !isContradicted && isShared ? a.map((text, at) => text || b[at]!) : undefined
}

/** Whether an item has these keys. An empty text is not compared, unless all are empty. */
function matcherOf(names: readonly string[], values: KeyTexts): (item: Value) => boolean {
  if (names[0] === scalarKey) return (item) => textOf(item) === values[0]
  const given = names.flatMap((name, at) => (values[at] === '' ? [] : [[name, values[at]!] as const]))
  if (given.length === 0)
    return (item) => isMapping(item) && names.every((name) => item.has(name) && textOf(item.get(name)) === '')
  return (item) => isMapping(item) && given.every(([name, value]) => item.has(name) && textOf(item.get(name)) === value)
}

/**
 * The list with the item in place of those with its keys, or at the end; without an item, the list without those. An item that
 * has none of the keys takes the place of the whole list, as in kustomize.
 */
function withItem(
  list: readonly Value[],
  item: Value | undefined,
  names: readonly string[],
  values: KeyTexts,
): readonly Value[] {
  let isFound = false
  const result: Value[] = []
  for (const one of list) {
    if (isNull(one) || (isMapping(one) && one.size === 0)) continue
    if (hasKeys(one, names, values)) {
      isFound = true
      if (item !== undefined) result.push(item)
    } else if (values.length > 0) result.push(one)
  }
  if (item !== undefined && !isFound) result.push(item)
  return result
}

/** Keys for which there is no value are not compared; an empty value fits every item that has the key. */
function hasKeys(item: Value, names: readonly string[], values: KeyTexts): boolean {
  if (names[0] === scalarKey) return !isMapping(item) && textOf(item) === values[0]
  if (!isMapping(item) || values.length === 0) return false
  return values.every((value, at) => item.has(names[at]!) && (value === '' || textOf(item.get(names[at]!)) === value))
}

/** A key that the merge lost, as a value. */
function scalarOf(text: string): Value {
  return /^\d{1,15}$/.test(text) ? Number(text) : text
}

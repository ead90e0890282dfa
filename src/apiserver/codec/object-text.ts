/**
 * A small LRU cache of the JSON text of recently written objects: the journal, the response and every watch need the
 * same text at about the same time.
 */
import { stringifyJson } from '../../kube/json.ts'

const maxCharacters = 512 * 1024

/** The least recently used first. Objects are immutable, so texts stay valid. */
const texts = new Map<object, string>()
let characters = 0

/** The text of an object; cached, because other consumers need it too. */
export function objectText(object: object): string {
  const known = texts.get(object)
  if (known !== undefined) {
    texts.delete(object)
    texts.set(object, known)
    return known
  }
  const text = stringifyJson(object)
  texts.set(object, text)
  characters += text.length
  for (const [oldest, { length }] of texts) {
    // The latest one stays, however long it is.
    if (characters <= maxCharacters || oldest === object) break
    texts.delete(oldest)
    characters -= length
  }
  return text
}

/** The text of any value: from the cache if it is there, without adding it. */
export function textOnce(value: unknown): string {
  return texts.get(value as object) ?? stringifyJson(value)
}

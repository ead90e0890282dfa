/**
 * The JSON text of objects that were just written. The journal, the answer to the writer and every watch want the same
 * text at about the same moment: it is made once. Only the latest are kept, for a text is as large as its object.
 */
import { stringifyJson } from '../../kube/json.ts'

const keptCharacters = 512 * 1024
const longestKept = 64 * 1024

/** Those that nobody has asked for the longest first. Objects are never changed in place, so neither are their texts. */
const texts = new Map<object, string>()
let characters = 0

/** The text of an object that others will ask for too. */
export function objectText(object: object): string {
  const known = texts.get(object)
  if (known !== undefined) {
    texts.delete(object)
    texts.set(object, known)
    return known
  }
  const text = stringifyJson(object)
  if (text.length > longestKept) return text
  texts.set(object, text)
  characters += text.length
  for (const [oldest, { length }] of texts) {
    if (characters <= keptCharacters) break
    texts.delete(oldest)
    characters -= length
  }
  return text
}

/** The text of any value: the one that is kept, if there is one. */
export function textOnce(value: unknown): string {
  return texts.get(value as object) ?? stringifyJson(value)
}

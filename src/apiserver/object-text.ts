/**
 * The JSON text of objects that were just written. The journal, the answer to the writer and every watch want the same
 * text at about the same moment: it is made once. Only the latest are kept; a text is as large as its object.
 */
import { stringifyJson } from '../kube/json.ts'

const kept = 256

const texts = new WeakMap<object, string>()
const latest: (WeakRef<object> | undefined)[] = Array.from({ length: kept })
let next = 0

/** Of an object that will not change any more. */
export function textOf(object: object): string {
  const known = texts.get(object)
  if (known !== undefined) return known
  const text = stringifyJson(object)
  const oldest = latest[next]?.deref()
  if (oldest) texts.delete(oldest)
  latest[next] = new WeakRef(object)
  next = (next + 1) % kept
  texts.set(object, text)
  return text
}

/** The same for one that is read, and need not have been written lately: its text is used, if it is there, and not kept. */
export function textOnce(object: object): string {
  return texts.get(object) ?? stringifyJson(object)
}

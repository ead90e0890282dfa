/**
 * What differs from run to run is replaced by a word that says what it was. The same value gets the same word, so a
 * snapshot still shows that two objects share an owner.
 */
import { randomBytes } from 'node:crypto'
import { isJsonObject, type Json } from '../../src/kube/json.ts'
import { isJsonArray } from '../../src/kube/json-member.ts'

export interface Mask {
  /** A word that no other run uses, shown as itself without the part that is random. */
  unique(word: string): string
  json(value: Json): Json
  /** Counts words anew, so that a case shows the same whichever ran before it. */
  restart(): void
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** The server's own order, but for the second of a write: those of one test may fall into two. */
function byWriter(a: Json, b: Json): number {
  return writerOf(a) < writerOf(b) ? -1 : 1
}

function writerOf(entry: Json): string {
  if (!isJsonObject(entry)) return ''
  const { operation, time: at, manager, apiVersion, subresource } = entry
  return JSON.stringify([operation, at !== undefined, manager, apiVersion, subresource ?? ''])
}

export function createMask(): Mask {
  const words = new Map<string, string>()
  const taken = new Map<string, number>()

  const text = (value: string): string => {
    let masked = value
    for (const [word, shown] of words) masked = masked.replaceAll(word, shown)
    return masked
      .replaceAll(uuid, 'UID')
      .replaceAll(time, 'TIME')
      .replaceAll(/in record \(\d+\)/g, 'in record (VERSION)')
  }

  const json = (value: Json, key = ''): Json => {
    if (typeof value === 'string') {
      if (key === 'resourceVersion' && /^\d+$/.test(value)) return value === '0' ? '0' : 'VERSION'
      if (key === 'continue' && value !== '') return 'CONTINUE'
      return text(value)
    }
    if (isJsonArray(value))
      return (key === 'managedFields' ? value.toSorted(byWriter) : value).map((item) => json(item))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [text(name), json(member as Json, name)]))
  }

  return {
    unique(word) {
      const count = (taken.get(word) ?? 0) + 1
      taken.set(word, count)
      const name = `${word}-${randomBytes(4).toString('hex')}`
      words.set(name, count === 1 ? word : `${word}-${count}`)
      return name
    },
    json: (value) => json(value),
    restart: () => taken.clear(),
  }
}

/**
 * Keys that an object in JSON text has twice. A parser keeps the last and says nothing; a strict server says so. One
 * pass over the text, and no more than that while there is nothing to find.
 */

export interface KeyScan {
  /** Paths of what comes twice: `data.k`, `spec.ports[0].name`. */
  readonly duplicates: readonly string[]
  /** Paths of all keys in the order of the text; only where there are duplicates. */
  readonly order: readonly string[]
}

const nothing: KeyScan = { duplicates: [], order: [] }

interface Level {
  /** Undefined in a list. */
  readonly keys: Set<string> | undefined
  readonly path: string
  index: number
}

const quote = 0x22
const backslash = 0x5c

export function scanKeys(text: string): KeyScan {
  const duplicates: string[] = []
  const order: string[] = []
  const levels: Level[] = []
  let pending: string | undefined
  let isKey = false
  const placeOf = (level: Level | undefined): string => {
    if (!level) return ''
    if (level.keys) return join(level.path, pending ?? '')
    return `${level.path}[${level.index}]`
  }
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      const end = endOfString(text, at)
      if (isKey) {
        const level = levels.at(-1)!
        const key = unescaped(text.slice(at + 1, end))
        const path = join(level.path, key)
        order.push(path)
        if (level.keys!.has(key)) duplicates.push(path)
        level.keys!.add(key)
        pending = key
        isKey = false
      }
      at = end
    } else if (code === 0x7b /* { */ || code === 0x5b /* [ */) {
      const path = placeOf(levels.at(-1))
      isKey = code === 0x7b
      levels.push({ keys: isKey ? new Set() : undefined, path, index: 0 })
    } else if (code === 0x7d /* } */ || code === 0x5d /* ] */) {
      levels.pop()
      isKey = false
    } else if (code === 0x2c /* , */) {
      const level = levels.at(-1)
      if (level?.keys) isKey = true
      else if (level) level.index++
    }
  }
  return duplicates.length === 0 ? nothing : { duplicates, order }
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++
    // An escaped backslash escapes nothing.
    if (escapes % 2 === 0) return end
  }
  return text.length
}

function unescaped(text: string): string {
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}

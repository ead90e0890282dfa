/** Functions of Go's `strings` and `unicode` packages. */
import { bytesText, textBytes } from '../template/text-bytes.ts'

const spaces: ReadonlySet<string> = new Set(
  '\t\n\v\f\r \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}',
)

export function isSpace(character: string): boolean {
  return spaces.has(character)
}

export function trimSpace(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && spaces.has(text[start]!)) start++
  while (end > start && spaces.has(text[end - 1]!)) end--
  return text.slice(start, end)
}

/** Without the characters of the set at both ends. */
export function trimSet(text: string, set: string): string {
  const characters = new Set(set)
  const all = Array.from(text)
  let [start, end] = [0, all.length]
  while (start < end && characters.has(all[start]!)) start++
  while (end > start && characters.has(all[end - 1]!)) end--
  return all.slice(start, end).join('')
}

/** One character becomes one character: `ß` has no upper case. */
export function toUpper(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text.toUpperCase()
  return Array.from(text, upperCharacter).join('')
}

function upperCharacter(character: string): string {
  const upper = character.toUpperCase()
  return Array.from(upper).length === 1 ? upper : character
}

export function toLower(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase()
  return Array.from(text, lowerCharacter).join('')
}

function lowerCharacter(character: string): string {
  return character === '\u{130}' ? 'i' : character.toLowerCase()
}

/** Digraphs have a title case of their own. */
const titles: Readonly<Record<string, string>> = { ǆ: 'ǅ', Ǆ: 'ǅ', ǉ: 'ǈ', Ǉ: 'ǈ', ǌ: 'ǋ', Ǌ: 'ǋ', ǳ: 'ǲ', Ǳ: 'ǲ' }

export function toTitle(character: string): string {
  return titles[character] ?? (character in titles ? character : upperCharacter(character))
}

/** The first letter of each word in title case. */
export function titleWords(text: string): string {
  let previous = ' '
  return Array.from(text, (character) => {
    const shown = isSeparator(previous) ? toTitle(character) : character
    previous = character
    return shown
  }).join('')
}

function isSeparator(character: string): boolean {
  if (/[A-Za-z0-9_]/.test(character)) return false
  if (character <= '\x7f') return true
  return /[\p{L}\p{Nd}]/u.test(character) ? false : isSpace(character)
}

/** All occurrences; the empty text is found around each character. */
export function replaceText(text: string, old: string, by: string): string {
  if (old !== '') return text.replaceAll(old, () => by)
  return by + Array.from(text, (character) => character + by).join('')
}

/** `strings.SplitN`: at most this many parts; all if negative, none if zero. */
export function splitText(text: string, separator: string, most = -1): string[] {
  if (most === 0) return []
  if (separator === '') {
    const characters = Array.from(text)
    if (most < 0 || characters.length <= most) return characters
    return [...characters.slice(0, most - 1), characters.slice(most - 1).join('')]
  }
  const parts = text.split(separator)
  if (most < 0 || parts.length <= most) return parts
  return [...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)]
}

/** Wrapped at spaces, counted in bytes. @param isBreaking also within longer words */
export function wrapText(text: string, width: number, newLine: string, isBreaking: boolean): string {
  const limit = Math.max(width, 1)
  // One character for each byte.
  const bytes = textBytes(text).toString('latin1')
  const lines: string[] = []
  let at = 0
  while (bytes.length - at > limit) {
    if (bytes[at] === ' ') {
      at++
      continue
    }
    const space = bytes.lastIndexOf(' ', at + limit)
    let end = space
    if (space < at) end = isBreaking ? at + limit : bytes.indexOf(' ', at + limit)
    if (end < 0) break
    lines.push(bytes.slice(at, end))
    at = space < at && isBreaking ? end : end + 1
  }
  return [...lines, bytes.slice(at)].map((line) => bytesText(Buffer.from(line, 'latin1'))).join(newLine)
}

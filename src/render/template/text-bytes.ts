/**
 * Text and bytes. A Go string is any bytes; here bytes that are not UTF-8 are lone surrogates U+DC80..U+DCFF, so that text that
 * was cut within a character, or decoded from base64, keeps its bytes.
 */

const notAscii = /[^\0-\x7f]/
const firstEscape = 0xdc80
const lastEscape = 0xdcff

export function isAscii(text: string): boolean {
  return !notAscii.test(text)
}

export function byteLength(text: string): number {
  if (isAscii(text)) return text.length
  return text.isWellFormed() ? Buffer.byteLength(text) : textBytes(text).length
}

export function textBytes(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text, 'utf8')
  const parts: Buffer[] = []
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < firstEscape || unit > lastEscape) continue
    const before = at > 0 ? text.charCodeAt(at - 1) : 0
    if (before >= 0xd800 && before <= 0xdbff) continue
    parts.push(Buffer.from(text.slice(start, at), 'utf8'), Buffer.from([unit - 0xdc00]))
    start = at + 1
  }
  parts.push(Buffer.from(text.slice(start), 'utf8'))
  return Buffer.concat(parts)
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function bytesText(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes)
  } catch {
    return escaped(bytes)
  }
}

function escaped(bytes: Uint8Array): string {
  const parts: string[] = []
  let at = 0
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at)
    if (length === 0) {
      parts.push(String.fromCharCode(0xdc00 + bytes[at]!))
      at++
      continue
    }
    let end = at + length
    for (let next = sequenceLength(bytes, end); next > 0 && end - at < 8192; next = sequenceLength(bytes, end))
      end += next
    parts.push(strict.decode(bytes.subarray(at, end)))
    at = end
  }
  return parts.join('')
}

/** The length of the UTF-8 sequence at this position; 0 if there is none. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]
  if (first === undefined) return 0
  if (first < 0x80) return 1
  const length = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0
  if (length === 0 || first > 0xf4 || at + length > bytes.length) return 0
  for (let next = 1; next < length; next++) if ((bytes[at + next]! & 0xc0) !== 0x80) return 0
  const second = bytes[at + 1]!
  if ((first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f)) return 0
  if ((first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f)) return 0
  return length
}

/** `text[start:end]` in bytes. */
export function sliceBytes(text: string, start: number, end: number): string {
  return isAscii(text) ? text.slice(start, end) : bytesText(textBytes(text).subarray(start, end))
}

/** What Go sees when it iterates over the characters: U+FFFD for each byte that is not UTF-8. */
export function runes(text: string): number[] {
  return Array.from(text, (character) => {
    const code = character.codePointAt(0)!
    return code >= 0xd800 && code <= 0xdfff ? 0xfffd : code
  })
}

/** Text for output: bytes that are not UTF-8 become U+FFFD. */
export function validText(text: string): string {
  return text.isWellFormed() ? text : bytesText(textBytes(text)).toWellFormed()
}

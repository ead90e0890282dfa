/**
 * A scalar as Go's YAML library writes it. Text is plain if it is unambiguous, double-quoted if it would be parsed as
 * another type, single-quoted around special characters, and a block if it has several lines; unprintable characters
 * are escaped. The rules are those of that library, corner cases included: bytes are compared and hashed.
 */
import type { Json, JsonObject } from '../../kube/json.ts'

/** Beyond this column a line is folded at the next space. */
const width = 80

/** A fast path: text that is always plain. */
const usual = /^[A-Za-z/][\w./-]*(?: [\w./-]+)*$/

/**
 * Prefixed by `before`, the start of its line; further lines are indented by `indent`. A key is never folded.
 * @param isKey whether it is a key of a mapping, on one line
 */
export function goScalar(
  value: Exclude<Json, readonly Json[] | JsonObject>,
  before: string,
  indent: number,
  isKey = false,
): string {
  if (typeof value === 'number' || typeof value === 'bigint') return before + numberText(value)
  if (typeof value !== 'string') return before + String(value)
  const isUsual = usual.test(value) && !words.test(value)
  if (isUsual && (isKey || before.length + value.length <= width)) return before + value
  const fold = isKey ? Infinity : width
  const style = isUsual ? 'plain' : styleOf(value, isKey)
  if (style === 'literal') return literal(value, before, indent)
  if (style === 'double') return escaped(value, before, indent, fold)
  const quote = style === 'single' ? "'" : ''
  return folded(quote === '' ? value : value.replaceAll(quote, quote + quote), before, { indent, fold, quote })
}

/** Whether the key fits on one line, before its colon. */
export function isSimpleKey(key: string): boolean {
  return !breaks.test(key) && (key.length <= 42 || Buffer.byteLength(key) <= 128)
}

const breaks = /[\n\r\u{85}\u{2028}\u{2029}]/u

type Style = 'plain' | 'single' | 'double' | 'literal'

function styleOf(text: string, isKey: boolean): Style {
  const isSpecial = unshown.test(text) || spaceBreak.test(text)
  const isLine = text.includes('\n')
  if (isLine) return isSpecial || isKey || text.endsWith(' ') ? 'double' : 'literal'
  if (isOtherType(text)) return 'double'
  if (isSpecial || breakSpace.test(text)) return 'double'
  const isPlain = !breaks.test(text) && !/^ | $/.test(text) && !signs.test(text)
  return isPlain ? 'plain' : 'single'
}

/** Printable line breaks, which a carriage return is not. */
const spaceBreak = / [\n\u{2028}\u{2029}]/u
const breakSpace = /[\n\u{2028}\u{2029}] /u

/** Characters that are escaped: unprintable, or unknown to the library. */
const unshown = /[^\n\u{20}-\u{7e}\u{a0}-\u{d7ff}\u{e000}-\u{fefe}\u{ff00}-\u{fffd}]/u

/** Text with an indicator at its start, or a colon or hash that would end it. */
const signs = /^(?:---|\.\.\.|[#,[\]{}&*!|>'"%@`]|[-?:](?:[ \t]|$))|:(?:[ \t]|$)|[ \t]#/

const words = /^(?:y|yes|n|no|true|false|on|off|null|~|)$/i

/** Whether a parser would read it as a boolean, a number, a timestamp or null. */
function isOtherType(text: string): boolean {
  if (words.test(text)) return isOfOneCase(text)
  if (/^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/.test(text)) return true
  if (/^[-+\d]/.test(text))
    return isInteger(text) || isFloat(text.replaceAll('_', '')) || isSexagesimal(text) || isTime(text)
  return /^\.\d+(?:_\d+)*(?:[eE][-+]?\d+(?:_\d+)*)?$/.test(text) && isFloat(text.replaceAll('_', ''))
}

/** `no`, `No` and `NO`; `nO` is only text. */
function isOfOneCase(text: string): boolean {
  const rest = text.slice(1)
  const isLower = rest === rest.toLowerCase()
  return isLower || text === text.toUpperCase()
}

const integer = /^([-+]?)(0[xX][\da-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/

function isInteger(text: string): boolean {
  const [, sign, digits] = integer.exec(text.replaceAll('_', '')) ?? []
  if (digits === undefined) return false
  const size = BigInt(/^0\d/.test(digits) ? `0o${digits.slice(1)}` : digits.toLowerCase())
  return fits(sign === '-' ? -size : size, sign === '')
}

/** Whether it fits into 64 bits. */
function fits(value: bigint, orUnsigned: boolean): boolean {
  return BigInt.asIntN(64, value) === value || (orUnsigned && BigInt.asUintN(64, value) === value)
}

function isFloat(text: string): boolean {
  return /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text) && Number.isFinite(Number(text))
}

/** `12:30` is a number in YAML 1.1. */
function isSexagesimal(text: string): boolean {
  return /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/.test(text)
}

const time =
  /^(\d{4})-(\d\d?)-(\d\d?)(?:[Tt](\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?(?:Z|[-+](\d\d):(\d\d))| (\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?)?$/

/** A valid date, with an optional time. */
function isTime(text: string): boolean {
  const found = time.exec(text)
  if (!found) return false
  const [year = 0, month = 0, day = 0, ...clock] = found.slice(1).map((part) => Number(part ?? 0))
  const [hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0, ...other] = clock
  const days = new Date(Date.UTC((year % 400) + 2000, month, 0)).getUTCDate()
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= days
  const isClock = [hour, other[0] ?? 0].every((each) => each < 24)
  const isExact = [minute, second, other[1] ?? 0, other[2] ?? 0, zoneMinute].every((each) => each < 60)
  return isDay && isClock && isExact && zoneHour <= 24
}

/** Integers as they are within 64 bits; other numbers with an exponent from a million on. */
export function numberText(value: number | bigint): string {
  if (typeof value === 'bigint' && fits(value, false)) return String(value)
  const number = Number(value)
  if (Number.isInteger(number) && Math.abs(number) < 1e21) {
    const whole = BigInt(String(number))
    if (fits(whole, true)) return String(whole)
  }
  const [digits = '', exponent = ''] = number.toExponential().split('e')
  const power = Number(exponent)
  // In this range JavaScript and Go format alike.
  if (power >= -4 && power < 6) return String(number)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

interface Folding {
  readonly indent: number
  readonly fold: number
  readonly quote: string
}

/** Plain or single-quoted: folded at a single space. */
function folded(text: string, before: string, { indent, fold, quote }: Folding): string {
  if (before.length + quote.length + text.length <= fold && !breaks.test(text)) return before + quote + text + quote
  const newLine = `\n${' '.repeat(indent)}`
  let out = before + quote
  let column = out.length
  let isAfterBreak = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (breaks.test(character)) {
      out += character
      column = 0
      isAfterBreak = true
      continue
    }
    if (character === ' ') {
      const isAlone = text[at - 1] !== ' ' && text[at + 1] !== ' '
      const isInside = at > 0 && at < text.length - 1
      if (isAlone && isInside && column > fold) {
        out += newLine
        column = indent
        continue
      }
    } else if (isAfterBreak) {
      out += ' '.repeat(Math.max(0, indent - column))
      column = Math.max(indent, column)
    }
    if (character !== ' ') isAfterBreak = false
    out += character
    column++
  }
  return out + quote
}

const escapes: Readonly<Record<string, string>> = {
  '\0': '0',
  '\u{7}': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\u{1b}': 'e',
  '"': '"',
  '\\': '\\',
  '\u{85}': 'N',
  '\u{a0}': '_',
  '\u{2028}': 'L',
  '\u{2029}': 'P',
}

function escapeOf(character: string): string {
  const short = escapes[character]
  if (short !== undefined) return `\\${short}`
  const code = character.codePointAt(0)!
  const [letter, digits] = code <= 0xff ? ['x', 2] : code <= 0xffff ? ['u', 4] : ['U', 8]
  return `\\${letter}${code.toString(16).toUpperCase().padStart(digits, '0')}`
}

const mustEscape = /[\n\r\u{2028}\u{2029}"\\]/u

/** Double-quoted: folded before several spaces, too, the first of which is then escaped. */
function escaped(text: string, before: string, indent: number, fold: number): string {
  // After a byte-order mark no character counts as an indicator.
  const isMarked = text.startsWith('\u{feff}')
  const isShort = before.length + 1 + text.length <= fold
  if (isShort && !isMarked && !mustEscape.test(text) && !unshown.test(text)) return `${before}"${text}"`
  const characters = Array.from(text)
  let out = `${before}"`
  let column = out.length
  let isAfterSpace = false
  for (const [at, character] of characters.entries()) {
    let written = character
    const isSpace = character === ' ' && !isMarked
    if (isMarked || mustEscape.test(character) || unshown.test(character)) written = escapeOf(character)
    else if (isSpace && !isAfterSpace && column > fold && at > 0 && at < characters.length - 1) {
      out += `\n${' '.repeat(indent)}`
      column = indent
      written = characters[at + 1] === ' ' ? '\\' : ''
    }
    out += written
    column += written.length
    isAfterSpace = isSpace
  }
  return `${out}"`
}

/** A literal block. Its header has the indentation, where the first line does not show it, and the chomping. */
function literal(text: string, before: string, indent: number): string {
  const lead = ' '.repeat(indent)
  const depth = /^[ \n\u{2028}\u{2029}]/u.test(text) ? '2' : ''
  const end = /[^\n\u{2028}\u{2029}]$/u.test(text)
    ? '-'
    : /(?:^|[\n\u{2028}\u{2029}])[\n\u{2028}\u{2029}]$/u.test(text)
      ? '+'
      : ''
  const lines = text.replaceAll(/(^|[\n\u{2028}\u{2029}])(?=[^\n\u{2028}\u{2029}])/gu, `$1${lead}`)
  // The caller adds the last line end.
  return `${before}|${depth}${end}\n${lines.endsWith('\n') ? lines.slice(0, -1) : lines}`
}

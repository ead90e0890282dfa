/** A value as one verb of Go's `fmt` prints it. */
import { quoteGo } from '../../kube/go/go-text.ts'
import { formatDuration } from '../../kube/units/duration.ts'
import { type FormatFlags, formatFloat, formatInteger, noFlags, pad } from './format-number.ts'
import { bytesText, textBytes } from './text-bytes.ts'
import {
  elementType,
  type GoMap,
  GoInteger,
  GoObject,
  integerValue,
  isInteger,
  isNilList,
  goKindOf,
  sortedKeys,
  typeOf,
} from './values.ts'

/** Deeper values contain themselves, which a template can bring about with `set`. */
const deepest = 1000

/** `%v`. */
export function formatPlain(value: unknown): string {
  if (typeof value === 'string') return value
  return formatValue(value, 'v', noFlags)
}

export function formatValue(value: unknown, verb: string, flags: FormatFlags): string {
  if (value === null || value === undefined) {
    return verb === 'T' || verb === 'v' ? pad('<nil>', flags) : `%!${verb}(<nil>)`
  }
  if (verb === 'T') return formatText(typeOf(value), 's', flags)
  if (verb === 'p') return pointerText(value, verb, flags)
  return print(value, verb, flags, 0)
}

function print(value: unknown, verb: string, flags: FormatFlags, depth: number): string {
  if (depth > deepest) return '...'
  switch (typeof value) {
    case 'string':
      return formatText(value, verb, flags)
    case 'number':
      return printFloat(value, verb, flags)
    case 'boolean':
      return verb === 't' || verb === 'v' ? pad(String(value), flags) : badVerb(value, verb, flags)
    case 'bigint':
      return printInteger(value, verb, flags)
    case 'undefined':
      return '<nil>'
    case 'function':
      return pointerText(value, verb, flags)
    default:
      break
  }
  if (value === null) return '<nil>'
  if (value instanceof GoInteger) {
    if (value.type.includes('.') && !flags.sharpV && 'vsxXq'.includes(verb)) {
      return formatText(namedIntegerText(value), verb, flags)
    }
    return printInteger(value, verb, flags)
  }
  if (value instanceof Uint8Array) return printBytes(value, verb, flags)
  if (Array.isArray(value)) return printList(value, verb, flags, depth)
  if (value instanceof GoObject) return printObject(value, verb, flags, depth)
  return printMap(value as GoMap, verb, flags, depth)
}

const months = 'January February March April May June July August September October November December'.split(' ')
const weekdays = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

/** What `String()` of a named integer type returns. */
function namedIntegerText({ type, value }: GoInteger): string {
  if (type === 'time.Duration') return formatDuration(value)
  const name = type === 'time.Month' ? months[Number(value) - 1] : weekdays[Number(value)]
  return name ?? String(value)
}

/** The wrong verb for a type. */
function badVerb(value: unknown, verb: string, flags: FormatFlags): string {
  return `%!${verb}(${typeOf(value)}=${print(value, 'v', { ...flags, plusV: false, sharpV: false }, 0)})`
}

const floatVerbs = 'beEfFgGvxX'

function printFloat(value: number, verb: string, flags: FormatFlags): string {
  if (!floatVerbs.includes(verb)) return badVerb(value, verb, flags)
  return formatFloat(value, verb === 'v' ? 'g' : verb === 'F' ? 'f' : verb, flags)
}

function printInteger(value: bigint | GoInteger, verb: string, flags: FormatFlags): string {
  const number = integerValue(value)
  switch (verb) {
    case 'v':
      if (flags.sharpV && goKindOf(value).startsWith('uint')) {
        return formatInteger(number, 'x', { ...flags, sharp: true })
      }
      return formatInteger(number, 'd', flags)
    case 'd':
    case 'b':
    case 'o':
    case 'O':
    case 'x':
    case 'X':
      return formatInteger(number, verb, flags)
    case 'c':
      return pad(characterOf(number), flags)
    case 'q':
      return pad(quoteCharacter(characterOf(number), flags.plus), flags)
    case 'U': {
      const code = BigInt.asUintN(64, number)
      const hex = code
        .toString(16)
        .toUpperCase()
        .padStart(Math.max(4, flags.precision ?? 0), '0')
      const isShown = flags.sharp && code <= 0x10ffffn && isPrintable(characterOf(number))
      return pad(`U+${hex}${isShown ? ` '${characterOf(number)}'` : ''}`, flags, false)
    }
    default:
      return badVerb(value, verb, flags)
  }
}

function characterOf(code: bigint): string {
  const isValid = code >= 0n && code <= 0x10ffffn && !(code >= 0xd800n && code <= 0xdfffn)
  return isValid ? String.fromCodePoint(Number(code)) : '\u{fffd}'
}

function isPrintable(character: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)
}

function quoteCharacter(character: string, isAscii: boolean): string {
  if (character === "'") return String.raw`'\''`
  if (character === '"') return `'"'`
  return `'${quoteGoText(character, isAscii).slice(1, -1)}'`
}

/** `%q`; bytes that are not UTF-8 as `\xff`. */
export function quoteGoText(text: string, isAscii = false): string {
  const quoted = !text.isWellFormed()
    ? `"${Array.from(text, (character) => {
        const code = character.codePointAt(0)!
        return code >= 0xdc80 && code <= 0xdcff
          ? String.raw`\x${(code - 0xdc00).toString(16)}`
          : quoteGo(character).slice(1, -1)
      }).join('')}"`
    : quoteGo(text)
  if (!isAscii) return quoted
  return Array.from(quoted, (character) => {
    const code = character.codePointAt(0)!
    if (code < 0x80) return character
    const hex = code.toString(16)
    return code > 0xffff ? String.raw`\U${hex.padStart(8, '0')}` : String.raw`\u${hex.padStart(4, '0')}`
  }).join('')
}

function truncated(text: string, { precision }: FormatFlags): string {
  return precision === undefined || text.length <= precision ? text : Array.from(text).slice(0, precision).join('')
}

function formatText(text: string, verb: string, flags: FormatFlags): string {
  switch (verb) {
    case 'v':
      if (flags.sharpV) return pad(quoteGoText(truncated(text, flags)), flags)
      return pad(truncated(text, flags), flags)
    case 's':
      return pad(truncated(text, flags), flags)
    case 'x':
    case 'X':
      return hexText(textBytes(text), verb, flags)
    case 'q': {
      const shown = truncated(text, flags)
      // oxlint-disable-next-line no-control-regex -- text with these cannot stand in back quotes
      const isRaw = flags.sharp && !/[`\u{7f}\u{feff}\0-\u{8}\u{a}-\u{1f}\u{d800}-\u{dfff}]/u.test(shown)
      return pad(isRaw ? `\`${shown}\`` : quoteGoText(shown, flags.plus), flags)
    }
    default:
      return badVerb(text, verb, flags)
  }
}

function hexText(bytes: Uint8Array, verb: string, flags: FormatFlags): string {
  const shown = flags.precision === undefined ? bytes : bytes.subarray(0, flags.precision)
  const prefix = flags.sharp ? (verb === 'X' ? '0X' : '0x') : ''
  let hex = Buffer.from(shown).toString('hex')
  if (verb === 'X') hex = hex.toUpperCase()
  if (hex === '') return pad('', flags)
  if (flags.space) return pad(hex.replaceAll(/../g, (byte) => ` ${prefix}${byte}`).slice(1), flags)
  return pad(prefix + hex, flags)
}

function printBytes(bytes: Uint8Array, verb: string, flags: FormatFlags): string {
  if (verb === 's' || verb === 'q') return formatText(bytesText(bytes), verb, flags)
  if (verb === 'x' || verb === 'X') return hexText(bytes, verb, flags)
  const items = Array.from(bytes, (byte) => print(new GoInteger('uint8', BigInt(byte)), verb, flags, 1))
  return flags.sharpV && verb === 'v' ? `[]byte{${items.join(', ')}}` : `[${items.join(' ')}]`
}

function printList(list: readonly unknown[], verb: string, flags: FormatFlags, depth: number): string {
  const isAny = elementType(list) === 'interface {}'
  const items = list.map((item) =>
    isAny && flags.sharpV && (item ?? null) === null ? 'interface {}(nil)' : print(item, verb, flags, depth + 1),
  )
  if (!flags.sharpV) return `[${items.join(' ')}]`
  return isNilList(list) ? `${typeOf(list)}(nil)` : `${typeOf(list)}{${items.join(', ')}}`
}

function printMap(map: GoMap, verb: string, flags: FormatFlags, depth: number): string {
  const members = sortedKeys(map).map((key) => {
    const value = map[key]
    const text = flags.sharpV && (value ?? null) === null ? 'interface {}(nil)' : print(value, verb, flags, depth + 1)
    return `${formatText(key, verb, flags)}:${text}`
  })
  return flags.sharpV ? `${typeOf(map)}{${members.join(', ')}}` : `map[${members.join(' ')}]`
}

function printObject(object: GoObject, verb: string, flags: FormatFlags, depth: number): string {
  if (object.text && !flags.sharpV && 'vsxXq'.includes(verb)) return formatText(object.text(), verb, flags)
  const isPointer = object.type.startsWith('*')
  if (isPointer && depth > 0) return pointerText(object, verb, flags)
  const hasNames = flags.plusV || flags.sharpV
  const fields = Object.entries(object.fields).map(([name, value]) => {
    const text =
      flags.sharpV && (value ?? null) === null
        ? `${object.fieldTypes[name] ?? 'interface {}'}(nil)`
        : print(value, verb, flags, depth + 1)
    return hasNames ? `${name}:${text}` : text
  })
  const type = flags.sharpV ? object.type.replace('*', '') : ''
  return `${isPointer ? '&' : ''}${type}{${fields.join(flags.sharpV ? ', ' : ' ')}}`
}

/** An address has no meaning here; every pointer prints the same. */
function pointerText(value: unknown, verb: string, flags: FormatFlags): string {
  const isReference = typeof value === 'object' && value !== null && !isInteger(value)
  return isReference ? pad('0xc000000000', flags) : badVerb(value, verb, flags)
}

/**
 * `'%s has %d'.format([name, count])`: the clauses s, d, f, e, b, x, X and o, as in version 2 of CEL's strings library. The
 * parser of clauses also serves the checker, which knows the types of the arguments.
 */
import { CelRuntimeError } from '../value/error.ts'
import { formatGoFloat, formatGoFixed, quoteGo } from '../../go/go-text.ts'
import { spendSteps } from '../value/steps.ts'
import { formatCelDuration, formatTimestamp } from '../value/time.ts'
import {
  CelDouble,
  CelDuration,
  CelList,
  CelMap,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  isInt,
  typeOfValue,
} from '../value/value.ts'

interface FormatClause {
  readonly letter: string
  readonly precision: number | undefined
}

/** Calls `write` for plain text and `clause` for each clause with the index of its argument; throws if malformed. */
export function readFormat(
  format: string,
  count: number,
  write: (text: string) => void,
  clause: (clause: FormatClause, index: number) => void,
): number {
  let index = 0
  let argument = 0
  while (index < format.length) {
    const percent = format.indexOf('%', index)
    if (percent < 0) {
      write(format.slice(index))
      break
    }
    if (percent > index) write(format.slice(index, percent))
    if (format[percent + 1] === '%') {
      write('%')
      index = percent + 2
      continue
    }
    if (argument >= count) throw new CelRuntimeError(`index ${argument} out of range`)
    if (percent + 1 >= format.length) throw new CelRuntimeError('unexpected end of string')
    const read = readClause(format.slice(percent + 1))
    clause(read.clause, argument)
    index = percent + 1 + read.length
    argument++
  }
  return argument
}

function readClause(text: string): { readonly clause: FormatClause; readonly length: number } {
  const failed = (message: string): CelRuntimeError =>
    new CelRuntimeError(`could not parse formatting clause: ${message}`)
  let position = 0
  let precision: number | undefined
  if (text.startsWith('.')) {
    const digits = /^\d*/.exec(text.slice(1))![0]
    position = 1 + digits.length
    if (position >= text.length) {
      throw failed('error while parsing precision: could not find end of precision specifier')
    }
    if (digits === '') {
      throw failed(
        'error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
      )
    }
    precision = Number(digits)
  }
  const letter = text[position]!
  if (!'sdfebxXo'.includes(letter)) throw failed(`unrecognized formatting clause "${letter}"`)
  return { clause: { letter, precision }, length: position + 1 }
}

export function formatText(format: string, args: CelList): string {
  let result = ''
  readFormat(
    format,
    args.size,
    (text) => {
      result += text
    },
    (clause, index) => {
      spendSteps(clause.precision ?? 0)
      const written = formatClause(clause, args.at(index))
      spendSteps(written.length)
      result += written
    },
  )
  return result
}

function formatClause({ letter, precision = 6 }: FormatClause, value: CelValue): string {
  switch (letter) {
    case 's':
      return clauseString(value)
    case 'd':
      return decimal(value)
    case 'f':
      return fixed(doubleFor(value, 'f'), precision)
    case 'e':
      return scientific(doubleFor(value, 'e'), precision)
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0'
      return inBase(value, 2, 'b')
    case 'o':
      return inBase(value, 8, 'o')
    default:
      return letter === 'X' ? hex(value).toUpperCase() : hex(value)
  }
}

/** The server's message for a value that a clause cannot format. */
export function clauseProblem(letter: string, type: string): string {
  const given = `, was given ${type}`
  switch (letter) {
    case 's':
      return `string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps${given}`
    case 'd':
      return `decimal clause can only be used on integers${given}`
    case 'f':
      return `fixed-point clause can only be used on doubles${given}`
    case 'e':
      return `scientific clause can only be used on doubles${given}`
    case 'b':
      return `only integers and bools can be formatted as binary${given}`
    case 'o':
      return `octal clause can only be used on integers${given}`
    default:
      return `only integers, byte buffers, and strings can be formatted as hex${given}`
  }
}

function unfit(letter: string, value: CelValue): CelRuntimeError {
  return new CelRuntimeError(`error during formatting: ${clauseProblem(letter, typeOfValue(value).name)}`)
}

function clauseString(value: CelValue): string {
  if (value instanceof CelList) return formatList(value)
  if (value instanceof CelMap) return formatMap(value)
  const text = plainString(value)
  if (text === undefined) throw unfit('s', value)
  return text
}

/** The result of `string()`, if there is such a conversion; of null and types as well. */
export function plainString(value: CelValue): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || isInt(value)) return String(value)
  if (value === null) return 'null'
  if (value instanceof CelUint) return value.value.toString()
  if (value instanceof CelDouble) return formatGoFloat(value.value)
  if (value instanceof CelTimestamp) return formatTimestamp(value)
  if (value instanceof CelDuration) return formatCelDuration(value)
  if (value instanceof Uint8Array) return bytesToText(value)
  if (value instanceof CelTypeValue) return value.type.name
  return undefined
}

export function bytesToText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new CelRuntimeError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

function decimal(value: CelValue): string {
  if (isInt(value)) return String(value)
  if (value instanceof CelUint) return value.value.toString()
  throw unfit('d', value)
}

function doubleFor(value: CelValue, letter: string): number {
  if (value instanceof CelDouble) return value.value
  if (value === 'NaN') return Number.NaN
  if (value === 'Infinity') return Infinity
  if (value === '-Infinity') return -Infinity
  throw unfit(letter, value)
}

/** NaN and infinities, in the en-US locale. */
function special(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '-∞'
  return undefined
}

function fixed(value: number, precision: number): string {
  return special(value) ?? grouped(formatGoFixed(Object.is(value, -0) ? 0 : value, precision))
}

/** Thousands separated by commas: the server formats in the en-US locale. */
function grouped(text: string): string {
  const point = text.indexOf('.')
  const whole = point < 0 ? text : text.slice(0, point)
  const signs = whole.startsWith('-') ? 1 : 0
  const groups: string[] = []
  for (let end = whole.length; end > signs; end -= 3) groups.unshift(whole.slice(Math.max(signs, end - 3), end))
  return whole.slice(0, signs) + groups.join(',') + (point < 0 ? '' : text.slice(point))
}

/**
 * Superscript digits and a multiplication sign: an exponent in the en-US locale. The server takes the precision for a width,
 * and always writes six digits.
 */
function scientific(value: number, width: number): string {
  return (special(value) ?? power(value)).padStart(width)
}

function power(value: number): string {
  const [mantissa = '', exponent = '+0'] = value.toExponential(6).split('e')
  const digits = Math.abs(Number(exponent)).toString().padStart(2, '0')
  const raised = Array.from(digits, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]!).join('')
  return `${mantissa}×10${exponent.startsWith('-') ? '⁻' : ''}${raised}`
}

function inBase(value: CelValue, base: number, letter: string): string {
  if (isInt(value)) return value.toString(base)
  if (value instanceof CelUint) return value.value.toString(base)
  throw unfit(letter, value)
}

function hex(value: CelValue): string {
  if (isInt(value)) return value.toString(16)
  if (value instanceof CelUint) return value.value.toString(16)
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  throw unfit('x', value)
}

function formatList(list: CelList): string {
  return `[${Array.from(list, formatMember).join(', ')}]`
}

function formatMap(map: CelMap): string {
  const entries = Array.from(map.keys(), (key): readonly [string, string] => {
    if (typeof key !== 'string' && typeof key !== 'boolean' && !isInt(key) && !(key instanceof CelUint)) {
      throw new CelRuntimeError(
        `error during formatting: no formatting function for map key of type ${typeOfValue(key).name}`,
      )
    }
    return [formatMember(key), formatMember(map.find(key)!)]
  })
  return `{${entries
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, value]) => `${key}:${value}`)
    .join(', ')}}`
}

/** Inside of a list or map a value is written as a literal. */
function formatMember(value: CelValue): string {
  if (typeof value === 'string') return quoteGo(value)
  if (value instanceof Uint8Array) return `b${quoteGo(bytesToText(value))}`
  if (value instanceof CelDouble) {
    if (Number.isNaN(value.value)) return '"NaN"'
    if (!Number.isFinite(value.value)) return value.value > 0 ? '"+Inf"' : '"-Inf"'
    return formatGoFixed(value.value, 6)
  }
  if (value instanceof CelTimestamp) return `timestamp(${quoteGo(formatTimestamp(value))})`
  if (value instanceof CelDuration) return `duration(${quoteGo(formatCelDuration(value))})`
  if (value instanceof CelList) return formatList(value)
  if (value instanceof CelMap) return formatMap(value)
  const text = plainString(value)
  if (text !== undefined) return text
  throw new CelRuntimeError(`error during formatting: no formatting function for ${typeOfValue(value).name}`)
}

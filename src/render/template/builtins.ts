/** Functions of the template language itself. */
import { equalsAny, orders } from './comparison.ts'
import { type FunctionTable, goFunction, type GoFunction } from './function-type.ts'
import { GoError } from './go-error.ts'
import { sprint, sprintf, sprintln } from './printf.ts'
import { byteLength, textBytes } from './text-bytes.ts'
import {
  byteValue,
  elementType,
  hasMember,
  integerValue,
  isInteger,
  isGoList,
  isMap,
  isGoTrue,
  typeOf,
} from './values.ts'

type Values = readonly unknown[]

function order(name: keyof typeof orders): GoFunction {
  return goFunction('value value', ([a, b]: Values) => orders[name](a, b))
}

export const builtins: FunctionTable = new Map<string, GoFunction>([
  // Evaluated by the evaluator, which short-circuits.
  ['and', goFunction('value ...value', () => undefined)],
  ['or', goFunction('value ...value', () => undefined)],
  ['call', goFunction('value ...value', () => undefined)],
  ['not', goFunction('value', ([value]: Values) => !isGoTrue(value))],
  ['eq', goFunction('value ...value', ([first, ...others]: Values) => equalsAny(first, others))],
  ['ne', goFunction('value value', ([a, b]: Values) => !equalsAny(a, [b]))],
  ['lt', order('lt')],
  ['le', order('le')],
  ['gt', order('gt')],
  ['ge', order('ge')],
  ['index', goFunction('value ...value', ([item, ...indexes]: Values) => indexed(item, indexes))],
  ['len', goFunction('value', ([item]: Values) => BigInt(lengthOf(item)))],
  ['print', goFunction('...any', (args: Values) => sprint(args))],
  ['println', goFunction('...any', (args: Values) => sprintln(args))],
  [
    'printf',
    goFunction('string ...any', ([format, ...args]: [string, ...unknown[]], { budget }) =>
      sprintf(format, args, (length) => budget.text(length)),
    ),
  ],
  ['html', goFunction('...any', (args: Values) => escapeHtml(joined(args)))],
  ['js', goFunction('...any', (args: Values) => escapeJs(joined(args)))],
  ['urlquery', goFunction('...any', (args: Values) => escapeQuery(joined(args)))],
])

function joined(args: Values): string {
  if (args.length === 1 && typeof args[0] === 'string') return args[0]
  return sprint(args.map((arg) => ((arg ?? null) === null ? '<no value>' : arg)))
}

function lengthOf(item: unknown): number {
  if (item === undefined) throw new GoError('reflect: call of reflect.Value.Type on zero Value')
  if (item === null) throw new GoError('len of nil pointer')
  if (typeof item === 'string') return byteLength(item)
  if (isGoList(item) || item instanceof Uint8Array) return item.length
  if (isMap(item)) return Object.keys(item).length
  throw new GoError(`len of type ${typeOf(item)}`)
}

function indexed(start: unknown, indexes: Values): unknown {
  if ((start ?? null) === null) throw new GoError('index of untyped nil')
  let item: unknown = start
  for (const index of indexes) {
    if ((item ?? null) === null) throw new GoError('index of nil pointer')
    item = element(item, index)
  }
  return item
}

function element(item: unknown, index: unknown): unknown {
  if (isMap(item)) {
    if ((index ?? null) === null) throw new GoError('value is nil; should be of type string')
    if (typeof index !== 'string') throw new GoError(`value has type ${typeOf(index)}; should be string`)
    if (hasMember(item, index)) return item[index]
    return elementType(item) === 'string' ? '' : null
  }
  if (typeof item === 'string') {
    const bytes = textBytes(item)
    const at = position(index, bytes.length)
    if (at === bytes.length) throw new GoError('reflect: string index out of range')
    return byteValue(bytes[at]!)
  }
  if (isGoList(item) || item instanceof Uint8Array) {
    const at = position(index, item.length)
    if (at === item.length) throw new GoError('reflect: slice index out of range')
    return item instanceof Uint8Array ? byteValue(item[at]!) : item[at]
  }
  throw new GoError(`can't index item of type ${typeOf(item)}`)
}

function position(index: unknown, length: number): number {
  if ((index ?? null) === null) throw new GoError('cannot index slice/array with nil')
  if (!isInteger(index)) throw new GoError(`cannot index slice/array with type ${typeOf(index)}`)
  const at = integerValue(index)
  if (at < 0n || at > BigInt(length)) throw new GoError(`index out of range: ${at}`)
  return Number(at)
}

const htmlEscapes: Readonly<Record<string, string>> = {
  '\0': '\u{fffd}',
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[\0"'&<>]/g, (character) => htmlEscapes[character]!)
}

const jsEscapes: Readonly<Record<string, string>> = {
  '\\': String.raw`\\`,
  "'": String.raw`\'`,
  '"': String.raw`\"`,
  '<': String.raw`\u003C`,
  '>': String.raw`\u003E`,
  '&': String.raw`\u0026`,
  '=': String.raw`\u003D`,
}

function escapeJs(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the characters to escape
  return text.replaceAll(/[\\'"<>&=\0-\x1f]|[^\0-\x7f]/gu, (character) => {
    const escape = jsEscapes[character]
    if (escape !== undefined) return escape
    if (character > '\x7f' && /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(character)) return character
    const code = character.codePointAt(0)!
    return String.raw`\u${(code >= 0xd800 && code <= 0xdfff ? 0xfffd : code).toString(16).toUpperCase().padStart(4, '0')}`
  })
}

/** As in the query of a URL: spaces become `+`. */
function escapeQuery(text: string): string {
  let escaped = ''
  for (const byte of textBytes(text)) {
    const character = String.fromCharCode(byte)
    if (character === ' ') escaped += '+'
    else if (/[A-Za-z0-9_.~-]/.test(character)) escaped += character
    else escaped += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return escaped
}

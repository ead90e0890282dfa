/** sprig's functions for text. */
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { noFlags } from '../template/format-number.ts'
import { formatValue, quoteGoText } from '../template/format-value.ts'
import { GoError, runtimeError } from '../template/go-error.ts'
import { byteLength, bytesText, sliceBytes, textBytes } from '../template/text-bytes.ts'
import { type GoMap, isGoList, isNilList, stringList, typeOf, withType, compareGoText } from '../template/values.ts'
import { camelCase, joinWords, swapCase, uncapitalize } from './letter-case.ts'
import {
  isSpace,
  replaceText,
  splitText,
  titleWords,
  toLower,
  toUpper,
  trimSet,
  trimSpace,
  wrapText,
} from './go-strings.ts'
import { stringValue, stringValues } from './string-value.ts'

type Texts = readonly string[]

function text(convert: (text: string) => unknown): GoFunction {
  return goFunction('string', ([value]: [string]) => convert(value))
}

/** A function of two texts, the one to work on last. */
function texts(work: (argument: string, text: string) => unknown): GoFunction {
  return goFunction('string string', ([argument, value]: [string, string]) => work(argument, value))
}

export const sprigStringFunctions: FunctionTable = new Map<string, GoFunction>([
  ['hello', goFunction('', () => 'Hello!')],
  ['abbrev', goFunction('int string', ([width, value]: [bigint, string]) => abbreviate(value, 0n, width))],
  [
    'abbrevboth',
    goFunction('int int string', ([left, right, value]: [bigint, bigint, string]) => abbreviate(value, left, right)),
  ],
  ['trunc', goFunction('int string', ([count, value]: [bigint, string]) => truncate(count, value))],
  ['trim', text(trimSpace)],
  ['upper', text(toUpper)],
  ['lower', text(toLower)],
  ['title', text(titleWords)],
  ['untitle', text(uncapitalize)],
  ['swapcase', text(swapCase)],
  ['snakecase', text((value) => joinWords(value, '_'))],
  ['kebabcase', text((value) => joinWords(value, '-'))],
  ['camelcase', text(camelCase)],
  ['nospace', text(withoutSpaces)],
  ['initials', text(initials)],
  ['substr', goFunction('int int string', ([from, to, value]: [bigint, bigint, string]) => substring(from, to, value))],
  [
    'repeat',
    goFunction('int string', ([count, value]: [bigint, string], { budget }) => {
      if (count < 0n) throw new GoError('strings: negative Repeat count')
      budget.text(Number(count) * value.length)
      return value === '' ? '' : value.repeat(Number(count))
    }),
  ],
  ['trimall', texts((set, value) => trimSet(value, set))],
  ['trimAll', texts((set, value) => trimSet(value, set))],
  ['trimSuffix', texts((end, value) => (end !== '' && value.endsWith(end) ? value.slice(0, -end.length) : value))],
  ['trimPrefix', texts((start, value) => (value.startsWith(start) ? value.slice(start.length) : value))],
  ['contains', texts((part, value) => value.includes(part))],
  ['hasPrefix', texts((start, value) => value.startsWith(start))],
  ['hasSuffix', texts((end, value) => value.endsWith(end))],
  ['wrap', goFunction('int string', ([width, value]: [bigint, string]) => wrap(width, '\n', value, false))],
  [
    'wrapWith',
    goFunction('int string string', ([width, separator, value]: [bigint, string, string]) =>
      wrap(width, separator === '' ? '\n' : separator, value, true),
    ),
  ],
  [
    'quote',
    goFunction('...any', (args: readonly unknown[]) => quoted(args, (value) => quoteGoText(stringValue(value)))),
  ],
  ['squote', goFunction('...any', (args: readonly unknown[]) => quoted(args, (value) => `'${plain(value)}'`))],
  ['cat', goFunction('...any', (args: readonly unknown[]) => quoted(args, plain))],
  [
    'indent',
    goFunction('int string', ([count, value]: [bigint, string], { budget }) =>
      indent(count, value, (size) => budget.text(size)),
    ),
  ],
  [
    'nindent',
    goFunction(
      'int string',
      ([count, value]: [bigint, string], { budget }) => `\n${indent(count, value, (size) => budget.text(size))}`,
    ),
  ],
  [
    'replace',
    goFunction('string string string', ([old, by, value]: [string, string, string]) => replaceText(value, old, by)),
  ],
  [
    'plural',
    goFunction('string string int', ([one, many, count]: [string, string, bigint]) => (count === 1n ? one : many)),
  ],
  ['toString', goFunction('any', ([value]: readonly unknown[]) => stringValue(value))],
  [
    'toStrings',
    goFunction('any', ([value]: readonly unknown[]) =>
      typeOf(value) === '[]string' ? value : stringList(stringValues(value)),
    ),
  ],
  ['join', goFunction('string any', ([separator, value]: [string, unknown]) => stringValues(value).join(separator))],
  ['sortAlpha', goFunction('any', ([value]: readonly unknown[]) => sortAlpha(value))],
  ['split', texts((separator, value) => numbered(splitText(value, separator)))],
  ['splitList', texts((separator, value) => stringList(splitText(value, separator)))],
  [
    'splitn',
    goFunction('string int string', ([separator, most, value]: [string, bigint, string]) =>
      numbered(splitText(value, separator, Number(most))),
    ),
  ],
])

function plain(value: unknown): string {
  return formatValue(value, 'v', noFlags)
}

function quoted(args: readonly unknown[], quote: (value: unknown) => string): string {
  return args
    .filter((value) => (value ?? null) !== null)
    .map(quote)
    .join(' ')
}

/** A list of text is sorted in place, as in sprig. */
function sortAlpha(value: unknown): string[] {
  if (typeOf(value) === '[]string')
    // oxlint-disable-next-line no-array-sort -- in place, as in sprig
    return isNilList(value) ? (value as string[]) : (value as string[]).sort(compareGoText)
  if (isGoList(value) || value instanceof Uint8Array) return stringList(stringValues(value).toSorted(compareGoText))
  return stringList([(value ?? null) === null ? '<nil>' : stringValue(value)])
}

function numbered(parts: Texts): GoMap {
  return withType(Object.fromEntries(parts.map((part, index) => [`_${index}`, part])), 'map[string]string')
}

function indent(count: bigint, value: string, spend: (length: number) => void): string {
  if (count < 0n) throw new GoError('strings: negative Repeat count')
  let lines = 1
  for (let at = value.indexOf('\n'); at >= 0; at = value.indexOf('\n', at + 1)) lines++
  spend(Number(count) * lines)
  const padding = ' '.repeat(Number(count))
  return padding + value.replaceAll('\n', `\n${padding}`)
}

function truncate(count: bigint, value: string): string {
  const length = byteLength(value)
  const size = Number(count)
  if (size < 0 && length + size > 0) return sliceBytes(value, length + size, length)
  return size >= 0 && length > size ? sliceBytes(value, 0, size) : value
}

function substring(start: bigint, end: bigint, value: string): string {
  const length = BigInt(byteLength(value))
  if (start < 0n) return checkedSlice(value, 0n, end, length)
  return checkedSlice(value, start, end < 0n || end > length ? length : end, length)
}

function checkedSlice(value: string, start: bigint, end: bigint, length: bigint): string {
  if (end < 0n) throw runtimeError(`slice bounds out of range [:${end}]`)
  if (end > length) throw runtimeError(`slice bounds out of range [:${end}] with length ${length}`)
  if (start > end) throw runtimeError(`slice bounds out of range [${start}:${end}]`)
  return sliceBytes(value, Number(start), Number(end))
}

function wrap(width: bigint, newLine: string, value: string, isBreaking: boolean): string {
  return value === '' ? '' : wrapText(value, Number(width), newLine, isBreaking)
}

/** If there are any spaces, each byte is taken for a character, as in sprig. */
function withoutSpaces(value: string): string {
  const characters = Array.from(textBytes(value), (byte) => String.fromCharCode(byte))
  const kept = characters.filter((character) => !isSpace(character))
  return kept.length === characters.length ? value : kept.join('')
}

/** The first byte of each word, taken for a character. */
function initials(value: string): string {
  let result = ''
  let isStart = true
  for (const byte of textBytes(value)) {
    const character = String.fromCharCode(byte)
    if (isSpace(character)) isStart = true
    else if (isStart) {
      result += character
      isStart = false
    }
  }
  return result
}

const marker = '...'

function abbreviate(value: string, left: bigint, right: bigint): string {
  const width = Number(right)
  if (width < 4 || (left > 0n && width < 7)) return value
  return abbreviated(textBytes(value), Number(left), width)
}

function abbreviated(bytes: Uint8Array, left: number, width: number): string {
  const { length } = bytes
  if (length <= width) return bytesText(bytes)
  let offset = Math.min(left, length)
  if (length - offset < width - 3) offset = length - (width - 3)
  if (offset <= 4) return bytesText(bytes.subarray(0, Math.max(width - 3, 0))) + marker
  if (width < 7) return ''
  if (offset + width - 3 < length) return marker + abbreviated(bytes.subarray(offset), 0, width - 3)
  return marker + bytesText(bytes.subarray(length - (width - 3)))
}

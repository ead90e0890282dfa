/**
 * YAML as kubectl reads and writes it: YAML 1.1 scalars (`yes` is a boolean, `0777` is octal), in mapping keys too,
 * but no base-60 numbers and no dates. A document is a JSON value: every key becomes a string, and values that JSON cannot
 * express are errors.
 *
 * This file loads a parser. Nothing else in `src/kube` imports it; import it lazily.
 */
import {
  boolCoreTag,
  boolYaml11Tag,
  defineMappingTag,
  defineScalarTag,
  defineSequenceTag,
  dump,
  DUMP_SCHEMA,
  loadAll,
  type MappingTagDefinition,
  type Node,
  NOT_RESOLVED,
  nullYaml11Tag,
  SCALAR_STYLE,
  type ScalarLayout,
  type ScalarTagDefinition,
  Schema,
  type SequenceTagDefinition,
  strTag,
  visit,
  YAMLException,
} from 'js-yaml'
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { isJsonObject, type Json, parseJson } from '../json.ts'
import { readBlockYaml } from './block-yaml.ts'
import { readTimestamp } from './yaml-timestamp.ts'

interface YamlOptions {
  /** The source of the text, for messages: `deploy/web.yaml`. */
  readonly source?: string | undefined
  /**
   * Reject duplicate keys. Off for manifests: kubectl and Helm silently take the last one, and some charts rely on it. It should
   * be on for our own configuration files. @default false
   */
  readonly strict?: boolean | undefined
}

/**
 * One document; null if there is none.
 * @throws InvalidYaml, also if there are several
 */
export function readYaml(text: string, options: YamlOptions = {}): Json {
  const documents = readYamlDocuments(text, options)
  if (documents.length > 1) throw invalid('there is more than one document', options)
  return documents[0] ?? null
}

/**
 * All documents of a stream, separated by `---`; empty ones are skipped. JSON values in a row are documents too.
 * @throws InvalidYaml
 */
export function readYamlDocuments(text: string, options: YamlOptions = {}): readonly Json[] {
  const json = options.strict ? undefined : readJsonStream(text)
  if (json) return json.filter((document) => document !== null)
  const usual = readBlockYaml(text, resolvePlain)
  if (usual !== undefined) return [usual]
  return (load(text, options) as readonly Json[]).filter((document) => document !== null)
}

/** A scalar without quotes by the rules of {@link readSchema}; undefined for what is no plain JSON value. */
function resolvePlain(text: string): Json | undefined {
  const first = text.charCodeAt(0)
  const isWord = (first >= 65 && first <= 90) || (first >= 97 && first <= 122)
  if (isWord && text.length > longestWord) return text
  for (const tag of [nullYaml11Tag, boolYaml11Tag]) {
    const value = tag.resolve(text, false, tag.tagName)
    if (value !== NOT_RESOLVED) return value
  }
  if (isWord || !/^[-+.0-9]/.test(text)) return text
  const number = readInteger(text) ?? readFloat(text)
  if (number === undefined) return text
  return typeof number === 'bigint' || Number.isFinite(number) ? number : undefined
}

/** `false`: longer words are text. */
const longestWord = 5

/** Deeper than any manifest, and not too deep for the stack. */
const deepest = 1000

/**
 * A scalar with the text that stands in the document, if it is not how its value is written: `1.10`, `0777`, nothing for a null,
 * `2020-01-01` for a timestamp. A text in quotes, or in a block, is one whose value is its text.
 */
export class YamlScalar {
  readonly text: string
  readonly value: null | boolean | number | bigint | string

  constructor(text: string, value: null | boolean | number | bigint | string) {
    this.text = text
    this.value = value
  }
}

/** A JSON value in which a scalar may be a {@link YamlScalar}. Aliases share one value. */
export type YamlValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | YamlScalar
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue }

/**
 * All documents as kustomize reads them: `yes` and `on` are text, a duplicate key is an error, scalars whose text is not how
 * their value is written keep it, and texts in quotes differ from those without.
 * @throws InvalidYaml
 */
export function readYamlValues(text: string, options: Pick<YamlOptions, 'source'> = {}): readonly YamlValue[] {
  return load(text, { ...options, strict: true, isKeepingText: true }) as readonly YamlValue[]
}

interface ReadOptions extends YamlOptions {
  readonly isKeepingText?: boolean
}

function load(text: string, options: ReadOptions): readonly unknown[] {
  let moved: readonly string[] | undefined
  const moves = new Map<number, number>()
  for (let budget = mostReread; ; budget -= text.length) {
    try {
      return construct(moved ? moved.join('\n') : text, options)
    } catch (error) {
      if (!(error instanceof YAMLException)) throw invalid(String(error), options, undefined, error)
      const { reason, mark } = error
      const lines = text.split('\n')
      const isShallow = reason === 'deficient indentation' && mark && budget > 0 && !/\r(?!\n)/.test(text)
      const tries = (moves.get(mark?.line ?? 0) ?? 0) + 1
      const again = isShallow && tries <= mostMoves ? moveIn(moved ?? lines, mark.line) : undefined
      if (mark) moves.set(mark.line, tries)
      if (!again) {
        const shift = mark && moved ? moved[mark.line]!.length - lines[mark.line]!.length : 0
        // The parser's own error quotes the text, which may be a Secret: it is dropped.
        throw invalid(reason, options, mark && { line: mark.line, column: mark.column - shift })
      }
      moved = again
    }
  }
}

/** Limit of repeated reading for re-indentation: a hostile text must end in an error, not in a long wait. */
const mostReread = 20_000_000

const padding = ' '.repeat(40)

/** A line that is still not deep enough after this many moves has another fault (a tab, say): indentation cannot help. */
const mostMoves = 3

/**
 * YAML 1.2 requires every line of `[ ]`, `{ }` and quoted text to be indented deeper than its key; kubectl does not, and many
 * manifests close a bracket right below the key. Indentation has no meaning there, so such a line is indented, together with
 * the following lines that certainly continue the same text. Undefined at the end of the document: an open bracket was never
 * closed.
 */
function moveIn(lines: readonly string[], first: number): readonly string[] | undefined {
  if (/^(?:---|\.\.\.)(?=\s|$)/.test(lines[first] ?? '')) return undefined
  let last = first
  while (/^[^#]*[,[{]\s*$/.test(lines[last] ?? '')) last++
  return lines.map((line, at) => (at >= first && at <= last ? padding + line : line))
}

function construct(text: string, { strict, isKeepingText }: ReadOptions): readonly unknown[] {
  mergedSoFar = 0
  const schema = isKeepingText ? keepingSchema : readSchema
  const documents = loadAll(text, { schema, json: !strict, maxDepth: deepest })
  return documents.map((document) => {
    const value = plain(document)
    const problem = jsonProblem(value)
    if (problem) throw new YAMLException(problem)
    if (text.includes('*')) refuseExcess(value)
    return value ?? null
  })
}

function invalid(
  problem: string,
  { source }: YamlOptions,
  mark?: { readonly line: number; readonly column: number },
  cause?: unknown,
): MusterError {
  const place = mark && [mark.line + 1, mark.column + 1]
  const where = place ? (source ? `${source}:${place.join(':')}` : `line ${place.join(', column ')}`) : source
  return new MusterError(kubeErrors.InvalidYaml, `${where ? `${where}: ` : ''}${problem}.`, { cause })
}

/** The values of a text that is JSON, or a sequence of JSON values as `jq` writes them; undefined otherwise. */
function readJsonStream(text: string): readonly Json[] | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  const whole = tryJson(text)
  if (whole !== undefined) return [whole]
  const values: Json[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === '"') {
      at = closingQuote(text, at)
      // Not JSON if a string does not end; nor can another one begin in it.
      if (at < 0) return undefined
    } else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    else continue
    if (depth > 0) continue
    const end = at + 1
    const value = tryJson(text.slice(start, end))
    if (value === undefined) return undefined
    values.push(value)
    start = end
  }
  return text.slice(start).trim() === '' ? values : undefined
}

/** The position of the closing quote; -1 if there is none. */
function closingQuote(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
  }
  return -1
}

function tryJson(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** Represents a plain `<<`, which merges as a key and is text as a value. */
const mergeKey = Symbol('<<')

/** Marks a whole number that was written as a float: as a key it looks different. */
const wholeFloat = Symbol('whole float')

interface WholeFloat {
  readonly [wholeFloat]: number
}

function isWholeFloat(value: unknown): value is WholeFloat {
  return typeof value === 'object' && value !== null && wholeFloat in value
}

/** A value while a document is built, as the value itself. */
function plain(value: unknown): unknown {
  if (isWholeFloat(value)) return value[wholeFloat]
  return value === mergeKey ? '<<' : value
}

function jsonProblem(value: unknown): string {
  return typeof value === 'number' && !Number.isFinite(value) ? 'infinity and NaN are no JSON values' : ''
}

const tagOf = (name: string): string => `tag:yaml.org,2002:${name}`

const intTag: ScalarTagDefinition<number | bigint> = defineScalarTag(tagOf('int'), {
  implicit: true,
  implicitFirstChars: Array.from('+-0123456789'),
  resolve: (source) => readInteger(source) ?? NOT_RESOLVED,
  identify: () => false,
})

const floatTag: ScalarTagDefinition<number | WholeFloat> = defineScalarTag(tagOf('float'), {
  implicit: true,
  implicitFirstChars: Array.from('+-.0123456789'),
  resolve: (source) => {
    const value = readFloat(source)
    if (value === undefined) return NOT_RESOLVED
    return Number.isInteger(value) ? { [wholeFloat]: value } : value
  },
  identify: () => false,
})

const integerPattern = /^[+-]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9]\d*)$/

/** The number of digits in 64 bits. Only decimal notation is slow to parse. */
const mostDecimals = 20

/** Go's integer literals; a value beyond 64 bits is a float, not an integer. */
function readInteger(source: string): number | bigint | undefined {
  const text = source.replaceAll('_', '')
  if (source.startsWith('_') || !integerPattern.test(text)) return undefined
  const digits = text.replace(/^[+-]/, '')
  if (/^[1-9]/.test(digits) && digits.length > mostDecimals) return undefined
  const magnitude = BigInt(/^0\d/.test(digits) ? `0o${digits}` : digits.toLowerCase())
  const value = text.startsWith('-') ? -magnitude : magnitude
  if (BigInt.asUintN(64, value) !== value && BigInt.asIntN(64, value) !== value) return undefined
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

const floatPattern = /^[+-]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][+-]?\d+)?$/

function readFloat(source: string): number | undefined {
  const special = /^([+-]?)\.(?:inf|Inf|INF)$/.exec(source)
  if (special) return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  if (/^\.(?:nan|NaN|NAN)$/.test(source)) return Number.NaN
  // Go removes any "_" from a number, but after a leading point only those between digits.
  if (source.startsWith('.') && /(?<!\d)_|_(?!\d)/.test(source)) return undefined
  const text = source.replaceAll('_', '')
  const value = floatPattern.test(text) ? Number(text) : Number.NaN
  // Too large for a float means: text.
  return Number.isFinite(value) ? value : undefined
}

/** Not under its own name, by which the parser would merge in its own way. */
const mergeTag: ScalarTagDefinition<symbol> = defineScalarTag('muster:merge', {
  implicit: true,
  implicitFirstChars: ['<'],
  resolve: (source) => (source === '<<' ? mergeKey : NOT_RESOLVED),
  identify: () => false,
})

const binaryTag: ScalarTagDefinition<string> = defineScalarTag(tagOf('binary'), {
  resolve: (source) => {
    const base64 = source.replaceAll(/[\r\n]/g, '')
    const isWhole = base64.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(base64)
    return isWhole ? Buffer.from(base64, 'base64').toString() : NOT_RESOLVED
  },
  identify: () => false,
})

type Mapping = Record<string, unknown>

/** Keys added by a merge: a mapping may define them again. */
const mergedKeys = new WeakMap<Mapping, Set<string>>()

const mapping = (name: string, matchByTagPrefix = false): MappingTagDefinition<Mapping> =>
  defineMappingTag<Mapping>(name, {
    matchByTagPrefix,
    create: () => ({}),
    addPair(target, key, value) {
      if (key === mergeKey) return merge(target, plain(value))
      const text = keyText(key)
      if (text === undefined) return 'a key must be a string, a number or a boolean'
      mergedKeys.get(target)?.delete(text)
      put(target, text, plain(value))
      return jsonProblem(value)
    },
    has(target, key) {
      const text = keyText(key)
      return text !== undefined && Object.hasOwn(target, text) && !mergedKeys.get(target)?.has(text)
    },
    keys: (target) => Object.keys(target),
    get: (target, key) => target[String(key)],
    identify: () => false,
  })

function put(target: Mapping, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

/** Unlike an alias, a merge copies: a thousand keys, merged a thousand times, are a million. */
const mostMerged = 100_000

/** State of the text being read: parsing is synchronous. */
let mergedSoFar = 0

/** As in go-yaml: merged keys replace earlier ones of the mapping, and are replaced by later ones. */
function merge(target: Mapping, source: unknown): string {
  const sources: readonly unknown[] = Array.isArray(source) ? source.toReversed() : [source]
  const merged = mergedKeys.get(target) ?? new Set()
  mergedKeys.set(target, merged)
  for (const one of sources) {
    if (!isJsonObject(one)) return '"<<" needs a mapping, or a list of mappings'
    const entries = Object.entries(one)
    mergedSoFar += entries.length
    if (mergedSoFar > mostMerged) throw new YAMLException('its merges stand for too many values')
    for (const [key, value] of entries) {
      put(target, key, value)
      merged.add(key)
    }
  }
  return ''
}

function keyText(key: unknown): string | undefined {
  if (typeof key === 'string') return key
  if (key instanceof YamlScalar) return key.value === null ? undefined : key.text
  if (isWholeFloat(key)) return formatFloatKey(key[wholeFloat])
  if (typeof key === 'number' && !Number.isInteger(key)) return formatFloatKey(key)
  return ['number', 'bigint', 'boolean'].includes(typeof key) ? String(key) : undefined
}

/** A float as a key is written with 32-bit precision: the key of `1.30: x` is "1.3", that of `1e6: x` is "1e+06". */
function formatFloatKey(key: number): string {
  const single = Math.fround(key)
  if (Number.isNaN(single)) return '.nan'
  if (!Number.isFinite(single)) return single > 0 ? '.inf' : '-.inf'
  const lengths = [0, 1, 2, 3, 4, 5, 6, 7, 8]
  const fits = (digits: number): boolean => Math.fround(Number(single.toExponential(digits))) === single
  const shortest = single.toExponential(lengths.find(fits) ?? 8)
  const [digits, exponent = ''] = shortest.split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return Object.is(single, -0) ? '-0' : String(Number(shortest))
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

const sequence = (name: string, matchByTagPrefix = false): SequenceTagDefinition<unknown[]> =>
  defineSequenceTag<unknown[]>(name, {
    matchByTagPrefix,
    create: () => [],
    addItem(list, item) {
      list.push(plain(item))
      return jsonProblem(item)
    },
    identify: () => false,
  })

/** Unknown tags are ignored: `!Ref x` is "x". */
const anyTag = ''

const readSchema: Schema = new Schema([
  strTag,
  sequence(tagOf('seq')),
  mapping(tagOf('map')),
  nullYaml11Tag,
  boolYaml11Tag,
  intTag,
  floatTag,
  mergeTag,
  binaryTag,
  defineScalarTag<string | symbol>(anyTag, {
    matchByTagPrefix: true,
    resolve: (source, _isExplicit, tag) => (tag === tagOf('merge') && source === '<<' ? mergeKey : source),
    identify: () => false,
  }),
  sequence(anyTag, true),
  mapping(anyTag, true),
])

/** The tag, with the text of a scalar that its value would not be written as. */
function keepingText(tag: ScalarTagDefinition): ScalarTagDefinition {
  return {
    ...tag,
    resolve: (source, isExplicit, tagName) => {
      const value = plain(tag.resolve(source, isExplicit, tagName))
      if (value === NOT_RESOLVED || source === String(value)) return value
      // Infinity and NaN are reported by the document.
      if (typeof value === 'number' && !Number.isFinite(value)) return value
      return new YamlScalar(source, value as YamlScalar['value'])
    },
  }
}

const timestampTag: ScalarTagDefinition<string> = defineScalarTag(tagOf('timestamp'), {
  implicit: true,
  implicitFirstChars: Array.from('0123456789'),
  resolve: (source) => readTimestamp(source) ?? NOT_RESOLVED,
  identify: () => false,
})

/** Of texts that are not in quotes: all others are of the default tag. */
const plainTextTag: ScalarTagDefinition<string> = defineScalarTag('muster:plain', {
  implicit: true,
  resolve: (source) => source,
  identify: () => false,
})

const quotedTag: ScalarTagDefinition = { ...strTag, resolve: (source) => new YamlScalar(source, source) }

const keepingSchema: Schema = new Schema([
  ...readSchema.tags.map((tag) => {
    if (tag === strTag) return quotedTag
    if (tag.tagName === boolYaml11Tag.tagName) return keepingText(boolCoreTag)
    const isKept = [tagOf('null'), tagOf('int'), tagOf('float')].includes(tag.tagName)
    return isKept && tag.nodeKind === 'scalar' ? keepingText(tag) : tag
  }),
  keepingText(timestampTag),
  plainTextTag,
])

/** More values than this, counted through aliases, are an attack and not a manifest. */
const mostValues = 1_000_000

/** Aliases share their target: a few lines can expand to more than fits into memory. */
function refuseExcess(document: unknown): void {
  const sizes = new Map<unknown, number>()
  const sizeOf = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 1
    const known = sizes.get(value)
    if (known === 0) throw new YAMLException('an anchor contains itself')
    if (known !== undefined) return known
    sizes.set(value, 0)
    const size = Object.values(value).reduce<number>((sum, part) => sum + sizeOf(part), 1)
    sizes.set(value, size)
    return size
  }
  if (sizeOf(document) > mostValues) throw new YAMLException('its aliases stand for too many values')
}

/** A string that this parser, or any other of YAML 1.1 or 1.2, would read as another type must be quoted. */
const writeSchema: Schema = DUMP_SCHEMA.withTags(
  DUMP_SCHEMA.tags.flatMap((tag) => {
    if (tag.nodeKind !== 'scalar') return []
    if (tag.tagName === intTag.tagName)
      return [alsoReading(tag, intTag, isInteger, (value) => BigInt(value).toString())]
    if (tag.tagName === floatTag.tagName) return [alsoReading(tag, floatTag, tag.identify, tag.represent)]
    return []
  }),
)

function alsoReading(
  tag: ScalarTagDefinition,
  own: ScalarTagDefinition,
  identify: (value: unknown) => boolean,
  represent: (value: number | bigint) => string,
): ScalarTagDefinition {
  return {
    ...tag,
    implicitFirstChars: own.implicitFirstChars,
    resolve: (source, isExplicit, tagName) => {
      const read = own.resolve(source, isExplicit, tagName)
      return read === NOT_RESOLVED ? tag.resolve(source, isExplicit, tagName) : read
    },
    identify,
    represent,
  }
}

/** From 10^21 on, and for −0, a number is written as a float. */
function isInteger(value: unknown): value is number | bigint {
  return (
    typeof value === 'bigint' || (Number.isInteger(value) && Math.abs(value as number) < 1e21 && !Object.is(value, -0))
  )
}

/** One document, keys sorted, lists not indented, lines not folded. */
export function writeYaml(value: Json): string {
  return dump(value, {
    schema: writeSchema,
    noRefs: true,
    seqNoIndent: true,
    lineWidth: -1,
    scalarStyleRules: [chooseStyle],
    transform: (documents) => visit(documents, sortKeys),
  })
}

function sortKeys(node: Node): void {
  if (node.kind === 'mapping') node.items.sort((a, b) => compareKeys(nodeText(a.key), nodeText(b.key)))
}

function nodeText(node: Node): string {
  return node.kind === 'scalar' ? node.value : ''
}

/** Literal blocks for lines; double quotes where plain text would have another meaning, single ones around signs. */
function chooseStyle(layout: ScalarLayout): void {
  const { node, isKey, presenterOptions } = layout
  const isAllowed = (style: number): boolean => (layout.allowedStylesMask & (1 << style)) !== 0
  // YAML 1.1 and 1.2 read a root block that begins with spaces differently.
  // Trailing spaces on a line are written in quotes, which show them.
  const isRisky = / (?:\n|$)/.test(node.value) || (layout.level === 0 && /^\n* /.test(node.value))
  const isBlock = !isKey && node.value.includes('\n') && !isRisky
  const isHidden = /[\u{7f}-\u{a0}\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}]/u.test(node.value)
  if (!isHidden && isBlock && isAllowed(SCALAR_STYLE.LITERAL_BLOCK)) {
    layout.style = SCALAR_STYLE.LITERAL_BLOCK
  } else if (isHidden || /[\n\t]/.test(node.value)) {
    layout.style = SCALAR_STYLE.DOUBLE_QUOTED
  } else if (!isAllowed(SCALAR_STYLE.PLAIN) || /^(?:---|\.\.\.)/.test(node.value)) {
    const isText = presenterOptions.schema.resolveImplicitScalarTag(node.value).tag.tagName === strTag.tagName
    layout.style =
      isText && isAllowed(SCALAR_STYLE.SINGLE_QUOTED) ? SCALAR_STYLE.SINGLE_QUOTED : SCALAR_STYLE.DOUBLE_QUOTED
  }
}

/** The key order of kubectl: letters come last, and digits are compared as numbers: a2 before a10. */
export function compareKeys(a: string, b: string): number {
  let at = 0
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  const x = a[at]
  const y = b[at]
  if (x === undefined || y === undefined) return a.length - b.length
  const letters = Number(isLetter(x)) - Number(isLetter(y))
  if (letters !== 0) return letters
  if (isLetter(x)) return x < y ? -1 : 1
  const [digits, otherDigits] = [digitsFrom(a, at), digitsFrom(b, at)]
  // Within a number a zero is a digit like any other; leading zeros do not count.
  const lead = (x === '0' || y === '0') && endsInNumber(a, at) ? '1' : ''
  const difference = compareDigits(lead + digits, lead + otherDigits)
  if (difference !== 0) return difference
  return digits.length - otherDigits.length || (x < y ? -1 : 1)
}

/** Whether the text before this position ends in digits that are not all zero. */
function endsInNumber(text: string, end: number): boolean {
  for (let at = end - 1; at >= 0; at--) {
    const digit = text[at]!
    if (digit < '0' || digit > '9') return false
    if (digit !== '0') return true
  }
  return false
}

/** Compared as numbers of any length. */
function compareDigits(a: string, b: string): number {
  const [left, right] = [a.replace(/^0+/, ''), b.replace(/^0+/, '')]
  if (left.length !== right.length) return left.length - right.length
  return left < right ? -1 : left > right ? 1 : 0
}

function isLetter(character: string): boolean {
  return character > '\x7f' ? /\p{L}/u.test(character) : /[A-Za-z]/.test(character)
}

function digitsFrom(text: string, start: number): string {
  return /^\d*/.exec(text.slice(start))![0]
}

/**
 * From the nodes of a YAML document to values: the types of scalars, merges, limits. YAML 1.1 as kubectl reads it; and a second
 * set of types that keeps the text of scalars and the style of collections, as kustomize needs them.
 */
import {
  boolCoreTag,
  boolYaml11Tag,
  CHOMPING_MODE,
  COLLECTION_STYLE,
  constructFromEvents,
  defineMappingTag,
  defineScalarTag,
  defineSequenceTag,
  type Event,
  EVENT_ID,
  type MappingEvent,
  type MappingTagDefinition,
  NOT_RESOLVED,
  nullYaml11Tag,
  parseEvents,
  SCALAR_STYLE,
  type ScalarTagDefinition,
  Schema,
  type SequenceEvent,
  type SequenceTagDefinition,
  strTag,
  YAMLException,
} from 'js-yaml'
import { isJsonObject, type Json } from '../json.ts'
import { readTimestamp } from './yaml-timestamp.ts'
import { markAsFlow, YamlScalar } from './yaml-value.ts'

interface ReadOptions {
  /** Duplicate keys are errors. @default false */
  readonly strict?: boolean | undefined
  /** Scalars keep their text where it is not how their value is written, collections their style. @default false */
  readonly isKeepingText?: boolean | undefined
  /** A block scalar at the end of a text without a final line break has none. @default false */
  readonly keepsEnd?: boolean | undefined
}

/** Deeper than any manifest, and not too deep for the stack. */
const deepest = 1000

/** All documents of a text. @throws YAMLException */
export function constructDocuments(
  text: string,
  { strict = false, isKeepingText = false, keepsEnd = false }: ReadOptions,
): readonly unknown[] {
  const events = parseEvents(text, { maxDepth: deepest })
  if (keepsEnd && !text.endsWith('\n')) stripLastBlock(events, text)
  mergedSoFar = 0
  collections = isKeepingText ? events.filter(isCollection).values() : undefined
  const schema = isKeepingText ? keepingSchema : readSchema
  const documents = constructFromEvents(events, { source: text, schema, json: !strict })
  return documents.map((document) => {
    const value = plain(document)
    const problem = jsonProblem(value)
    if (problem) throw new YAMLException(problem)
    if (text.includes('*')) refuseExcess(value)
    return value ?? null
  })
}

/** The parser adds the line break that the text lacks. */
function stripLastBlock(events: readonly Event[], text: string): void {
  const last = events.findLast((event) => event.type === EVENT_ID.SCALAR)
  const isBlock = last && (last.style === SCALAR_STYLE.LITERAL_BLOCK || last.style === SCALAR_STYLE.FOLDED_BLOCK)
  if (isBlock && last.valueEnd === text.length) last.chomping = CHOMPING_MODE.STRIP
}

/** A scalar without quotes by the rules of {@link readSchema}; undefined for what is no plain JSON value. */
export function resolvePlain(text: string): Json | undefined {
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

/** Represents a plain `<<`, which merges as a key and is text as a value. */
const mergeKey = Symbol('<<')

/** Marks a whole number that was written as a float: as a key it looks different. */
const wholeFloat: unique symbol = Symbol('whole float')

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

export const intTag: ScalarTagDefinition<number | bigint> = defineScalarTag(tagOf('int'), {
  implicit: true,
  implicitFirstChars: Array.from('+-0123456789'),
  resolve: (source) => readInteger(source) ?? NOT_RESOLVED,
  identify: () => false,
})

export const floatTag: ScalarTagDefinition<number | WholeFloat> = defineScalarTag(tagOf('float'), {
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
    create: () => created({}),
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
/** The collections that are still to be created, in their order; undefined if their style does not matter. */
let collections: ArrayIterator<MappingEvent | SequenceEvent> | undefined

function isCollection(event: Event): event is MappingEvent | SequenceEvent {
  return event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE
}

/** The next collection of the text. */
function created<Collection extends object>(collection: Collection): Collection {
  if (collections?.next().value?.style === COLLECTION_STYLE.FLOW) markAsFlow(collection)
  return collection
}

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
    create: () => created([]),
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

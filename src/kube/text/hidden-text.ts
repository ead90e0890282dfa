/**
 * Masks values in text, in every form in which they may appear: literally, in base64 (alone, or as part of a larger encoded
 * text), with the escapes of JSON, YAML or a URL, up to three levels, and with any line breaks and indentation. The replacement
 * of a value is the same everywhere.
 *
 * A text is searched in several views: as it is, and with its escapes decoded. Each character of a view knows its origin, so a
 * value that is found in any view is removed from the text itself.
 *
 * This is the only way to mask secrets, and the order is: mask, then cut (`cutText`). A text that is cut first may contain the
 * first half of a value, which a search for the whole value does not find.
 */
import { isUtf8 } from 'node:buffer'
import { trimEnd } from './trim-end.ts'

export interface HiddenValue {
  readonly bytes: Buffer
  readonly standIn: string
}

/** Shorter values, surrounding white space not counted, occur anywhere by chance: they are not searched. */
const shortest = 4
/** Shorter values are searched as whole words only: four letters occur within many ordinary words. */
const shortestInWords = 6
/** Encoded text may be encoded again. */
const deepest = 3
const base64Word = /[A-Za-z0-9+/_-]{6,}={0,2}/g

interface HidingOptions {
  /** Searches values of four and five characters within words, too. @default false */
  readonly withinWords?: boolean
  /**
   * Also searches for the beginning of a value at the end of a text or before an ellipsis: servers and libraries truncate quotes.
   * @default false
   */
  readonly cutValues?: boolean
}

export type Hide = (text: string) => string

/** For messages: `standIn` replaces each value, and the rest of a truncated one. */
export function hidingValues(values: Iterable<string>, standIn: string): Hide {
  // With the surrounding white space, which is masked with it, and without.
  const spelled = [...new Set(Array.from(values, (value) => [value, value.trim()]).flat())]
  return (text) => {
    // Most messages contain none of thousands of values: this check is cheaper than preparing a search for all of them.
    const seen = spelled.length === 0 ? '' : readingsOf(text, 0)
    const likely = spelled.filter((value) => mayBeIn(seen, value))
    if (likely.length === 0) return text
    const hidden = likely.map((value): HiddenValue => ({ bytes: Buffer.from(value), standIn }))
    return hidingText(hidden, { withinWords: true, cutValues: true })(text)
  }
}

/** A text in all its views, without white space, and with its base64 words decoded. */
function readingsOf(text: string, depth: number): string {
  const views = Array.from(viewsOf(text), (view) => view.text.replaceAll(/\s/g, ''))
  const words = depth < deepest ? (text.match(base64Word) ?? []) : []
  return [...views, ...words.map((word) => readingsOf(Buffer.from(word, 'base64').toString(), depth + 1))].join('\n')
}

/** False: it does not occur, in any form. */
function mayBeIn(readings: string, value: string): boolean {
  const beginning = value.slice(0, 64).replaceAll(/\s/g, '')
  // A value that is mostly white space is searched: too little of it is left to decide here.
  if (beginning.length < shortest ? value.trim().length >= shortest : readings.includes(beginning.slice(0, shortest)))
    return true
  const bytes = Buffer.from(value.slice(0, 8))
  if (bytes.length < shortest) return false
  return [0, 1, 2].some((offset) => {
    const encoded = middleOf(bytes, offset).slice(0, shortest)
    return readings.includes(encoded) || readings.includes(urlAlphabet(encoded))
  })
}

/** A text of at most `most` characters, masked before it is cut. */
export function cutText(text: string, most: number, hide: Hide = (same) => same): string {
  const shown = hide(text)
  return shown.length <= most ? shown : `${shown.slice(0, most - 1).toWellFormed()}…`
}

export function hidingText(values: readonly HiddenValue[], options: HidingOptions = {}): Hide {
  const formsOf = (value: HiddenValue): readonly Form[] => textForms(value, options)
  const asIs = searchFor(values, formsOf, options)
  const unspaced = searchFor(values, (value) => formsOf(value).flatMap(withoutSpace), options)
  const asBytes = searchFor(values, byteForms, options)
  const isNothing = values.length === 0

  const hideText = (text: string, depth: number): string => {
    const places: Place[] = depth < deepest ? encodedPlaces(text, depth) : []
    for (const view of viewsOf(text)) {
      asIs(view, places)
      unspaced(/\s/.test(view.text) ? decoded(view, /\s+/g, () => '') : view, places)
    }
    return withPlaces(text, places)
  }

  /** Base64 words with a masked part. */
  const encodedPlaces = (text: string, depth: number): Place[] => {
    const places: Place[] = []
    for (const { 0: word, index } of text.matchAll(base64Word)) {
      const bytes = Buffer.from(word, 'base64')
      const hidden = hideBytes(bytes, depth + 1)
      if (hidden === bytes) continue
      places.push({ from: index, to: index + word.length, by: encodedLike(word, hidden), isPlain: false })
    }
    return places
  }

  /** The same bytes where nothing is masked. */
  const hideBytes = (bytes: Buffer, depth: number): Buffer => {
    const encoding = isUtf8(bytes) ? 'utf8' : 'latin1'
    const text = bytes.toString(encoding)
    const places: Place[] = []
    if (encoding === 'latin1') asBytes(asItIs(text), places)
    const hidden = encoding === 'utf8' ? hideText(text, depth) : withPlaces(text, places)
    return hidden === text ? bytes : Buffer.from(hidden, encoding)
  }

  return (text) => (isNothing || text.length < shortest ? text : hideText(text, 0))
}

/** A form of a value, and its replacement there. */
interface Form {
  readonly text: string
  readonly by: string
  /** Not encoded. */
  readonly isPlain: boolean
  /** Found only if no letter or digit is adjacent. */
  readonly isWord: boolean
}

function textForms({ bytes, standIn }: HiddenValue, { withinWords = false }: HidingOptions): readonly Form[] {
  const text = bytes.toString('utf8')
  // Bytes that are not text are lost wherever it became text.
  const size = text.replaceAll('\uFFFD', '').trim().length
  const plain =
    size < shortest ? [] : [{ text, by: standIn, isPlain: true, isWord: !withinWords && size < shortestInWords }]
  return [...plain, ...base64Forms(bytes, standIn)]
}

function byteForms({ bytes, standIn }: HiddenValue): readonly Form[] {
  return bytes.length < shortest ? [] : [{ text: bytes.toString('latin1'), by: standIn, isPlain: true, isWord: false }]
}

/** White space is ignored: lines are folded, indented and wrapped. */
function withoutSpace(form: Form): readonly Form[] {
  const text = form.text.replaceAll(/\s/g, '')
  return form.isWord || text.length < shortestInWords ? [] : [{ ...form, text }]
}

/** As a whole; and the middle part that is the same when it is encoded with any text around it. */
function base64Forms(bytes: Buffer, standIn: string): readonly Form[] {
  if (bytes.length < shortest) return []
  const padded = bytes.toString('base64')
  const replacement = Buffer.from(standIn).toString('base64')
  const unpadded = trimEnd(replacement, '=')
  const middles = bytes.length < shortestInWords ? [] : [0, 1, 2].map((offset) => middleOf(bytes, offset))
  const formOf = (text: string, by: string): Form => ({ text, by, isPlain: false, isWord: false })
  const forms = [
    formOf(padded, replacement),
    ...[trimEnd(padded, '='), ...middles].map((text) => formOf(text, unpadded)),
  ]
  const inUrls = ({ text, by }: Form): Form => formOf(urlAlphabet(text), urlAlphabet(by))
  return [...forms, ...forms.filter(({ text }) => urlAlphabet(text) !== text).map(inUrls)]
}

/** The characters that depend only on these bytes, with `offset` other bytes before them. */
function middleOf(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes, Buffer.alloc(2)]).toString('base64')
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
}

function urlAlphabet(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_')
}

/** In the alphabet of `word`, and padded if that was. */
function encodedLike(word: string, bytes: Buffer): string {
  const padded = bytes.toString('base64')
  const text = word.length % 4 === 0 ? padded : trimEnd(padded, '=')
  return /[-_]/.test(word) ? urlAlphabet(text) : text
}

/** A decoded text, and the origin of each of its characters. */
interface View {
  readonly text: string
  begin(at: number): number
  end(at: number): number
}

function asItIs(text: string): View {
  return { text, begin: (at) => at, end: (at) => at + 1 }
}

const escapes = /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|\r?\n\s*|([\s\S]))/g
const named: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  e: '\x1B',
  0: '\0',
}

function readEscape([, four, two, eight, one]: RegExpMatchArray): string {
  const digits = four ?? two ?? eight
  if (digits === undefined) return one === undefined ? '' : (named[one] ?? one)
  const code = Number.parseInt(digits, 16)
  return code > 0x10_ff_ff ? '' : String.fromCodePoint(code)
}

function readPercents([text]: RegExpMatchArray): string {
  return Buffer.from(text.replaceAll('%', ''), 'hex').toString('utf8')
}

function* viewsOf(text: string): Generator<View> {
  let view = asItIs(text)
  for (let depth = 0; ; depth++) {
    yield view
    if (view.text.includes('%')) yield decoded(view, /(?:%[0-9a-fA-F]{2})+/g, readPercents)
    // YAML escapes a single quote by doubling it.
    if (view.text.includes("''")) yield decoded(view, /''/g, () => "'")
    if (depth === deepest || !view.text.includes('\\')) return
    view = decoded(view, escapes, readEscape)
  }
}

/** With each match decoded. The whole replacement originates from the whole match. */
function decoded(view: View, pattern: RegExp, read: (match: RegExpMatchArray) => string): View {
  const parts: string[] = []
  const begins = new Uint32Array(view.text.length)
  const ends = new Uint32Array(view.text.length)
  let length = 0
  let from = 0
  const keep = (to: number): void => {
    parts.push(view.text.slice(from, to))
    for (let at = from; at < to; at++, length++) [begins[length], ends[length]] = [view.begin(at), view.end(at)]
  }
  for (const match of view.text.matchAll(pattern)) {
    keep(match.index)
    from = match.index + match[0].length
    const part = read(match)
    parts.push(part)
    for (let at = 0; at < part.length; at++, length++) {
      begins[length] = view.begin(match.index)
      ends[length] = view.end(from - 1)
    }
  }
  keep(view.text.length)
  return { text: parts.join(''), begin: (at) => begins[at]!, end: (at) => ends[at]! }
}

/** A range of the original, and its replacement. */
interface Place {
  readonly from: number
  readonly to: number
  readonly by: string
  readonly isPlain: boolean
}

type Search = (view: View, places: Place[]) => void

/** The beginning of a form; for a long one no more is kept, since all Secrets of a cluster in all forms exceed memory. */
interface Beginning {
  readonly text: string
  readonly whole: () => Form
}

const longestBeginning = 256

function beginningsOf(value: HiddenValue, formsOf: (value: HiddenValue) => readonly Form[]): readonly Beginning[] {
  return formsOf(value).map((form, index) => {
    if (form.text.length <= longestBeginning) return { text: form.text, whole: () => form }
    // A slice would keep the whole text alive.
    const text = Buffer.from(form.text.slice(0, longestBeginning), 'utf16le').toString('utf16le')
    return { text, whole: () => formsOf(value)[index]! }
  })
}

/** Searches all forms in one pass, however many there are: by their beginnings. */
function searchFor(
  values: readonly HiddenValue[],
  formsOf: (value: HiddenValue) => readonly Form[],
  { cutValues = false }: HidingOptions,
): Search {
  const beginnings = values.flatMap((value) => beginningsOf(value, formsOf))
  const byStart = Map.groupBy(beginnings, ({ text }) => text.slice(0, shortest))
  // Most positions begin no form, which is decided without creating a string. A few values need only a small table.
  const bits = Math.min(Math.max(Math.ceil(Math.log2(16 * beginnings.length + 1)), 8), 21)
  const starts = new Uint8Array(2 ** bits)
  // Four characters fill it, so earlier ones are shifted out.
  const step = (mark: number, text: string, at: number): number => (mark << 8) ^ text.charCodeAt(at)
  const placeOf = (mark: number): number => Math.imul(mark, 0x9e_37_79_b1) >>> (32 - bits)
  for (const { text } of beginnings) starts[placeOf([0, 1, 2, 3].reduce((mark, at) => step(mark, text, at), 0))] = 1
  return (view, places) => {
    const { text } = view
    /** The last position of each: a long repetitive value is not found again at every step. */
    const ends = new Map<Beginning, number>()
    let mark = 0
    for (let next = 0; next < text.length; next++) {
      mark = step(mark, text, next)
      const at = next + 1 - shortest
      if (at < 0 || starts[placeOf(mark)] === 0) continue
      for (const beginning of byStart.get(text.slice(at, at + shortest)) ?? []) {
        if (at < (ends.get(beginning) ?? 0)) continue
        const to = endOf(beginning, text, at, cutValues)
        if (to === undefined) continue
        const form = beginning.whole()
        if (form.isWord && !isWordAt(text, at, to)) continue
        ends.set(beginning, to)
        places.push({ from: view.begin(at), to: view.end(to - 1), by: form.by, isPlain: form.isPlain })
      }
    }
  }
}

/** A shorter rest of a truncated value reveals little, and occurs by chance. */
const shortestPart = 8

/** The end of the value that begins at a position, or where it was truncated. */
function endOf(
  { text: beginning, whole }: Beginning,
  text: string,
  at: number,
  cutValues: boolean,
): number | undefined {
  if (text.startsWith(beginning, at)) {
    const form = whole().text
    if (text.startsWith(form, at)) return at + form.length
    return cutValues ? endOfPart(form, text, at) : undefined
  }
  return cutValues ? endOfPart(beginning, text, at) : undefined
}

function endOfPart(form: string, text: string, at: number): number | undefined {
  let length = shortest
  while (length < form.length && at + length < text.length && form[length] === text[at + length]) length++
  const to = at + length
  return length >= shortestPart && (to === text.length || cutMark.test(text.slice(to, to + 4))) ? to : undefined
}

/** Text that marks a truncation. */
const cutMark = /^[\s"'`)\]]?(?:…|\.\.\.?)/

function isWordAt(text: string, from: number, to: number): boolean {
  return (
    !/[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, from - 2), from)) && !/^[\p{L}\p{N}]/u.test(text.slice(to, to + 2))
  )
}

/** Overlapping ranges are removed together; the one with the highest priority decides the replacement. */
function withPlaces(text: string, places: readonly Place[]): string {
  if (places.length === 0) return text
  const joined: { readonly from: number; to: number; by: Place }[] = []
  for (const place of places.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (!last || place.from >= last.to) joined.push({ from: place.from, to: place.to, by: place })
    else {
      last.to = Math.max(last.to, place.to)
      if (isWeightier(place, last.by)) last.by = place
    }
  }
  let out = ''
  let at = 0
  for (const { from, to, by } of joined) {
    out += text.slice(at, from) + by.by
    at = to
  }
  return out + text.slice(at)
}

/** Literal matches have priority: encoded text is encoded again with everything else in it. */
function isWeightier(a: Place, b: Place): boolean {
  return a.isPlain === b.isPlain ? a.to - a.from > b.to - b.from : a.isPlain
}

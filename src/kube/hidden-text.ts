/**
 * Takes values out of text, in whatever form they were put there: as they are, in base64 (alone, or as a part of what was
 * encoded), with the escapes of JSON, YAML or a URL, up to three deep, and however their lines were broken and indented. What
 * stands in for a value is the same in each place.
 *
 * A text is looked at in several views: as it is, and with its escapes read. Each character of a view knows where it came from,
 * so a value that is found in any of them is cut out of the text itself.
 *
 * This is the one way to mask secrets, and there is one order: mask, then cut (`cutText`). A text that is cut first may hold the
 * first half of a value, which no search for the whole value finds.
 */
import { isUtf8 } from 'node:buffer'
import { trimEnd } from './trim-end.ts'

export interface HiddenValue {
  readonly bytes: Buffer
  readonly standIn: string
}

/** A value of fewer characters, white space not counted, is anywhere by chance: it is not looked for. */
const shortest = 4
/** One of fewer is looked for as a word of its own: many an ordinary word has four letters in it that are a word, too. */
const shortestInWords = 6
/** What is encoded may be encoded again. */
const deepest = 3
const base64Word = /[A-Za-z0-9+/_-]{6,}={0,2}/g

export interface HidingOptions {
  /** Looks for values of four and five characters within words, too. @default false */
  readonly withinWords?: boolean
  /**
   * Looks for the beginning of a value where a text ends or an ellipsis stands, too: servers and libraries cut what they quote.
   * @default false
   */
  readonly cutValues?: boolean
}

export type Hide = (text: string) => string

/** For messages: `standIn` takes the place of each value and of what is left of one that was cut. */
export function hidingValues(values: Iterable<string>, standIn: string): Hide {
  // With the white space around it, which goes with it, and without.
  const spelled = [...new Set(Array.from(values, (value) => [value, value.trim()]).flat())]
  return (text) => {
    // Most messages hold none of thousands of values: to see that takes less than to prepare a search for all of them.
    const seen = spelled.length === 0 ? '' : readingsOf(text, 0)
    const likely = spelled.filter((value) => mayBeIn(seen, value))
    if (likely.length === 0) return text
    const hidden = likely.map((value): HiddenValue => ({ bytes: Buffer.from(value), standIn }))
    return hidingText(hidden, { withinWords: true, cutValues: true })(text)
  }
}

/** A text in all its views, without white space, and what its words are when they are base64. */
function readingsOf(text: string, depth: number): string {
  const views = Array.from(viewsOf(text), (view) => view.text.replaceAll(/\s/g, ''))
  const words = depth < deepest ? (text.match(base64Word) ?? []) : []
  return [...views, ...words.map((word) => readingsOf(Buffer.from(word, 'base64').toString(), depth + 1))].join('\n')
}

/** False: it is not there, in no form. */
function mayBeIn(readings: string, value: string): boolean {
  const beginning = value.slice(0, 64).replaceAll(/\s/g, '')
  if (beginning.length < shortest ? value.length > 64 : readings.includes(beginning.slice(0, shortest))) return true
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

  /** Words that are base64, of which something is hidden. */
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

  /** The same bytes where nothing is. */
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

/** What a value looks like somewhere, and what it is replaced by there. */
interface Form {
  readonly text: string
  readonly by: string
  /** Not encoded. */
  readonly isPlain: boolean
  /** Found only where no letter or digit is beside it. */
  readonly isWord: boolean
}

function textForms({ bytes, standIn }: HiddenValue, { withinWords = false }: HidingOptions): readonly Form[] {
  const text = bytes.toString('utf8')
  // What of it is no text is lost wherever it became one.
  const size = text.replaceAll(/[\s\uFFFD]/g, '').length
  const plain =
    size < shortest ? [] : [{ text, by: standIn, isPlain: true, isWord: !withinWords && size < shortestInWords }]
  return [...plain, ...base64Forms(bytes, standIn)]
}

function byteForms({ bytes, standIn }: HiddenValue): readonly Form[] {
  return bytes.length < shortest ? [] : [{ text: bytes.toString('latin1'), by: standIn, isPlain: true, isWord: false }]
}

/** White space does not count: lines are folded, indented, and broken after so many characters. */
function withoutSpace(form: Form): readonly Form[] {
  const text = form.text.replaceAll(/\s/g, '')
  return form.isWord || text.length < shortestInWords ? [] : [{ ...form, text }]
}

/** As a whole; and what the middle of it becomes where it is encoded with other text around it, of whatever length. */
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

/** The characters that depend on nothing but these bytes, where `offset` others stand before them. */
function middleOf(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes, Buffer.alloc(2)]).toString('base64')
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
}

function urlAlphabet(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_')
}

/** In the alphabet of `word`, and filled up if that was. */
function encodedLike(word: string, bytes: Buffer): string {
  const padded = bytes.toString('base64')
  const text = word.length % 4 === 0 ? padded : trimEnd(padded, '=')
  return /[-_]/.test(word) ? urlAlphabet(text) : text
}

/** A text as somebody may read it, and where in the original each of its characters begins and ends. */
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
    // So YAML writes a quote in quotes.
    if (view.text.includes("''")) yield decoded(view, /''/g, () => "'")
    if (depth === deepest || !view.text.includes('\\')) return
    view = decoded(view, escapes, readEscape)
  }
}

/** With each match read as something else. All of what that is came from all of the match. */
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

/** A part of the original, and what it is replaced by. */
interface Place {
  readonly from: number
  readonly to: number
  readonly by: string
  readonly isPlain: boolean
}

type Search = (view: View, places: Place[]) => void

/** How a form begins; of a long one no more is kept, for all Secrets of a cluster in all forms are more than memory. */
interface Beginning {
  readonly text: string
  readonly whole: () => Form
}

const longestBeginning = 256

function beginningsOf(value: HiddenValue, formsOf: (value: HiddenValue) => readonly Form[]): readonly Beginning[] {
  return formsOf(value).map((form, index) => {
    if (form.text.length <= longestBeginning) return { text: form.text, whole: () => form }
    // A part of a text would keep all of it.
    const text = Buffer.from(form.text.slice(0, longestBeginning), 'utf16le').toString('utf16le')
    return { text, whole: () => formsOf(value)[index]! }
  })
}

/** All of them in one walk, however many there are: by how they begin. */
function searchFor(
  values: readonly HiddenValue[],
  formsOf: (value: HiddenValue) => readonly Form[],
  { cutValues = false }: HidingOptions,
): Search {
  const beginnings = values.flatMap((value) => beginningsOf(value, formsOf))
  const byStart = Map.groupBy(beginnings, ({ text }) => text.slice(0, shortest))
  // Most places are no beginning of any, and that shows without making a text of them. A few values need a small table.
  const bits = Math.min(Math.max(Math.ceil(Math.log2(16 * beginnings.length + 1)), 8), 21)
  const starts = new Uint8Array(2 ** bits)
  // Four characters fill it, so what was before them is gone.
  const step = (mark: number, text: string, at: number): number => (mark << 8) ^ text.charCodeAt(at)
  const placeOf = (mark: number): number => Math.imul(mark, 0x9e_37_79_b1) >>> (32 - bits)
  for (const { text } of beginnings) starts[placeOf([0, 1, 2, 3].reduce((mark, at) => step(mark, text, at), 0))] = 1
  return (view, places) => {
    const { text } = view
    /** Where each was found last: something long that repeats itself is not found again at every step. */
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

/** Fewer characters of a value that was cut say little of it, and are anywhere by chance. */
const shortestPart = 8

/** Where the value that begins at a place ends, or was cut. */
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

/** What stands where a text was cut. */
const cutMark = /^[\s"'`)\]]?(?:…|\.\.\.?)/

function isWordAt(text: string, from: number, to: number): boolean {
  return (
    !/[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, from - 2), from)) && !/^[\p{L}\p{N}]/u.test(text.slice(to, to + 2))
  )
}

/** Of places that overlap nothing stays; the weightiest of them says by what they are replaced. */
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

/** What is there as it is counts first: what was encoded is encoded again with all else that stands there. */
function isWeightier(a: Place, b: Place): boolean {
  return a.isPlain === b.isPlain ? a.to - a.from > b.to - b.from : a.isPlain
}

/**
 * Duplicate keys of mappings in a YAML text, as go-yaml reports them: in the order in which their values are complete, each with
 * the line on which its value begins. Merges (`<<`) and aliases are not followed.
 *
 * Like `yaml.ts`, this file loads a parser.
 */
import {
  EVENT_ID,
  type Event,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  YAMLException,
} from 'js-yaml'
import { quoteGo } from '../go/go-text.ts'
import { type Json, stringifyJson } from '../json.ts'
import { readYaml } from './yaml.ts'

interface DuplicateKey {
  /** The line of the value, from one on. */
  readonly line: number
  /** As Go prints it: `"name"`, `1`, `true`. */
  readonly key: string
}

interface Level {
  /** Undefined in a list. */
  readonly keys: Set<string> | undefined
  /** The key whose value is being read. */
  pending: { readonly key: string; line: number | undefined; readonly keyLine: number } | undefined
}

const deepest = 1000

/** Of the first document, which is the relevant one; none if the text is invalid. */
export function duplicateKeys(text: string): readonly DuplicateKey[] {
  const found: DuplicateKey[] = []
  const levels: Level[] = []
  const lineOf = lineCounter(text)
  const complete = (): void => {
    const level = levels.at(-1)
    if (!level?.keys || !level.pending) return
    const { key, line, keyLine } = level.pending
    if (level.keys.has(key)) found.push({ line: line ?? keyLine, key })
    level.keys.add(key)
    level.pending = undefined
  }
  for (const event of firstDocument(text)) {
    const level = levels.at(-1)
    if (event.type === EVENT_ID.POP) {
      levels.pop()
      complete()
      continue
    }
    const start = startOf(event)
    const line = start === undefined ? undefined : lineOf(start)
    const isKey = level?.keys !== undefined && level.pending === undefined
    if (isKey && level) {
      // A key that is not a scalar, or a merge, never equals another one.
      const isName = event.type === EVENT_ID.SCALAR && !isMerge(text, event)
      const key = isName ? keyOf(text, event) : `<<${level.keys?.size}`
      level.pending = { key, line: undefined, keyLine: line ?? 1 }
    } else if (level?.pending) {
      level.pending.line ??= line
    }
    if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE) {
      levels.push({ keys: event.type === EVENT_ID.MAPPING ? new Set() : undefined, pending: undefined })
    } else if (!isKey) {
      complete()
    }
  }
  return found
}

function firstDocument(text: string): readonly Event[] {
  try {
    const events = parseEvents(text, { maxDepth: deepest })
    const second = events.findIndex(({ type }, at) => at > 0 && type === EVENT_ID.DOCUMENT)
    return events.slice(1, second < 0 ? undefined : second)
  } catch (error) {
    if (error instanceof YAMLException) return []
    throw error
  }
}

/** Undefined if the event has no position: it begins on the line of its key. */
function startOf(event: Event): number | undefined {
  if (event.type === EVENT_ID.POP || event.type === EVENT_ID.DOCUMENT) return undefined
  const isBlock =
    event.type === EVENT_ID.SCALAR &&
    (event.style === SCALAR_STYLE.LITERAL_BLOCK || event.style === SCALAR_STYLE.FOLDED_BLOCK)
  const own = event.type === EVENT_ID.SCALAR ? (isBlock ? -1 : event.valueStart) : 'start' in event ? event.start : -1
  const tag = 'tagStart' in event ? event.tagStart : -1
  const starts = [event.anchorStart, tag, own].filter((one) => one >= 0)
  return starts.length === 0 ? undefined : Math.min(...starts)
}

function isMerge(text: string, event: ScalarEvent): boolean {
  return event.style === SCALAR_STYLE.PLAIN && getScalarValue(text, event) === '<<'
}

/** Plain text that may not be a string. */
const special = /^(?:[-+.~\d].*|y|n|yes|no|on|off|true|false|null|)$/i

/** Numbers in the notation that Go prints, or nearly so: they are common, and need no parser. */
const simpleNumber = /^(?:-?(?:0|[1-9]\d{0,14})(?:\.\d{1,6})?|0x[\da-f]{1,12})$/i

function keyOf(text: string, event: ScalarEvent): string {
  const value = getScalarValue(text, event)
  const isPlain = event.style === SCALAR_STYLE.PLAIN && event.tagStart < 0
  if (!isPlain || !special.test(value)) return quoteGo(value)
  if (simpleNumber.test(value)) return String(Number(value))
  // Anything else of that length is text, or may count as such.
  const read: Json = value.length > longestSpecial ? value : readYaml(value)
  if (read === null) return '<nil>'
  return typeof read === 'string' ? quoteGo(read) : stringifyJson(read)
}

const longestSpecial = 40

/** Offsets are requested in the order of the text, so the text is read once. */
function lineCounter(text: string): (offset: number) => number {
  let line = 1
  let counted = 0
  return (offset) => {
    for (; counted < offset; counted++) if (text.charCodeAt(counted) === 0x0a) line++
    return line
  }
}

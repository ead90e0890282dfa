/** JSON as Go's encoder writes it. */
import { GoError } from '../../template/go-error.ts'
import { type GoMap, GoInteger, GoObject, isNilList, isNilMap, sortedKeys } from '../../template/values.ts'

export interface JsonStyle {
  /** Indentation of each level; on one line without it. */
  readonly indent?: string
  /** Whether `<`, `>` and `&` are escaped. */
  readonly escapesHtml: boolean
}

/** Deeper values contain themselves. */
const deepest = 1000

/** @throws GoError for values that have no JSON */
export function writeGoJson(value: unknown, style: JsonStyle): string {
  return write(value, style, '', 0)
}

function write(value: unknown, style: JsonStyle, indent: string, depth: number): string {
  if (depth > deepest) throw new GoError('json: unsupported value: encountered a cycle')
  switch (typeof value) {
    case 'string':
      return jsonText(value, style)
    case 'number':
      return jsonNumber(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'undefined':
      return 'null'
    default:
      break
  }
  if (value === null || isNilList(value)) return 'null'
  if (value instanceof GoInteger) return String(value.value)
  if (value instanceof GoObject) return write(value.json, style, indent, depth + 1)
  if (value instanceof Uint8Array) return `"${Buffer.from(value).toString('base64')}"`
  const inner = style.indent === undefined ? '' : indent + style.indent
  if (Array.isArray(value)) {
    return enclosed(
      '[',
      value.map((item) => write(item, style, inner, depth + 1)),
      ']',
      style,
      indent,
    )
  }
  const map = value as GoMap
  if (isNilMap(map)) return 'null'
  const colon = style.indent === undefined ? ':' : ': '
  const members = sortedKeys(map).map((key) => jsonText(key, style) + colon + write(map[key], style, inner, depth + 1))
  return enclosed('{', members, '}', style, indent)
}

function enclosed(open: string, items: readonly string[], close: string, style: JsonStyle, indent: string): string {
  if (style.indent === undefined || items.length === 0) return open + items.join(',') + close
  const inner = `\n${indent}${style.indent}`
  return `${open}${inner}${items.join(`,${inner}`)}\n${indent}${close}`
}

/** @throws GoError for infinity and NaN */
export function jsonNumber(value: number): string {
  if (!Number.isFinite(value)) {
    throw new GoError(`json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`)
  }
  return Object.is(value, -0) ? '-0' : String(value)
}

function jsonText(text: string, { escapesHtml }: JsonStyle): string {
  const quoted = /[\u{dc80}-\u{dcff}]/u.test(text) ? quotedBytes(text) : JSON.stringify(text)
  const pattern = escapesHtml ? /[<>&\u2028\u2029]/g : /[\u2028\u2029]/g
  return quoted.replaceAll(pattern, (character) => {
    return String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Each byte that is not UTF-8 becomes an escaped U+FFFD. */
function quotedBytes(text: string): string {
  const parts = text.split(/[\u{dc80}-\u{dcff}]/u).map((part) => JSON.stringify(part).slice(1, -1))
  return `"${parts.join(String.raw`\ufffd`)}"`
}

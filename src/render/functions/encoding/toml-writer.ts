/** TOML as BurntSushi's encoder writes it. */
import { formatGoFloat } from '../../../kube/go/go-text.ts'
import { formatDuration } from '../../../kube/units/duration.ts'
import { GoError } from '../../template/go-error.ts'
import { validText } from '../../template/text-bytes.ts'
import { type GoMap, GoInteger, GoObject, isMap, sortedKeys, typeOf } from '../../template/values.ts'
import { formatInstant, instantOf } from '../time/go-time.ts'

/** Deeper values contain themselves. */
const deepest = 1000

/** @throws GoError */
export function writeToml(value: unknown): string {
  if (!isMap(value)) {
    if (isTableList(value)) throw new GoError('toml: top-level values must be Go maps or structs')
    return inline(value, 0)
  }
  const lines: string[] = []
  table(value, [], lines)
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

function table(map: GoMap, path: readonly string[], lines: string[]): void {
  if (path.length > deepest) throw new GoError('toml: the value contains itself')
  const indent = '  '.repeat(Math.max(path.length - 1, 0))
  const inner = path.length === 0 ? '' : `${indent}  `
  const keys = sortedKeys(map).filter((key) => (map[key] ?? null) !== null)
  for (const key of keys) {
    const value = map[key]
    if (!isTable(value) && !isTableList(value)) lines.push(`${inner}${keyText(key)} = ${inline(value, 0)}`)
  }
  for (const key of keys) {
    const value = map[key]
    const next = [...path, keyText(key)]
    const padding = '  '.repeat(path.length)
    if (isTable(value)) {
      separate(lines, path)
      lines.push(`${padding}[${next.join('.')}]`)
      table(value, next, lines)
    } else if (isTableList(value)) {
      for (const item of value) {
        if (lines.length > 0) lines.push('')
        lines.push(`${padding}[[${next.join('.')}]]`)
        table(item, next, lines)
      }
    }
  }
}

/** A blank line before each table of the top level. */
function separate(lines: string[], path: readonly string[]): void {
  if (path.length === 0 && lines.length > 0) lines.push('')
}

function isTable(value: unknown): value is GoMap {
  return isMap(value)
}

function isTableList(value: unknown): value is readonly GoMap[] {
  return Array.isArray(value) && value.length > 0 && value.every(isMap)
}

function keyText(key: string): string {
  if (key === '') return '""'
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : quoted(key)
}

function inline(value: unknown, depth: number): string {
  if (depth > deepest) throw new GoError('toml: the value contains itself')
  if (value instanceof GoObject) {
    if (value.type === 'time.Time') return timeText(value)
    return inline(value.json, depth + 1)
  }
  if (value instanceof GoInteger)
    return value.type === 'time.Duration' ? quoted(formatDuration(value.value)) : String(value.value)
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number') return floatText(value)
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (value instanceof Uint8Array) return `[${Array.from(value).join(', ')}]`
  if (Array.isArray(value)) {
    if (value.some((item) => (item ?? null) === null)) throw new GoError('toml: cannot encode array with nil element')
    return `[${value.map((item) => inline(item, depth + 1)).join(', ')}]`
  }
  if (!isMap(value)) throw new GoError(`toml: unsupported type: ${typeOf(value)}`)
  const members = sortedKeys(value).map((key) => `${keyText(key)} = ${inline(value[key], depth + 1)}`)
  return `{${members.join(', ')}}`
}

/** Zones of dates and times that have none. */
export type LocalZone = keyof typeof localLayouts

const localLayouts = {
  'datetime-local': '2006-01-02T15:04:05.999999999',
  'date-local': '2006-01-02',
  'time-local': '15:04:05.999999999',
} as const

function timeText(value: GoObject): string {
  const instant = instantOf(value)
  const name = typeof instant.zone === 'string' ? '' : instant.zone.name
  const layout = Object.hasOwn(localLayouts, name) ? localLayouts[name as LocalZone] : undefined
  return layout === undefined ? String(value.json) : formatInstant(layout, instant)
}

function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  const text = formatGoFloat(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}

const escapes: Readonly<Record<string, string>> = {
  '\b': String.raw`\b`,
  '\t': String.raw`\t`,
  '\n': String.raw`\n`,
  '\f': String.raw`\f`,
  '\r': String.raw`\r`,
  '"': String.raw`\"`,
  '\\': String.raw`\\`,
}

function quoted(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the characters to escape
  const escaped = validText(text).replaceAll(/[\0-\x1f"\\\x7f]/g, (character) => {
    return escapes[character] ?? String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
  return `"${escaped}"`
}

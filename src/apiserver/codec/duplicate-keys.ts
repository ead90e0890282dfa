/**
 * Keys that an object in JSON text has twice. A parser keeps the last and says nothing; a strict server says so. One
 * pass over the text, and no more than that while there is nothing to find.
 */

import { quoteGo } from '../../kube/go-text.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'

export interface KeyScan {
  /** Paths of what comes twice: `data.k`, `spec.ports[0].name`. */
  readonly duplicates: readonly string[]
  /** Paths of all keys in the order of the text; only where there are duplicates. */
  readonly order: readonly string[]
  /** What was noticed before the object was read: in YAML, and in a patch. */
  readonly before?: Noticed | undefined
}

export interface Noticed {
  readonly warnings: readonly string[]
  /** The same, as a strict server refuses it. */
  readonly refusal: string
}

/** Keys that come twice in the text of a merge patch. */
export function scanMergePatch(text: string): KeyScan {
  const paths = [...new Set(scanKeys(text).duplicates)].slice(0, mostReported)
  return { ...nothing, before: noticedOf(paths.map((path) => `duplicate field ${quoteGo(path)}`)) }
}

const operationMembers: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value'])

/** Members of operations that come twice or that no operation has; a value keeps its doubles, wherever it is put. */
export function scanJsonPatch(text: string, operations: Json): KeyScan {
  const { duplicates, order } = scanKeys(text, true)
  const seen = new Set<string>()
  const texts: string[] = []
  for (const path of order) {
    const [, member] = /^\[\d+\]\.([^.[]+)$/.exec(path) ?? []
    if (seen.has(path)) texts.push(`json patch duplicate field ${quoteGo(path)}`)
    else if (member !== undefined && !operationMembers.has(member)) {
      texts.push(`json patch unknown field ${quoteGo(path)}`)
    }
    seen.add(path)
  }
  const inValues = isJsonArray(operations) ? duplicates.flatMap((path) => putDouble(operations, path)) : []
  return { duplicates: inValues, order: inValues, before: noticedOf(texts.slice(0, mostReported)) }
}

/** Where a double in the value of an operation comes to stand. */
function putDouble(operations: readonly Json[], double: string): readonly string[] {
  const [, index, rest] = /^\[(\d+)\]\.value([.[].*)$/s.exec(double) ?? []
  const operation = index === undefined ? undefined : operations[Number(index)]
  const { op, path } = isJsonObject(operation) ? operation : {}
  if ((op !== 'add' && op !== 'replace') || typeof path !== 'string' || path.endsWith('/-')) return []
  const names = path.split('/').slice(1)
  const place = names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')).reduce(joinPointer, '')
  return [`${place}${rest}`]
}

function joinPointer(path: string, name: string): string {
  return /^\d+$/.test(name) ? `${path}[${name}]` : join(path, name)
}

function noticedOf(warnings: readonly string[]): Noticed | undefined {
  return warnings.length === 0 ? undefined : { warnings, refusal: warnings.join(', ') }
}

/** More than a person reads; without a bound, a body of three megabytes would be answered by many more. */
const mostReported = 1000

/** Keys that come twice in a text of YAML, or of JSON that is read as YAML. */
export async function noticedInYaml(text: string): Promise<Noticed | undefined> {
  // JSON is common, and mostly has nothing to report.
  if (/^\s*\{/.test(text) && scanKeys(text).duplicates.length === 0) return undefined
  const { duplicateKeys } = await import('../../kube/yaml-duplicates.ts')
  const keys = duplicateKeys(text).slice(0, mostReported)
  const warnings = keys.map(({ line, key }) => `line ${line}: key ${key} already set in map`)
  if (warnings.length === 0) return undefined
  return { warnings, refusal: `yaml: unmarshal errors:\n  ${warnings.join('\n  ')}` }
}

const nothing: KeyScan = { duplicates: [], order: [] }

interface Level {
  /** Undefined in a list. */
  readonly keys: Set<string> | undefined
  readonly path: string
  index: number
}

const quote = 0x22
const backslash = 0x5c

/** `keepsOrder`: the order of keys is wanted in any case. */
export function scanKeys(text: string, keepsOrder = false): KeyScan {
  const duplicates: string[] = []
  const order: string[] = []
  const levels: Level[] = []
  let pending: string | undefined
  let isKey = false
  const placeOf = (level: Level | undefined): string => {
    if (!level) return ''
    if (level.keys) return join(level.path, pending ?? '')
    return `${level.path}[${level.index}]`
  }
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      const end = endOfString(text, at)
      if (isKey) {
        const level = levels.at(-1)!
        const key = unescaped(text.slice(at + 1, end))
        const path = join(level.path, key)
        order.push(path)
        if (level.keys!.has(key)) duplicates.push(path)
        level.keys!.add(key)
        pending = key
        isKey = false
      }
      at = end
    } else if (code === 0x7b /* { */ || code === 0x5b /* [ */) {
      const path = placeOf(levels.at(-1))
      isKey = code === 0x7b
      levels.push({ keys: isKey ? new Set() : undefined, path, index: 0 })
    } else if (code === 0x7d /* } */ || code === 0x5d /* ] */) {
      levels.pop()
      isKey = false
    } else if (code === 0x2c /* , */) {
      const level = levels.at(-1)
      if (level?.keys) isKey = true
      else if (level) level.index++
    }
  }
  return duplicates.length === 0 && !keepsOrder ? nothing : { duplicates, order }
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++
    // An escaped backslash escapes nothing.
    if (escapes % 2 === 0) return end
  }
  return text.length
}

function unescaped(text: string): string {
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}

/**
 * Duplicate keys in JSON text, for field validation: `JSON.parse` silently keeps the last one. One pass over the text;
 * paths are only collected when there is something to report.
 */

import { quoteGo } from '../../kube/go/go-text.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'

export interface KeyScan {
  /** Paths of duplicate keys: `data.k`, `spec.ports[0].name`. */
  readonly duplicates: readonly string[]
  /** Paths of all keys in the order of the text; only if there are duplicates. */
  readonly order: readonly string[]
  /** Problems found before the object was decoded: in YAML, and in patches. */
  readonly before?: Noticed | undefined
}

export interface Noticed {
  readonly warnings: readonly string[]
  /** The same as an error, for `fieldValidation=Strict`. */
  readonly refusal: string
}

/** Duplicate keys in the text of a merge patch. */
export function scanMergePatch(text: string): KeyScan {
  const paths = [...new Set(scanKeys(text).duplicates)].slice(0, maxReported)
  return { ...nothing, before: noticedOf(paths.map((path) => `duplicate field ${quoteGo(path)}`)) }
}

const operationMembers: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value'])

/** Duplicate and unknown members of JSON patch operations, and duplicate keys inside the values. */
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
  const inValues = isJsonArray(operations) ? duplicates.flatMap((path) => patchedPath(operations, path)) : []
  return { duplicates: inValues, order: inValues, before: noticedOf(texts.slice(0, maxReported)) }
}

/** The path in the patched object of a duplicate key in an operation's value. */
function patchedPath(operations: readonly Json[], duplicate: string): readonly string[] {
  const [, index, rest] = /^\[(\d+)\]\.value([.[].*)$/s.exec(duplicate) ?? []
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

/** Without a limit, the response to a body of three megabytes could be much larger than the body. */
const maxReported = 1000

/** Duplicate keys in YAML, or in JSON that is decoded as YAML. */
export async function noticedInYaml(text: string): Promise<Noticed | undefined> {
  // JSON is common and rarely has duplicates.
  if (/^\s*\{/.test(text) && scanKeys(text).duplicates.length === 0) return undefined
  const { duplicateKeys } = await import('../../kube/yaml/yaml-duplicates.ts')
  const keys = duplicateKeys(text).slice(0, maxReported)
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

/** `keepsOrder`: return the order of keys even without duplicates. */
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
    // An even number of backslashes does not escape the quote.
    if (escapes % 2 === 0) return end
  }
  return text.length
}

function unescaped(text: string): string {
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}

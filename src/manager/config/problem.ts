/**
 * A problem of a configuration: the path, the line if there is a text, and a suggestion. All problems are reported at
 * once, so that a file can be fixed in one go.
 */
import { nearest } from '../../kube/text/nearest.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'

export interface Problem {
  /** `leaderElection.leaderElct` */
  readonly path: readonly string[]
  readonly message: string
}

/** Keys that are not in the schema, each with the nearest one that is. */
export function unknownKeys(value: Json, schema: JSONSchemaProps, above: readonly string[] = []): readonly Problem[] {
  if (isJsonArray(value)) {
    const items = schema.items as JSONSchemaProps | undefined
    return items ? value.flatMap((item, index) => unknownKeys(item, items, [...above, String(index)])) : []
  }
  if (!isJsonObject(value)) return []
  return Object.keys(value).flatMap((name) => {
    const below = schemaOf(schema, name)
    const path = [...above, name]
    if (below === 'unknown') return [{ path, message: `there is no key "${name}" here${guess(name, schema)}` }]
    return below ? unknownKeys(ownMember(value, name)!, below, path) : []
  })
}

/** Lists in place of strings: API servers accept them for strings with a format, and so does the validation here. */
export function listsForTexts(value: Json, schema: JSONSchemaProps, above: readonly string[] = []): readonly Problem[] {
  if (isJsonArray(value)) {
    const { type, format, items } = schema
    if (type === 'string' && format !== undefined) return [{ path: above, message: 'must be a string' }]
    return isJsonObject(items) ? value.flatMap((item, at) => listsForTexts(item, items, [...above, String(at)])) : []
  }
  if (!isJsonObject(value)) return []
  return Object.keys(value).flatMap((name) => {
    const below = schemaOf(schema, name)
    return below && below !== 'unknown' ? listsForTexts(ownMember(value, name)!, below, [...above, name]) : []
  })
}

function schemaOf(schema: JSONSchemaProps, name: string): JSONSchemaProps | 'unknown' | undefined {
  const { properties = {}, additionalProperties } = schema
  if (Object.hasOwn(properties, name)) return properties[name]
  if (isJsonObject(additionalProperties)) return additionalProperties
  // Where any value is allowed, no key is unknown.
  return schema.type === 'object' && !schema['x-kubernetes-preserve-unknown-fields'] ? 'unknown' : undefined
}

export function guess(name: string, { properties = {} }: JSONSchemaProps): string {
  return guessAmong(name, Object.keys(properties))
}

/** The nearest known name, or all of them. */
export function guessAmong(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  if (near !== undefined) return `; did you mean "${near}"?`
  return known.length === 0 ? ', nor any other' : `; there are ${known.join(', ')}`
}

/** With a full stop, unless it ends with a question already. */
export function asSentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`
}

/** A value outside of an enum: the allowed values, and the nearest one. */
export function noneOf(given: Json, words: readonly Json[]): string {
  const texts = words.map(bare)
  const word = bare(given).slice(0, 100)
  // Other tools write levels in upper case.
  const near = texts.find((text) => text.toLowerCase() === word.toLowerCase()) ?? nearest(word, texts)
  const meant = near === undefined ? '' : `; did you mean "${near}"?`
  return `${typeof given === 'string' ? `"${word}"` : word} is none of ${texts.join(', ')}${meant}`
}

function bare(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/**
 * The field of a validation error as a path: `operators[memcached].gates.burst` has brackets for map keys, which no
 * file has.
 */
export function pathOf(field: string): readonly string[] {
  return field.replaceAll('[', '.').replaceAll(']', '').split('.').filter(Boolean)
}

/**
 * The line of a path in a text, 1-based. Based on indentation, as people write YAML and programs write JSON; inside a
 * flow value, it is the line of the parent.
 */
export function problemLine(text: string, path: readonly string[]): number | undefined {
  const lines = text.split('\n')
  let from = 0
  let indent = -1
  let found: number | undefined
  for (const name of path) {
    const at = findKey(lines, name, from, indent)
    if (at === undefined) return found
    found = at + 1
    from = at + 1
    indent = indentOf(lines[at]!)
  }
  return found
}

function findKey(lines: readonly string[], name: string, from: number, above: number): number | undefined {
  let own: number | undefined
  for (let at = from; at < lines.length; at++) {
    const line = lines[at]!
    if (/^\s*(?:#.*|[[\]{}]+,?|---)?$/.test(line)) continue
    const indent = indentOf(line)
    if (indent <= above) return undefined
    own ??= indent
    const key = /^\s*(?:"([^"]*)"\s*|'([^']*)'\s*|([^\s:#][^:#]*)):(?:\s|$)/.exec(line)
    if (indent === own && key && (key[1] ?? key[2] ?? key[3]!.trimEnd()) === name) return at
  }
  return undefined
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

export function formatProblem({ path, message }: Problem, place: string): string {
  return `${path.join('.') || 'the whole'} (${place}): ${message}`
}

/** The value at a path. */
export function valueAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  let found = value
  for (const name of path) {
    if (isJsonArray(found)) found = found[Number(name)]
    else found = isJsonObject(found) ? ownMember(found, name) : undefined
  }
  return found
}

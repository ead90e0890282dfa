/**
 * Paths into the schema of a CRD: `.spec.color`, `.spec.labels['a.b']`. Used by `fieldPath` of validation rules and by
 * `selectableFields`.
 */
import type { SchemaNode } from './node.ts'

/** The target, and the path as messages write it; or why it is invalid. */
type StructuralPath =
  | { readonly path: readonly PathStep[]; readonly node: SchemaNode | undefined; readonly problem?: undefined }
  | { readonly problem: string }

interface PathStep {
  readonly name: string
  /** A key of a map, not a property. */
  readonly isKey: boolean
}

/** Delimiters, quoted texts, and everything between. */
const token = /'(?:[^'\\]|\\.)*'|[.[\]]|[^.[\]]+/gy

export function resolveFieldPath(
  text: string,
  root: SchemaNode,
  options: { readonly allowBrackets: boolean },
): StructuralPath {
  const tokens = text.match(token) ?? []
  const path: PathStep[] = []
  let node: SchemaNode | undefined = root
  let at = 0

  /** Descends one step; returns an error if that is not possible. */
  const enter = (name: string): string | undefined => {
    if (!node || (node.properties.size === 0 && node.additional === undefined)) return notThere
    const isKey: boolean = node.properties.size === 0
    const next: SchemaNode | undefined = isKey
      ? typeof node.additional === 'object'
        ? node.additional
        : undefined
      : node.properties.get(name)
    if (!isKey && !next) return notThere
    path.push({ name, isKey })
    node = next
    return undefined
  }

  while (at < tokens.length) {
    const mark = tokens[at++]!
    let name: string | undefined
    if (mark === '[') {
      if (!options.allowBrackets) return { problem: 'array notation is not allowed' }
      const quoted = tokens[at++]
      if (quoted === undefined) return { problem: ended }
      if (quoted.length < 2 || !quoted.startsWith("'") || !quoted.endsWith("'")) {
        return { problem: `expected single quoted string but got ${quoted}` }
      }
      name = unescape(quoted.slice(1, -1))
      if (name === undefined) return { problem: 'invalid string literal' }
    } else if (mark === '.') {
      name = tokens[at++]
      if (name === undefined) return { problem: ended }
    } else return { problem: `expected [ or . but got: ${mark}` }
    const problem = enter(name)
    if (problem !== undefined) return { problem }
    if (mark === '[') {
      const close = tokens[at++]
      if (close === undefined) return { problem: ended }
      if (close !== ']') return { problem: `expected ] but got ${close}` }
    }
  }
  return { path, node }
}

const notThere = 'does not refer to a valid field'
const ended = 'unexpected end of JSON path'

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
}

function unescape(text: string): string | undefined {
  let isValid = true
  const plain = text.replaceAll(/\\(.)/gs, (_, character: string) => {
    isValid &&= Object.hasOwn(escapes, character)
    return escapes[character] ?? ''
  })
  return isValid ? plain : undefined
}

/** `spec.labels[a.b]`. */
export function formatFieldPath(path: readonly PathStep[]): string {
  let text = ''
  for (const { name, isKey } of path) {
    if (isKey) text += `[${name}]`
    else text += text === '' ? name : `.${name}`
  }
  return text
}

/**
 * YAML as Go's library writes it, byte for byte: keys sorted, lists not indented, and long lines folded at the first
 * space beyond column 80. The bytes matter: file names contain a hash of them, and tools compare them.
 *
 * This file writes mappings and lists; `go-scalar.ts` writes scalars.
 */
import { isJsonObject, type Json } from '../../kube/json.ts'
import { compareKeys } from '../../kube/yaml/key-order.ts'
import { goScalar, isSimpleKey } from './go-scalar.ts'

export function writeGoYaml(value: Json): string {
  const lines: string[] = []
  if (isNested(value)) write(value, 0, '', lines)
  else lines.push(leafText(value, '', 2))
  return `${lines.join('\n')}\n`
}

type Nested = readonly Json[] | { readonly [key: string]: Json | undefined }

/** Whether it takes lines of its own. */
function isNested(value: Json): value is Nested {
  return Array.isArray(value) ? value.length > 0 : isJsonObject(value) && Object.values(value).some(isSaid)
}

function isSaid(value: Json | undefined): value is Json {
  return value !== undefined
}

/** `before` is the start of the first line: dashes. */
function write(value: Nested, column: number, before: string, lines: string[]): void {
  let lead = before
  const next = (): string => {
    const used = lead
    lead = ' '.repeat(column)
    return used
  }
  const writeAfter = (sign: string, item: Json): void => {
    if (isNested(item)) write(item, column + 2, sign, lines)
    else lines.push(leafText(item, sign, column + 2))
  }
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) writeAfter(`${next()}- `, item)
    return
  }
  const members = Object.entries(value as Readonly<Record<string, Json | undefined>>)
  for (const [key, member] of members.toSorted(([a], [b]) => compareKeys(a, b))) {
    if (member === undefined) continue
    if (!isSimpleKey(key)) {
      // A multi-line or very long key has a line of its own.
      lines.push(leafText(key, `${next()}? `, column + 2))
      writeAfter(`${next()}: `, member)
      continue
    }
    const head = `${goScalar(key, next(), column, true)}:`
    if (!isNested(member)) lines.push(leafText(member, `${head} `, column + 2))
    else {
      lines.push(head)
      // A list has the indentation of its key, a mapping two more.
      const inner = Array.isArray(member) ? column : column + 2
      write(member, inner, ' '.repeat(inner), lines)
    }
  }
}

/** Prefixed by `before`; further lines are indented by `indent`. */
function leafText(value: Json, before: string, indent: number): string {
  if (typeof value === 'object' && value !== null) return before + (Array.isArray(value) ? '[]' : '{}')
  return goScalar(value, before, indent)
}

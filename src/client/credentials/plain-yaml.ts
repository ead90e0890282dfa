/**
 * The YAML that programs write into kubeconfigs: mappings and lists in block form, with scalars on one line.
 *
 * Nearly every kubeconfig was written by a program and holds nothing else, and loading a whole YAML parser for it is a
 * tenth of the time that a process takes to its first list. What is read here means, without a doubt, what the parser
 * would make of it; at the first thing that is in the least unusual the answer is `undefined`, and the parser's turn.
 */
import type { Json } from '../../kube/json.ts'

interface Line {
  readonly indent: number
  readonly text: string
}

/** Letters first: a key or word that begins otherwise may be a number, a date or syntax. */
const keyed = /^([A-Za-z][\w./-]*):(?: +(\S.*))?$/
const plain = /^[A-Za-z/](?:[\w./:@+=,-]*[\w./@+=,-])?$/
const quoted = /^(?:"[^"\\]*"|'[^']*')$/
/** Words that YAML 1.1, as Kubernetes reads it, may take for something else than text. */
const special = /^(?:y|n|yes|no|on|off|true|false|null)$/i
const item = /^- +(?=[^\s-])/

const constants: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['{}', {}],
  ['[]', []],
])

/** Columns. Whatever stands further to the right, the recursion must end before the stack does. */
const deepest = 100

/** Not plain enough for us. */
class Unusual extends Error {}

/** What the text says; undefined if that takes a parser to tell. */
export function readPlainYaml(text: string): Json | undefined {
  // Printable ASCII in lines: no tab, no carriage return, and no other thing that YAML may take for a line's end.
  if (!/^[\n -~]*$/.test(text)) return undefined
  const lines: Line[] = []
  for (const line of text.split('\n')) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const indent = line.search(/\S/)
    if (indent > deepest) return undefined
    lines.push({ indent, text: trimmed })
  }
  try {
    return lines[0]?.indent === 0 ? readDocument(lines) : undefined
  } catch (error) {
    if (error instanceof Unusual) return undefined
    throw error
  }
}

function readDocument(lines: Line[]): Json {
  let at = 0

  const readNode = (indent: number): Json => (lines[at]!.text.startsWith('-') ? readItems(indent) : readMembers(indent))

  const readItems = (indent: number): readonly Json[] => {
    const items: Json[] = []
    for (let line = lines[at]; line?.indent === indent && line.text.startsWith('-'); line = lines[at]) {
      const [dash] = item.exec(line.text) ?? []
      if (dash === undefined) throw new Unusual()
      const rest = line.text.slice(dash.length)
      if (keyed.test(rest)) {
        // What follows the dash is the first line of a mapping that is indented as far.
        lines[at] = { indent: indent + dash.length, text: rest }
        items.push(readMembers(indent + dash.length))
      } else {
        at++
        items.push(readScalar(rest))
      }
    }
    return items
  }

  const readMembers = (indent: number): Json => {
    const members: Record<string, Json> = {}
    for (let line = lines[at]; line?.indent === indent && !line.text.startsWith('-'); line = lines[at]) {
      const [, key, value] = keyed.exec(line.text) ?? []
      if (key === undefined || special.test(key) || Object.hasOwn(members, key)) throw new Unusual()
      at++
      members[key] = value === undefined ? readBelow(indent) : readScalar(value)
    }
    return members
  }

  /** The value of a key that has none on its line. A list may stand as far to the left as its key. */
  const readBelow = (indent: number): Json => {
    const next = lines[at]
    if (!next || next.indent < indent || (next.indent === indent && !next.text.startsWith('-'))) return null
    return readNode(next.indent)
  }

  const document = readNode(0)
  // A line that nobody took: it continues the one before, or is out of place.
  if (at < lines.length) throw new Unusual()
  return document
}

function readScalar(text: string): Json {
  if (quoted.test(text)) return text.slice(1, -1)
  const constant = constants.get(text)
  if (constant !== undefined) return constant
  if (plain.test(text) && !special.test(text)) return text
  throw new Unusual()
}

/**
 * The subset of YAML that programs write into kubeconfigs: block mappings and lists, with scalars on one line.
 *
 * Nearly every kubeconfig is written by a program and contains nothing else, and loading a YAML parser is a tenth of the time
 * that a process takes to its first list. What is accepted here has exactly the meaning that the parser would give it; for
 * anything unusual the result is `undefined`, and the caller uses the parser.
 */
import type { Json } from '../../kube/json.ts'

interface Line {
  readonly indent: number
  readonly text: string
}

/** Letters first: other keys or words may be a number, a date or syntax. */
const keyed = /^([A-Za-z][\w./-]*):(?: +(\S.*))?$/
const plain = /^[A-Za-z/](?:[\w./:@+=,-]*[\w./@+=,-])?$/
const quoted = /^(?:"[^"\\]*"|'[^']*')$/
/** Words that YAML 1.1, as Kubernetes reads it, may not treat as text. */
const special = /^(?:y|n|yes|no|on|off|true|false|null)$/i
const item = /^- +(?=[^\s-])/

const constants: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['{}', {}],
  ['[]', []],
])

/** Maximum indentation: the recursion must not overflow the stack. */
const deepest = 100

/** Not in the subset. */
class Unusual extends Error {}

/** The value of the text; undefined if it needs a parser. */
export function readPlainYaml(text: string): Json | undefined {
  // Printable ASCII in lines: no tab, no carriage return, and no other character that YAML may treat as a line break.
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
        // The text after the dash is the first line of a mapping with that indentation.
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

  /** The value of a key with nothing on its line. A list may have the same indentation as its key. */
  const readBelow = (indent: number): Json => {
    const next = lines[at]
    if (!next || next.indent < indent || (next.indent === indent && !next.text.startsWith('-'))) return null
    return readNode(next.indent)
  }

  const document = readNode(0)
  // An unread line: it continues the previous one, or is misplaced.
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

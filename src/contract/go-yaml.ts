/**
 * YAML as Go programs of this field write it, byte for byte: keys sorted, lists not indented, and long lines folded at the
 * first space beyond column 80. The bytes matter: files are named after a hash of them, and others compare them.
 *
 * What most values are, plain words and whole numbers, is written here; how anything else is quoted is decided in one place,
 * by `kube/yaml.ts`.
 */
import { isJsonObject, type Json } from '../kube/json.ts'
import { compareKeys, writeYaml } from '../kube/yaml.ts'

const width = 80

export function writeGoYaml(value: Json): string {
  const lines: string[] = []
  if (isNested(value)) write(value, 0, '', lines)
  else return writeYaml(value)
  return `${lines.join('\n')}\n`
}

type Nested = readonly Json[] | { readonly [key: string]: Json | undefined }

/** It has lines of its own. */
function isNested(value: Json): value is Nested {
  return Array.isArray(value) ? value.length > 0 : isJsonObject(value) && Object.values(value).some(isSaid)
}

function isSaid(value: Json | undefined): value is Json {
  return value !== undefined
}

/** `before` is what stands in the first line already: dashes. */
function write(value: Nested, column: number, before: string, lines: string[]): void {
  let lead = before
  const next = (): string => {
    const used = lead
    lead = ' '.repeat(column)
    return used
  }
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) {
      if (isNested(item)) write(item, column + 2, `${next()}- `, lines)
      else lines.push(scalarLine(`${next()}- `, item, column))
    }
    return
  }
  const members = Object.entries(value as Readonly<Record<string, Json | undefined>>)
  for (const [key, member] of members.toSorted(([a], [b]) => compareKeys(a, b))) {
    if (member === undefined) continue
    const head = `${next()}${keyText(key)}:`
    if (!isNested(member)) lines.push(scalarLine(`${head} `, member, column))
    else {
      lines.push(head)
      // A list stands below its key, a mapping under it.
      const inner = Array.isArray(member) ? column : column + 2
      write(member, inner, ' '.repeat(inner), lines)
    }
  }
}

/** Words that no reader takes for anything else. */
const plain = /^[A-Za-z/][\w./-]*(?: [\w./-]+)*$/
const special = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf)$/i

function keyText(key: string): string {
  return isPlain(key) ? key : writeYaml({ [key]: 0 }).slice(0, -': 0\n'.length)
}

function isPlain(text: string): boolean {
  return plain.test(text) && !special.test(text)
}

/** `column` is that of the key or dash in front. */
function scalarLine(before: string, value: Json, column: number): string {
  if (typeof value === 'string' && isPlain(value)) return folded(before, value, column)
  if (typeof value === 'number' && Number.isSafeInteger(value) && !Object.is(value, -0)) return before + String(value)
  if (typeof value === 'boolean') return before + String(value)
  const [first = '', ...rest] = writeYaml({ k: value }).slice('k: '.length, -1).split('\n')
  if (rest.length === 0) return folded(before, first, column)
  // A block: its lines are two columns in, and what they are.
  return [before + first, ...rest.map((line) => (line === '' ? line : ' '.repeat(column) + line))].join('\n')
}

function folded(before: string, text: string, column: number): string {
  const whole = before + text
  return whole.length > width ? fold(whole, before.length, column + 2) : whole
}

function fold(line: string, start: number, indent: number): string {
  const value = Array.from(line.slice(start))
  const quote = value[0] === '"' || value[0] === "'" ? value[0] : undefined
  const [first, last] = quote === undefined ? [0, value.length] : [1, value.length - 1]
  const broken = `\n${' '.repeat(indent)}`
  let column = Array.from(line.slice(0, start)).length + first
  let isAfterSpace = false
  let out = quote ?? ''
  for (let at = first; at < last; at++) {
    const isSpace = value[at] === ' '
    const isInside = quote === undefined || (at > first && at < last - 1)
    const isBeforeSpace = value[at + 1] === ' '
    if (isSpace && !isAfterSpace && column > width && isInside && (!isBeforeSpace || quote === '"')) {
      out += isBeforeSpace ? `${broken}\\` : broken
      column = indent + Number(isBeforeSpace)
    } else {
      out += value[at]!
      column++
    }
    isAfterSpace = isSpace
  }
  return line.slice(0, start) + out + (quote ?? '')
}

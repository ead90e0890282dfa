/** Writes a template of objects as a file of a Helm chart: YAML with actions of Go's text/template. */
import {
  type ValueCondition,
  Entries,
  hasPlaceholder,
  isList,
  MapWith,
  type PlaceholderName,
  replacePlaceholders,
  type OpenObject,
  type TemplateMap,
  ValueOf,
  type ValuePath,
  When,
  YamlText,
} from './template.ts'

/** The documents of one file. `chart` is the prefix of the named templates. */
export function helmDocuments(documents: readonly OpenObject[], chart: string): string {
  const writer = new HelmWriter(chart)
  const lines = documents.flatMap((document, at) => {
    if (!(document instanceof When)) return ['---', ...writer.block(document, 0)]
    const text = ['---', ...writer.block(document.content, 0)]
    const [before, after] = [documents[at - 1], documents[at + 1]]
    return [
      ...(isSameCondition(before, document) ? [] : [ifLine(document.condition)]),
      ...text,
      ...(isSameCondition(after, document) ? [] : [endLine]),
    ]
  })
  return `${lines.join('\n')}\n`
}

/** Neighbours with one condition share its block. */
function isSameCondition(other: OpenObject | undefined, { condition }: When): boolean {
  if (!(other instanceof When)) return false
  return other.condition.path === condition.path && (other.condition.not ?? false) === (condition.not ?? false)
}

/** The lines of both branches; `write` writes one of them. */
function branches(
  { condition, content, otherwise }: When,
  pad: string,
  write: (content: OpenObject) => readonly string[],
): readonly string[] {
  const other = otherwise === undefined ? [] : [`${pad}{{- else }}`, ...write(otherwise)]
  return [`${pad}${ifLine(condition)}`, ...write(content), ...other, `${pad}${endLine}`]
}

const endLine = '{{- end }}'

function ifLine({ path, not }: ValueCondition): string {
  return `{{- if ${not ? `not ${reference(path)}` : reference(path)} }}`
}

function reference(path: ValuePath): string {
  return `.Values.${path}`
}

class HelmWriter {
  readonly #chart: string
  constructor(chart: string) {
    this.#chart = chart
  }

  /** The lines of a map or a list. */
  block(template: OpenObject, indent: number): readonly string[] {
    const pad = ' '.repeat(indent)
    if (template instanceof MapWith) {
      const more = [`{{- with ${reference(template.path)} }}`, `{{- toYaml . | nindent ${indent} }}`, endLine]
      return [...this.block(template.fixed, indent), ...more.map((line) => `${pad}${line}`)]
    }
    if (isList(template)) return template.flatMap((item) => this.#item(item, indent))
    const members = Object.entries(template as TemplateMap)
    return members.flatMap(([name, member]) => (member === undefined ? [] : this.#member(name, member, indent)))
  }

  #member(name: string, member: OpenObject, indent: number): readonly string[] {
    const pad = ' '.repeat(indent)
    if (member instanceof When) {
      return branches(member, pad, (content) => this.#member(name, content, indent))
    }
    const head = `${pad}${this.#scalar(name)}:`
    if (member instanceof YamlText) {
      return [`${head} |`, `${pad}  {{- toYaml ${reference(member.path)} | nindent ${indent + 2} }}`]
    }
    if (member instanceof ValueOf && member.type === 'yaml') {
      return [head, `${pad}  {{- toYaml ${reference(member.path)} | nindent ${indent + 2} }}`]
    }
    if (isNested(member)) return [head, ...this.block(member, isList(member) ? indent : indent + 2)]
    return this.#leaf(head, member, indent + 2)
  }

  #item(item: OpenObject, indent: number): readonly string[] {
    const pad = ' '.repeat(indent)
    if (item instanceof When) {
      return branches(item, pad, (content) => this.#item(content, indent))
    }
    if (item instanceof Entries) {
      const lines = [`{{- with ${reference(item.path)} }}`, `{{- toYaml . | nindent ${indent} }}`, endLine]
      return lines.map((line) => `${pad}${line}`)
    }
    if (!isNested(item)) return this.#leaf(`${pad}-`, item, indent + 2)
    const [first = '', ...rest] = this.block(item, indent + 2)
    return [`${pad}- ${first.trimStart()}`, ...rest]
  }

  /** A scalar behind its key or dash; a text of several lines is below it. */
  #leaf(head: string, leaf: OpenObject, indent: number): readonly string[] {
    if (leaf instanceof ValueOf) return [`${head} ${action(leaf)}`]
    if (typeof leaf !== 'string') return [`${head} ${JSON.stringify(leaf)}`]
    if (!isBlock(leaf)) return [`${head} ${this.#scalar(leaf)}`]
    const pad = ' '.repeat(indent)
    const lines = leaf.slice(0, -1).split('\n')
    return [`${head} |`, ...lines.map((line) => (line === '' ? '' : `${pad}${this.#escaped(line)}`))]
  }

  #scalar(text: string): string {
    return isPlain(text) ? text : this.#escaped(JSON.stringify(text))
  }

  /** Braces of the text itself are no actions. */
  #escaped(text: string): string {
    const braces = text.replaceAll('{{', '{{ "{{" }}')
    return hasPlaceholder(braces) ? replacePlaceholders(braces, (name) => this.#named(name)) : braces
  }

  #named(name: PlaceholderName): string {
    return name === 'namespace' ? '{{ .Release.Namespace }}' : `{{ include "${this.#chart}.${name}" . }}`
  }
}

function isNested(template: OpenObject): boolean {
  if (template instanceof MapWith) return true
  if (template === null || typeof template !== 'object' || template instanceof ValueOf) return false
  return isList(template) ? template.length > 0 : Object.keys(template).length > 0
}

function action({ path, type }: ValueOf): string {
  if (type === 'string') return `{{ ${reference(path)} | quote }}`
  // Numbers of values are floats in templates: a large one would be written with an exponent.
  return type === 'integer' ? `{{ int64 ${reference(path)} }}` : `{{ ${reference(path)} }}`
}

/** Words that YAML reads as something else than a text. */
const words = new Set(['true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n', 'null'])

function isPlain(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9./_-]*$/.test(text) && !words.has(text.toLowerCase())
}

/** Several lines that a literal block keeps as they are. */
function isBlock(text: string): boolean {
  if (!text.endsWith('\n') || text.length < 2) return false
  const lines = text.slice(0, -1).split('\n')
  return (
    lines.length > 1 &&
    lines.every((line, at) => /^[\x20-\x7E]*$/.test(line) && (at > 0 || /^\S/.test(line))) &&
    lines.at(-1) !== ''
  )
}

/**
 * YAML as kubectl reads and writes it: YAML 1.1 scalars (`yes` is a boolean, `0777` is octal), in mapping keys too,
 * but no base-60 numbers and no dates. A document is a JSON value: every key becomes a string, and values that JSON cannot
 * express are errors.
 *
 * This file loads a parser. Nothing else in `src/kube` imports it; import it lazily.
 */
import {
  dump,
  DUMP_SCHEMA,
  type Node,
  NOT_RESOLVED,
  SCALAR_STYLE,
  type ScalarLayout,
  type ScalarTagDefinition,
  type Schema,
  strTag,
  visit,
  YAMLException,
} from 'js-yaml'
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { type Json, parseJson } from '../json.ts'
import { readBlockYaml } from './block-yaml.ts'
import { compareKeys } from './key-order.ts'
import { constructDocuments, floatTag, intTag, resolvePlain } from './yaml-tags.ts'
import type { YamlValue } from './yaml-value.ts'

interface YamlOptions {
  /** The source of the text, for messages: `deploy/web.yaml`. */
  readonly source?: string | undefined
  /**
   * Reject duplicate keys. Off for manifests: kubectl and Helm silently take the last one, and some charts rely on it. It should
   * be on for our own configuration files. @default false
   */
  readonly strict?: boolean | undefined
  /**
   * Read the end of the text as it is: a block scalar there that does not end in a line break has none. kubectl adds one to every
   * text that it reads; API servers, Helm and kustomize do not. @default false
   */
  readonly keepsEnd?: boolean | undefined
}

/**
 * One document; null if there is none.
 * @throws InvalidYaml, also if there are several
 */
export function readYaml(text: string, options: YamlOptions = {}): Json {
  const documents = readYamlDocuments(text, options)
  if (documents.length > 1) throw invalid('there is more than one document', options)
  return documents[0] ?? null
}

/**
 * All documents of a stream, separated by `---`; empty ones are skipped. JSON values in a row are documents too.
 * @throws InvalidYaml
 */
export function readYamlDocuments(text: string, options: YamlOptions = {}): readonly Json[] {
  const json = options.strict ? undefined : readJsonStream(text)
  if (json) return json.filter((document) => document !== null)
  const isOpenBlock = options.keepsEnd && !text.endsWith('\n') && /[|>]/.test(text)
  const usual = isOpenBlock ? undefined : readBlockYaml(text, resolvePlain)
  if (usual !== undefined) return [usual]
  return (load(text, options) as readonly Json[]).filter((document) => document !== null)
}

/**
 * All documents as kustomize reads them: `yes` and `on` are text, a duplicate key is an error, scalars whose text is not how
 * their value is written keep it, and texts in quotes differ from those without.
 * @throws InvalidYaml
 */
export function readYamlValues(text: string, options: Pick<YamlOptions, 'source'> = {}): readonly YamlValue[] {
  return load(text, { ...options, strict: true, isKeepingText: true, keepsEnd: true }) as readonly YamlValue[]
}

interface ReadOptions extends YamlOptions {
  readonly isKeepingText?: boolean
}

function load(text: string, options: ReadOptions): readonly unknown[] {
  let moved: readonly string[] | undefined
  const moves = new Map<number, number>()
  for (let budget = mostReread; ; budget -= text.length) {
    try {
      return constructDocuments(moved ? moved.join('\n') : text, options)
    } catch (error) {
      if (!(error instanceof YAMLException)) throw invalid(String(error), options, undefined, error)
      const { reason, mark } = error
      const lines = text.split('\n')
      const isShallow = reason === 'deficient indentation' && mark && budget > 0 && !/\r(?!\n)/.test(text)
      const tries = (moves.get(mark?.line ?? 0) ?? 0) + 1
      const current = moved ?? lines
      const spaced = isShallow ? withoutTab(current, mark) : undefined
      const again = spaced ?? (isShallow && tries <= mostMoves ? moveIn(current, mark.line) : undefined)
      if (mark) moves.set(mark.line, tries)
      if (!again) {
        const shift = mark && moved ? moved[mark.line]!.length - lines[mark.line]!.length : 0
        // The parser's own error quotes the text, which may be a Secret: it is dropped.
        throw invalid(reason, options, mark && { line: mark.line, column: mark.column - shift })
      }
      moved = again
    }
  }
}

/** Limit of repeated reading for re-indentation: a hostile text must end in an error, not in a long wait. */
const mostReread = 20_000_000

const padding = ' '.repeat(40)

/** A line that is still not deep enough after this many moves has another fault (a tab, say): indentation cannot help. */
const mostMoves = 3

/**
 * YAML 1.2 requires every line of `[ ]`, `{ }` and quoted text to be indented deeper than its key; kubectl does not, and many
 * manifests close a bracket right below the key. Indentation has no meaning there, so such a line is indented, together with
 * the following lines that certainly continue the same text. Undefined at the end of the document: an open bracket was never
 * closed.
 */
function moveIn(lines: readonly string[], first: number): readonly string[] | undefined {
  if (/^(?:---|\.\.\.)(?=\s|$)/.test(lines[first] ?? '')) return undefined
  let last = first
  while (/^[^#]*[,[{]\s*$/.test(lines[last] ?? '')) last++
  return lines.map((line, at) => (at >= first && at <= last ? padding + line : line))
}

/**
 * Where a tab separates two tokens of a line, the parser takes it for indentation: `args: [a,<tab>b]`. A space there has the same
 * meaning. Undefined if there is none before this place.
 */
function withoutTab(
  lines: readonly string[],
  { line: at, column }: { readonly line: number; readonly column: number },
): readonly string[] | undefined {
  const line = lines[at] ?? ''
  let start = column
  // Brackets that open there are behind the tab, too.
  while (start > 0 && ' \t[{'.includes(line[start - 1]!)) start--
  const gap = line.slice(start, column)
  // At the beginning of a line, and after the dash of an item, it is indentation.
  const isIndentation = start === 0 || (/^[ ]*\t/.test(gap) && '-?'.includes(line[start - 1]!))
  if (isIndentation || !gap.includes('\t')) return undefined
  return lines.with(at, line.slice(0, start) + gap.replaceAll('\t', ' ') + line.slice(column))
}

function invalid(
  problem: string,
  { source }: YamlOptions,
  mark?: { readonly line: number; readonly column: number },
  cause?: unknown,
): MusterError {
  const place = mark && [mark.line + 1, mark.column + 1]
  const where = place ? (source ? `${source}:${place.join(':')}` : `line ${place.join(', column ')}`) : source
  return new MusterError(kubeErrors.InvalidYaml, `${where ? `${where}: ` : ''}${problem}.`, { cause })
}

/** The values of a text that is JSON, or a sequence of JSON values as `jq` writes them; undefined otherwise. */
function readJsonStream(text: string): readonly Json[] | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  const whole = tryJson(text)
  if (whole !== undefined) return [whole]
  const values: Json[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === '"') {
      at = closingQuote(text, at)
      // Not JSON if a string does not end; nor can another one begin in it.
      if (at < 0) return undefined
    } else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    else continue
    if (depth > 0) continue
    const end = at + 1
    const value = tryJson(text.slice(start, end))
    if (value === undefined) return undefined
    values.push(value)
    start = end
  }
  return text.slice(start).trim() === '' ? values : undefined
}

/** The position of the closing quote; -1 if there is none. */
function closingQuote(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
  }
  return -1
}

function tryJson(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** A string that this parser, or any other of YAML 1.1 or 1.2, would read as another type must be quoted. */
const writeSchema: Schema = DUMP_SCHEMA.withTags(
  DUMP_SCHEMA.tags.flatMap((tag) => {
    if (tag.nodeKind !== 'scalar') return []
    if (tag.tagName === intTag.tagName)
      return [alsoReading(tag, intTag, isInteger, (value) => BigInt(value).toString())]
    if (tag.tagName === floatTag.tagName) return [alsoReading(tag, floatTag, tag.identify, tag.represent)]
    return []
  }),
)

function alsoReading(
  tag: ScalarTagDefinition,
  own: ScalarTagDefinition,
  identify: (value: unknown) => boolean,
  represent: (value: number | bigint) => string,
): ScalarTagDefinition {
  return {
    ...tag,
    implicitFirstChars: own.implicitFirstChars,
    resolve: (source, isExplicit, tagName) => {
      const read = own.resolve(source, isExplicit, tagName)
      return read === NOT_RESOLVED ? tag.resolve(source, isExplicit, tagName) : read
    },
    identify,
    represent,
  }
}

/** From 10^21 on, and for −0, a number is written as a float. */
function isInteger(value: unknown): value is number | bigint {
  return (
    typeof value === 'bigint' || (Number.isInteger(value) && Math.abs(value as number) < 1e21 && !Object.is(value, -0))
  )
}

/** One document, keys sorted, lists not indented, lines not folded. */
export function writeYaml(value: Json): string {
  return dump(value, {
    schema: writeSchema,
    noRefs: true,
    seqNoIndent: true,
    lineWidth: -1,
    scalarStyleRules: [chooseStyle],
    transform: (documents) => visit(documents, sortKeys),
  })
}

function sortKeys(node: Node): void {
  if (node.kind === 'mapping') node.items.sort((a, b) => compareKeys(nodeText(a.key), nodeText(b.key)))
}

function nodeText(node: Node): string {
  return node.kind === 'scalar' ? node.value : ''
}

/** Literal blocks for lines; double quotes where plain text would have another meaning, single ones around signs. */
function chooseStyle(layout: ScalarLayout): void {
  const { node, isKey, presenterOptions } = layout
  const isAllowed = (style: number): boolean => (layout.allowedStylesMask & (1 << style)) !== 0
  // YAML 1.1 and 1.2 read a root block that begins with spaces differently.
  // Trailing spaces on a line are written in quotes, which show them.
  const isRisky = / (?:\n|$)/.test(node.value) || (layout.level === 0 && /^\n* /.test(node.value))
  const isBlock = !isKey && node.value.includes('\n') && !isRisky
  const isHidden = /[\u{7f}-\u{a0}\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}]/u.test(node.value)
  if (!isHidden && isBlock && isAllowed(SCALAR_STYLE.LITERAL_BLOCK)) {
    layout.style = SCALAR_STYLE.LITERAL_BLOCK
  } else if (isHidden || /[\n\t]/.test(node.value)) {
    layout.style = SCALAR_STYLE.DOUBLE_QUOTED
  } else if (!isAllowed(SCALAR_STYLE.PLAIN) || /^(?:---|\.\.\.)/.test(node.value)) {
    const isText = presenterOptions.schema.resolveImplicitScalarTag(node.value).tag.tagName === strTag.tagName
    layout.style =
      isText && isAllowed(SCALAR_STYLE.SINGLE_QUOTED) ? SCALAR_STYLE.SINGLE_QUOTED : SCALAR_STYLE.DOUBLE_QUOTED
  }
}

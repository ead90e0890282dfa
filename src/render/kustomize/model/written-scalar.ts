/**
 * Scalars whose text was changed. As in kustomize, a new text leaves the type of the scalar alone: a number into which a
 * replacement writes a text is an error, unless another one writes a number before the object is rendered. A scalar that a
 * transformation creates, or writes anew, has no type: it gets the one that its text has in YAML. If the scalar stood in quotes,
 * so does the new one, and it stays a text.
 */
import { YamlScalar } from '../../../kube/yaml/yaml-value.ts'
import { readYamlValues } from '../../../kube/yaml/yaml.ts'

/** `none` is the type of a scalar that gets the type of its text. */
type ScalarType = 'none' | 'text' | 'null' | 'boolean' | 'integer' | 'float' | 'timestamp'

type BareScalar = YamlScalar['value'] | YamlScalar

/** A scalar whose type or quotes are not evident from its value. */
export class WrittenScalar extends YamlScalar {
  readonly type: ScalarType
  readonly isQuoted: boolean
  /** Why there is no value; empty if there is one. */
  readonly problem: string

  constructor(text: string, type: ScalarType, quoted: boolean) {
    const reading = readPlain(text)
    super(text, type === 'text' ? text : reading.value)
    this.type = type
    this.isQuoted = quoted
    this.problem = type === 'text' ? '' : problemOf(reading, type)
  }
}

function problemOf({ type: found, problem }: Reading, type: ScalarType): string {
  const fits = type === 'none' || type === found || (type === 'float' && found === 'integer')
  return fits ? problem : `a ${found} cannot stand in a field of type ${type}`
}

/** A scalar without a type. */
export function untypedScalar(text: string): WrittenScalar {
  return new WrittenScalar(text, 'none', false)
}

/** The scalar with another text, and with the type and the quotes that it has. */
export function withText(old: BareScalar, text: string): BareScalar {
  return scalarOf(text, typeOfScalar(old), isQuoted(old))
}

/** The scalar written anew: it keeps its quotes, but not its type. */
export function rewritten(old: BareScalar | undefined, text: string): BareScalar {
  const staysText = old === undefined ? looksTyped(text) : isQuoted(old)
  return scalarOf(text, staysText ? 'text' : 'none', staysText)
}

/** The scalar written anew, as a text. */
export function rewrittenText(old: BareScalar, text: string): BareScalar {
  return scalarOf(text, 'text', isQuoted(old))
}

/** The scalar, in quotes if the one in its place has them: then it is a text. */
export function quotedLike(old: BareScalar, scalar: BareScalar): BareScalar {
  if (isQuoted(old)) return scalarOf(documentText(scalar), 'text', true)
  return isTextual(scalar) ? scalarOf(documentText(scalar), typeOfScalar(scalar), false) : scalar
}

/** The scalar, in quotes if it is taken for a text and needs them. */
export function quotedIfNeeded(scalar: BareScalar): BareScalar {
  const text = documentText(scalar)
  return isTextual(scalar) && text !== '' && looksTyped(text) ? text : scalar
}

/** A scalar of a document. */
export function readScalar(scalar: BareScalar): BareScalar {
  const isInQuotes = scalar instanceof YamlScalar && scalar.value === scalar.text
  return isInQuotes ? scalarOf(scalar.text, 'text', true) : scalar
}

/** Whether kustomize takes the scalar for a text; it does so for one without a type, whatever its text. */
export function isTextual(scalar: BareScalar): boolean {
  return ['text', 'none'].includes(typeOfScalar(scalar))
}

/** The text that stands in the document: that of a null, too. */
export function documentText(scalar: BareScalar): string {
  return scalar instanceof YamlScalar ? scalar.text : String(scalar)
}

/** Values say what type they have, and texts whether they need quotes; where that is the truth, the value suffices. */
function scalarOf(text: string, type: ScalarType, quoted: boolean): BareScalar {
  if (type === 'text') return quoted === looksTyped(text) ? text : new WrittenScalar(text, type, quoted)
  const reading = readPlain(text)
  if (type !== reading.type || reading.problem !== '') return new WrittenScalar(text, type, quoted)
  return String(reading.value) === text ? reading.value : new YamlScalar(text, reading.value)
}

function typeOfScalar(scalar: BareScalar): ScalarType {
  if (scalar instanceof WrittenScalar) return scalar.type
  if (typeof scalar === 'string') return 'text'
  return typeOfValue(scalar instanceof YamlScalar ? scalar.value : scalar, documentText(scalar))
}

function isQuoted(scalar: BareScalar): boolean {
  return scalar instanceof WrittenScalar ? scalar.isQuoted : typeof scalar === 'string' && looksTyped(scalar)
}

/** Whether a text needs quotes to be a text. */
function looksTyped(text: string): boolean {
  return readPlain(text).type !== 'text'
}

interface Reading {
  readonly type: ScalarType
  readonly value: YamlScalar['value']
  readonly problem: string
}

/** Everything that may be something else than a text. */
const special =
  /^(?:[-+.\d][-+.\w]{0,399}|\d{4}-\d{1,2}-\d{1,2}[Tt ][-+.:\dZ]{1,40}|~|null|Null|NULL|true|True|TRUE|false|False|FALSE|)$/

/** What a text is in YAML when it stands without quotes. */
function readPlain(text: string): Reading {
  const asText: Reading = { type: 'text', value: text, problem: '' }
  if (!special.test(text)) return asText
  if (/^[-+]?\.(?:inf|nan)$/i.test(text)) return { type: 'float', value: null, problem: `${text} is no value of JSON` }
  const [list] = readYamlValues(`- ${text}`)
  const item = Array.isArray(list) ? (list[0] ?? null) : text
  const value = item instanceof YamlScalar ? item.value : item
  if (typeof item === 'string' || (typeof value === 'object' && value !== null)) return asText
  return { type: typeOfValue(value, text), value, problem: '' }
}

/** A text with a value of its own is a timestamp. */
function typeOfValue(value: YamlScalar['value'], text: string): ScalarType {
  if (value === null) return 'null'
  if (typeof value === 'string') return 'timestamp'
  if (typeof value === 'boolean') return 'boolean'
  const isInteger = typeof value === 'bigint' || (Number.isSafeInteger(value) && integer.test(text))
  return isInteger ? 'integer' : 'float'
}

const integer = /^[-+]?(?:\d[\d_]*|0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+)$/

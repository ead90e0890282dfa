/**
 * Label and field selectors.
 *
 * A selector is a list of requirements that must all hold; an empty list selects everything. Besides parsing, matching and
 * formatting there is a small algebra: `implies` decides whether one selector selects at least what another does, `cover` finds
 * one selector for everything that either of two selects. It lets many consumers share one watch.
 */
import {
  anyField,
  anyLabel,
  type Constraint,
  type Constraints,
  isWithin,
  joinConstraints,
  mustBeAbove,
  mustBeBelow,
  mustBeIn,
  mustExist,
  mustNotBeIn,
  mustNotExist,
} from './constraint.ts'
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { parseInt64 } from '../go/int64.ts'
import { isJsonObject } from '../json.ts'
import { checkLabelValue, checkQualifiedName } from '../meta/name.ts'
import type { KubeObject } from '../object.ts'

type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<'

/** `=`, `==` and `in` mean the same, as do `!=` and `notin`; each is kept as it was written. */
export interface LabelRequirement {
  readonly key: string
  readonly operator: LabelOperator
  /** Sorted. One for `=`, `==`, `!=`, `>` and `<`; none for `exists` and `!`. */
  readonly values: readonly string[]
}

/** Requirements in the order of their keys. */
export type LabelSelector = readonly LabelRequirement[]

/** A `metav1.LabelSelector`, as objects hold it. */
export interface LabelSelectorSpec {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
  readonly matchExpressions?: readonly LabelExpression[] | undefined
}

interface LabelExpression {
  readonly key: string
  /** `In`, `NotIn`, `Exists` or `DoesNotExist`. */
  readonly operator: string
  readonly values?: readonly string[] | undefined
}

/** Accepted as a label selector: `app=web,!legacy`, or the object form. */
export type LabelSelectorSource = string | LabelSelectorSpec

export const everything: LabelSelector = []

/** Selects no object. A contradiction, so that it can be sent to a server like any other selector. */
export const nothing: LabelSelector = [
  { key: 'nothing', operator: '!', values: [] },
  { key: 'nothing', operator: 'exists', values: [] },
]

/** @throws InvalidSelector */
export function labelSelector(source: LabelSelectorSource): LabelSelector {
  return typeof source === 'string' ? parseLabels(source) : labelsOf(source)
}

/**
 * The object form. As everywhere in Kubernetes, an absent selector selects nothing and an empty one everything.
 * @throws InvalidSelector
 */
export function labelsOf(spec: LabelSelectorSpec | null | undefined): LabelSelector {
  if (spec === undefined || spec === null) return nothing
  const place = 'in a label selector'
  const equals = Object.entries(spec.matchLabels ?? {}).map(([key, value]) => requirement(key, '=', [value], place))
  const expressions = (spec.matchExpressions ?? []).map(({ key, operator, values }) => {
    const known = expressionOperators.get(operator)
    if (!known) throw invalid(`unknown operator "${operator}" for "${key}" ${place}`)
    return requirement(key, known, values ?? [], place)
  })
  return sortByKey([...equals, ...expressions])
}

const expressionOperators: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
])

/** Operators between a key and a single value. */
const exactOperators: ReadonlySet<string> = new Set(['=', '==', '!=', '>', '<'])

/**
 * The text form: `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x)`, `a`, `!a`, `a>1`, `a<2`, joined by commas.
 * @throws InvalidSelector
 */
export function parseLabels(text: string): LabelSelector {
  const place = `in the label selector "${text}"`
  const tokens = text.match(/==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+/g) ?? []
  let at = 0

  const expected = (what: string): MusterError => {
    const found = at < tokens.length ? `"${tokens[at]}"` : 'the end'
    return invalid(`expected ${what} but found ${found} ${place}`)
  }
  const take = (token: string): void => {
    if (tokens[at] !== token) throw expected(`"${token}"`)
    at++
  }
  const isWord = (): boolean => at < tokens.length && !/^[=!(),<>]/.test(tokens[at]!)
  const word = (what: string): string => {
    if (!isWord()) throw expected(what)
    return tokens[at++]!
  }
  const isLast = (): boolean => at === tokens.length || tokens[at] === ','

  const valueSet = (): readonly string[] => {
    take('(')
    // An empty value is written as nothing at all: `()`, `(x,)`.
    const values = new Set([isWord() ? word('a value') : ''])
    while (tokens[at] === ',') {
      at++
      values.add(isWord() ? word('a value') : '')
    }
    take(')')
    return [...values]
  }

  const next = (): LabelRequirement => {
    const negated = tokens[at] === '!'
    if (negated) at++
    const key = word('a key')
    if (negated) return requirement(key, '!', [], place)
    if (isLast()) return requirement(key, 'exists', [], place)
    const operator = tokens[at]!
    if (operator !== 'in' && operator !== 'notin' && !exactOperators.has(operator)) throw expected('an operator')
    at++
    const values = operator === 'in' || operator === 'notin' ? valueSet() : [isLast() ? '' : word('a value')]
    return requirement(key, operator as LabelOperator, values, place)
  }

  if (tokens.length === 0) return everything
  const requirements = [next()]
  while (at < tokens.length) {
    take(',')
    requirements.push(next())
  }
  return sortByKey(requirements)
}

/** A requirement, validated by the rules of the server. */
function requirement(key: string, operator: LabelOperator, values: readonly string[], place: string): LabelRequirement {
  const problems = checkQualifiedName(key)
  if (problems.length > 0) throw invalid(`the key "${key}" ${problems.join(' and ')}, ${place}`)
  if ((operator === 'in' || operator === 'notin') && values.length === 0) {
    throw invalid(`"${operator}" needs a value for "${key}" ${place}`)
  }
  if ((operator === 'exists' || operator === '!') && values.length > 0) {
    throw invalid(`"${operator}" takes no value for "${key}" ${place}`)
  }
  for (const value of values) {
    const wrong = checkLabelValue(value)
    if (wrong.length > 0) throw invalid(`the value "${value}" of "${key}" ${wrong.join(' and ')}, ${place}`)
    if ((operator === '>' || operator === '<') && parseInt64(value) === undefined) {
      throw invalid(`"${key}${operator}${value}" compares with something that is no 64-bit integer, ${place}`)
    }
  }
  return { key, operator, values: values.toSorted() }
}

function sortByKey(requirements: readonly LabelRequirement[]): LabelSelector {
  return requirements.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

export function matchLabels(selector: LabelSelector, labels: Readonly<Record<string, string>> | undefined): boolean {
  return selector.every(({ key, operator, values }) => {
    const value = labels && Object.hasOwn(labels, key) ? labels[key] : undefined
    if (value === undefined) return operator === '!' || operator === '!=' || operator === 'notin'
    switch (operator) {
      case 'exists':
        return true
      case '!':
        return false
      case '!=':
      case 'notin':
        return !values.includes(value)
      case '>':
        return isOrdered(values[0]!, value)
      case '<':
        return isOrdered(value, values[0]!)
      default:
        return values.includes(value)
    }
  })
}

function isOrdered(lesser: string, greater: string): boolean {
  const [low, high] = [parseInt64(lesser), parseInt64(greater)]
  return low !== undefined && high !== undefined && low < high
}

/** The text form as the server writes it. */
export function formatLabels(selector: LabelSelector): string {
  return selector
    .map(({ key, operator, values }) => {
      if (operator === 'exists') return key
      if (operator === '!') return `!${key}`
      if (operator === 'in' || operator === 'notin') return `${key} ${operator} (${values.join(',')})`
      return `${key}${operator}${values[0]}`
    })
    .join(',')
}

/** True only if everything that `a` selects is selected by `b`. With `>` and `<` it may be false although it holds. */
export function impliesLabels(a: LabelSelector, b: LabelSelector): boolean {
  return isWithin(labelConstraints(a), labelConstraints(b), anyLabel)
}

/**
 * A selector for everything that `a` or `b` selects, as narrow as the syntax allows key by key: values are united, values that
 * both exclude stay excluded, a key that both require must exist; the rest is dropped.
 */
export function coverLabels(a: LabelSelector, b: LabelSelector): LabelSelector {
  if (impliesLabels(a, b)) return b
  if (impliesLabels(b, a)) return a
  const joined = joinConstraints(labelConstraints(a), labelConstraints(b))
  return sortByKey([...joined].flatMap(([key, constraint]) => labelRequirements(key, constraint)))
}

function labelConstraints(selector: LabelSelector): Constraints {
  const byKey = new Map<string, Constraint>()
  for (const { key, operator, values } of selector) {
    const known = byKey.get(key) ?? anyLabel
    byKey.set(key, narrowing[operator](known, values))
  }
  return byKey
}

type Narrowing = (known: Constraint, values: readonly string[]) => Constraint

const narrowing: Readonly<Record<LabelOperator, Narrowing>> = {
  '=': mustBeIn,
  '==': mustBeIn,
  in: mustBeIn,
  '!=': mustNotBeIn,
  notin: mustNotBeIn,
  exists: mustExist,
  '!': mustNotExist,
  '>': (known, [bound]) => mustBeAbove(known, BigInt(bound!)),
  '<': (known, [bound]) => mustBeBelow(known, BigInt(bound!)),
}

/** The requirements that express a constraint, or as much of it as possible. */
function labelRequirements(key: string, { absent, only, never, above, below }: Constraint): LabelSelector {
  if (only && absent) {
    // "Absent, or one of these" cannot be expressed.
    return only.size === 0 ? [{ key, operator: '!', values: [] }] : []
  }
  if (only) return [{ key, operator: only.size === 1 ? '=' : 'in', values: [...only].toSorted() }]
  const requirements: LabelRequirement[] = []
  if (above !== undefined) requirements.push({ key, operator: '>', values: [above.toString()] })
  if (below !== undefined) requirements.push({ key, operator: '<', values: [below.toString()] })
  if (!absent && requirements.length === 0) requirements.push({ key, operator: 'exists', values: [] })
  if (never.size > 0) {
    requirements.push({ key, operator: never.size === 1 ? '!=' : 'notin', values: [...never].toSorted() })
  }
  return requirements
}

/** A field is compared as text; an absent one is the empty text. */
interface FieldRequirement {
  /** `metadata.name`, `spec.nodeName`. */
  readonly path: string
  readonly operator: '=' | '!='
  readonly value: string
}

export type FieldSelector = readonly FieldRequirement[]

export const everyField: FieldSelector = []

/**
 * `metadata.name=web,status.phase!=Running`. A backslash escapes `,`, `=` and itself in a value.
 * @throws InvalidSelector
 */
export function parseFields(text: string): FieldSelector {
  const place = `in the field selector "${text}"`
  const terms = text.match(/(?:\\[^]|\\$|[^\\,])+/g) ?? []
  return terms.toSorted().map((term) => {
    const [, path, operator, escaped] = /^([^]*?)(!=|==|=)([^]*)$/.exec(term) ?? []
    if (!path || escaped === undefined) throw invalid(`expected path=value or path!=value, found "${term}" ${place}`)
    if (!/^(?:[^\\=]|\\[\\,=])*$/.test(escaped)) {
      throw invalid(`the value "${escaped}" has a lone "=" or "\\": write "\\=" or "\\\\", ${place}`)
    }
    return { path, operator: operator === '!=' ? '!=' : '=', value: escaped.replaceAll(/\\([^])/g, '$1') }
  })
}

export function formatFields(selector: FieldSelector): string {
  return selector
    .map(({ path, operator, value }) => `${path}${operator}${value.replaceAll(/[\\,=]/g, String.raw`\$&`)}`)
    .join(',')
}

export function matchFields(selector: FieldSelector, object: KubeObject): boolean {
  return selector.every(({ path, operator, value }) => (fieldOf(object, path) === value) === (operator === '='))
}

/** Fields of built-in kinds that differ from the value at their path: other names, and defaults that JSON omits. */
const builtInFields: ReadonlyMap<string, { readonly path: string; readonly absent?: string }> = new Map([
  ['v1/Node spec.unschedulable', { path: 'spec.unschedulable', absent: 'false' }],
  ['v1/Pod spec.hostNetwork', { path: 'spec.hostNetwork', absent: 'false' }],
  ['v1/Pod spec.host', { path: 'spec.nodeName' }],
  ['v1/ReplicationController status.replicas', { path: 'status.replicas', absent: '0' }],
  ['apps/v1/ReplicaSet status.replicas', { path: 'status.replicas', absent: '0' }],
  ['batch/v1/Job status.successful', { path: 'status.succeeded', absent: '0' }],
  ['v1/Namespace name', { path: 'metadata.name' }],
  ['v1/PersistentVolume name', { path: 'metadata.name' }],
  ['v1/PersistentVolumeClaim name', { path: 'metadata.name' }],
])

function fieldOf(object: KubeObject, path: string): string {
  const kind = `${object.apiVersion}/${object.kind}`
  if (kind === 'v1/Event' && path === 'source') {
    return textAt(object, 'source.component') || textAt(object, 'reportingComponent')
  }
  const field = builtInFields.get(`${kind} ${path}`)
  return textAt(object, field?.path ?? path) || (field?.absent ?? '')
}

function textAt(object: KubeObject, path: string): string {
  let value: unknown = object
  for (const member of path.split('.')) {
    value = isJsonObject(value) && Object.hasOwn(value, member) ? value[member] : undefined
  }
  const isScalar = ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
  return isScalar ? String(value) : ''
}

/** True only if everything that `a` selects is selected by `b`. */
export function impliesFields(a: FieldSelector, b: FieldSelector): boolean {
  return isWithin(fieldConstraints(a), fieldConstraints(b), anyField)
}

/** A selector for everything that `a` or `b` selects. Two values of a field cannot be united: such a field is dropped. */
export function coverFields(a: FieldSelector, b: FieldSelector): FieldSelector {
  if (impliesFields(a, b)) return b
  if (impliesFields(b, a)) return a
  const joined = [...joinConstraints(fieldConstraints(a), fieldConstraints(b))]
  return joined
    .toSorted(([x], [y]) => (x < y ? -1 : 1))
    .flatMap(([path, { only, never }]): FieldSelector => {
      if (only?.size === 1) return [...only].map((value) => ({ path, operator: '=', value }))
      return [...never].toSorted().map((value) => ({ path, operator: '!=', value }))
    })
}

function fieldConstraints(selector: FieldSelector): Constraints {
  const byPath = new Map<string, Constraint>()
  for (const { path, operator, value } of selector) {
    byPath.set(path, narrowing[operator](byPath.get(path) ?? anyField, [value]))
  }
  return byPath
}

function invalid(problem: string): MusterError {
  return new MusterError(kubeErrors.InvalidSelector, `${problem}.`)
}

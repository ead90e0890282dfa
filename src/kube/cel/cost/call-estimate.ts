/**
 * The cost of a call without its arguments, and the size of its result. The rules are those of the server: some know the size
 * of a result, most do not, and an unknown size counts as any size.
 */
import { cidrType, ipType } from '../library/address.ts'
import {
  type Estimate,
  either,
  exactEstimate,
  mostPossible,
  zeroEstimate,
  one,
  plus,
  scaled,
  times,
  unknownEstimate,
} from './estimate.ts'
import type { CelExpression } from '../syntax/expression.ts'
import { listCost } from '../evaluate/frame.ts'
import { namedFormatType } from '../library/named-format.ts'
import { quantityType } from '../library/quantity.ts'
import { semverType } from '../library/semver.ts'
import type { SizePath } from './size-path.ts'
import { type CelType, sameType } from '../value/type.ts'
import { isInt } from '../value/value.ts'
import { urlType } from '../library/url.ts'

export interface Operand {
  readonly expression: CelExpression
  readonly type: CelType | undefined
  readonly path: SizePath | undefined
  /** Undefined if nothing is known. */
  readonly size: Estimate | undefined
}

interface CallShape {
  readonly name: string
  readonly overload: string
  readonly target: Operand | undefined
  readonly args: readonly Operand[]
}

interface CallEstimate {
  readonly cost: Estimate
  readonly size?: Estimate | undefined
}

/** The size of elements of the list at a path of the schema. */
type ElementSizes = (list: SizePath | undefined) => Estimate | undefined

/** Per character, of traversing a text. */
const perCharacter = 0.1
/** Per character of a pattern; a matching part of a pattern has four characters on average. */
const perPatternCharacter = 0.25
/** The longest pattern of a named format. */
const formatPattern = 128
const longestFormat = 64

export function callEstimate(call: CallShape, elements: ElementSizes): CallEstimate {
  return listLibrary(call) ?? serverLibrary(call, elements) ?? standard(call) ?? { cost: one }
}

const sizeOf = (operand: Operand | undefined): Estimate => operand?.size ?? unknownEstimate
const walk = (size: Estimate): Estimate => scaled(size, perCharacter)

function matching(text: Estimate, pattern: Estimate): Estimate {
  return times(walk(plus(text, one)), scaled(pattern, perPatternCharacter))
}

/** The value of a literal, if it is one. */
function writtenCount({ expression }: Operand, otherwise: number): number {
  if (expression.kind !== 'literal' || !isInt(expression.value)) return otherwise
  return Math.max(0, Number(expression.value))
}

/** Lists and sets: CEL's own extensions. */
function listLibrary({ overload, target, args }: CallShape): CallEstimate | undefined {
  const list = sizeOf(target)
  const made = (size: Estimate, factor: number): CallEstimate => ({
    cost: plus(scaled(size, factor), one, exactEstimate(listCost)),
    size,
  })
  const sorted = (keys: Estimate, type: string): CallEstimate =>
    made(times(keys, keys), type === 'string' || type === 'bytes' ? 2 + perCharacter : 2)
  switch (overload) {
    case 'list_slice': {
      const length = writtenCount(args[1]!, list.max) - writtenCount(args[0]!, 0)
      // The server computes unsigned: a slice that ends before it begins is a very long one.
      return made(exactEstimate(length < 0 ? mostPossible : length), 1)
    }
    case 'lists_range':
      return made(exactEstimate(writtenCount(args[0]!, mostPossible)), 1)
    case 'list_reverse':
    case 'list_flatten':
      return made(list, 1)
    case 'list_flatten_int':
      return made(list, writtenCount(args[0]!, mostPossible))
    case 'list_distinct':
      return made(times(list, list), 2)
    case 'list_sets_contains_list':
    case 'list_sets_intersects_list':
      return { cost: plus(times(sizeOf(args[0]), sizeOf(args[1])), one) }
    case 'list_sets_equivalent_list':
      return { cost: plus(scaled(times(sizeOf(args[0]), sizeOf(args[1])), 2), one) }
    default:
  }
  const [, type, what] = /^list_(.+)_(sort|sortByAssociatedKeys)$/.exec(overload) ?? []
  if (type === undefined) return undefined
  return sorted(what === 'sort' ? list : sizeOf(args[0]), type)
}

/** Functions that Kubernetes adds or gives another cost, by name. */
function serverLibrary(call: CallShape, elements: ElementSizes): CallEstimate | undefined {
  const { name, overload, target, args } = call
  const [first, second] = args
  switch (name) {
    case 'check':
      return { cost: exactEstimate(350_000) }
    case 'fieldSelector':
    case 'labelSelector':
      return { cost: selectorCost(sizeOf(first)) }
    case 'isSorted':
    case 'sum':
    case 'max':
    case 'min':
    case 'indexOf':
    case 'lastIndexOf':
      return target && { cost: searchCost(target, elements) }
    case 'url':
      return { cost: walk(sizeOf(first)), size: sizeOf(first) }
    case 'lowerAscii':
    case 'upperAscii':
    case 'substring':
    case 'trim':
      return { cost: walk(sizeOf(target)), size: sizeOf(target) }
    case 'replace':
      return {
        cost: scaled(sizeOf(target), 2 * perCharacter),
        size: replacedSize(sizeOf(target), sizeOf(first), sizeOf(second)),
      }
    case 'split': {
      const most = second ? writtenParts(second, sizeOf(target).max) : sizeOf(target).max
      return { cost: scaled(sizeOf(target), 2 * perCharacter), size: { min: 0, max: most } }
    }
    case 'join': {
      const size = joinedSize(target!, first, elements)
      return { cost: walk(size), size }
    }
    case 'find':
    case 'findAll':
      return { cost: matching(sizeOf(target), sizeOf(first)), size: { min: 0, max: sizeOf(target).max } }
    case 'ip':
      return overload === 'cidr_ip' ? { cost: one } : { cost: walk(sizeOf(first)) }
    case 'cidr':
    case 'isIP':
    case 'isCIDR':
    case 'quantity':
    case 'isQuantity':
    case 'semver':
    case 'isSemver':
      return { cost: walk(sizeOf(first)) }
    case 'ip.isCanonical':
      return { cost: scaled(sizeOf(first), 2 * perCharacter) }
    case 'containsIP':
    case 'containsCIDR':
      return { cost: containmentCost(call) }
    case 'validate':
      return { cost: scaled(walk(sizeOf(first)), formatPattern * perPatternCharacter) }
    case '_==_':
      return first && second && equalityOfObjects(first, second)
    default:
      return undefined
  }
}

/** A requirement has at least two characters, and takes a list and an object. */
function selectorCost(length: Estimate): Estimate {
  return plus(exactEstimate(listCost), walk(length), scaled(scaled(length, 0.5), listCost + 40))
}

/** The type and size of a list's elements; undefined if it is not a list. */
function elementOf(
  list: Operand,
  elements: ElementSizes,
): { readonly type: CelType; readonly size: Estimate } | undefined {
  const type = list.type?.parameters[0]
  return type && { type, size: elements(list.path) ?? unknownEstimate }
}

function searchCost(target: Operand, elements: ElementSizes): Estimate {
  const element = elementOf(target, elements)
  if (!element) return walk(sizeOf(target))
  const isText = element.type.kind === 'string' || element.type.kind === 'bytes'
  return times(sizeOf(target), isText ? plus(one, walk(element.size)) : one)
}

function replacedSize(text: Estimate, old: Estimate, replacement: Estimate): Estimate {
  return {
    min: replacedLength(text.min, old.max, replacement.min, old.max <= replacement.min),
    max: replacedLength(text.max, old.min, replacement.max, replacement.max <= old.min),
  }
}

/** An empty text is found around every character. */
function replacedLength(text: number, old: number, replacement: number, isKept: boolean): number {
  if (old === 0) return Math.min(mostPossible, (text + 1) * replacement + text)
  return isKept ? text : Math.min(mostPossible, Math.ceil(text / old) * replacement)
}

function writtenParts({ expression }: Operand, otherwise: number): number {
  if (expression.kind !== 'literal' || !isInt(expression.value)) return otherwise
  const count = Number(expression.value)
  return count < 0 ? mostPossible : count
}

function joinedSize(list: Operand, separator: Operand | undefined, elements: ElementSizes): Estimate {
  const count = sizeOf(list)
  const element = elementOf(list, elements)
  const texts = element ? times(count, element.size) : zeroEstimate
  if (!separator) return texts
  const between = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) }
  return plus(texts, times(sizeOf(separator), between))
}

/** Addresses have 4 or 16 bytes, and two are compared. */
function containmentCost({ name, overload, args }: CallShape): Estimate {
  const address: Estimate = { min: 4, max: 16 }
  const comparison = walk(plus(address, address))
  const isText = overload === 'cidr_contains_ip_string' || overload === 'cidr_contains_cidr_string'
  const parsing = isText ? walk(sizeOf(args[0])) : zeroEstimate
  return name === 'containsIP' ? plus(comparison, parsing) : plus(comparison, walk(address), one, parsing)
}

const constantSize = [ipType, cidrType, quantityType, semverType]

function equalityOfObjects(left: Operand, right: Operand): CallEstimate | undefined {
  const { type } = left
  if (!type || !right.type || !sameType(type, right.type)) return undefined
  const is = (other: CelType): boolean => sameType(type, other)
  if (constantSize.some(is)) return { cost: one }
  if (is(namedFormatType)) return { cost: walk({ min: 1, max: longestFormat }) }
  if (is(urlType)) return { cost: walk({ min: 1, max: right.size?.max ?? 1 }) }
  return undefined
}

/** CEL itself, by overload. */
function standard({ overload, target, args }: CallShape): CallEstimate | undefined {
  const [first, second, third] = args
  switch (overload) {
    case 'string_format':
      return { cost: walk(sizeOf(target)) }
    case 'string_to_bytes': {
      const { min, max } = sizeOf(first)
      return { cost: walk({ min, max }), size: { min, max: Math.min(mostPossible, max * 4) } }
    }
    case 'bytes_to_string': {
      const { min, max } = sizeOf(first)
      return { cost: walk({ min, max }), size: { min: Math.floor(min / 4), max } }
    }
    case 'strings_quote': {
      const { min, max } = sizeOf(first)
      // The server's sum overflows if the size is unknown.
      return { cost: walk({ min, max }), size: { min: min + 2, max: (max * 2 + 2) % mostPossible } }
    }
    case 'starts_with_string':
    case 'ends_with_string':
      return { cost: walk(sizeOf(first)) }
    case 'in_list':
      return { cost: sizeOf(second) }
    case 'matches':
      return { cost: matching(sizeOf(first), sizeOf(second)) }
    case 'matches_string':
      return { cost: matching(sizeOf(target), sizeOf(first)) }
    case 'contains_string':
      return { cost: times(walk(sizeOf(target)), walk(sizeOf(first))) }
    case 'conditional':
      return { cost: zeroEstimate, size: either(sizeOf(second), sizeOf(third)) }
    case 'add_list':
      return { cost: one, size: plus(sizeOf(first), sizeOf(second)) }
    case 'add_string':
    case 'add_bytes': {
      const size = plus(sizeOf(first), sizeOf(second))
      return { cost: walk(size), size }
    }
    default:
      return isComparison(overload) ? { cost: comparisonCost(sizeOf(first), sizeOf(second)) } : undefined
  }
}

function isComparison(overload: string): boolean {
  return (
    overload === 'equals' ||
    overload === 'not_equals' ||
    /^(?:less|less_equals|greater|greater_equals)_(?:string|bytes)$/.test(overload)
  )
}

/** Two values are compared up to the length of the shorter. */
function comparisonCost(left: Estimate, right: Estimate): Estimate {
  const max = Math.min(left.max, right.max)
  return walk({ min: max > 0 ? 1 : 0, max })
}

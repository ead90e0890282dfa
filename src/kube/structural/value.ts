/**
 * Validation of values against a schema, with the messages and the order of the real server.
 *
 * The walk keeps a stack of keys and builds a path only for failures. Each check also counts its successes: among alternatives
 * that all fail, the server reports the one that came closest.
 */
import { requiredValue, tooLongValue, tooManyValues, unsupportedValue } from '../validation/cause.ts'
import { formatGoJson, isGoInteger, quoteGo } from '../go/go-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { isJsonArray } from '../json-member.ts'
import { isUnchanged, keyedItems, oldMember } from './correlation.ts'
import { type SchemaFailure, failedLimit, failedPlainly, failedType, failedValue, fieldAt } from './failure.ts'
import type { SchemaNode } from './node.ts'
import { checkNumber } from './number.ts'

/** All failures of a value; those of unchanged old values are ignored. */
export function checkValue(value: Json, node: SchemaNode, old?: Json): readonly SchemaFailure[] {
  const walk = startWalk([])
  check(value, node, undefined, walk)
  // Which failures are old matters only if there are failures.
  return walk.failures.length > 0 && old !== undefined ? checkChange(value, node, old) : walk.failures
}

function checkChange(value: Json, node: SchemaNode, old: Json): readonly SchemaFailure[] {
  const walk = startWalk([])
  check(value, node, old, walk)
  return walk.failures
}

interface Walk {
  readonly path: (string | number)[]
  readonly failures: SchemaFailure[]
  /** The number of failures. */
  readonly messages: Set<string>
  /** The remaining number of characters in messages. */
  room: number
}

/** A failure may list allowed values, and there may be one per item: this limits their total length. */
const mostCharacters = 10_000_000

function startWalk(path: (string | number)[]): Walk {
  return { path, failures: [], messages: new Set(), room: mostCharacters }
}

/** Checks a value and returns how many checks passed. */
function check(value: Json, node: SchemaNode, old: Json | undefined, walk: Walk): number {
  const before = walk.failures.length
  const score = checkAll(value, node, old, walk)
  if (old !== undefined && walk.failures.length > before && isUnchanged(node, value, old)) {
    for (const { message } of walk.failures.splice(before)) walk.messages.delete(message)
  }
  return score
}

function checkAll(value: Json, node: SchemaNode, old: Json | undefined, walk: Walk): number {
  if (value === null) {
    const score = checkType(value, node, walk) ? 1 : 0
    checkEnum(value, node, walk)
    return score
  }
  let score = 1
  if (node.types.length > 0 || node.format !== '') score += checkType(value, node, walk) ? 2 : 1
  score += 2 + checkAlternatives(value, node, walk)
  switch (typeof value) {
    case 'string':
      checkText(value, node, walk)
      score++
      if (node.checkFormat) {
        if (!node.checkFormat(value)) add(walk, failedType(pathOf(walk), node.format, value, quoteGo(value)))
        score++
      }
      break
    case 'number':
    case 'bigint':
      if (hasLimits(node)) checkNumberLimits(value, node, walk)
      score += 2
      break
    case 'object':
      if (isJsonArray(value)) score += 2 + checkItems(value, node, old, walk)
      break
    default:
  }
  checkEnum(value, node, walk)
  score++
  if (isJsonObject(value)) score += 1 + checkMembers(value, node, old, walk)
  return score
}

/** The path as the real validator writes it; members of the root have no leading dot, others do. */
function pathOf({ path }: Walk): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}

/** The same failure is reported once. */
function add(walk: Walk, failure: SchemaFailure): void {
  const { failures, messages } = walk
  if (walk.room < 0 || messages.has(failure.message)) return
  walk.room -= failure.message.length
  messages.add(failure.message)
  failures.push(failure)
}

function typeOf(value: Json): string {
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'boolean':
      return 'boolean'
    case 'number':
    case 'bigint':
      return isGoInteger(value) ? 'integer' : 'number'
    default:
      return value === null ? 'null' : isJsonArray(value) ? 'array' : 'object'
  }
}

/** The Go format of a value: only numbers have one. */
function formatOf(type: string): string {
  return type === 'integer' ? 'int64' : type === 'number' ? 'float64' : ''
}

function checkType(value: Json, { types, nullable, format }: SchemaNode, walk: Walk): boolean {
  const type = typeOf(value)
  if (value === null) {
    if (types.length === 0 || nullable) return true
    add(walk, failedType(pathOf(walk), types.join(','), 'null', '"null"'))
    return false
  }
  // An integer is a number, too, and so is a large one that Go keeps as a float but that has no fraction.
  const isRight =
    types.includes(type) ||
    (type === 'integer' && types.includes('number')) ||
    (type === 'number' && types.includes('integer') && Number.isInteger(Number(value)))
  if (isRight) return true
  const isTextual = type === 'string' || type === 'array'
  if (format !== '' && !isTextual) {
    if (formatOf(type) === format) return true
    add(walk, failedType(pathOf(walk), format, formatOf(type), quoteGo(formatOf(type))))
    return false
  }
  // A string format implies the type string; that lists are accepted as well is a quirk of the server.
  if (format !== '' && !types.includes('number') && !types.includes('integer')) return true
  add(walk, failedType(pathOf(walk), types.join(','), type, quoteGo(type)))
  return false
}

function checkText(text: string, { schema, matches }: SchemaNode, walk: Walk): void {
  const { maxLength, minLength, pattern } = schema
  if (maxLength !== undefined && text.length > maxLength && codePoints(text) > maxLength) {
    const path = pathOf(walk)
    add(walk, {
      message: `${path} in body should be at most ${maxLength} chars long`,
      cause: (root) => tooLongValue(fieldAt(root, path), maxLength),
    })
  } else if (minLength !== undefined && text.length < 2 * minLength && codePoints(text) < minLength) {
    add(walk, failedLimit(pathOf(walk), text, `should be at least ${minLength} chars long`))
  } else if (matches && !matches(text)) {
    add(walk, failedLimit(pathOf(walk), text, `should match '${pattern}'`))
  }
}

function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function hasLimits({ schema, types, format }: SchemaNode): boolean {
  return (
    types[0] === 'integer' ||
    format === 'float' ||
    schema.maximum !== undefined ||
    schema.minimum !== undefined ||
    schema.multipleOf !== undefined
  )
}

function checkNumberLimits(value: number | bigint, node: SchemaNode, walk: Walk): void {
  const found: SchemaFailure[] = []
  checkNumber(value, node, () => pathOf(walk), found)
  for (const failure of found) add(walk, failure)
}

const knownChoices = new WeakMap<readonly Json[], ReadonlySet<unknown>>()

/** Lookup of enum values: a list of a hundred thousand values may meet an enum of as many. */
function choicesOf(allowed: readonly Json[]): ReadonlySet<unknown> {
  const known = knownChoices.get(allowed)
  if (known) return known
  const made = new Set(allowed.map(keyOfChoice))
  knownChoices.set(allowed, made)
  return made
}

/** Equal values have equal keys: members in any order, and numbers of any length. */
function keyOfChoice(value: Json): unknown {
  if (typeof value === 'string') return `"${value}`
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`
  return typeof value === 'object' ? formatGoJson(value) : value
}

function checkEnum(value: Json, { schema }: SchemaNode, walk: Walk): void {
  const allowed = schema.enum
  if (!allowed || allowed.length === 0) return
  // Null never matches, even if it is listed.
  if (value !== null && choicesOf(allowed).has(keyOfChoice(value))) return
  if (walk.room < 0) return
  const path = pathOf(walk)
  const listed = allowed.map((one) => (typeof one === 'string' ? one : formatGoJson(one)))
  add(walk, {
    message: `${path} in body should be one of [${listed.join(' ')}]`,
    cause: (root) => unsupportedValue(fieldAt(root, path), value, listed),
  })
}

function checkItems(items: readonly Json[], node: SchemaNode, old: Json | undefined, walk: Walk): number {
  const { maxItems, minItems, uniqueItems } = node.schema
  let score = 0
  if (node.items) {
    const before = old === undefined ? undefined : keyedItems(node, old)
    for (let index = 0; index < items.length; index++) {
      const item = items[index]!
      walk.path.push(index)
      score += check(item, node.items, before?.find(item), walk)
      walk.path.pop()
    }
  }
  if (minItems !== undefined && items.length < minItems) {
    add(walk, failedLimit(pathOf(walk), items.length, `should have at least ${minItems} items`))
  }
  if (maxItems !== undefined && items.length > maxItems) {
    addTooMany(walk, items.length, maxItems, 'items')
  }
  if (uniqueItems && new Set(items.map(keyOfChoice)).size < items.length) {
    add(walk, failedLimit(pathOf(walk), '', "shouldn't contain duplicates"))
  }
  return score
}

function addTooMany(walk: Walk, count: number, limit: number, what: string): void {
  const path = pathOf(walk)
  add(walk, {
    message: `${path} in body should have at most ${limit} ${what}`,
    cause: (root) => tooManyValues(fieldAt(root, path), count, limit),
  })
}

function checkMembers(object: JsonObject, node: SchemaNode, old: Json | undefined, walk: Walk): number {
  let score = 0
  checkCount(object, node, walk)
  const { additional, properties } = node
  if (additional !== undefined && additional !== true) {
    for (const name in object) {
      const member = object[name]
      if (member === undefined || properties.has(name)) continue
      if (additional === false) {
        const path = pathOf(walk)
        add(walk, failedValue(path, name, `${path}.${name} in body is a forbidden property`))
        continue
      }
      score += checkMember(member, name, additional, node, old, walk)
    }
  }
  for (const { name, node: own } of node.members) {
    const member = Object.hasOwn(object, name) ? object[name] : undefined
    if (member !== undefined) score += checkMember(member, name, own, node, old, walk)
  }
  for (const name of node.required) {
    if (Object.hasOwn(object, name) && object[name] !== undefined) continue
    const path = `${pathOf(walk)}.${name}`
    add(walk, { message: `${path} in body is required`, cause: (root) => requiredValue(fieldAt(root, path)) })
  }
  return score
}

function checkCount(object: JsonObject, { schema }: SchemaNode, walk: Walk): void {
  const { maxProperties, minProperties } = schema
  if (maxProperties === undefined && minProperties === undefined) return
  const count = Object.keys(object).length
  if (minProperties !== undefined && count < minProperties) {
    add(walk, failedLimit(pathOf(walk), count, `should have at least ${minProperties} properties`))
  }
  if (maxProperties !== undefined && count > maxProperties) addTooMany(walk, count, maxProperties, 'properties')
}

function checkMember(
  member: Json,
  name: string,
  own: SchemaNode,
  node: SchemaNode,
  old: Json | undefined,
  walk: Walk,
): number {
  // Both versions of an object are converted to the same version first, so these two do not show a change.
  const isType = walk.path.length === 0 && (name === 'apiVersion' || name === 'kind')
  walk.path.push(name)
  const score = check(member, own, old === undefined || isType ? undefined : oldMember(node, old, name), walk)
  walk.path.pop()
  return score
}

/** Alternatives do not see old values. */
function checkAlternatives(value: Json, node: SchemaNode, walk: Walk): number {
  const { anyOf, oneOf, allOf, not } = node
  let score = 0
  if (anyOf.length > 0) score += checkAnyOf(value, anyOf, walk)
  if (oneOf.length > 0) score += checkOneOf(value, oneOf, walk)
  if (allOf.length > 0) score += checkAllOf(value, allOf, walk)
  if (not && attempt(value, not, walk).failures.length === 0) {
    add(walk, failedPlainly(`${quoteGo(pathOf(walk))} must not validate the schema (not)`))
  }
  return score
}

interface Attempt {
  readonly failures: readonly SchemaFailure[]
  readonly score: number
}

function attempt(value: Json, node: SchemaNode, { path }: Walk): Attempt {
  const walk = startWalk(path)
  const score = check(value, node, undefined, walk)
  return { failures: walk.failures, score }
}

function take(walk: Walk, { failures, score }: Attempt): number {
  for (const failure of failures) add(walk, failure)
  return score
}

function better(best: Attempt | undefined, next: Attempt): Attempt {
  return best && best.score >= next.score ? best : next
}

function checkAnyOf(value: Json, nodes: readonly SchemaNode[], walk: Walk): number {
  let best: Attempt | undefined
  for (const node of nodes) {
    const next = attempt(value, node, walk)
    if (next.failures.length === 0) return next.score
    best = better(best, next)
  }
  add(walk, failedPlainly(`${quoteGo(pathOf(walk))} must validate at least one schema (anyOf)`))
  return take(walk, best!)
}

function checkOneOf(value: Json, nodes: readonly SchemaNode[], walk: Walk): number {
  let best: Attempt | undefined
  let first: Attempt | undefined
  let count = 0
  for (const node of nodes) {
    const next = attempt(value, node, walk)
    if (next.failures.length === 0) {
      first ??= next
      count++
    } else if (count === 0) best = better(best, next)
  }
  if (count === 1) return first!.score
  const found = count === 0 ? 'Found none valid' : `Found ${count} valid alternatives`
  add(walk, failedPlainly(`${quoteGo(pathOf(walk))} must validate one and only one schema (oneOf). ${found}`))
  return count === 0 ? take(walk, best!) : 0
}

function checkAllOf(value: Json, nodes: readonly SchemaNode[], walk: Walk): number {
  const attempts = nodes.map((node) => attempt(value, node, walk))
  const score = attempts.reduce((sum, one) => sum + take(walk, one), 0)
  const failed = attempts.filter(({ failures }) => failures.length > 0).length
  if (failed > 0) {
    const none = failed === nodes.length ? '. None validated' : ''
    add(walk, failedPlainly(`${quoteGo(pathOf(walk))} must validate all the schemas (allOf)${none}`))
  }
  return score
}

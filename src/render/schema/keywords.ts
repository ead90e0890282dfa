/** The keywords of a schema, applied to one value. */
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import type { Checker } from './json-schema.ts'
import { isOfFormat } from './formats.ts'
import { matchesPattern } from './pattern.ts'
import type { SchemaEvaluation, SchemaProblem } from './problem.ts'

/** What keywords find, while they are applied in turn. */
class Findings {
  readonly problems: SchemaProblem[] = []
  readonly properties = new Set<string>()
  readonly items = new Set<number>()
  readonly checker: Checker
  readonly at: readonly string[]

  constructor(checker: Checker, at: readonly string[]) {
    this.checker = checker
    this.at = at
  }

  report(text: string, causes: readonly SchemaProblem[] = []): void {
    this.problems.push({ at: this.at, text, causes })
  }

  /** The same value, by another schema. */
  self(schema: Json, value: Json): SchemaEvaluation {
    const result = this.checker.check(schema, value, this.at)
    return { ...result, problems: grouped(result.problems, this.at) }
  }

  /** A part of the value. */
  part(schema: Json, value: Json, key: string): readonly SchemaProblem[] {
    const at = [...this.at, key]
    return grouped(this.checker.check(schema, value, at).problems, at)
  }

  add(problems: readonly SchemaProblem[]): void {
    for (const problem of problems) this.problems.push(problem)
  }

  /** What a successful subschema looked at counts. */
  evaluated({ properties, items }: SchemaEvaluation): void {
    for (const name of properties) this.properties.add(name)
    for (const index of items) this.items.add(index)
  }
}

/** Several problems of one schema are reported as one, with causes. */
function grouped(problems: readonly SchemaProblem[], at: readonly string[]): readonly SchemaProblem[] {
  return problems.length > 1 ? [{ at, text: 'validation failed', causes: problems }] : problems
}

export function applyKeywords(
  checker: Checker,
  schema: JsonObject,
  value: Json,
  at: readonly string[],
): SchemaEvaluation {
  const findings = new Findings(checker, at)
  const reference = schema['$ref']
  if (typeof reference === 'string') {
    const result = findings.self(checker.resolve(reference), value)
    findings.add(result.problems)
    findings.evaluated(result)
    // Keywords beside a reference did not count before 2019.
    if (checker.draft < 2019) return findings
  }
  if (!fitsType(schema, value, findings)) return findings
  if (isJsonObject(value)) checkObject(schema, value, findings)
  else if (Array.isArray(value)) checkList(schema, value as readonly Json[], findings)
  else if (typeof value === 'string') checkText(schema, value, findings)
  else if (typeof value === 'number' || typeof value === 'bigint') checkNumber(schema, Number(value), findings)
  for (const keyword of ['$dynamicRef', '$recursiveRef'] as const) {
    const dynamic = schema[keyword]
    if (typeof dynamic === 'string') findings.add(findings.self(checker.resolve(dynamic), value).problems)
  }
  checkAlternatives(schema, value, findings)
  checkUnevaluated(schema, value, findings)
  return findings
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  return type === 'bigint' ? 'number' : type
}

function isWhole(value: Json): boolean {
  return typeof value === 'bigint' || Number.isInteger(value)
}

/** Type, const, enum and format: nothing else is checked if one of them fails. */
function fitsType(schema: JsonObject, value: Json, findings: Findings): boolean {
  const { type, enum: allowed, format } = schema
  const wanted = (Array.isArray(type) ? type : type === undefined ? [] : [type]) as readonly Json[]
  const actual = typeOf(value)
  if (wanted.length > 0 && !wanted.includes(actual) && !(wanted.includes('integer') && isWhole(value))) {
    findings.report(`got ${actual}, want ${wanted.map(String).join(' or ')}`)
    return false
  }
  if (schema['const'] !== undefined && !equalJson(schema['const'], value)) {
    findings.report(typeof schema['const'] === 'object' ? "'const' failed" : `value must be ${shown(schema['const'])}`)
    return false
  }
  if (Array.isArray(allowed) && !allowed.some((each: Json) => equalJson(each, value))) {
    findings.report(wantedOneOf(allowed as readonly Json[]))
    return false
  }
  if (typeof format === 'string' && typeof value === 'string' && findings.checker.draft < 2019) {
    if (isOfFormat(format, value)) return true
    findings.report(`value is not valid ${format}`)
    return false
  }
  return true
}

function wantedOneOf(allowed: readonly Json[]): string {
  if (allowed.some((each) => typeof each === 'object' && each !== null)) return "'enum' failed"
  const [only] = allowed
  if (allowed.length === 1 && only !== undefined) return `value must be ${shown(only)}`
  return `value must be one of ${allowed.map(shown).join(', ')}`
}

function shown(value: Json): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(typeof value === 'bigint' ? Number(value) : value)
}

const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ')

function checkObject(schema: JsonObject, value: JsonObject, findings: Findings): void {
  const names = Object.keys(value).filter((name) => value[name] !== undefined)
  const { minProperties, maxProperties } = schema
  if (typeof minProperties === 'number' && names.length < minProperties)
    findings.report(`minProperties: got ${names.length}, want ${minProperties}`)
  if (typeof maxProperties === 'number' && names.length > maxProperties)
    findings.report(`maxProperties: got ${names.length}, want ${maxProperties}`)
  const missing = absent(value, schema['required'])
  if (missing.length > 0)
    findings.report(`missing ${missing.length > 1 ? 'properties' : 'property'} ${quoted(missing)}`)
  checkDependencies(schema, value, findings)
  checkProperties(schema, value, names, findings)
  const nameSchema = schema['propertyNames']
  if (nameSchema === undefined || findings.checker.draft === 4) return
  for (const name of names) {
    const { problems } = findings.self(nameSchema, name)
    if (problems.length > 0) findings.report(`invalid propertyName '${name}'`, problems)
  }
}

function absent(value: JsonObject, names: Json | undefined): readonly string[] {
  if (!Array.isArray(names)) return []
  return (names as readonly Json[]).map(String).filter((name) => !Object.hasOwn(value, name))
}

function checkDependencies(schema: JsonObject, value: JsonObject, findings: Findings): void {
  for (const keyword of ['dependencies', 'dependentRequired', 'dependentSchemas'] as const) {
    const dependencies = schema[keyword]
    if (!isJsonObject(dependencies)) continue
    for (const [name, wanted] of Object.entries(dependencies)) {
      if (wanted === undefined || !Object.hasOwn(value, name)) continue
      if (Array.isArray(wanted)) {
        const missing = absent(value, wanted)
        if (missing.length > 0) findings.report(`properties ${quoted(missing)} required, if '${name}' exists`)
      } else {
        const result = findings.self(wanted, value)
        findings.add(result.problems)
        findings.evaluated(result)
      }
    }
  }
}

function checkProperties(schema: JsonObject, value: JsonObject, names: readonly string[], findings: Findings): void {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  const patterns = isJsonObject(schema['patternProperties']) ? Object.entries(schema['patternProperties']) : []
  const additional = schema['additionalProperties']
  const surplus: string[] = []
  for (const name of names.toSorted()) {
    const member = value[name] ?? null
    let isKnown = false
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (own !== undefined) {
      isKnown = true
      findings.add(findings.part(own, member, name))
    }
    for (const [pattern, each] of patterns) {
      if (each === undefined || !matchesPattern(pattern, name, findings.checker)) continue
      isKnown = true
      findings.add(findings.part(each, member, name))
    }
    if (!isKnown && additional !== undefined) {
      isKnown = true
      if (additional === false) surplus.push(name)
      else findings.add(findings.part(additional, member, name))
    }
    if (isKnown) findings.properties.add(name)
  }
  if (surplus.length > 0) findings.report(`additional properties ${quoted(surplus)} not allowed`)
}

function checkList(schema: JsonObject, list: readonly Json[], findings: Findings): void {
  const { minItems, maxItems } = schema
  if (typeof minItems === 'number' && list.length < minItems)
    findings.report(`minItems: got ${list.length}, want ${minItems}`)
  if (typeof maxItems === 'number' && list.length > maxItems)
    findings.report(`maxItems: got ${list.length}, want ${maxItems}`)
  if (schema['uniqueItems'] === true) checkUnique(list, findings)
  checkItems(schema, list, findings)
  checkContains(schema, list, findings)
}

function checkUnique(list: readonly Json[], findings: Findings): void {
  // Quadratic, hence bounded: longer lists are compared by their text.
  if (list.length > 200) {
    const texts = new Set(list.map((item) => JSON.stringify(item, (_key, part: unknown) => sorted(part))))
    if (texts.size < list.length) findings.report('items are equal')
    return
  }
  for (let later = 1; later < list.length; later++) {
    const earlier = list.findIndex((item, index) => index < later && equalJson(item, list[later]))
    if (earlier >= 0) return findings.report(`items at ${earlier} and ${later} are equal`)
  }
}

function sorted(part: unknown): unknown {
  if (typeof part === 'bigint') return Number(part)
  if (!isJsonObject(part)) return part
  return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** `prefixItems` and `items` of 2020 were `items` and `additionalItems` before. */
function checkItems(schema: JsonObject, list: readonly Json[], findings: Findings): void {
  const isNew = findings.checker.draft === 2020
  const { items } = schema
  const first = isNew ? schema['prefixItems'] : Array.isArray(items) ? items : []
  const prefix = Array.isArray(first) ? (first as readonly Json[]) : []
  const rest = isNew || !Array.isArray(items) ? items : schema['additionalItems']
  for (const [index, item] of list.entries()) {
    const own = prefix[index] ?? rest
    if (own === undefined) continue
    findings.items.add(index)
    if (own === false && index >= prefix.length && !isNew) {
      findings.report(`last ${list.length - index} additionalItem(s) not allowed`)
      return
    }
    findings.add(findings.part(own, item, String(index)))
  }
}

function checkContains(schema: JsonObject, list: readonly Json[], findings: Findings): void {
  const { contains, minContains, maxContains } = schema
  if (contains === undefined || findings.checker.draft === 4) return
  const results = list.map((item, index) => findings.part(contains, item, String(index)))
  const matched = results.flatMap((problems, index) => (problems.length === 0 ? [index] : []))
  if (findings.checker.draft === 2020) for (const index of matched) findings.items.add(index)
  const count = matched.length
  if (typeof minContains === 'number') {
    if (count < minContains) findings.report(`min ${minContains} items required to match contains schema`)
  } else if (count === 0) findings.report('no items match contains schema', results.flat())
  if (typeof maxContains === 'number' && count > maxContains)
    findings.report(`max ${maxContains} items required to match contains schema`)
}

function checkText(schema: JsonObject, text: string, findings: Findings): void {
  const { minLength, maxLength, pattern } = schema
  const length = Array.from(text).length
  if (typeof minLength === 'number' && length < minLength)
    findings.report(`minLength: got ${length}, want ${minLength}`)
  if (typeof maxLength === 'number' && length > maxLength)
    findings.report(`maxLength: got ${length}, want ${maxLength}`)
  if (typeof pattern === 'string' && !matchesPattern(pattern, text, findings.checker))
    findings.report(`value does not match pattern '${pattern}'`)
}

function checkNumber(schema: JsonObject, value: number, findings: Findings): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const isMore = (bound: Json | undefined): boolean => typeof bound === 'number' && value > bound
  const isLess = (bound: Json | undefined): boolean => typeof bound === 'number' && value < bound
  const isAt = (bound: Json | undefined): boolean => typeof bound === 'number' && value === bound
  // In draft 4 the exclusive ones are flags.
  if (isLess(minimum) || (exclusiveMinimum === true && isAt(minimum)))
    findings.report(`minimum: got ${counted(value)}, want ${counted(minimum)}`)
  if (isMore(maximum) || (exclusiveMaximum === true && isAt(maximum)))
    findings.report(`maximum: got ${counted(value)}, want ${counted(maximum)}`)
  if (isLess(exclusiveMinimum) || isAt(exclusiveMinimum))
    findings.report(`exclusiveMinimum: got ${counted(value)}, want ${counted(exclusiveMinimum)}`)
  if (isMore(exclusiveMaximum) || isAt(exclusiveMaximum))
    findings.report(`exclusiveMaximum: got ${counted(value)}, want ${counted(exclusiveMaximum)}`)
  if (typeof multipleOf === 'number' && multipleOf > 0 && !isMultiple(value, multipleOf))
    findings.report(`multipleOf: got ${counted(value)}, want ${counted(multipleOf)}`)
}

/** With separators of thousands, as Helm prints it. */
function counted(value: Json | undefined): string {
  return Number(value).toLocaleString('en-US', { maximumFractionDigits: 20 })
}

/** Decimal fractions are no exact doubles: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * Number.EPSILON
}

function checkAlternatives(schema: JsonObject, value: Json, findings: Findings): void {
  const { not, allOf, anyOf, oneOf } = schema
  if (not !== undefined && findings.self(not, value).problems.length === 0) findings.report("'not' failed")
  if (Array.isArray(allOf)) {
    const results = (allOf as readonly Json[]).map((each) => findings.self(each, value))
    for (const each of results) if (each.problems.length === 0) findings.evaluated(each)
    const problems = results.flatMap((each) => each.problems)
    if (problems.length > 0) findings.report("'allOf' failed", problems)
  }
  if (Array.isArray(anyOf)) {
    const results = (anyOf as readonly Json[]).map((each) => findings.self(each, value))
    const fitting = results.filter(({ problems }) => problems.length === 0)
    for (const each of fitting) findings.evaluated(each)
    const causes = results.flatMap(({ problems }) => problems)
    if (fitting.length === 0) findings.report("'anyOf' failed", causes)
  }
  if (Array.isArray(oneOf)) checkOneOf(oneOf as readonly Json[], value, findings)
  const condition = schema['if']
  if (condition === undefined || findings.checker.draft < 7) return
  const result = findings.self(condition, value)
  if (result.problems.length === 0) findings.evaluated(result)
  const branch = result.problems.length === 0 ? schema['then'] : schema['else']
  if (branch === undefined) return
  const outcome = findings.self(branch, value)
  findings.add(outcome.problems)
  findings.evaluated(outcome)
}

function checkOneOf(schemas: readonly Json[], value: Json, findings: Findings): void {
  const results = schemas.map((each) => findings.self(each, value))
  const fitting = results.flatMap(({ problems }, index) => (problems.length === 0 ? [index] : []))
  const [first, second] = fitting
  if (first === undefined) {
    const causes = results.flatMap(({ problems }) => problems)
    findings.report("'oneOf' failed, none matched", causes)
  } else if (second === undefined) findings.evaluated(results[first]!)
  else findings.report(`'oneOf' failed, subschemas ${first}, ${second} matched`)
}

function checkUnevaluated(schema: JsonObject, value: Json, findings: Findings): void {
  if (findings.checker.draft < 2019) return
  const { unevaluatedProperties, unevaluatedItems } = schema
  if (unevaluatedProperties !== undefined && isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (findings.properties.has(name) || member === undefined) continue
      findings.add(findings.part(unevaluatedProperties, member, name))
      findings.properties.add(name)
    }
  }
  if (unevaluatedItems === undefined || !Array.isArray(value)) return
  for (const [index, item] of (value as readonly Json[]).entries()) {
    if (findings.items.has(index)) continue
    findings.add(findings.part(unevaluatedItems, item, String(index)))
    findings.items.add(index)
  }
}

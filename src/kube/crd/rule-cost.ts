/**
 * The cost of the validation rules (CEL) of a definition. A rule is estimated for the largest value that its schema
 * allows, times how often such a value can occur in one object; there is a limit for each rule and one for all rules
 * together. A definition that exceeds one is rejected when it is written; its author fixes it by setting `maxItems`,
 * `maxProperties` and `maxLength`.
 */
import { type Cause, forbiddenValue } from '../validation/cause.ts'
import { formatGoFixed } from '../go/go-text.ts'
import type { JSONSchemaProps } from '../types/apiextensions/v1.ts'

const ruleLimit = 10_000_000
const totalLimit = 100_000_000

/** How many of the most expensive rules are named when the total is too high. */
const maxNamed = 4

/** Collects the costs of the rules of one schema. */
export interface RuleCosts {
  total: number
  named: readonly { readonly path: string; readonly cost: number }[]
}

export function noRuleCosts(): RuleCosts {
  return { total: 0, named: [] }
}

/** Records the cost of one expression, and rejects it if it exceeds the limit for a single rule. */
export function costCause(path: string, what: string, cost: number, costs: RuleCosts): Cause | undefined {
  costs.total += cost
  if (cost >= totalLimit / 100) {
    costs.named = [...costs.named, { path, cost }].toSorted((a, b) => b.cost - a.cost).slice(0, maxNamed)
  }
  return cost > ruleLimit ? forbiddenValue(path, excess(what, cost, ruleLimit)) : undefined
}

export function totalCostCauses(path: string, { total, named }: RuleCosts): readonly Cause[] {
  if (total <= totalLimit) return []
  const share = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
  const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
  return [
    ...named.map((rule) => forbiddenValue(rule.path, share)),
    forbiddenValue(path, excess(what, total, totalLimit)),
  ]
}

function excess(what: string, cost: number, limit: number): string {
  const factor = cost / limit
  const shown = factor > 100 ? 'more than 100' : formatGoFixed(factor, factor < 1.5 ? 6 : 1)
  return `${what} exceeds budget by factor of ${shown}x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}

/**
 * How often values of a sub-schema can occur in one object, given how often those of the schema can; undefined: no
 * limit.
 */
export function occurrencesBelow(schema: JSONSchemaProps, occurrences: number | undefined): number | undefined {
  const most = maxElements(schema)
  return occurrences === undefined || most === undefined ? undefined : occurrences * most
}

function maxElements({ type, additionalProperties, maxProperties, maxItems }: JSONSchemaProps): number | undefined {
  const most = type === 'array' ? maxItems : maxProperties
  const isSingle = type !== 'array' && (type !== 'object' || additionalProperties === undefined)
  if (isSingle) return 1
  return most === undefined ? undefined : Math.max(0, most)
}

/**
 * What the rules of a definition may cost. A rule is estimated for the largest value that its schema allows, times how
 * often such a value can be in one object; one rule alone and all together have their limits. A definition that could
 * be too expensive is refused when it is written: the cure is to say how long lists, maps and texts may get.
 */
import { type Cause, forbiddenValue } from '../../kube/validation/cause.ts'
import { goFixed } from '../../kube/cel/go-text.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'

const ruleLimit = 10_000_000
const totalLimit = 100_000_000

/** How many of the most expensive rules are named when all together cost too much. */
const mostNamed = 4

/** Collects what the rules of one schema cost. */
export interface RuleCosts {
  total: number
  named: readonly { readonly path: string; readonly cost: number }[]
}

export function noRuleCosts(): RuleCosts {
  return { total: 0, named: [] }
}

/** Notes the cost of one expression, and refuses it where it is too high by itself. */
export function costCause(path: string, what: string, cost: number, costs: RuleCosts): Cause | undefined {
  costs.total += cost
  if (cost >= totalLimit / 100) {
    costs.named = [...costs.named, { path, cost }].toSorted((a, b) => b.cost - a.cost).slice(0, mostNamed)
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
  const shown = factor > 100 ? 'more than 100' : goFixed(factor, factor < 1.5 ? 6 : 1)
  return `${what} exceeds budget by factor of ${shown}x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}

/** How often values below a schema can be in one object, by how often those of the schema can; undefined: no limit. */
export function occurrencesBelow(schema: JSONSchemaProps, occurrences: number | undefined): number | undefined {
  const most = mostElements(schema)
  return occurrences === undefined || most === undefined ? undefined : occurrences * most
}

function mostElements({ type, additionalProperties, maxProperties, maxItems }: JSONSchemaProps): number | undefined {
  const most = type === 'array' ? maxItems : maxProperties
  const isSingle = type !== 'array' && (type !== 'object' || additionalProperties === undefined)
  if (isSingle) return 1
  return most === undefined ? undefined : Math.max(0, most)
}

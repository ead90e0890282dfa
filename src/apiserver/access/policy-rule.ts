/**
 * An RBAC rule: verbs on resources, or on non-resource paths. Rules are additive; whatever no rule allows is forbidden.
 *
 * Two checks use them: whether a rule allows a request, and whether rules cover other rules, to prevent privilege
 * escalation.
 */
import { formatGoValue } from '../../kube/go/go-text.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'
import type { Attributes } from './identity.ts'

export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  // `pods`, `pods/log`, any resource's subresource of a name (`*/scale`), or `*` for all.
  readonly resources?: readonly string[]
  /** Empty means all names. */
  readonly resourceNames?: readonly string[]
  /** `/healthz`, or a prefix: `/apis/*`. */
  readonly nonResourceURLs?: readonly string[]
}

const none: readonly string[] = []

export function ruleAllows(rule: PolicyRule, asked: Attributes): boolean {
  if (!includes(rule.verbs, asked.verb)) return false
  if ('path' in asked) return (rule.nonResourceURLs ?? none).some((url) => coversPath(url, asked.path))
  const { resourceNames = none } = rule
  return (
    includes(rule.apiGroups, asked.group) &&
    coversResource(rule.resources ?? none, asked.resource, asked.subresource) &&
    (resourceNames.length === 0 || resourceNames.includes(asked.name ?? ''))
  )
}

function includes(values: readonly string[] = none, value: string): boolean {
  return values.includes(value) || values.includes('*')
}

function coversResource(resources: readonly string[], resource: string, subresource: string | undefined): boolean {
  if (!subresource) return includes(resources, resource)
  return includes(resources, `${resource}/${subresource}`) || resources.includes(`*/${subresource}`)
}

function coversPath(owned: string, path: string): boolean {
  return owned === path || (owned.endsWith('*') && path.startsWith(trimEnd(owned, '*')))
}

/** The permissions of `wanted` that `owned` do not cover, as rules of one verb on one resource or path each. */
export function missingRules(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  const missing: PolicyRule[] = []
  let checks = 0
  for (const rule of wanted) {
    for (const atom of breakDown(rule)) {
      if (!owned.some((one) => ruleCovers(one, atom))) missing.push(atom)
      checks += owned.length
      // A rule of a thousand groups, resources and verbs has a billion combinations. Unchecked ones are not granted.
      if (checks > maxChecks) return missing.length > 0 ? missing : [atom]
    }
  }
  return missing
}

const maxChecks = 1_000_000

/** Splits a rule into rules of one verb on one resource or path. */
function* breakDown(rule: PolicyRule): Generator<PolicyRule> {
  const { verbs, apiGroups = none, resources = none, resourceNames = none, nonResourceURLs = none } = rule
  for (const apiGroup of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        const atom = { verbs: [verb], apiGroups: [apiGroup], resources: [resource] }
        if (resourceNames.length === 0) yield atom
        for (const name of resourceNames) yield { ...atom, resourceNames: [name] }
      }
    }
  }
  for (const url of nonResourceURLs) for (const verb of verbs) yield { verbs: [verb], nonResourceURLs: [url] }
}

/** Whether a rule covers a split rule. */
function ruleCovers(owned: PolicyRule, atom: PolicyRule): boolean {
  if (!includes(owned.verbs, atom.verbs[0]!)) return false
  const [url] = atom.nonResourceURLs ?? none
  if (url !== undefined) return (owned.nonResourceURLs ?? none).some((one) => coversPath(one, url))
  const [resource, subresource] = splitOnce(atom.resources![0]!)
  const { resourceNames = none } = owned
  return (
    includes(owned.apiGroups, atom.apiGroups![0]!) &&
    coversResource(owned.resources ?? none, resource, subresource) &&
    (resourceNames.length === 0 || (atom.resourceNames !== undefined && resourceNames.includes(atom.resourceNames[0]!)))
  )
}

function splitOnce(resource: string): readonly [string, string | undefined] {
  const slash = resource.indexOf('/')
  return slash < 0 ? [resource, undefined] : [resource.slice(0, slash), resource.slice(slash + 1)]
}

/** Split rules for an error message: verbs on the same resource are merged, one rule per line. */
export function describeRules(atoms: readonly PolicyRule[]): readonly string[] {
  const merged = new Map<string, PolicyRule>()
  for (const atom of atoms) {
    const { verbs, ...thing } = atom
    // Like kube-apiserver, does not merge rules for non-resource paths.
    const key = JSON.stringify(atom.nonResourceURLs ? atom : thing)
    const known = merged.get(key)
    merged.set(key, known && !atom.nonResourceURLs ? { ...known, verbs: [...known.verbs, ...verbs] } : atom)
  }
  return [...new Set([...merged.values()].map(describeRule))].toSorted()
}

function describeRule({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const members = {
    APIGroups: apiGroups,
    Resources: resources,
    NonResourceURLs: nonResourceURLs,
    ResourceNames: resourceNames,
    Verbs: verbs,
  }
  const parts = Object.entries(members)
    .filter(([, values]) => values !== undefined && values.length > 0)
    .map(([name, values]) => `${name}:${quoteAll(values!)}`)
  return `{${parts.join(', ')}}`
}

/** As Go prints a list of strings: `["a" "b"]`. */
export function quoteAll(values: readonly string[]): string {
  return `[${values.map(formatGoValue).join(' ')}]`
}

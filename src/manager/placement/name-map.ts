/**
 * A name map: translates between the names that an operator uses and those in the cluster. With one, an operator that
 * was written for a cluster of its own serves one of many hosted control planes, unchanged: each lives in namespaces of
 * the management cluster, under other names.
 *
 *     { operator: 'openshift-authentication/oauth-openshift', cluster: 'hosted-a/oauth' }
 *     { operator: 'openshift-authentication/*', cluster: 'hosted-a/authentication-*' }
 *     { operator: 'openshift-config/*', cluster: 'hosted-a/config-*' }
 *     { operator: 'cluster', cluster: 'hosted-a', kinds: [Authentication] }       cluster-scoped: one part
 *
 * The first matching rule applies. The map is one to one between the names that it covers: rules that would map two
 * names to one are rejected when the map is created, and names that a more specific rule shadows are not visible. A
 * Namespace is an object like any other: an operator that creates some needs a rule for them.
 */
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { ObjectName } from '../../operator/view/view.ts'
import {
  capture,
  capturePart,
  common,
  fill,
  fillPart,
  formatName,
  type NamePattern,
  parsePattern,
} from './name-pattern.ts'

export interface NameRule {
  /** The operator's name: `namespace/name`, or `name` for cluster-scoped kinds. `*` once in each part. */
  readonly operator: string
  /** The name in the cluster, with a `*` in the same parts. */
  readonly cluster: string
  /** The kinds that the rule applies to. @default all */
  readonly kinds?: readonly Resource[]
}

export interface NameMapOptions {
  /** Name of the hosted cluster: for messages and reports. */
  readonly name: string
  readonly rules: readonly NameRule[]
  /**
   * Cluster-scoped kinds that all hosted clusters share, under their own names and read-only. CustomResourceDefinitions
   * always are.
   */
  readonly shared?: readonly Resource[]
}

export interface NameMap {
  readonly name: string
  /** @returns undefined for a name that the map does not cover */
  toCluster(resource: Resource, name: ObjectName): ObjectName | undefined
  toOperator(resource: Resource, name: ObjectName): ObjectName | undefined
  isShared(resource: Resource): boolean
  /** The cluster's namespaces for these (or all) namespaces of the operator; undefined: unknown. */
  namespacesFor(resource: Resource, namespaces: readonly string[] | undefined): readonly string[] | undefined
  /** The parsed rules. */
  readonly rules: readonly ReadRule[]
}

interface ReadRule {
  readonly operator: NamePattern
  readonly cluster: NamePattern
  readonly kinds: ReadonlySet<string> | undefined
}

const definitions = 'customresourcedefinitions.apiextensions.k8s.io/v1'

/** @throws InvalidNameMap */
export function nameMap({ name: mapName, rules: given, shared = [] }: NameMapOptions): NameMap {
  const rules = given.map((rule, index) => readRule(rule, `Name map ${mapName}, rule ${index + 1}`))
  const sharedKinds = new Set([definitions, ...shared.map(formatResource)])
  const namespaced = shared.find((resource) => resource.namespaced)
  if (namespaced) {
    throw invalid(
      `Name map ${mapName}: ${formatResource(namespaced)} has namespaces; only kinds without can be shared.`,
    )
  }
  for (const [index, rule] of rules.entries()) {
    for (const [before, other] of rules.slice(0, index).entries()) {
      const clash = clashOf(other, rule)
      if (clash) throw invalid(`Name map ${mapName}, rules ${before + 1} and ${index + 1}: ${clash}`)
    }
  }

  const isFor = ({ kinds }: ReadRule, resource: Resource): boolean => !kinds || kinds.has(formatResource(resource))
  const through = (
    from: 'operator' | 'cluster',
    to: 'operator' | 'cluster',
    resource: Resource,
    name: ObjectName,
  ): ObjectName | undefined => {
    for (const rule of rules) {
      const captured = isFor(rule, resource) ? capture(rule[from], name) : undefined
      if (captured) return fill(rule[to], captured)
    }
    return undefined
  }

  const map: NameMap = {
    name: mapName,
    rules,
    isShared: (resource) => sharedKinds.has(formatResource(resource)),
    toCluster: (resource, name) => (map.isShared(resource) ? name : through('operator', 'cluster', resource, name)),
    toOperator(resource, name) {
      if (map.isShared(resource)) return name
      const seen = through('cluster', 'operator', resource, name)
      // A more specific rule may map the name to another object: then this one is not visible.
      const back = seen && through('operator', 'cluster', resource, seen)
      return back && formatName(back) === formatName(name) ? seen : undefined
    },
    namespacesFor(resource, namespaces) {
      if (!resource.namespaced) return undefined
      const found = new Set<string>()
      for (const rule of rules) {
        const { operator, cluster } = rule
        if (!isFor(rule, resource) || !operator.namespace || !cluster.namespace) continue
        if (!namespaces && cluster.namespace.suffix !== undefined) return undefined
        for (const namespace of namespaces ?? [operator.namespace.prefix]) {
          const captured = capturePart(operator.namespace, namespace)
          if (captured !== undefined) found.add(fillPart(cluster.namespace, captured))
        }
      }
      return [...found]
    },
  }
  return map
}

/**
 * Checks that hosted clusters on one management cluster never map to the same object.
 * @throws InvalidNameMap
 */
export function checkApart(maps: readonly NameMap[]): void {
  for (const [index, map] of maps.entries()) {
    for (const other of maps.slice(0, index)) {
      for (const rule of map.rules) {
        for (const its of other.rules) {
          const clash = clashOf(its, rule)
          if (clash) throw invalid(`Name maps ${other.name} and ${map.name}: ${clash}`)
        }
      }
    }
  }
}

function readRule({ operator, cluster, kinds }: NameRule, place: string): ReadRule {
  const [seen, stored] = [parsePattern(operator), parsePattern(cluster)]
  for (const [text, read] of [
    [operator, seen],
    [cluster, stored],
  ] as const) {
    if (!read)
      throw invalid(`${place}: "${text}" is no name: write namespace/name, or name, with one * in each part at most.`)
  }
  if (!seen || !stored) throw invalid(place)
  const stars = ({ namespace, name }: NamePattern): string =>
    JSON.stringify([namespace && namespace.suffix !== undefined, name.suffix !== undefined])
  if (stars(seen) !== stars(stored)) {
    throw invalid(`${place}: "${operator}" and "${cluster}" must have the same parts, and a * in the same of them.`)
  }
  return { operator: seen, cluster: stored, kinds: kinds && new Set(kinds.map(formatResource)) }
}

/** Describes a name that two rules would both map to. */
function clashOf(a: ReadRule, b: ReadRule): string | undefined {
  const isSameKind = !a.kinds || !b.kinds || [...a.kinds].some((kind) => b.kinds!.has(kind))
  const stored = isSameKind ? common(a.cluster, b.cluster) : undefined
  if (!stored) return undefined
  const [one, two] = [a, b].map((rule) => formatName(fill(rule.operator, capture(rule.cluster, stored)!)))
  return `"${one}" and "${two}" would both be "${formatName(stored)}" in the cluster.`
}

function invalid(message: string): MusterError {
  return new MusterError(managerErrors.InvalidNameMap, message)
}

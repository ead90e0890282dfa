/**
 * The smallest role by which an operator can do what it declares. Nothing is asked for that it does not use: reads are
 * watched, outputs applied and deleted, and of its own kinds only status and finalizers are written. What the manager needs
 * beside (Leases, registrations of webhooks) is in `src/manager/runtime/manager-role.ts`.
 *
 * Where names are declared, they are named (`resourceNames`): for writes always, since an apply is a patch of one name
 * even where it creates; for reads where nothing but names is declared of a kind, since then it is watched by name.
 */
import { formatResource, type Resource } from '../kube/kind.ts'
import type { ClusterRole, PolicyRule } from '../kube/types/rbac/v1.ts'
import type { Input } from './input.ts'
import type { Operator } from './operator.ts'

const watching = ['list', 'watch'] as const

/** Grants, as they are collected: equal ones become one rule. */
export interface Grants {
  /** Without names: of all. */
  grant(
    this: void,
    target: Pick<Resource, 'group' | 'plural'>,
    verbs: readonly string[],
    names?: readonly string[],
  ): void
  rules(this: void): readonly PolicyRule[]
}

export function createGrants(): Grants {
  const granted = new Map<string, Granted>()
  return {
    grant({ group, plural }, verbs, names) {
      const key = `${group}/${plural}`
      const { byVerb } = granted.get(key) ?? granted.set(key, { group, plural, byVerb: new Map() }).get(key)!
      for (const verb of verbs) {
        const before = byVerb.get(verb)
        byVerb.set(verb, names && before !== 'all' ? new Set([...(before ?? []), ...names]) : 'all')
      }
    },
    rules: () => rulesOf([...granted.values()]),
  }
}

export function roleOf(operator: Operator): ClusterRole {
  const { controllers, inputs, declaredInputs, declaredOutputs } = operator
  const { grant, rules } = createGrants()
  for (const [, same] of Map.groupBy(declaredInputs, ({ resource }) => formatResource(resource))) {
    grant(same[0]!.resource, watching, watchedNames(same))
  }
  for (const output of declaredOutputs) {
    const names = output.select === 'name' ? [output.name] : undefined
    grant(output.resource, ['create', 'delete', 'patch'], names)
  }
  for (const { kind, own, finalizes, resources, options } of controllers) {
    const names = own.select === 'name' ? [own.name] : undefined
    grant({ ...kind, plural: `${kind.plural}/status` }, ['patch'], names)
    // What is not known before may be tied to its CR in either way.
    const makesMore = options.reconcile !== undefined || (options.writes?.length ?? 0) > 0
    if (finalizes || makesMore) grant(kind, ['patch'], names)
    // An owner that its dependents may hold back has to allow it.
    const owns = resources.some(({ ownership }) => ownership === 'reference') || makesMore
    if (owns) grant({ ...kind, plural: `${kind.plural}/finalizers` }, ['update'], names)
    // What goes again and again may go with its CR: before it is made once more, the server is asked.
    if (resources.length > 0 || makesMore) grant(kind, ['get'], names)
  }
  if (inputs.some(isCustom)) grant({ group: 'apiextensions.k8s.io', plural: 'customresourcedefinitions' }, watching)
  grant({ group: '', plural: 'events' }, ['create', 'get', 'patch'])
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: operator.name },
    rules: rules(),
  }
}

/** The names by which a kind is watched. Beside any other selection there is no saying which. */
function watchedNames(inputs: readonly Input[]): readonly string[] | undefined {
  const names = inputs.flatMap((input) => (input.select === 'name' ? [input.name] : []))
  return names.length === inputs.length ? [...new Set(names)] : undefined
}

interface Granted {
  readonly group: string
  readonly plural: string
  readonly byVerb: Map<string, ReadonlySet<string> | 'all'>
}

interface Rule {
  readonly group: string
  readonly verbs: readonly string[]
  readonly names: readonly string[]
  readonly plurals: string[]
}

/** What is granted alike in one group becomes one rule. */
function rulesOf(granted: readonly Granted[]): readonly PolicyRule[] {
  const rules = new Map<string, Rule>()
  for (const { group, plural, byVerb } of granted) {
    const namesOf = (verb: string): readonly string[] => {
      const names = byVerb.get(verb)!
      return names === 'all' ? [] : [...names].toSorted()
    }
    for (const verbs of Map.groupBy([...byVerb.keys()].toSorted(), (verb) => namesOf(verb).join()).values()) {
      const names = namesOf(verbs[0]!)
      const key = `${group} ${verbs.join()} ${names.join()}`
      const rule = rules.get(key) ?? { group, verbs, names, plurals: [] }
      rule.plurals.push(plural)
      rules.set(key, rule)
    }
  }
  return [...rules.values()].map(policyRule).toSorted((a, b) => compare(orderOf(a), orderOf(b)))
}

function policyRule({ group, verbs, names, plurals }: Rule): PolicyRule {
  const rule = { apiGroups: [group], resources: plurals.toSorted(), verbs }
  return names.length > 0 ? { ...rule, resourceNames: names } : rule
}

function orderOf({ apiGroups = [], resources = [], resourceNames = [], verbs }: PolicyRule): string {
  return [apiGroups[0], resources[0], resourceNames.length === 0 ? '' : '1', verbs[0]].join(' ')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Kinds that come and go with a CRD. */
export function isCustom(resource: Resource): boolean {
  const { group } = resource
  return group.includes('.') && (!group.endsWith('.k8s.io') || group.endsWith('.x-k8s.io'))
}

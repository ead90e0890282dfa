/**
 * The minimal RBAC role of an operator, derived from its declarations: list and watch for inputs, create, patch and
 * delete for outputs, and only status and finalizers of its own kinds. The manager's own needs (Leases, webhook
 * registrations) are in `src/manager/runtime/manager-role.ts`.
 *
 * Declared names become `resourceNames`: always for writes, since an apply is a patch of one name even if it creates;
 * for reads only if all inputs of the kind are names, since it is then watched by name. RBAC knows neither labels nor
 * references, so an annotation states what the operator watches of the kinds that it may list.
 */
import { formatResource, type Resource } from '../kube/kind.ts'
import type { ObjectMeta } from '../kube/object.ts'
import type { ClusterRole, PolicyRule } from '../kube/types/rbac/v1.ts'
import { describeSelection, editVerbs, type Input } from './view/input.ts'
import type { Operator } from './operator.ts'

const watching = ['list', 'watch'] as const
const watchesAnnotation = 'muster.dev/watches'

/** Collects grants: equal ones become one rule. */
export interface Grants {
  /** Without names: for all objects. */
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
    const verbs = editVerbs(output)
    if (verbs) {
      // A create-only apply is a patch; what is in its way is read.
      grant(output.resource, verbs.includes('create') ? [...new Set([...verbs, 'get', 'patch'])] : verbs)
      continue
    }
    // `get`: an object of another owner is not watched, and is read when it is in the way.
    grant(output.resource, ['create', 'delete', 'get', 'patch'], names)
  }
  for (const { kind, own, finalizes, dependents, options } of controllers) {
    const names = own.select === 'name' ? [own.name] : undefined
    if (!options.foreign || options.status) grant({ ...kind, plural: `${kind.plural}/status` }, ['patch'], names)
    // Objects of `reconcile` may be tied to their CR by an owner reference or by a label.
    const makesMore = options.reconcile !== undefined || (options.writes?.length ?? 0) > 0
    if (finalizes || makesMore) grant(kind, ['patch'], names)
    // An owner reference with `blockOwnerDeletion` needs `update` on the owner's finalizers.
    const owns = dependents.some(({ ownership }) => ownership === 'reference') || makesMore
    if (owns) grant({ ...kind, plural: `${kind.plural}/finalizers` }, ['update'], names)
    // A dependent that keeps vanishing may be garbage-collected with its CR: before creating it again the executor
    // reads the CR from the API server.
    if (dependents.length > 0 || makesMore) grant(kind, ['get'], names)
  }
  if (controllers.some(({ options }) => options.embeds)) {
    // Which kinds are embedded is known only at run time, and RBAC knows no labels.
    grant({ group: '*', plural: '*' }, ['create', 'delete', 'get', 'list', 'patch', 'watch'])
    grant({ group: '', plural: 'serviceaccounts' }, ['impersonate'])
  }
  if (inputs.some(isCustom)) grant({ group: 'apiextensions.k8s.io', plural: 'customresourcedefinitions' }, watching)
  grant({ group: '', plural: 'events' }, ['create', 'get', 'patch'])
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: operator.name, ...watchAnnotations(operator, rules()) },
    rules: rules(),
  }
}

/** States what the operator watches of the kinds that these rules let it watch. */
export function watchAnnotations(
  { declaredInputs }: Operator,
  rules: readonly PolicyRule[],
): Pick<ObjectMeta, 'annotations'> {
  const covers = (names: readonly string[] = [], name: string): boolean => names.includes(name) || names.includes('*')
  const watched = declaredInputs.filter(({ resource: { group, plural } }) =>
    rules.some(
      ({ apiGroups, resources, verbs }) =>
        verbs.includes('watch') && covers(apiGroups, group) && covers(resources, plural),
    ),
  )
  if (watched.length === 0) return {}
  return { annotations: { [watchesAnnotation]: [...new Set(watched.map(describeSelection))].toSorted().join('; ') } }
}

/** The names by which a kind is watched; undefined if any input selects otherwise. */
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

/** Equal grants in one API group become one rule. */
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

/** Kinds that a CRD defines. */
export function isCustom(resource: Resource): boolean {
  const { group } = resource
  return group.includes('.') && (!group.endsWith('.k8s.io') || group.endsWith('.x-k8s.io'))
}

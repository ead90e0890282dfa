/**
 * The smallest role by which an operator can do what it declares. Nothing is asked for that it does not use: reads are
 * watched, outputs applied and deleted, and of its own kinds only status and finalizers are written.
 */
import type { Resource } from '../kube/kind.ts'
import type { ClusterRole, PolicyRule } from '../kube/types/rbac/v1.ts'
import type { Operator } from './operator.ts'

const watching = ['list', 'watch'] as const

export function roleOf(operator: Operator): ClusterRole {
  const { controllers, inputs, outputs } = operator
  const kinds = controllers.map(({ kind }) => kind)
  const grants = new Map<string, Grant>()
  const grant = ({ group, plural }: Pick<Resource, 'group' | 'plural'>, verbs: readonly string[]): void => {
    const key = `${group}/${plural}`
    const before = grants.get(key)?.verbs ?? []
    grants.set(key, { group, plural, verbs: [...new Set([...before, ...verbs])] })
  }
  for (const input of inputs) grant(input, watching)
  for (const output of outputs) grant(output, ['create', 'delete', 'patch'])
  for (const kind of kinds) grant({ ...kind, plural: `${kind.plural}/status` }, ['patch'])
  for (const { kind, finalizes, resources, options } of controllers) {
    // What is not known before may be tied to its CR in either way.
    const makesMore = options.reconcile !== undefined || (options.writes?.length ?? 0) > 0
    if (finalizes || makesMore) grant(kind, ['patch'])
    // An owner that its dependents may hold back has to allow it.
    const owns = resources.some(({ ownership }) => ownership === 'reference') || makesMore
    if (owns) grant({ ...kind, plural: `${kind.plural}/finalizers` }, ['update'])
  }
  if (inputs.some(isCustom)) grant({ group: 'apiextensions.k8s.io', plural: 'customresourcedefinitions' }, watching)
  if (operator.webhooks.length + operator.conversions.length > 0) grantWebhooks(grant)
  grant({ group: '', plural: 'events' }, ['create', 'get', 'patch'])
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: operator.name },
    rules: rulesOf([...grants.values()]),
  }
}

/** What whoever serves webhooks keeps: registrations, their bundles, and the Secret with the certificates. */
function grantWebhooks(grant: (resource: Pick<Resource, 'group' | 'plural'>, verbs: readonly string[]) => void): void {
  const group = 'admissionregistration.k8s.io'
  for (const plural of ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']) {
    grant({ group, plural }, ['get', ...watching, 'create', 'patch', 'delete'])
  }
  grant({ group: 'apiextensions.k8s.io', plural: 'customresourcedefinitions' }, ['get', ...watching, 'patch'])
  grant({ group: '', plural: 'secrets' }, ['get', ...watching, 'create', 'patch'])
}

interface Grant {
  readonly group: string
  readonly plural: string
  readonly verbs: readonly string[]
}

/** What is granted alike in one group becomes one rule. */
function rulesOf(grants: readonly Grant[]): readonly PolicyRule[] {
  const rules = new Map<
    string,
    { readonly group: string; readonly verbs: readonly string[]; readonly plurals: string[] }
  >()
  for (const { group, plural, verbs } of grants) {
    const sorted = verbs.toSorted()
    const key = `${group} ${sorted.join(',')}`
    const rule = rules.get(key) ?? { group, verbs: sorted, plurals: [] }
    rule.plurals.push(plural)
    rules.set(key, rule)
  }
  return [...rules.values()]
    .map(({ group, verbs, plurals }) => ({ apiGroups: [group], resources: plurals.toSorted(), verbs }))
    .toSorted((a, b) => compare(`${a.apiGroups[0]} ${a.resources[0]}`, `${b.apiGroups[0]} ${b.resources[0]}`))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Kinds that come and go with a CRD. */
export function isCustom(resource: Resource): boolean {
  const { group } = resource
  return group.includes('.') && (!group.endsWith('.k8s.io') || group.endsWith('.x-k8s.io'))
}

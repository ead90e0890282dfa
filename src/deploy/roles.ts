/**
 * RBAC objects: service accounts, roles and their bindings. The rules come from the declarations of an operator
 * (`src/operator/role.ts`) and from the settings of its manager (`src/manager/runtime/manager-role.ts`).
 */
import type { KubeObject, ObjectMeta } from '../kube/object.ts'
import type { PolicyRule } from '../kube/types/rbac/v1.ts'
import type { PlacedRules } from '../manager/runtime/manager-role.ts'
import type { Operator } from '../operator/operator.ts'
import { roleOf, watchAnnotations } from '../operator/role.ts'

/** A service account. */
export interface Account {
  readonly name: string
  readonly namespace: string
}

export function serviceAccount({ name, namespace }: Account): KubeObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }
}

/**
 * The roles of an operator and their bindings, limited to the verbs that are meant: a Role in each namespace, a
 * ClusterRole for the rest.
 */
export function operatorRoles(
  operator: Operator,
  namespaces: readonly string[] | undefined,
  account: Account,
  isMeant: (verb: string) => boolean,
  name: string = account.name,
): readonly KubeObject[] {
  const rules = (roleOf(operator).rules ?? []).flatMap((rule) => {
    const verbs = rule.verbs.filter(isMeant)
    return verbs.length > 0 ? [{ ...rule, verbs }] : []
  })
  const placed = (place: PlacedRules): readonly KubeObject[] =>
    placedRoles(name, place, account, watchAnnotations(operator, place.rules))
  const { everywhere, inNamespaces } = namespaces ? split(rules, operator) : { everywhere: rules, inNamespaces: [] }
  return [
    ...placed({ namespace: undefined, rules: everywhere }),
    ...(namespaces ?? []).flatMap((namespace) => placed({ namespace, rules: inNamespaces })),
  ]
}

/** A role and its binding, if there are rules. */
export function placedRoles(
  name: string,
  { namespace, rules }: PlacedRules,
  account: Account,
  annotations: Pick<ObjectMeta, 'annotations'> = {},
): readonly KubeObject[] {
  if (rules.length === 0) return []
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const kind = namespace === undefined ? 'ClusterRole' : 'Role'
  const metadata = namespace === undefined ? { name } : { name, namespace }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name }
  const subjects = [{ kind: 'ServiceAccount', ...account }]
  const role = { apiVersion, kind, metadata: { ...metadata, ...annotations }, rules }
  return [role, { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects } as KubeObject]
}

interface Split {
  readonly everywhere: readonly PolicyRule[]
  readonly inNamespaces: readonly PolicyRule[]
}

/** Splits rules into namespaced and cluster-scoped ones. */
function split(rules: readonly PolicyRule[], { inputs, outputs }: Operator): Split {
  const isClusterWide = ({ apiGroups = [] }: PolicyRule, resource: string): boolean => {
    const [plural = ''] = resource.split('/')
    if (plural === 'customresourcedefinitions') return true
    const kind = [...inputs, ...outputs].find((other) => other.plural === plural && apiGroups.includes(other.group))
    return kind?.namespaced === false
  }
  const part = (clusterWide: boolean): readonly PolicyRule[] =>
    rules.flatMap((rule) => {
      const resources = (rule.resources ?? []).filter((resource) => isClusterWide(rule, resource) === clusterWide)
      return resources.length > 0 ? [{ ...rule, resources }] : []
    })
  return { everywhere: part(true), inNamespaces: part(false) }
}

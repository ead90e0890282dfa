/**
 * Role-based access control over the stored roles and bindings.
 *
 * Bindings are indexed by subject. The first decision builds the index, and storage changes update it; a cluster that
 * only administrators use never builds it.
 */
import type { StorageChange, Storage, StoredObject, StorageTable } from '../storage/storage.ts'
import { type Attributes, type Identity, serviceAccountUser, wellKnown } from './identity.ts'
import { type PolicyRule, ruleAllows } from './policy-rule.ts'

export const rbacGroup = 'rbac.authorization.k8s.io'

export const rbacTables = {
  clusterRoles: 'clusterroles.rbac.authorization.k8s.io',
  clusterRoleBindings: 'clusterrolebindings.rbac.authorization.k8s.io',
  roles: 'roles.rbac.authorization.k8s.io',
  roleBindings: 'rolebindings.rbac.authorization.k8s.io',
} as const

export interface RoleRef {
  readonly apiGroup: string
  readonly kind: string
  readonly name: string
}

interface Subject {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

interface Binding extends StoredObject {
  readonly roleRef: RoleRef
  readonly subjects?: readonly Subject[] | null
}

interface RbacDecision {
  readonly allowed: boolean
  /** The binding that allowed it, or errors of bindings that might have; mostly empty. */
  readonly reason: string
}

/** Rules, and errors for missing roles. An incomplete list is still valid, since rules are additive. */
interface Resolution {
  readonly rules: readonly PolicyRule[]
  readonly errors: readonly string[]
}

export interface Rbac {
  decide(identity: Identity, asked: Attributes): RbacDecision
  /** All rules of a user in a namespace, or cluster-wide. */
  rulesFor(identity: Identity, namespace: string | undefined): Resolution
  /** The rules of a role that a binding in this namespace refers to; undefined if the role does not exist. */
  rulesOf(ref: RoleRef, namespace: string | undefined): readonly PolicyRule[] | undefined
}

/** Called for each rule of a binding, or once for a missing role. Return true to stop. */
type Visit = (rule: PolicyRule | undefined, source: () => string, error: string) => boolean

export function createRbac(storage: Storage): Rbac {
  const tables = {
    clusterRoles: storage.table(rbacTables.clusterRoles),
    clusterRoleBindings: storage.table(rbacTables.clusterRoleBindings),
    roles: storage.table(rbacTables.roles),
    roleBindings: storage.table(rbacTables.roleBindings),
  }
  let clusterBindings: BindingIndex | undefined
  let bindings: BindingIndex | undefined
  // Includes reverted changes: a binding that could not be stored must grant nothing.
  storage.onChange((table, change) => {
    if (table === tables.clusterRoleBindings) clusterBindings?.change(change)
    if (table === tables.roleBindings) bindings?.change(change)
  })

  const rulesOf = ({ kind, name }: RoleRef, namespace: string | undefined): readonly PolicyRule[] | undefined => {
    const role = kind === 'ClusterRole' ? tables.clusterRoles.get(undefined, name) : tables.roles.get(namespace, name)
    return role && ((role['rules'] as readonly PolicyRule[] | null | undefined) ?? [])
  }

  const visitBinding = (binding: Binding, namespace: string | undefined, keys: Keys, visit: Visit): boolean => {
    const { roleRef } = binding
    const rules = rulesOf(roleRef, namespace)
    const source = (): string => describe(binding, keys)
    if (!rules) return visit(undefined, source, missingRole(roleRef))
    return rules.some((rule) => visit(rule, source, ''))
  }

  /** Cluster role bindings first, each sorted by name. */
  const visitAll = (identity: Identity, namespace: string | undefined, visit: Visit): void => {
    const keys = subjectKeys(identity)
    clusterBindings ??= indexBindings(tables.clusterRoleBindings)
    if (clusterBindings.find('', keys).some((binding) => visitBinding(binding, undefined, keys, visit))) return
    if (!namespace) return
    bindings ??= indexBindings(tables.roleBindings)
    bindings.find(namespace, keys).some((binding) => visitBinding(binding, namespace, keys, visit))
  }

  return {
    decide(identity, asked) {
      if (identity.groups.includes(wellKnown.masters)) return { allowed: true, reason: '' }
      const errors: string[] = []
      let source: (() => string) | undefined
      visitAll(identity, 'path' in asked ? undefined : asked.namespace, (rule, from, error) => {
        if (!rule) errors.push(error)
        else if (ruleAllows(rule, asked)) source = from
        return source !== undefined
      })
      if (source) return { allowed: true, reason: `RBAC: allowed by ${source()}` }
      // kube-apiserver has several authorizers, so each prefixes its name.
      return { allowed: false, reason: errors.length > 0 ? `rbac: RBAC: ${aggregate(errors)}` : '' }
    },
    rulesFor(identity, namespace) {
      const rules: PolicyRule[] = []
      const errors: string[] = []
      visitAll(identity, namespace, (rule, _from, error) => {
        if (rule) rules.push(rule)
        else errors.push(error)
        return false
      })
      return { rules, errors }
    },
    rulesOf,
  }
}

function missingRole({ kind, name }: RoleRef): string {
  return `${kind.toLowerCase()}.${rbacGroup} "${name}" not found`
}

/** Go's format of several errors: without duplicates, in brackets if there are more than one. */
export function aggregate(errors: readonly string[]): string {
  const distinct = [...new Set(errors)]
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`
}

/** The keys under which bindings may name a user: the user itself and its groups. */
type Keys = readonly string[]

function subjectKeys({ username, groups }: Identity): Keys {
  return [`User ${username}`, ...groups.map((group) => `Group ${group}`)]
}

function keyOfSubject({ kind, name, namespace }: Subject, bindingNamespace: string | undefined): string {
  if (kind !== 'ServiceAccount') return `${kind} ${name}`
  const home = namespace || bindingNamespace
  return home ? `User ${serviceAccountUser(home, name)}` : ''
}

function describe({ kind, metadata, roleRef, subjects }: Binding, keys: Keys): string {
  const subject = (subjects ?? []).find((one) => keys.includes(keyOfSubject(one, metadata.namespace)))!
  const name = metadata.namespace === undefined ? metadata.name : `${metadata.name}/${metadata.namespace}`
  const whom =
    subject.kind === 'ServiceAccount'
      ? `${subject.name}/${subject.namespace || (metadata.namespace ?? '')}`
      : subject.name
  return `${kind} "${name}" of ${roleRef.kind} "${roleRef.name}" to ${subject.kind} "${whom}"`
}

interface BindingIndex {
  /** The bindings of a namespace (empty: cluster-wide) that name one of these keys, sorted by name. */
  find(namespace: string, keys: Keys): readonly Binding[]
  change(change: StorageChange): void
}

/** Bindings by namespace, subject and name. */
function indexBindings(table: StorageTable): BindingIndex {
  const index = new Map<string, Map<string, Map<string, Binding>>>()

  const add = (binding: Binding): void => {
    const { namespace, name } = binding.metadata
    const home = namespace ?? ''
    for (const subject of binding.subjects ?? []) {
      const key = keyOfSubject(subject, namespace)
      if (!index.has(home)) index.set(home, new Map())
      const ofHome = index.get(home)!
      if (!ofHome.has(key)) ofHome.set(key, new Map())
      ofHome.get(key)!.set(name, binding)
    }
  }
  const drop = (binding: Binding): void => {
    const { namespace, name } = binding.metadata
    const ofHome = index.get(namespace ?? '')
    for (const subject of binding.subjects ?? []) {
      const key = keyOfSubject(subject, namespace)
      ofHome?.get(key)?.delete(name)
      if (ofHome?.get(key)?.size === 0) ofHome.delete(key)
    }
    if (ofHome?.size === 0) index.delete(namespace ?? '')
  }

  for (const binding of table.objects()) add(binding as Binding)
  return {
    find(namespace, keys) {
      const ofHome = index.get(namespace)
      if (!ofHome) return []
      const found = new Set(keys.flatMap((key) => [...(ofHome.get(key)?.values() ?? [])]))
      return [...found].toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    },
    change({ type, object, previous }) {
      if (previous) drop(previous as Binding)
      if (type !== 'DELETED') add(object as Binding)
    },
  }
}

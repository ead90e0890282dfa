/**
 * Prevention of privilege escalation by RBAC. To write a role, a user must hold all of its rules (or the verb
 * `escalate` on roles); to write a binding, the user must hold the rules of the referenced role (or the verb `bind` on
 * that role).
 */
import { formatGoValue } from '../../../kube/go/go-text.ts'
import { equalJson, type JsonObject } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { AdmissionPlugin } from '../../cluster/admission.ts'
import { forbidden, notFound } from '../../errors/status-error.ts'
import { type Identity, wellKnown } from '../../access/identity.ts'
import { describeRules, missingRules, type PolicyRule, quoteAll } from '../../access/policy-rule.ts'
import { aggregate, type Rbac, rbacGroup, type RoleRef } from '../../access/rbac.ts'

/** A write of a role or binding, after mutation. */
interface RoleWrite {
  /** The plural: `clusterroles`, `roles`, `clusterrolebindings`, `rolebindings`. */
  readonly resource: string
  readonly namespace: string | undefined
  /** The name in the URL: absent for a create. */
  readonly name: string | undefined
  readonly object: UntypedObject
  /** The live object; undefined for a create. */
  readonly live: UntypedObject | undefined
}

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

const grants = new Set(['clusterroles', 'roles', 'clusterrolebindings', 'rolebindings'])

/** The real server checks this below admission, after mutation and before validation. */
export const roleEscalation: AdmissionPlugin = {
  name: 'RoleEscalation',
  mutate({ access }, { operation, served, subresource, namespace, name, user, object, oldObject }) {
    if (served.group === rbacGroup && grants.has(served.plural) && subresource === '') {
      const write = { resource: served.plural, namespace, object, live: oldObject }
      checkEscalation(access.rbac, user, { ...write, name: operation === 'CREATE' ? undefined : name })
    }
    return object
  },
}

/** Throws 403 for a write that would grant more than its author holds. */
function checkEscalation(rbac: Rbac, identity: Identity, write: RoleWrite): void {
  if (identity.groups.includes(wellKnown.masters) || isHousekeeping(write)) return
  if (write.resource === 'clusterroles' || write.resource === 'roles') checkRole(rbac, identity, write)
  else checkBinding(rbac, identity, write)
}

function checkRole(rbac: Rbac, identity: Identity, { resource, namespace, name, object, live }: RoleWrite): void {
  const version = 'v1'
  const asked = { verb: 'escalate', group: rbacGroup, version, resource, namespace, name }
  if (rbac.decide(identity, asked).allowed) return
  const target = { group: rbacGroup, plural: resource }
  const rules = (object['rules'] as readonly PolicyRule[] | null | undefined) ?? []
  const problem = describeMissing(rbac, identity, namespace, rules)
  if (problem !== undefined) throw forbidden(target, object.metadata.name ?? '', problem)
  if (!isAggregated(object) && !(live && isAggregated(live))) return
  if (describeMissing(rbac, identity, namespace, everything) === undefined) return
  const why = 'must have cluster-admin privileges to use the aggregationRule'
  throw forbidden(target, object.metadata.name ?? '', why)
}

function checkBinding(rbac: Rbac, identity: Identity, { resource, namespace, object }: RoleWrite): void {
  const ref = object['roleRef'] as RoleRef
  const plural = ref.kind === 'ClusterRole' ? 'clusterroles' : 'roles'
  const asked = { verb: 'bind', group: ref.apiGroup, version: '*', resource: plural, namespace, name: ref.name }
  if (rbac.decide(identity, asked).allowed) return
  const rules = rbac.rulesOf(ref, namespace)
  // It is the role that is missing, but the real server names the resource of the binding.
  if (!rules) throw notFound({ group: rbacGroup, plural: resource }, ref.name)
  const problem = describeMissing(rbac, identity, namespace, rules)
  if (problem !== undefined) {
    throw forbidden({ group: rbacGroup, plural: resource }, object.metadata.name ?? '', problem)
  }
}

/** The rules that the user lacks, as text; undefined when none. */
function describeMissing(
  rbac: Rbac,
  identity: Identity,
  namespace: string | undefined,
  rules: readonly PolicyRule[],
): string | undefined {
  const { rules: owned, errors } = rbac.rulesFor(identity, namespace)
  const missing = missingRules(owned, rules)
  if (missing.length === 0) return undefined
  const who = `user ${formatGoValue(identity.username)} (groups=${quoteAll(identity.groups)})`
  const what = `${who} is attempting to grant RBAC permissions not currently held:\n${describeRules(missing).join('\n')}`
  return errors.length === 0 ? what : `${what}; resolution errors: [${aggregate(errors)}]`
}

function isAggregated(role: UntypedObject): boolean {
  const rule = role['aggregationRule'] as
    | { readonly clusterRoleSelectors?: readonly unknown[] | null }
    | null
    | undefined
  return (rule?.clusterRoleSelectors?.length ?? 0) > 0
}

/** Whether only owner references and finalizers change, as by the garbage collector. */
function isHousekeeping({ object, live }: RoleWrite): boolean {
  return live !== undefined && equalJson(withoutOwners(object), withoutOwners(live))
}

function withoutOwners(object: UntypedObject): JsonObject {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managed, ...metadata } = object.metadata
  const rest: unknown = { ...object, metadata }
  return rest as JsonObject
}

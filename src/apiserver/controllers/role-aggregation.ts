/**
 * Aggregated cluster roles: the rules of roles such as `admin`, `edit` and `view` are collected from all roles with
 * certain labels. An operator that adds a kind also adds a role with such a label, and every user who may edit may edit
 * that kind.
 *
 * The rules are written into the aggregated role, where they can be read; so an aggregated role may be aggregated
 * again. This is one of the controllers that a cluster cannot do without.
 */
import { equalJson, type Json, type JsonObject, stringifyJson } from '../../kube/json.ts'
import { formatTime } from '../../kube/units/duration.ts'
import type { ManagedFieldsEntry, UntypedObject } from '../../kube/object.ts'
import { labelsOf, type LabelSelectorSpec, matchLabels } from '../../kube/selector/selector.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { PolicyRule } from '../access/policy-rule.ts'
import { rbacTables } from '../access/rbac.ts'

/** The field manager of aggregated rules. */
export const aggregationManager = 'clusterrole-aggregation-controller'

interface AggregatedRole extends UntypedObject {
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelectorSpec[] | null } | null
  readonly rules?: readonly PolicyRule[] | null
}

/** Updates aggregated roles right after each change of a cluster role. */
export function startRoleAggregation({ storage, clock }: ClusterState): void {
  const table = storage.table(rbacTables.clusterRoles)
  let isScheduled = false
  const aggregateNow = (): void => {
    isScheduled = false
    const roles = table.objects()
    for (const [name, rules] of aggregatedRules(roles)) {
      const role = table.get(undefined, name)
      if (role && !isSame(role['rules'] ?? [], rules)) storage.put(table.name, withRules(role, rules, clock.now()))
    }
  }
  storage.onChange((changed, { isUndoing }) => {
    if (changed !== table || isScheduled || isUndoing) return
    isScheduled = true
    queueMicrotask(aggregateNow)
  })
}

/** As the controller applies them, with force: it owns the rules, even if another manager wrote them. */
function withRules(role: UntypedObject, rules: readonly PolicyRule[], now: number): UntypedObject {
  const { managedFields = [] } = role.metadata
  const own: ManagedFieldsEntry = {
    manager: aggregationManager,
    operation: 'Apply',
    apiVersion: role.apiVersion,
    time: formatTime(now),
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:rules': {} },
  }
  const others = managedFields.filter(({ manager }) => manager !== aggregationManager).map(withoutRules)
  return { ...role, metadata: { ...role.metadata, managedFields: [own, ...others] }, rules }
}

function withoutRules(entry: ManagedFieldsEntry): ManagedFieldsEntry {
  const { 'f:rules': _rules, ...fields } = (entry.fieldsV1 ?? {}) as JsonObject
  return { ...entry, fieldsV1: fields }
}

/**
 * The rules of every aggregated role, by name: a fixpoint.
 *
 * It depends on the rules of the other roles alone, never on the rules that aggregated roles hold already: in a cycle
 * of aggregated roles those would circulate for ever, and each write would cause the next one.
 */
export function aggregatedRules(clusterRoles: readonly UntypedObject[]): ReadonlyMap<string, readonly PolicyRule[]> {
  const roles = (clusterRoles as readonly AggregatedRole[]).toSorted((a, b) =>
    a.metadata.name! < b.metadata.name! ? -1 : 1,
  )
  const aggregated = roles.filter((role) => role.aggregationRule)
  const selected = new Map(aggregated.map((role) => [role, selectedBy(role, roles)]))
  const rules = new Map(roles.map((role) => [role, role.aggregationRule ? [] : (role.rules ?? [])]))
  // Rules travel one role further each round; in a cycle their order may never stabilize, but their number does.
  for (let isChanged = true, round = 0; isChanged && round <= aggregated.length; round++) {
    isChanged = false
    for (const role of aggregated) {
      const found = aggregate(selected.get(role)!, rules)
      if (isSame(found, rules.get(role))) continue
      rules.set(role, found)
      isChanged = true
    }
  }
  return new Map(aggregated.map((role) => [role.metadata.name!, rules.get(role)!]))
}

/** In the order of the selectors, then of names; a role that two selectors match occurs twice. */
function selectedBy(role: AggregatedRole, roles: readonly AggregatedRole[]): readonly AggregatedRole[] {
  return (role.aggregationRule?.clusterRoleSelectors ?? []).flatMap((selector) => {
    const selects = selectorOf(selector)
    return roles.filter((one) => one !== role && selects(one))
  })
}

function aggregate(
  selected: readonly AggregatedRole[],
  rules: ReadonlyMap<AggregatedRole, readonly PolicyRule[]>,
): readonly PolicyRule[] {
  const found = new Map<string, PolicyRule>()
  for (const role of selected) {
    for (const rule of rules.get(role)!) {
      const text = textOf(rule)
      if (!found.has(text)) found.set(text, rule)
    }
  }
  return [...found.values()]
}

// Rules are immutable, and there may be thousands to compare.
const texts = new WeakMap<PolicyRule, string>()

/** Equal for equal rules: members are in the order of the kind. */
function textOf(rule: PolicyRule): string {
  const known = texts.get(rule)
  if (known !== undefined) return known
  const { apiGroups, nonResourceURLs, resourceNames, resources, verbs } = rule
  const text = stringifyJson([apiGroups, nonResourceURLs, resourceNames, resources, verbs])
  texts.set(rule, text)
  return text
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || equalJson(a as Json, b as Json)
}

/** An invalid selector matches nothing. */
function selectorOf(selector: LabelSelectorSpec): (role: UntypedObject) => boolean {
  try {
    const labels = labelsOf(selector)
    return ({ metadata }) => matchLabels(labels, metadata.labels)
  } catch {
    return () => false
  }
}

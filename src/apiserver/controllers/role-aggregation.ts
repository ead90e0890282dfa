/**
 * Cluster roles that gather the rules of others: `admin`, `edit` and `view` do, so that whoever brings a new kind
 * brings a role for it and a label, and everybody who may edit may edit that too.
 *
 * The rules are written into the gathering role, where anybody can read them; so a role that gathers may itself be
 * gathered. This is one of the controllers that a cluster cannot do without.
 */
import { equalJson, type Json, type JsonObject, stringifyJson } from '../../kube/json.ts'
import { formatTime } from '../../kube/duration.ts'
import type { ManagedFieldsEntry, UntypedObject } from '../../kube/object.ts'
import { labelsOf, type LabelSelectorSpec, matchLabels } from '../../kube/selector.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { PolicyRule } from '../access/policy-rule.ts'
import { rbacTables } from '../access/rbac.ts'

/** Who owns gathered rules. */
export const aggregationManager = 'clusterrole-aggregation-controller'

interface GatheringRole extends UntypedObject {
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelectorSpec[] | null } | null
  readonly rules?: readonly PolicyRule[] | null
}

/** Keeps the gathering roles of a cluster up to date, right after each change of a cluster role. */
export function gatherRoles({ storage, clock }: ClusterState): void {
  const table = storage.table(rbacTables.clusterRoles)
  let isScheduled = false
  const gatherNow = (): void => {
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
    queueMicrotask(gatherNow)
  })
}

/** As the controller applies them: the rules are its own, whoever else wrote them. */
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
 * The rules of every role that gathers, by its name, once there is nothing more to gather.
 *
 * The result depends on the rules of the other roles alone, never on the rules that gathering roles hold already: in a
 * circle of gathering roles those would travel round for ever, and each write would cause the next one.
 */
export function aggregatedRules(clusterRoles: readonly UntypedObject[]): ReadonlyMap<string, readonly PolicyRule[]> {
  const roles = (clusterRoles as readonly GatheringRole[]).toSorted((a, b) =>
    a.metadata.name! < b.metadata.name! ? -1 : 1,
  )
  const gathering = roles.filter((role) => role.aggregationRule)
  const selected = new Map(gathering.map((role) => [role, selectedBy(role, roles)]))
  const rules = new Map(roles.map((role) => [role, role.aggregationRule ? [] : (role.rules ?? [])]))
  // Gathered rules travel one role further each round; in a circle their order may never settle, their number does.
  for (let isChanged = true, round = 0; isChanged && round <= gathering.length; round++) {
    isChanged = false
    for (const role of gathering) {
      const found = gather(selected.get(role)!, rules)
      if (isSame(found, rules.get(role))) continue
      rules.set(role, found)
      isChanged = true
    }
  }
  return new Map(gathering.map((role) => [role.metadata.name!, rules.get(role)!]))
}

/** In the order of the selectors, then of names; a role that two selectors select comes twice. */
function selectedBy(role: GatheringRole, roles: readonly GatheringRole[]): readonly GatheringRole[] {
  return (role.aggregationRule?.clusterRoleSelectors ?? []).flatMap((selector) => {
    const selects = selectorOf(selector)
    return roles.filter((one) => one !== role && selects(one))
  })
}

function gather(
  selected: readonly GatheringRole[],
  rules: ReadonlyMap<GatheringRole, readonly PolicyRule[]>,
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

// Rules are never changed, and there may be thousands to compare.
const texts = new WeakMap<PolicyRule, string>()

/** The same for rules that say the same: their members stand in the order of the kind. */
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

/** A selector that cannot be read selects nothing. */
function selectorOf(selector: LabelSelectorSpec): (role: UntypedObject) => boolean {
  try {
    const labels = labelsOf(selector)
    return ({ metadata }) => matchLabels(labels, metadata.labels)
  } catch {
    return () => false
  }
}

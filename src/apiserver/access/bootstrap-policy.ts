/**
 * The policy that a cluster starts with: `cluster-admin`, `admin`, `edit`, `view`, the roles of the system's own parts,
 * and who holds them. Made by `scripts/kube/policy.ts` from what a real server gives itself.
 *
 * The objects are frozen and the same for all clusters that start within one second: a process may hold ten thousand
 * clusters, and most of them never change a role. For the same reason their uids are the same in every cluster.
 */
import { createRequire } from 'node:module'
import { seededRandom } from '../../clock/random.ts'
import { formatTime } from '../../kube/duration.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { randomUuid } from '../state.ts'
import { type Shelf, shelfOf, type StoredObject } from '../storage.ts'
import type { PolicyRule } from './policy-rule.ts'
import { rbacGroup, rbacTables } from './rbac.ts'
import { aggregationManager } from './role-aggregation.ts'

interface Entry {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly rules?: readonly PolicyRule[]
  readonly aggregationRule?: object
  readonly roleRef?: object
  readonly subjects?: readonly { readonly kind: string }[]
}

/** By table. */
type Policy = ReadonlyMap<string, Shelf>

const load = createRequire(import.meta.url)

const kinds = {
  clusterroles: { kind: 'ClusterRole', table: rbacTables.clusterRoles },
  clusterrolebindings: { kind: 'ClusterRoleBinding', table: rbacTables.clusterRoleBindings },
  roles: { kind: 'Role', table: rbacTables.roles },
  rolebindings: { kind: 'RoleBinding', table: rbacTables.roleBindings },
} as const

let latest: { readonly time: string; readonly policy: Policy } | undefined

/** `now` is when the cluster starts. */
export function bootstrapPolicy(now: number): Policy {
  const time = formatTime(now)
  if (latest?.time !== time) latest = { time, policy: buildPolicy(time) }
  return latest.policy
}

interface Place {
  readonly table: string
  readonly namespace: string | undefined
  readonly name: string
}

let places: ReadonlyMap<string, Place> | undefined

/** Where the object of this uid is in every cluster, unless it was removed; undefined for all other uids. */
export function bootstrapPlace(uid: string): Place | undefined {
  places ??= new Map(
    [...(latest?.policy ?? [])].flatMap(([table, shelf]) =>
      [...shelf.objects.values()].map(
        ({ metadata: { uid: own, namespace, name } }) => [own, { table, namespace, name }] as const,
      ),
    ),
  )
  return places.get(uid)
}

function buildPolicy(time: string): Policy {
  const entries = load('./bootstrap-policy.json') as Readonly<Record<keyof typeof kinds, readonly Entry[]>>
  const random = seededRandom(1)
  const policy = new Map<string, Shelf>()
  for (const [plural, { kind, table }] of Object.entries(kinds)) {
    const objects = entries[plural as keyof typeof kinds].map((entry) =>
      objectOf(entry, kind, time, randomUuid(random)),
    )
    policy.set(table, shelfOf(objects.map(freeze)))
  }
  return policy
}

function objectOf(entry: Entry, kind: string, time: string, uid: string): StoredObject {
  const { name, namespace, labels, rules, aggregationRule, roleRef, subjects } = entry
  return {
    kind,
    apiVersion: `${rbacGroup}/v1`,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid,
      resourceVersion: '1',
      creationTimestamp: time,
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
      annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
      managedFields: ownership(entry, time),
    },
    ...(roleRef && { roleRef: { apiGroup: rbacGroup, ...roleRef } }),
    ...(subjects && { subjects: subjects.map(subjectOf) }),
    ...(rules && { rules }),
    ...(aggregationRule && { aggregationRule }),
  }
}

/** A service account belongs to the core group, which is not written. */
function subjectOf(subject: { readonly kind: string }): object {
  return subject.kind === 'ServiceAccount' ? subject : { ...subject, apiGroup: rbacGroup }
}

type Managers = NonNullable<UntypedObject['metadata']['managedFields']>

/** The rules of a role that gathers are the aggregation controller's, all else is the server's. */
function ownership({ labels = {}, rules, aggregationRule, roleRef, subjects }: Entry, time: string): Managers {
  const labelled = ['kubernetes.io/bootstrapping', ...Object.keys(labels)]
  const entry = { apiVersion: `${rbacGroup}/v1`, time, fieldsType: 'FieldsV1' } as const
  const own = {
    ...(aggregationRule && { 'f:aggregationRule': { '.': {}, 'f:clusterRoleSelectors': {} } }),
    'f:metadata': {
      'f:annotations': { '.': {}, 'f:rbac.authorization.kubernetes.io/autoupdate': {} },
      'f:labels': { '.': {}, ...Object.fromEntries(labelled.map((label) => [`f:${label}`, {}])) },
    },
    ...(roleRef && { 'f:roleRef': {} }),
    ...(rules && !aggregationRule && { 'f:rules': {} }),
    ...(subjects && { 'f:subjects': {} }),
  }
  const server = { manager: 'kube-apiserver', operation: 'Update', ...entry, fieldsV1: own } as const
  if (!aggregationRule) return [server]
  return [{ manager: aggregationManager, operation: 'Apply', ...entry, fieldsV1: { 'f:rules': {} } }, server]
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.values(value).forEach(freeze)
    Object.freeze(value)
  }
  return value
}

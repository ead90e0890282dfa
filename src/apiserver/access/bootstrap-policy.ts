/**
 * The policy that a cluster starts with: `cluster-admin`, `admin`, `edit`, `view`, the roles of the system's own parts,
 * and who holds them. Made by `scripts/kube/policy.ts` from what a real server gives itself.
 *
 * The objects are the same for all clusters that start within one second: a process may hold ten thousand
 * clusters, and most of them never change a role. For the same reason their uids are the same in every cluster.
 */
import { readFileSync } from 'node:fs'
import { type Random, seededRandom } from '../../clock/random.ts'
import { formatTime } from '../../kube/duration.ts'
import type { UntypedObject } from '../../kube/object.ts'
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
  const text = readFileSync(new URL('bootstrap-policy.json', import.meta.url), 'utf8')
  const entries = JSON.parse(text) as Readonly<Record<keyof typeof kinds, readonly Entry[]>>
  const random = seededRandom(1)
  const managers = managersAt(time)
  const policy = new Map<string, Shelf>()
  for (const [plural, { kind, table }] of Object.entries(kinds)) {
    const objects = entries[plural as keyof typeof kinds].map((entry) =>
      objectOf(entry, kind, time, uidOf(random), managers),
    )
    policy.set(table, shelfOf(objects))
  }
  return policy
}

/** A version 4 UUID in four draws: there are many to be had before the first request is answered. */
function uidOf(random: Random): string {
  const [a, b, c, d] = Array.from({ length: 4 }, () => Math.floor(random.next() * 2 ** 32)) as [
    number,
    number,
    number,
    number,
  ]
  const digits = [a, (b & 0xffff_0fff) | 0x4000, (c & 0x3fff_ffff) | 0x8000_0000, d]
    .map((part) => (part >>> 0).toString(16).padStart(8, '0'))
    .join('')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function objectOf(entry: Entry, kind: string, time: string, uid: string, managers: ManagersOf): StoredObject {
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
      labels: labels ? { ...ownLabels, ...labels } : ownLabels,
      annotations: ownAnnotations,
      managedFields: managers(entry),
    },
    ...(roleRef && { roleRef: { apiGroup: rbacGroup, ...roleRef } }),
    ...(subjects && { subjects: subjects.map(subjectOf) }),
    ...(rules && { rules }),
    ...(aggregationRule && { aggregationRule }),
  }
}

const ownLabels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' } as const
const ownAnnotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'true' } as const

/** A service account belongs to the core group, which is not written. */
function subjectOf(subject: { readonly kind: string }): object {
  return subject.kind === 'ServiceAccount' ? subject : { ...subject, apiGroup: rbacGroup }
}

type Managers = NonNullable<UntypedObject['metadata']['managedFields']>

type ManagersOf = (entry: Entry) => Managers

/** Most entries have the same members, and with them the same record of who owns what: it is written once. */
function managersAt(time: string): ManagersOf {
  const known = new Map<string, Managers>()
  return (entry) => {
    const shape = Object.keys({ ...entry, ...entry.labels }).join()
    const found = known.get(shape) ?? ownership(entry, time)
    known.set(shape, found)
    return found
  }
}

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

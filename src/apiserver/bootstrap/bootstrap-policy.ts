/**
 * The policy that a cluster starts with: `cluster-admin`, `admin`, `edit`, `view`, the roles of the system's own parts,
 * and who holds them. Made by `scripts/kube/policy.ts` from what a real server gives itself.
 *
 * It is laid under a cluster as its foundation: when it was laid, whose it is and out of which table are all that there
 * is of it until somebody looks, and all that is ever written down. So a table that was published must stay as it is; a
 * newer one is another file in `bootstrap-policy/`.
 */
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { formatTime } from '../../kube/duration.ts'
import { type JsonObject, stringifyJson } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Foundation, BootstrapPlace } from '../storage/bootstrap-objects.ts'
import type { StoredObject } from '../storage/storage.ts'
import type { PolicyRule } from '../access/policy-rule.ts'
import { rbacGroup, rbacTables } from '../access/rbac.ts'
import { aggregationManager } from '../controllers/role-aggregation.ts'

interface Entry {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly rules?: readonly PolicyRule[]
  readonly aggregationRule?: object
  readonly roleRef?: object
  readonly subjects?: readonly { readonly kind: string }[]
}

/** In the order of their revisions. */
const kinds = [
  { plural: 'clusterroles', kind: 'ClusterRole', table: rbacTables.clusterRoles },
  { plural: 'clusterrolebindings', kind: 'ClusterRoleBinding', table: rbacTables.clusterRoleBindings },
  { plural: 'roles', kind: 'Role', table: rbacTables.roles },
  { plural: 'rolebindings', kind: 'RoleBinding', table: rbacTables.roleBindings },
] as const

type Entries = Readonly<Record<(typeof kinds)[number]['plural'], readonly Entry[]>>

/** The table for new clusters. Those of earlier versions of Muster stay where they are, as they are: see README.md. */
const current = 'v1.37.1'
/** Objects in it: revisions are given out before anybody reads it. */
const currentSize = 141

/** What it takes to make the policy of one cluster. */
interface Terms {
  /** When the cluster starts, as objects say it. */
  readonly time: string
  /** What no other cluster has: uids come of it. */
  readonly seed: string
  /** The revision of the first object. */
  readonly first: number
  readonly size: number
  /** Which table: `v1.37.1`. */
  readonly policy: string
}

/** `now` is when the cluster starts, `seed` what no other cluster has, `first` the revision of the first object. */
export function bootstrapPolicy(now: number, seed: string, first: number): Foundation {
  return foundationOf({ first, size: currentSize, time: formatTime(now), seed, policy: current })
}

/** The policy that was written down; undefined when this Muster cannot make it. */
export function keptPolicy({ first, size, time, seed, policy }: JsonObject): Foundation | undefined {
  if (typeof first !== 'number' || typeof size !== 'number' || typeof time !== 'string') return undefined
  if (typeof seed !== 'string' || typeof policy !== 'string') return undefined
  if (!/^v[\d.]+$/.test(policy) || !existsSync(fileOf(policy))) return undefined
  return foundationOf({ first, size, time, seed, policy })
}

function fileOf(policy: string): URL {
  return new URL(`bootstrap-policy/${policy}.json`, import.meta.url)
}

const tables = new Map<string, Entries>()

/** Clusters share what is in a table, so none of them may change it. */
function entriesOf(policy: string): Entries {
  const entries = tables.get(policy) ?? freeze(JSON.parse(readFileSync(fileOf(policy), 'utf8')) as Entries)
  tables.set(policy, entries)
  return entries
}

function foundationOf(terms: Terms): Foundation {
  const { first, size } = terms
  return {
    first,
    size,
    tables: kinds.map(({ table }) => table),
    objectsOf: (table) => makeObjects(terms, table),
    placeOf: (uid) => placesOf(terms).get(uid),
    record: () => stringifyJson(terms),
  }
}

/** Where everything is in the cluster that was asked of last: forks of one cluster have the same uids. */
let lastPlaces: { readonly of: string; readonly places: ReadonlyMap<string, BootstrapPlace> } | undefined

function placesOf({ policy, seed }: Terms): ReadonlyMap<string, BootstrapPlace> {
  const of = `${policy} ${seed}`
  if (lastPlaces?.of === of) return lastPlaces.places
  const entries = entriesOf(policy)
  const places = new Map(
    kinds.flatMap(({ plural, table }) =>
      entries[plural].map((entry) => {
        const { namespace, name } = entry
        return [uidOf(seed, table, entry), { table, namespace, name }] as const
      }),
    ),
  )
  lastPlaces = { of, places }
  return places
}

function makeObjects({ first, time, seed, policy }: Terms, wanted: string): readonly StoredObject[] {
  const entries = entriesOf(policy)
  const managers = managersAt(time)
  let revision = first
  for (const { plural, kind, table } of kinds) {
    if (table === wanted) {
      return entries[plural].map((entry, at) =>
        objectOf(entry, {
          kind,
          time,
          managers,
          uid: uidOf(seed, table, entry),
          resourceVersion: String(revision + at),
        }),
      )
    }
    revision += entries[plural].length
  }
  return []
}

/** Looks like those that come of chance, as all uids of a cluster do. */
function uidOf(seed: string, table: string, { namespace = '', name }: Entry): string {
  const digits = hash('sha256', `${seed} ${table} ${namespace}/${name}`)
  const variant = '89ab'[Number.parseInt(digits[16]!, 16) & 3]
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20, 32)}`
}

interface Made {
  readonly kind: string
  readonly time: string
  readonly managers: ManagersOf
  readonly uid: string
  readonly resourceVersion: string
}

function objectOf(entry: Entry, { kind, time, managers, uid, resourceVersion }: Made): StoredObject {
  const { name, namespace, labels, rules, aggregationRule, roleRef, subjects } = entry
  return {
    kind,
    apiVersion: `${rbacGroup}/v1`,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid,
      resourceVersion,
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

const ownLabels = Object.freeze({ 'kubernetes.io/bootstrapping': 'rbac-defaults' })
const ownAnnotations = Object.freeze({ 'rbac.authorization.kubernetes.io/autoupdate': 'true' })

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
    const found = known.get(shape) ?? freeze(ownership(entry, time))
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

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.values(value).forEach(freeze)
    Object.freeze(value)
  }
  return value
}

/**
 * The default RBAC policy of a cluster: `cluster-admin`, `admin`, `edit`, `view`, the roles of system components, and
 * their bindings. `scripts/kube/policy.ts` generates it from a real kube-apiserver.
 *
 * The objects are created when one of their tables is first read. Until then, and in the journal, there are only the
 * parameters: time, seed and policy file. So a published file must never change; a newer policy is another file in
 * `bootstrap-policy/`.
 */
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { formatTime } from '../../kube/units/duration.ts'
import { type JsonObject, stringifyJson } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { BootstrapObjects, BootstrapPlace } from '../storage/bootstrap-objects.ts'
import type { StoredObject } from '../storage/storage.ts'
import type { PolicyRule } from '../access/policy-rule.ts'
import { rbacGroup, rbacTables } from '../access/rbac.ts'
import { aggregationManager } from '../controllers/role-aggregation.ts'

interface Entry {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly rules?: readonly PolicyRule[] | null
  readonly aggregationRule?: object
  readonly roleRef?: object
  readonly subjects?: readonly { readonly kind: string }[]
}

/** In the order of their objects' revisions. */
const kinds = [
  { plural: 'clusterroles', kind: 'ClusterRole', table: rbacTables.clusterRoles },
  { plural: 'clusterrolebindings', kind: 'ClusterRoleBinding', table: rbacTables.clusterRoleBindings },
  { plural: 'roles', kind: 'Role', table: rbacTables.roles },
  { plural: 'rolebindings', kind: 'RoleBinding', table: rbacTables.roleBindings },
] as const

type Entries = Readonly<Record<(typeof kinds)[number]['plural'], readonly Entry[]>>

/** The policy file for new clusters. The files of earlier versions of Muster stay unchanged: see README.md. */
const current = 'v1.37.1'
/** Number of objects in it: their revisions are assigned before the file is read. */
const currentSize = 141

/** The parameters from which the policy of one cluster is created. */
interface PolicyParameters {
  /** The start of the cluster: the creationTimestamp. */
  readonly time: string
  /** Unique to the cluster: uids are derived from it. */
  readonly seed: string
  /** The revision of the first object. */
  readonly first: number
  readonly size: number
  /** The policy file: `v1.37.1`. */
  readonly policy: string
  /** False if no controller collects the rules of aggregated roles: they have none. @default true */
  readonly aggregated?: boolean
}

/**
 * `now` is the start of the cluster, `seed` is unique to it, `first` is the revision of the first object; `aggregated`
 * says whether aggregated roles have their rules.
 */
export function bootstrapPolicy(now: number, seed: string, first: number, aggregated = true): BootstrapObjects {
  const parameters = { first, size: currentSize, time: formatTime(now), seed, policy: current }
  return bootstrapObjectsOf(aggregated ? parameters : { ...parameters, aggregated })
}

/** The policy of a journal record; undefined if this version of Muster does not have it. */
export function policyFromRecord({
  first,
  size,
  time,
  seed,
  policy,
  aggregated,
}: JsonObject): BootstrapObjects | undefined {
  if (typeof first !== 'number' || typeof size !== 'number' || typeof time !== 'string') return undefined
  if (typeof seed !== 'string' || typeof policy !== 'string') return undefined
  if (!/^v[\d.]+$/.test(policy) || !existsSync(fileOf(policy))) return undefined
  const parameters = { first, size, time, seed, policy }
  return bootstrapObjectsOf(aggregated === false ? { ...parameters, aggregated } : parameters)
}

function fileOf(policy: string): URL {
  return new URL(`bootstrap-policy/${policy}.json`, import.meta.url)
}

const tables = new Map<string, Entries>()

/** Frozen, because clusters share it. */
function entriesOf(policy: string): Entries {
  const entries = tables.get(policy) ?? freeze(JSON.parse(readFileSync(fileOf(policy), 'utf8')) as Entries)
  tables.set(policy, entries)
  return entries
}

function bootstrapObjectsOf(parameters: PolicyParameters): BootstrapObjects {
  const { first, size } = parameters
  return {
    first,
    size,
    tables: kinds.map(({ table }) => table),
    objectsOf: (table) => makeObjects(parameters, table),
    placeOf: (uid) => placesOf(parameters).get(uid),
    record: () => stringifyJson(parameters),
  }
}

/** The index of the last queried cluster; forks of one cluster have the same uids. */
let lastPlaces: { readonly of: string; readonly places: ReadonlyMap<string, BootstrapPlace> } | undefined

function placesOf({ policy, seed }: PolicyParameters): ReadonlyMap<string, BootstrapPlace> {
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

function makeObjects(parameters: PolicyParameters, wanted: string): readonly StoredObject[] {
  const { first, time, seed, policy, aggregated = true } = parameters
  const entries = entriesOf(policy)
  const managers = managersAt(time)
  let revision = first
  for (const { plural, kind, table } of kinds) {
    if (table === wanted) {
      return entries[plural].map((entry, at) =>
        objectOf(aggregated ? entry : withoutCollected(entry), {
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

/** Derived from the seed, in the form of a random (version 4) UUID. */
function uidOf(seed: string, table: string, { namespace = '', name }: Entry): string {
  const digits = hash('sha256', `${seed} ${table} ${namespace}/${name}`)
  const variant = '89ab'[Number.parseInt(digits[16]!, 16) & 3]
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20, 32)}`
}

interface ObjectParameters {
  readonly kind: string
  readonly time: string
  readonly managers: ManagersOf
  readonly uid: string
  readonly resourceVersion: string
}

/** As kube-apiserver creates an aggregated role: with `rules: null`, and no owner of them. */
function withoutCollected(entry: Entry): Entry {
  return entry.aggregationRule ? { ...entry, rules: null } : entry
}

function objectOf(entry: Entry, { kind, time, managers, uid, resourceVersion }: ObjectParameters): StoredObject {
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
    ...(rules !== undefined && { rules }),
    ...(aggregationRule && { aggregationRule }),
  }
}

const ownLabels = Object.freeze({ 'kubernetes.io/bootstrapping': 'rbac-defaults' })
const ownAnnotations = Object.freeze({ 'rbac.authorization.kubernetes.io/autoupdate': 'true' })

/** Service accounts are in the core group, which is omitted. */
function subjectOf(subject: { readonly kind: string }): object {
  return subject.kind === 'ServiceAccount' ? subject : { ...subject, apiGroup: rbacGroup }
}

type Managers = NonNullable<UntypedObject['metadata']['managedFields']>

type ManagersOf = (entry: Entry) => Managers

/** Most entries have the same fields, and therefore the same managedFields, which they share. */
function managersAt(time: string): ManagersOf {
  const known = new Map<string, Managers>()
  return (entry) => {
    const shape = Object.keys({ ...entry, ...entry.labels }).join()
    const found = known.get(shape) ?? freeze(ownership(entry, time))
    known.set(shape, found)
    return found
  }
}

/** The rules of an aggregated role belong to the aggregation controller, all other fields to kube-apiserver. */
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
  if (!aggregationRule || !rules) return [server]
  return [{ manager: aggregationManager, operation: 'Apply', ...entry, fieldsV1: { 'f:rules': {} } }, server]
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.values(value).forEach(freeze)
    Object.freeze(value)
  }
  return value
}

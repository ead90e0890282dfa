/**
 * The role of the cluster that an object belongs to. An operator is written for one cluster; when it runs on several, a
 * placement assigns the roles:
 *
 * - **configuration**: the CRs and the settings that they refer to
 * - **management**: what runs the system itself: control planes and their configuration
 * - **userWorkload**: what runs beside the users' workloads: drivers, agents
 *
 * On a single cluster (standalone) the roles change nothing.
 */
import type { Resource } from '../kube/kind.ts'

export type PlacementRole = 'configuration' | 'management' | 'userWorkload'

/** The kind in the cluster with this role. An operator uses a kind in one role. */
export function inRole<R extends Resource>(resource: R, role: PlacementRole): R {
  return Object.assign({}, resource, { role })
}

/** @default "configuration" */
export function placementRoleOf(resource: Resource): PlacementRole {
  return (resource as { readonly role?: PlacementRole }).role ?? 'configuration'
}

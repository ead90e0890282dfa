/**
 * Where an object belongs, by what it is for. An operator is written for one cluster; where it runs on several, a placement
 * says which of them plays which role:
 *
 * - **configuration**: what people ask for: the CRs, and the settings they refer to
 * - **management**: what runs the system itself: control planes and what configures them
 * - **userWorkload**: what runs among the users' own workloads: drivers, agents
 *
 * On a cluster that is all three (standalone) the roles change nothing.
 */
import type { Resource } from '../kube/kind.ts'

export type PlacementRole = 'configuration' | 'management' | 'userWorkload'

/** The same kind, of which the objects are in the cluster that has this role. One operator has a kind in one role. */
export function inRole<R extends Resource>(resource: R, role: PlacementRole): R {
  return Object.assign({}, resource, { role })
}

/** @default "configuration" */
export function placementRoleOf(resource: Resource): PlacementRole {
  return (resource as { readonly role?: PlacementRole }).role ?? 'configuration'
}

/** A placement: the cluster of each role of an operator. */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Writer } from '../../cache/writer.ts'
import type { Client } from '../../client/client.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatResource, type GroupVersionKind, type Resource } from '../../kube/kind.ts'
import { chainOf, inputOf } from '../../operator/view/input.ts'
import type { Operator } from '../../operator/operator.ts'
import { type PlacementRole, placementRoleOf } from '../../operator/placement-role.ts'
import type { Cluster } from './cluster.ts'

export type Placement = Readonly<Record<PlacementRole, Cluster>>

/** One cluster in all roles. */
export function standalone(cluster: Cluster): Placement {
  return { configuration: cluster, management: cluster, userWorkload: cluster }
}

/**
 * The clusters of a placement as one: each kind is read and written in the cluster of its role. CRs, Events and
 * commands in containers belong to the configuration cluster, and only there kinds may be installed after the operator
 * has started.
 * @throws InvalidPlacement for a kind in two roles
 */
export function place(operator: Operator, placement: Placement): Cluster {
  checkRoles(operator)
  const clusters = [...new Set(Object.values(placement))]
  const { configuration } = placement
  if (clusters.length === 1) return configuration
  const at = (resource: GroupVersionKind): Cluster => placement[placementRoleOf(resource as Resource)]
  return {
    name: clusters.map(({ name }) => name).join('+'),
    client: placedClient(configuration.client, at),
    cache: placedCache(clusters, at),
  }
}

function placedClient(client: Client, at: (resource: GroupVersionKind) => Cluster): Client {
  return {
    ...client,
    discovery: {
      ...client.discovery,
      resourceFor: (kind, options) => at(kind).client.discovery.resourceFor(kind, options),
    },
  }
}

function placedCache(clusters: readonly Cluster[], at: (resource: Resource) => Cluster): SharedCache {
  return {
    subscribe: (resource, options) => at(resource).cache.subscribe(resource, options),
    writer(consumer, through) {
      if (through) {
        throw new MusterError(
          managerErrors.InvalidPlacement,
          'Set the identity of each cluster with actingOn before placing it.',
        )
      }
      const writers = new Map(clusters.map((cluster) => [cluster, cluster.cache.writer(consumer)]))
      return placedWriter((resource) => writers.get(at(resource))!)
    },
    report: () => clusters.flatMap(({ cache }) => cache.report()),
    close() {
      for (const { cache } of clusters) cache.close()
    },
  }
}

const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }

function placedWriter(of: (resource: Resource) => Writer): Writer {
  return {
    create: (resource, object, options) => of(resource).create(resource, object, options),
    update: (resource, object, options) => of(resource).update(resource, object, options),
    patch: (resource, ref, patch, options) => of(resource).patch(resource, ref, patch, options),
    apply: (resource, object, options) => of(resource).apply(resource, object, options),
    delete: (resource, ref, options) => of(resource).delete(resource, ref, options),
    setScale: (resource, ref, replicas, options) => of(resource).setScale(resource, ref, replicas, options),
    evict: (pod, options) => of(pods).evict(pod, options),
  }
}

function checkRoles({ name, controllers }: Operator): void {
  const roles = new Map<string, PlacementRole>()
  const kinds = controllers.flatMap(({ kind, dependents, options: { reads = [], writes = [] } }) => [
    kind,
    ...dependents.map((resource) => resource.kind),
    ...[...reads, ...writes].flatMap((each) => chainOf(inputOf(each))).map(({ resource }) => resource),
  ])
  for (const resource of kinds) {
    const kind = formatResource(resource)
    const role = placementRoleOf(resource)
    const other = roles.get(kind) ?? role
    if (other !== role) {
      throw new MusterError(
        managerErrors.InvalidPlacement,
        `Operator ${name} has ${kind} in two roles, ${other} and ${role}.`,
      )
    }
    roles.set(kind, role)
  }
}

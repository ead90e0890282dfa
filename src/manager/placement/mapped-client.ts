/**
 * A client under other names, for requests that do not go through a cache: Events, commands in containers. Requests
 * that name no object (a list, a raw request) cannot be translated, and are refused.
 */
import type { Client, ObjectRef } from '../../client/client.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject, Status } from '../../kube/object.ts'
import type { ObjectMap } from './mapped-object.ts'

const core = { group: '', version: 'v1', namespaced: true }
const pods: Resource = { ...core, kind: 'Pod', plural: 'pods' }
const serviceAccounts: Resource = { ...core, kind: 'ServiceAccount', plural: 'serviceaccounts' }

export function mappedClient(client: Client, map: ObjectMap): Client {
  const back = <T extends KubeObject>(resource: Resource, answer: T): T => map.toOperator(resource, answer) ?? answer
  const own = <Ref extends ObjectRef>(resource: Resource, ref: Ref): Ref => map.ownRefToCluster(resource, ref)
  const refused = (what: string) => (): never => {
    throw new MusterError(
      managerErrors.NameOutsideMap,
      `Name map ${map.names.name}: ${what} names no object, and cannot be mapped.`,
    )
  }
  return {
    discovery: client.discovery,
    transport: client.transport,
    async get<T extends KubeObject>(resource: Resource, ref: ObjectRef, options?: Parameters<Client['get']>[2]) {
      return back(resource, await client.get<T>(resource, map.refToCluster(resource, ref), options))
    },
    async create(resource, object, options) {
      return back(resource, await client.create(resource, map.toCluster(resource, object), options))
    },
    async update(resource, object, options) {
      return back(resource, await client.update(resource, map.toCluster(resource, object), options))
    },
    async patch(resource, ref, patch, options) {
      return back(resource, await client.patch(resource, own(resource, ref), patch, options))
    },
    async apply(resource, object, options) {
      return back(resource, await client.apply(resource, map.toCluster(resource, object), options))
    },
    async delete<T extends KubeObject>(resource: Resource, ref: ObjectRef, options?: Parameters<Client['delete']>[2]) {
      const answer: T | Status = await client.delete<T>(resource, own(resource, ref), options)
      return answer.kind === 'Status' ? answer : back(resource, answer as T)
    },
    getScale: (resource, ref, options) => client.getScale(resource, map.refToCluster(resource, ref), options),
    setScale: (resource, ref, replicas, options) => client.setScale(resource, own(resource, ref), replicas, options),
    evict: (pod, options) => client.evict(own(pods, pod), options),
    createToken: (account, options) => client.createToken(own(serviceAccounts, account), options),
    async getMetadata(resource, ref, options) {
      return back(resource, await client.getMetadata(resource, map.refToCluster(resource, ref), options))
    },
    logs: (pod, options) => client.logs(map.refToCluster(pods, pod), options),
    exec: (pod, command, options) => client.exec(own(pods, pod), command, options),
    listPage: refused('a list'),
    list: refused('a list'),
    watch: refused('a watch'),
    deleteCollection: refused('a deletion of all'),
    listMetadata: refused('a list'),
    table: refused('a table'),
    request: refused('a raw request'),
    stats: () => client.stats(),
    // The client is shared.
    close: () => Promise.resolve(),
  }
}

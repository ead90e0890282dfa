/**
 * Writes that update the cache. Each verb goes to the server as it would without a cache; its response enters the shared
 * copy before the verb returns, and its watch event does not wake the consumer that wrote it.
 */
import type { Client, DeleteOptions, ObjectRef } from '../client/client.ts'
import { isReleased, isStillThere } from '../kube/meta/deletion.ts'
import { clientErrors } from '../client/errors.ts'
import { isMusterError } from '../kube/muster-error.ts'
import type { Resource } from '../kube/kind.ts'
import type { KubeObject, Named, Status } from '../kube/object.ts'
import type { WriteTicket } from './informer.ts'

export type Writer = Pick<Client, 'create' | 'update' | 'patch' | 'apply' | 'delete' | 'setScale' | 'evict'>

/** Announces a write to the informer of a resource; undefined where the resource is not watched. */
type BeginWrite = (resource: Resource, ref: ObjectRef) => WriteTicket | undefined

const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }

export function createWriter(client: Client, begin: BeginWrite): Writer {
  /** Sends a write whose response is the object's new state. */
  const recorded = async <T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    isDryRun: boolean | undefined,
    send: () => Promise<T>,
  ): Promise<T> => {
    const ticket = isDryRun ? undefined : begin(resource, ref)
    if (!ticket) return await send()
    try {
      const answer = await send()
      if (answer.kind !== resource.kind) await refresh(resource, ref, ticket)
      // Removing the last finalizer deletes the object. The response has the version before that, so versions do not show it.
      else if (isReleased(answer)) ticket.deleted(answer.metadata.uid)
      else ticket.written(answer)
      return answer
    } catch (error) {
      ticket.failed()
      throw error
    }
  }

  /** Some subresources do not respond with the object: then it is read again. */
  const refresh = async (resource: Resource, ref: ObjectRef, ticket: WriteTicket): Promise<void> => {
    try {
      ticket.written(await client.get(resource, ref))
    } catch (error) {
      if (!isMusterError(error, clientErrors.NotFound)) throw error
      ticket.deleted(undefined)
    }
  }

  const refOf = ({ metadata }: KubeObject): ObjectRef => ({ namespace: metadata.namespace, name: metadata.name ?? '' })

  return {
    async create(resource, object, options) {
      const { name, namespace } = object.metadata
      // With generateName the key is unknown before the response, so events cannot be held back.
      if (name === undefined) {
        const created = await client.create(resource, object, options)
        if (!options?.dryRun) begin(resource, refOf(created))?.written(created)
        return created
      }
      const send = (): Promise<Named<typeof object>> => client.create(resource, object, options)
      return await recorded(resource, { name, namespace }, options?.dryRun, send)
    },
    update: (resource, object, options) =>
      recorded(resource, refOf(object), options?.dryRun, () => client.update(resource, object, options)),
    patch: (resource, ref, patch, options) =>
      recorded(resource, ref, options.dryRun, () => client.patch(resource, ref, patch, options)),
    apply: (resource, object, options) =>
      recorded(resource, refOf(object), options.dryRun, () => client.apply(resource, object, options)),
    setScale: (resource, ref, replicas, options) =>
      recorded(resource, ref, options?.dryRun, () => client.setScale(resource, ref, replicas, options)),
    async delete<T extends KubeObject>(
      resource: Resource,
      ref: ObjectRef,
      options?: DeleteOptions,
    ): Promise<Named<T> | Status> {
      const ticket = options?.dryRun ? undefined : begin(resource, ref)
      try {
        const answer = await client.delete<T>(resource, ref, options)
        if (isStillThere(answer)) ticket?.written(answer)
        else ticket?.deleted(answer.kind === 'Status' ? answer.details?.uid : (answer as T).metadata.uid)
        return answer
      } catch (error) {
        ticket?.failed()
        throw error
      }
    },
    async evict(pod, options) {
      const ticket = options?.dryRun ? undefined : begin(pods, pod)
      try {
        await client.evict(pod, options)
        if (ticket) await refresh(pods, pod, ticket)
      } catch (error) {
        ticket?.failed()
        throw error
      }
    },
  }
}

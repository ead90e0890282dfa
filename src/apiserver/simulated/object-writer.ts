/**
 * A hand that writes: each component of a cluster (controllers, scheduler, kubelets) is a client with a name. What it
 * writes goes the way of every write (defaults, admission, validation, managedFields), only without a request around it.
 */
import { equalJson, type Json, type JsonObject } from '../../kube/json.ts'
import type { ObjectMeta } from '../../kube/object.ts'
import type { Identity } from '../access/identity.ts'
import { serviceAccountGroups, serviceAccountUser, wellKnown } from '../access/identity.ts'
import { checkAdmission } from '../cluster/admission.ts'
import { bound } from '../subresources/binding.ts'
import { change } from '../write/change.ts'
import { create } from '../write/create.ts'
import { plainDeletion, type Propagation, removeObject } from '../write/delete.ts'
import { StatusError } from '../errors/status-error.ts'
import { type ClusterState, findObject } from '../cluster/state.ts'
import { replacement } from '../write/update.ts'
import type { Writing } from '../write/writing.ts'
import type { Kinds, StoredIn, TableName } from './cluster.ts'

export interface Hand {
  /** A new object; what the server sets is left out. */
  create<K extends TableName>(table: K, object: ObjectDraft<Kinds[K]>): Promise<StoredIn<K>>
  /** What lies beside status. It must be made of the present version, or it is refused as a conflict. */
  update<K extends TableName>(table: K, object: StoredIn<K>): Promise<StoredIn<K>>
  /** Nothing is written when it is the same already. Annotations may go along. */
  updateStatus<K extends TableName>(table: K, live: StoredIn<K>, status: object): Promise<StoredIn<K>>
  remove<K extends TableName>(table: K, live: StoredIn<K>, options?: Removal): Promise<void>
  bind(pod: StoredIn<'pods'>, node: string): Promise<void>
}

/** What a component sends of an object: `status` and the server's part of the metadata are not its business. */
export type ObjectDraft<T> = Omit<T, 'metadata' | 'status'> & {
  readonly metadata: ObjectMeta
  readonly status?: unknown
}

export interface Removal {
  /** Seconds; zero means now. @default what the pod grants itself */
  readonly grace?: number
  readonly propagation?: Propagation
}

/** Of a controller, the controller manager writes under its own name as the controller's service account. */
export function controllerIdentity(name: string): Identity {
  const username = serviceAccountUser('kube-system', name)
  return { username, groups: [...serviceAccountGroups('kube-system'), wellKnown.authenticated], extra: new Map() }
}

export function componentIdentity(username: string, ...groups: readonly string[]): Identity {
  return { username, groups: [...groups, wellKnown.authenticated], extra: new Map() }
}

export function createHand(state: ClusterState, manager: string, user: Identity): Hand {
  const writingOf = (table: string, { namespace, name }: ObjectMeta, subresource = ''): Writing => ({
    served: state.catalog.ofTable(table)!,
    namespace,
    name,
    subresource,
    manager,
    dryRun: false,
    validation: 'Ignore',
    user,
    options: {} satisfies JsonObject,
    scan: () => ({ duplicates: [], order: [] }),
    warn: () => undefined,
  })

  return {
    async create(table, object) {
      const { name: _name, ...place } = object.metadata
      return (await create(state, writingOf(table, place), object as unknown as Json)) as never
    },
    async update(table, object) {
      const writing = writingOf(table, object.metadata)
      return (await change(state, writing, (live) => replacement(state, writing, live, object as never))) as never
    },
    async updateStatus(table, live, status) {
      const writing = writingOf(table, live.metadata, 'status')
      if (equalJson((live as { status?: Json }).status, status as Json)) {
        const stored = findObject(state, writing.served, live.metadata.namespace, live.metadata.name)
        if (equalJson(stored?.metadata.annotations, live.metadata.annotations)) return live
      }
      const updated = { ...live, status }
      return (await change(state, writing, (stored) => replacement(state, writing, stored, updated as never))) as never
    },
    async remove(table, object, { grace, propagation } = {}) {
      const { namespace, name, uid } = object.metadata
      const { served } = writingOf(table, object.metadata)
      const find = (): StoredIn<TableName> | undefined => state.storage.table(table).get(namespace, name) as never
      if (find()?.metadata.uid !== uid) return
      await checkAdmission(state, {
        operation: 'DELETE',
        served,
        subresource: '',
        namespace,
        name,
        user,
        dryRun: false,
        options: {
          kind: 'DeleteOptions',
          apiVersion: 'meta.k8s.io/v1',
          ...(grace !== undefined && { gracePeriodSeconds: grace }),
        },
        object: undefined,
        oldObject: object as never,
        warn: () => undefined,
      })
      const live = find()
      if (live?.metadata.uid === uid)
        removeObject(state, served, live as never, { ...plainDeletion, uid, grace, propagation })
    },
    async bind(pod, node) {
      await change(state, writingOf('pods', pod.metadata, 'binding'), (live) => bound(state, live, node))
    },
  }
}

/** Gone, changed meanwhile, or there already: the world moved on, and the next look sees how. */
export function isOvertaken(error: unknown): boolean {
  return error instanceof StatusError && (error.status.code === 404 || error.status.code === 409)
}

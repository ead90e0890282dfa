/**
 * The client of a simulated component (controller, scheduler, kubelet), with a user and a field manager. Its writes
 * take the path of every write (defaults, admission, validation, managedFields), only without an HTTP request.
 */
import { equalJson, type Json, type JsonObject } from '../../../kube/json.ts'
import type { ObjectMeta } from '../../../kube/object.ts'
import type { Identity } from '../../access/identity.ts'
import { serviceAccountGroups, serviceAccountUser, wellKnown } from '../../access/identity.ts'
import { checkAdmission } from '../../cluster/admission.ts'
import { bound } from '../../subresources/binding.ts'
import { change } from '../../write/change.ts'
import { create } from '../../write/create.ts'
import { defaultDeleteOptions, type Propagation, removeObject } from '../../write/delete.ts'
import { StatusError } from '../../errors/status-error.ts'
import { type ClusterState, findObject } from '../../cluster/state.ts'
import { replacement } from '../../write/update.ts'
import type { Writing } from '../../write/writing.ts'
import type { Kinds, StoredIn, TableName } from './cluster.ts'

export interface ObjectWriter {
  /** Creates an object; fields that the server controls are left out. */
  create<K extends TableName>(table: K, object: ObjectDraft<Kinds[K]>): Promise<StoredIn<K>>
  /** Updates everything but status. The object must have the current resourceVersion, otherwise there is a conflict. */
  update<K extends TableName>(table: K, object: StoredIn<K>): Promise<StoredIn<K>>
  /** Writes nothing when the status is the same already. Annotations may change along with it. */
  updateStatus<K extends TableName>(table: K, live: StoredIn<K>, status: object): Promise<StoredIn<K>>
  remove<K extends TableName>(table: K, live: StoredIn<K>, options?: Removal): Promise<void>
  bind(pod: StoredIn<'pods'>, node: string): Promise<void>
}

/** An object without `status` and without the metadata that the server controls. */
export type ObjectDraft<T> = Omit<T, 'metadata' | 'status'> & {
  readonly metadata: ObjectMeta
  readonly status?: unknown
}

interface Removal {
  /** Seconds; zero means now. @default the pod's terminationGracePeriodSeconds */
  readonly grace?: number
  readonly propagation?: Propagation
}

/** The controller manager writes as the controller's service account, but under its own name as field manager. */
export function controllerIdentity(name: string): Identity {
  const username = serviceAccountUser('kube-system', name)
  return { username, groups: [...serviceAccountGroups('kube-system'), wellKnown.authenticated], extra: new Map() }
}

export function componentIdentity(username: string, ...groups: readonly string[]): Identity {
  return { username, groups: [...groups, wellKnown.authenticated], extra: new Map() }
}

export function createObjectWriter(state: ClusterState, manager: string, user: Identity): ObjectWriter {
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
        removeObject(state, served, live as never, { ...defaultDeleteOptions, uid, grace, propagation })
    },
    async bind(pod, node) {
      await change(state, writingOf('pods', pod.metadata, 'binding'), (live) => bound(state, live, node))
    },
  }
}

/** The object is gone, was changed meanwhile, or exists already: the next reconcile sees its new state. */
export function isOvertaken(error: unknown): boolean {
  return error instanceof StatusError && (error.status.code === 404 || error.status.code === 409)
}

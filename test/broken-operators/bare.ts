/**
 * A controller without the kit, as most are written: informers, a queue of keys and a function that does what it likes
 * with a client. The kit makes many of the classic mistakes impossible; here they can be made.
 */
import type { Client } from '../../src/client/client.ts'
import type { CacheEvent, Subscription } from '../../src/cache/subscription.ts'
import type { Clock } from '../../src/clock/clock.ts'
import { isMusterError } from '../../src/kube/errors.ts'
import type { Resource } from '../../src/kube/kind.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { type Election, type ElectionState, electLeader } from '../../src/manager/leases/election.ts'
import { termOver } from '../../src/manager/leases/term.ts'
import { integer, optional, string } from '../../src/operator/field.ts'
import { defineKind, type Kind } from '../../src/operator/kind.ts'
import { ConfigMap, Deployment, Secret } from '../../src/operator/kinds.ts'
import type { Live } from '../../src/operator/live.ts'
import type { SimulatedSubject, Surroundings } from '../../src/simulate/faults/subject.ts'

/** What all of them are for. */
export const App: Kind = defineKind({
  group: 'broken.example.com',
  version: 'v1',
  kind: 'App',
  spec: {
    text: string({ default: 'hello' }),
    size: integer({ minimum: 0, maximum: 3, default: 1 }),
    extra: optional(string()),
  },
  status: { phase: optional(string()), id: optional(string()) },
})

export interface AppObject extends UntypedObject {
  readonly spec: { readonly text: string; readonly size: number; readonly extra?: string }
  readonly status?: { readonly phase?: string; readonly id?: string; readonly observedGeneration?: number }
}

export const sample: UntypedObject = {
  apiVersion: 'broken.example.com/v1',
  kind: 'App',
  metadata: { name: 'sample', namespace: 'default' },
  spec: {},
}

/** What its function gets. */
export interface Bare {
  readonly client: Client
  readonly clock: Clock
  readonly live: Live
  /** Gone with the process. */
  readonly memory: Map<string, unknown>
  /** Of the cache: maybe old. */
  get(resource: Resource, name: string): UntypedObject | undefined
  list(resource: Resource): readonly UntypedObject[]
  /** The CR is looked at again after this time. */
  again(name: string, ms: number): void
}

export interface BareOptions {
  readonly watches?: readonly Resource[]
  /** Asks of a server more than it watches. */
  readonly mayMore?: readonly { readonly resource: Resource; readonly verbs: readonly string[] }[]
  /** Level-triggered: brings the CR of this name to where it should be. What it throws is tried again. */
  readonly reconcile?: (name: string, bare: Bare) => Promise<void>
  /** Edge-triggered: told of each change of a CR. */
  readonly onEvent?: (event: CacheEvent, bare: Bare) => Promise<void>
  /** Does what it likes from its start on. */
  readonly begin?: (bare: Bare) => void
  /** Looks before each write whether it still leads, and not only when it begins. @default true */
  readonly isFenced?: boolean
}

export const ownName = 'broken'
const retryMs = 1000
const restMs = 20

export function bareSubject({
  watches = [ConfigMap],
  mayMore = [],
  reconcile,
  onEvent,
  begin,
  isFenced = true,
}: BareOptions): SimulatedSubject {
  const writes = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']
  return {
    name: ownName,
    kinds: [App],
    controls: [App],
    outputs: [ConfigMap, Secret, Deployment],
    rules: [
      { apiGroups: ['broken.example.com'], resources: ['apps', 'apps/status'], verbs: writes },
      { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: writes },
      { apiGroups: ['apps'], resources: ['deployments'], verbs: writes },
      ...mayMore.map(({ resource, verbs }) => ({ apiGroups: [resource.group], resources: [resource.plural], verbs })),
    ],
    spawn: () => async (around) => {
      const { cache, clock, live } = around
      const election = elect(around, () => {
        for (const cr of bare.list(App)) queue.add(ownerOf(cr))
        void work()
      })
      const client = election && isFenced ? fencedClient(around.client, () => election.isLeader()) : around.client
      const caches = new Map<Resource, Subscription>()
      const memory = new Map<string, unknown>()
      const queue = new Set<string>()
      let isStarted = false
      let isWorking = false

      const bare: Bare = {
        client,
        clock,
        live,
        memory,
        get: (resource, name) => caches.get(resource)?.get({ namespace: 'default', name }),
        list: (resource) => caches.get(resource)?.list() ?? [],
        again: (name, ms) => void clock.after(ms, () => add(name)),
      }
      const add = (name: string): void => {
        queue.add(name)
        void work()
      }
      const work = async (): Promise<void> => {
        const mayWork = (): boolean => election?.isLeader() ?? true
        if (isWorking || !isStarted || !reconcile || !mayWork()) return
        isWorking = true
        for (const name of queue) {
          if (!mayWork()) break
          queue.delete(name)
          try {
            await reconcile(name, bare)
          } catch {
            bare.again(name, retryMs)
          }
          // As queues do it: nobody runs as fast as he is woken.
          await clock.sleep(restMs)
        }
        isWorking = false
      }
      /** Children have the name of their CR, and a suffix after a dot. */
      const ownerOf = ({ metadata: { name = '' } }: UntypedObject): string => name.split('.')[0]!
      const tell = (resource: Resource, event: CacheEvent): void => {
        add(ownerOf(event.object))
        if (resource !== App || !onEvent || election?.isLeader() === false) return
        // Who is told and fails is not told again.
        void onEvent(event, bare).catch(() => undefined)
      }
      for (const resource of [App, ...watches]) {
        caches.set(
          resource,
          cache.subscribe(resource, { consumer: ownName, onEvent: (event) => tell(resource, event) }),
        )
      }
      await Promise.all([...caches.values()].map((one) => one.synced()))
      isStarted = true
      void work()
      begin?.(bare)
      return { stop: async () => await election?.release() }
    },
  }
}

/** Of several processes one works. Those that begin to lead look at everything again. */
function elect({ client, random, seat }: Surroundings, onLead: () => void): Election | undefined {
  const onChange = ({ isLeader }: ElectionState): void => void (isLeader && onLead())
  return seat && electLeader({ client, random, ...seat, onChange })
}

/** Nothing is written when the term is over. */
function fencedClient(client: Client, mayWrite: () => boolean): Client {
  const fenced = async <T>(write: () => Promise<T>): Promise<T> => {
    if (!mayWrite()) throw termOver()
    return await write()
  }
  return {
    ...client,
    create: (...given) => fenced(() => client.create(...given)),
    patch: (...given) => fenced(() => client.patch(...given)),
    delete: (...given) => fenced(() => client.delete(...given)),
  }
}

/** Under a name that the server makes up: another one each time. */
export async function createAnother(bare: Bare, cr: UntypedObject): Promise<void> {
  const { metadata, ...child } = configMap(cr, '', {})
  const { name, ...rest } = metadata
  const made = { ...child, metadata: { ...rest, generateName: `${name}.x-` } } as never
  await bare.client.create(ConfigMap, made, { fieldManager: ownName })
}

/** Does not mind that it is there already. */
export async function create(bare: Bare, resource: Resource, object: UntypedObject): Promise<void> {
  await bare.client.create(resource, object, { fieldManager: ownName }).catch(unless('AlreadyExists'))
}

/**
 * Something that nobody owns, and that only its maker can delete: it says for which CR it is, and cannot be changed. The
 * simulator's people would otherwise change what most of these controllers never look at again.
 */
export function keepsake(cr: UntypedObject, suffix = 'kept'): UntypedObject {
  return { ...configMap(cr, suffix, { for: cr.metadata.uid }, false), immutable: true }
}

/** Deletes what was made for this very CR, and nothing that has only its name. */
export async function removeKeepsake(bare: Bare, cr: UntypedObject): Promise<void> {
  const ref = { namespace: 'default', name: `${cr.metadata.name}.kept` }
  const found = await bare.client.get(ConfigMap, ref).catch(unless('NotFound'))
  if (!found || (found as { readonly data?: { readonly for?: string } }).data?.for !== cr.metadata.uid) return
  const preconditions = { uid: found.metadata.uid ?? '' }
  await bare.client.delete(ConfigMap, ref, { preconditions }).catch(unless('NotFound'))
}

export async function merge(bare: Bare, resource: Resource, name: string, patch: object): Promise<void> {
  const ref = { namespace: 'default', name }
  await bare.client.patch(resource, ref, patch, { type: 'merge', fieldManager: ownName })
}

export async function setStatus(bare: Bare, cr: AppObject, status: object): Promise<void> {
  const ref = { namespace: 'default', name: cr.metadata.name ?? '' }
  const now = cr.status as Readonly<Record<string, unknown>> | undefined
  if (Object.entries(status).every(([name, value]) => JSON.stringify(now?.[name]) === JSON.stringify(value))) return
  await bare.client.patch(
    App,
    ref,
    { status },
    {
      type: 'merge',
      subresource: 'status',
      fieldManager: ownName,
    },
  )
}

function unless(...names: readonly ('AlreadyExists' | 'NotFound')[]): (error: unknown) => undefined {
  return (error) => {
    if (!isMusterError(error, ...names)) throw error
  }
}

export function configMap(cr: UntypedObject, suffix: string, data: object, isOwned = true): UntypedObject {
  const { name = '', uid = '' } = cr.metadata
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: suffix === '' ? name : `${name}.${suffix}`,
      namespace: 'default',
      ...(isOwned && {
        ownerReferences: [{ apiVersion: cr.apiVersion, kind: cr.kind, name, uid, controller: true }],
      }),
    },
    data,
  }
}

export const finalizer = 'broken.example.com/clean-up'

export async function setFinalizers(bare: Bare, cr: UntypedObject, finalizers: readonly string[]): Promise<void> {
  const { name = '', resourceVersion, uid } = cr.metadata
  await merge(bare, App, name, { metadata: { uid, resourceVersion, finalizers } })
}

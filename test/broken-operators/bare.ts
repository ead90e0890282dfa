/**
 * A controller without the kit, as most are written: informers, a queue of keys and a function with a client. The kit
 * prevents many of the classic bugs; here they are possible.
 */
import type { Client } from '../../src/client/client.ts'
import type { CacheEvent, Subscription } from '../../src/cache/subscription.ts'
import type { Clock } from '../../src/clock/clock.ts'
import { clientErrors } from '../../src/client/errors.ts'
import { type ErrorDefinition, isMusterError } from '../../src/kube/muster-error.ts'
import type { Resource } from '../../src/kube/kind.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { type Election, type ElectionState, electLeader } from '../../src/manager/leases/election.ts'
import { termOver } from '../../src/manager/leases/term.ts'
import { integer, optional, string } from '../../src/operator/kind/field.ts'
import { defineKind, type Kind } from '../../src/operator/kind/kind.ts'
import { ConfigMap, Deployment, Secret } from '../../src/kube/kinds.ts'
import type { Live } from '../../src/operator/live.ts'
import type { SimulatedSubject, SubjectEnvironment } from '../../src/simulate/faults/subject.ts'

/** The kind of all these controllers. */
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

/** The context of the reconcile function. */
export interface Bare {
  readonly client: Client
  readonly clock: Clock
  readonly live: Live
  /** Lost when the process ends. */
  readonly memory: Map<string, unknown>
  /** From the cache: possibly stale. */
  get(resource: Resource, name: string): UntypedObject | undefined
  list(resource: Resource): readonly UntypedObject[]
  /** Requeues the CR after this time. */
  again(name: string, ms: number): void
}

export interface BareOptions {
  readonly watches?: readonly Resource[]
  /** Reads from the server beyond its watches. */
  readonly mayMore?: readonly { readonly resource: Resource; readonly verbs: readonly string[] }[]
  /** Level-triggered: reconciles the CR of this name. Exceptions are retried. */
  readonly reconcile?: (name: string, bare: Bare) => Promise<void>
  /** Edge-triggered: receives each change of a CR. */
  readonly onEvent?: (event: CacheEvent, bare: Bare) => Promise<void>
  /** Runs from the start of the process. */
  readonly begin?: (bare: Bare) => void
  /** Checks before each write whether it still leads, not only at the start. @default true */
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
          // A minimum interval, as in work queues: a reconcile cannot run as fast as it is triggered.
          await clock.sleep(restMs)
        }
        isWorking = false
      }
      /** Children have the name of their CR, and a suffix after a dot. */
      const ownerOf = ({ metadata: { name = '' } }: UntypedObject): string => name.split('.')[0]!
      const tell = (resource: Resource, event: CacheEvent): void => {
        add(ownerOf(event.object))
        if (resource !== App || !onEvent || election?.isLeader() === false) return
        // A failed event handler is not called again.
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

/** One of several processes is active. A new leader enqueues everything. */
function elect({ client, random, seat }: SubjectEnvironment, onLead: () => void): Election | undefined {
  const onChange = ({ isLeader }: ElectionState): void => void (isLeader && onLead())
  return seat && electLeader({ client, random, ...seat, onChange })
}

/** No write leaves after the term has ended. */
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

/** With a generated name: a new one each time. */
export async function createAnother(bare: Bare, cr: UntypedObject): Promise<void> {
  const { metadata, ...child } = configMap(cr, '', {})
  const { name, ...rest } = metadata
  const made = { ...child, metadata: { ...rest, generateName: `${name}.x-` } } as never
  await bare.client.create(ConfigMap, made, { fieldManager: ownName })
}

/** Ignores AlreadyExists. */
export async function create(bare: Bare, resource: Resource, object: UntypedObject): Promise<void> {
  await bare.client.create(resource, object, { fieldManager: ownName }).catch(unless(clientErrors.AlreadyExists))
}

/**
 * An object without an owner that only its creator can delete: it names its CR and cannot be changed. The simulated
 * users would otherwise edit objects that most of these controllers never read again.
 */
export function keepsake(cr: UntypedObject, suffix = 'kept'): UntypedObject {
  return { ...configMap(cr, suffix, { for: cr.metadata.uid }, false), immutable: true }
}

/** Deletes objects of exactly this CR (by uid), not of another one of the same name. */
export async function removeKeepsake(bare: Bare, cr: UntypedObject): Promise<void> {
  const ref = { namespace: 'default', name: `${cr.metadata.name}.kept` }
  const found = await bare.client.get(ConfigMap, ref).catch(unless(clientErrors.NotFound))
  if (!found || (found as { readonly data?: { readonly for?: string } }).data?.for !== cr.metadata.uid) return
  const preconditions = { uid: found.metadata.uid ?? '' }
  await bare.client.delete(ConfigMap, ref, { preconditions }).catch(unless(clientErrors.NotFound))
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

function unless(...expected: readonly ErrorDefinition[]): (error: unknown) => undefined {
  return (error) => {
    if (!isMusterError(error, ...expected)) throw error
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

/**
 * Tracks the embedded objects of one controller: objects of any kind that carry the label of a holder. A kind is watched from
 * the first question on, by that label and as metadata with the fields that were asked for, and until no CR asks for it any more.
 * CRDs are watched as metadata: when one changes, the kinds that were asked for are looked up again.
 */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { CacheEvent, Subscription } from '../../cache/subscription.ts'
import type { Client } from '../../client/client.ts'
import { cacheErrors } from '../../cache/errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { servedApis, serverVersion } from '../../client/server-facts.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { formatResource, type GroupVersionKind, type Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Clock } from '../../clock/clock.ts'
import type { HeldObjects } from '../../operator/embedded/held-objects.ts'
import type { NeededFields } from '../../operator/embedded/needed-fields.ts'
import type { InputChange, ObjectName } from '../../operator/view/view.ts'
import { createDiscoveryLag } from './discovery-lag.ts'
import { changeOf } from './input-change.ts'

interface HeldTrackerOptions {
  readonly client: Client
  readonly cache: SharedCache
  readonly clock: Clock
  readonly consumer: string
  /** The key of the label. */
  readonly label: string
  /** The user name of a service account, for reads on its behalf. */
  readonly userOf: (account: ObjectName) => string
  /** An object that these keys asked for has changed. */
  readonly onChange: (change: InputChange, keys: readonly string[]) => void
  /** A kind that these keys asked for is served now, or no longer. */
  readonly onKind: (keys: readonly string[]) => void
}

export interface HeldTracker {
  /** The questions of one reconcile. */
  open(key: string): HeldSession
  forget(key: string): void
  stop(): void
}

interface HeldSession extends HeldObjects {
  /** The reconcile is over. If it failed, it may not have come to all of its questions: the earlier ones still count. */
  close(hasFailed: boolean): void
}

/** One watch: of the labelled objects of a kind, or of all of them. */
interface WatchedKind {
  readonly name: string
  readonly subscription: Subscription
  /** The keys that asked, by holder; a watch of all objects has one entry, with an empty name. */
  readonly askedBy: Map<string, Set<string>>
}

/** What one key has asked for. */
interface Asked {
  readonly kinds: Set<string>
  /** The holders that it asked for, by watch. */
  readonly watches: Map<string, Set<string>>
}

const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** Among the kinds that a key asked for: any. */
const anyKind = '*'

/** The longest wait for a kind that is loaded for the first time. */
const syncMs = 20_000

export function createHeldTracker(options: HeldTrackerOptions): HeldTracker {
  const { client, cache, consumer, label } = options
  const identityOf = (as: ObjectName | undefined): { readonly impersonate?: string } =>
    as ? { impersonate: options.userOf(as) } : {}
  const resources = new Map<string, Promise<Resource | undefined>>()
  const watches = new Map<string, WatchedKind>()
  const asked = new Map<string, Asked>()
  /** What the server is and serves, until a CRD changes. */
  let server: Promise<KnownServer> | undefined
  let crds: Subscription | undefined
  let isStopped = false
  const lag = createDiscoveryLag({
    discovery: client.discovery,
    clock: options.clock,
    onShown: (crd) => void renewKinds(crd, false),
  })

  /** A reconcile that outlives its tracker must not open watches that are never closed. */
  const checkOpen = (): void => {
    if (isStopped) throw new MusterError(cacheErrors.CacheClosed, `${consumer}: it is stopped.`)
  }

  /** CRDs come and go: what was found out about custom kinds is found out again. */
  const watchDefinitions = async (): Promise<void> => {
    checkOpen()
    if (!crds) {
      crds = cache.subscribe(definitions, {
        consumer,
        detail: 'metadata',
        ownWrites: true,
        onEvent: (event) => {
          if (event.type === 'added' && event.initial) return
          noteDefinition(event)
        },
      })
      client.discovery.invalidate()
    }
    await crds.synced({ timeoutMs: syncMs })
  }

  const noteDefinition = ({ type, object }: CacheEvent): void => {
    const { name = '', deletionTimestamp } = object.metadata
    const isAsked = renewKinds(name, type === 'deleted')
    if (isAsked) lag.note(name, type !== 'deleted' && deletionTimestamp === undefined)
  }

  /** What was found out about the kinds of a CRD is found out again. Whether a key had asked. */
  const renewKinds = (crd: string, isDeleted: boolean): boolean => {
    const [, group] = splitOnce(crd, '.')
    const isOfGroup = (kind: string): boolean => kind === anyKind || kind.startsWith(`${group}/`)
    const keys = [...asked].filter(([, { kinds }]) => [...kinds].some(isOfGroup)).map(([key]) => key)
    // Also for kinds that no CR has asked about yet: the first question must not get an answer from before.
    client.discovery.invalidate()
    server = undefined
    if (keys.length === 0) return false
    for (const kind of resources.keys()) if (isOfGroup(kind)) resources.delete(kind)
    if (isDeleted) {
      for (const [name, { subscription }] of watches) {
        if (`${subscription.resource.plural}.${subscription.resource.group}` !== crd) continue
        subscription.close()
        watches.delete(name)
      }
    }
    options.onKind(keys)
    return true
  }

  const find = async (kind: GroupVersionKind): Promise<Resource | undefined> => {
    await watchDefinitions()
    const found = await client.discovery.resourceFor(kind)
    if (!found) return undefined
    const { group, version, kind: name, plural, namespaced } = found
    return { group, version, kind: name, plural, namespaced }
  }

  /** Remembered until a CRD changes; a failure is not. */
  const findServer = async (): Promise<KnownServer> => {
    await watchDefinitions()
    const known = (server ??= askServer(client))
    return await known.catch((error: unknown) => {
      if (server === known) server = undefined
      throw error
    })
  }

  const watch = (
    resource: Resource,
    fields: NeededFields,
    isLabelled: boolean,
    managedFields = isLabelled,
  ): WatchedKind => {
    checkOpen()
    const all = managedFields ? 'all, with managers' : 'all'
    const name = `${formatResource(resource)} ${isLabelled ? '' : `${all}: `}${fields.toString()}`
    const known = watches.get(name)
    if (known) return known
    const askedBy = new Map<string, Set<string>>()
    const subscription = cache.subscribe(resource, {
      consumer,
      detail: fields,
      ownWrites: true,
      managedFields,
      ...(isLabelled && {
        labels: label,
        indexes: { holder: ({ metadata }) => [metadata.labels?.[label] ?? ''] },
      }),
      onEvent: (event) => {
        if (event.type === 'added' && event.initial) return
        const change = changeOf(resource, event)
        const holders = isLabelled ? holdersOf(change) : ['']
        const keys = new Set(holders.flatMap((holder) => Array.from(askedBy.get(holder) ?? [])))
        if (keys.size > 0) options.onChange(change, [...keys])
      },
    })
    const watched = { name, subscription, askedBy }
    watches.set(name, watched)
    return watched
  }

  const holdersOf = ({ before, after }: InputChange): readonly string[] =>
    [before, after].flatMap((object) => object?.metadata.labels?.[label] ?? [])

  const release = ({ name, subscription, askedBy }: WatchedKind, holder: string, key: string): void => {
    const keys = askedBy.get(holder)
    keys?.delete(key)
    if (keys?.size === 0) askedBy.delete(holder)
    if (askedBy.size > 0) return
    subscription.close()
    watches.delete(name)
  }

  const releaseAll = (key: string, questions: Asked): void => {
    for (const [name, holders] of questions.watches) {
      const watched = watches.get(name)
      for (const holder of watched ? holders : []) release(watched!, holder, key)
    }
  }

  /** Ends the questions of a key that its last reconcile did not ask again. */
  const keepOnly = (key: string, kept: Asked | undefined): void => {
    for (const [name, holders] of asked.get(key)?.watches ?? []) {
      const watched = watches.get(name)
      if (!watched) continue
      for (const holder of holders) if (!kept?.watches.get(name)?.has(holder)) release(watched, holder, key)
    }
    if (kept) asked.set(key, kept)
    else asked.delete(key)
  }

  return {
    open(key) {
      const now = noQuestions()
      // Those of the last reconcile count until this one is over.
      const all = asked.get(key) ?? noQuestions()
      asked.set(key, all)
      const note = ({ name, askedBy }: WatchedKind, holder: string): void => {
        for (const { watches: known } of [now, all]) known.set(name, (known.get(name) ?? new Set()).add(holder))
        askedBy.set(holder, (askedBy.get(holder) ?? new Set()).add(key))
      }
      return {
        async resourceOf(kind) {
          const name = `${kind.group}/${kind.version}/${kind.kind}`
          now.kinds.add(name)
          all.kinds.add(name)
          const known = resources.get(name) ?? find(kind)
          resources.set(name, known)
          try {
            const found = await known
            // Discovery lags behind the CRD: a kind that is not served is looked up anew with each question.
            if (!found && resources.get(name) === known) resources.delete(name)
            return found
          } catch (error) {
            if (resources.get(name) === known) resources.delete(name)
            throw error
          }
        },
        async served(questions) {
          // The group of `v1` is empty, and no CRD has it.
          for (const kind of questions?.filter((api) => api.includes('/')) ?? [anyKind]) {
            now.kinds.add(kind)
            all.kinds.add(kind)
          }
          const { apis } = await findServer()
          return questions ? questions.filter((api) => apis.has(api)) : [...apis].toSorted()
        },
        serverVersion: async () => (await findServer()).version,
        async list(resource, holder, fields) {
          const watched = watch(resource, fields, true)
          note(watched, holder)
          await watched.subscription.synced({ timeoutMs: syncMs })
          return watched.subscription.byIndex('holder', holder)
        },
        async confirm(resource, holder) {
          const { items } = await client.list(resource, { labelSelector: `${label}=${holder}` })
          return items
        },
        async all(resource, { managedFields = false, fields = [] } = {}) {
          const watched = watch(resource, fields.length > 0 ? fields : 'metadata', false, managedFields)
          note(watched, '')
          await watched.subscription.synced({ timeoutMs: syncMs })
          return watched.subscription.list()
        },
        async read(resource, name, { as } = {}) {
          try {
            const found: UntypedObject = await client.get(resource, name, identityOf(as))
            return found
          } catch (error) {
            if (isMusterError(error, clientErrors.NotFound)) return undefined
            throw error
          }
        },
        async page(resource, { as, namespace, limit = 500, after } = {}) {
          const { items, metadata } = await client.listPage(resource, {
            namespace,
            limit,
            continue: after,
            ...identityOf(as),
          })
          return { items, next: metadata.continue || undefined }
        },
        close(hasFailed) {
          // The key was forgotten meanwhile.
          if (asked.get(key) !== all) releaseAll(key, now)
          else if (!hasFailed) keepOnly(key, now)
        },
      }
    },
    forget: (key) => keepOnly(key, undefined),
    stop() {
      isStopped = true
      lag.stop()
      crds?.close()
      for (const { subscription } of watches.values()) subscription.close()
      watches.clear()
      asked.clear()
    },
  }
}

function noQuestions(): Asked {
  return { kinds: new Set(), watches: new Map() }
}

function splitOnce(text: string, by: string): readonly [string, string] {
  const at = text.indexOf(by)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

interface KnownServer {
  readonly version: string
  /** API versions, and kinds with theirs. */
  readonly apis: ReadonlySet<string>
}

async function askServer(client: Client): Promise<KnownServer> {
  const version = await serverVersion(client)
  const resources = await client.discovery.resources()
  return { version, apis: new Set(resources.flatMap(servedApis)) }
}

/**
 * An intake: what one operator takes in from one cluster. It subscribes to what is declared (`watch-requests.ts`), follows
 * references as what refers changes, and says what happened. Reads come from the same subscriptions, so what is told
 * and what is seen agree.
 *
 * When a reference leads somewhere new, what is there has to be loaded first. Until then it is *pending*: whoever needs
 * it does not run, and whoever asks for it all the same is told to come again, never that there is nothing.
 */
import { resourceVersionOf } from '../../cache/key.ts'
import { isLater } from '../../cache/own-writes.ts'
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { CacheEvent, SubscribeOptions, Subscription } from '../../cache/subscription.ts'
import type { Client } from '../../client/client.ts'
import { isMusterError, MusterError } from '../../kube/errors.ts'
import type { Log } from '../logging/log-line.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { chainOf, describeInput, type Input, type Reference } from '../../operator/input.ts'
import type { Operator } from '../../operator/operator.ts'
import { createReferenceTable, type References } from '../../operator/references.ts'
import type { InputChange, ObjectName, ViewSource } from '../../operator/view.ts'
import { createServedKinds } from './served-kinds.ts'
import {
  subscriptionFor,
  type WatchRequest,
  watchRequestsFor,
  watchRequestCovers,
  watchRequestKey,
} from './watch-requests.ts'

export interface InputTrackerOptions {
  readonly operator: Operator
  readonly client: Client
  readonly cache: SharedCache
  /** Where it works. @default all */
  readonly namespaces?: readonly string[] | undefined
  readonly onChange: (change: InputChange) => void
  /** A reference leads to this name now, or no longer; the object itself, if there is one, is as it was. */
  readonly onNamed: (reference: Reference, name: ObjectName, object: KubeObject | undefined) => void
  /** A kind came or went. */
  readonly onKind: (resource: Resource) => void
  /** Something that was pending is there. */
  readonly onLoaded: () => void
  readonly log: Log
}

export interface InputTracker {
  readonly source: ViewSource
  /** As the source has it, but what is pending is as if it were not there. */
  peek(resource: Resource, name: ObjectName): KubeObject | undefined
  readonly references: References
  /** Resolves when everything that is declared is loaded, what is only referred to aside. */
  start(): Promise<void>
  /**
   * Is something not loaded yet that these references lead to? From `own`, if they begin with it, by this object alone.
   */
  isPending(references: readonly Reference[], own: Input, object: KubeObject): boolean
  /** All that is not loaded yet. */
  pending(): Iterable<{ readonly resource: Resource; readonly name: ObjectName }>
  /** A change of which the cache says nothing, because the operator made it. */
  note(change: InputChange): void
  /** Resolves when nothing is being loaded, except what cannot be. */
  settled(): Promise<void>
  stop(): void
}

/** The subscriptions for one kind. */
interface Supply {
  readonly resource: Resource
  readonly inputs: readonly Input[]
  /** By wish: those that are wanted, and those that stay until what takes their place is loaded. */
  readonly held: Map<string, Held>
  /** Those of them that are not for one name: names there may be thousands of. */
  readonly broad: Set<Held>
  wanted: ReadonlySet<string>
  /** All that is declared was loaded once. */
  isServed: boolean
  /** Named, and not loaded. */
  readonly pending: Map<string, ObjectName>
}

interface Held {
  readonly wish: WatchRequest
  readonly subscription: Subscription
  isReady: boolean
  /** Why it cannot be loaded. */
  problem: string | undefined
}

export function createInputTracker(options: InputTrackerOptions): InputTracker {
  const { operator, client, cache, namespaces, log } = options
  const consumer = operator.name
  const supplies = new Map<string, Supply>(
    operator.inputs.map((resource): [string, Supply] => {
      const kind = formatResource(resource)
      const inputs = operator.declaredInputs.filter((input) => formatResource(input.resource) === kind)
      const empty = { held: new Map(), broad: new Set<Held>(), wanted: new Set<string>(), pending: new Map() }
      return [kind, { resource, inputs, ...empty, isServed: false }]
    }),
  )
  const dirty = new Set<Supply>()
  const waiters = new Set<() => void>()
  let isStopped = false

  const served = createServedKinds({
    client,
    cache,
    consumer,
    resources: operator.inputs,
    onChange: (resource) => {
      const supply = supplies.get(formatResource(resource))!
      if (served.serves(resource)) void open(supply)
      else close(supply)
    },
  })

  const references = createReferenceTable({
    inputs: operator.declaredInputs,
    namespaces,
    get: (resource, name) => look(supplies.get(formatResource(resource)), name),
    onCame(reference, name) {
      const supply = supplies.get(formatResource(reference.resource))!
      const object = look(supply, name)
      if (!object && served.serves(supply.resource) && !isLoaded(supply, name)) supply.pending.set(keyOf(name), name)
      planSoon(supply)
      options.onNamed(reference, name, object)
    },
    onWent(reference, name) {
      const supply = supplies.get(formatResource(reference.resource))!
      planSoon(supply)
      options.onNamed(reference, name, look(supply, name))
    },
    onProblem: (reference, { metadata }, error) =>
      log({
        operator: operator.name,
        problem: `${describeInput(reference)} cannot be followed from ${keyOf({ name: '', ...metadata })}`,
        error: error.message,
      }),
  })

  const source: ViewSource = {
    get(resource, name) {
      const supply = supplies.get(formatResource(resource))
      if (supply?.pending.has(keyOf(name))) {
        throw new MusterError(
          'NotSynced',
          `${formatResource(resource)} ${keyOf(name)} was named a moment ago and is being loaded.`,
        )
      }
      return look(supply, name)
    },
    list: (resource, namespace) => gather(resource, (subscription) => subscription.list(namespace)),
    byOwner: (resource, uid) => gather(resource, (subscription) => subscription.byOwner(uid)),
    serves: (resource) => supplies.get(formatResource(resource))?.isServed ?? false,
  }

  function look(supply: Supply | undefined, name: ObjectName): KubeObject | undefined {
    let latest: KubeObject | undefined
    for (const { subscription } of supply ? concerning(supply, name) : []) {
      latest = laterOf(latest, getFrom(subscription, name))
    }
    return latest
  }

  /** From all subscriptions, each object once. */
  function gather(
    resource: Resource,
    read: (subscription: Subscription) => readonly KubeObject[],
  ): readonly KubeObject[] {
    const ready = readyOf(supplies.get(formatResource(resource)))
    if (ready.length <= 1) return ready[0] ? read(ready[0].subscription) : []
    const found = new Map<string, KubeObject>()
    for (const { subscription } of ready) {
      for (const object of read(subscription)) {
        const key = keyOf({ name: '', ...object.metadata })
        found.set(key, laterOf(found.get(key), object)!)
      }
    }
    return [...found.values()]
  }

  // ── what is subscribed to ──────────────────────────────────────────────────────────────────────────────────

  /** A kind is there. Operators learn of it when all that is declared of it is known. */
  async function open(supply: Supply): Promise<void> {
    plan(supply)
    const { resource, inputs, held, pending } = supply
    for (const name of references.named(resource)) if (!isLoaded(supply, name)) pending.set(keyOf(name), name)
    const fixed = watchRequestsFor({ resource, inputs, named: [], namespaces }).map(watchRequestKey)
    // What is only referred to is nobody's but theirs who refer to it: the others need not wait for it.
    const first = fixed.every((key) => held.has(key)) ? fixed.map((key) => held.get(key)!) : [...held.values()]
    await Promise.all(first.map(({ subscription }) => subscription.synced().catch(() => undefined)))
    if (isStopped || supply.isServed || !served.serves(resource)) return
    supply.isServed = true
    options.onKind(supply.resource)
    for (const object of source.list(supply.resource)) {
      options.onChange({ resource: supply.resource, before: undefined, after: object })
    }
    wake()
  }

  function close(supply: Supply): void {
    for (const { subscription } of supply.held.values()) subscription.close()
    supply.held.clear()
    supply.broad.clear()
    supply.pending.clear()
    supply.wanted = new Set()
    supply.isServed = false
    references.noteGone(supply.resource)
    options.onKind(supply.resource)
    wake()
  }

  /** Thousands of references that change at once are one change of plan. */
  function planSoon(supply: Supply): void {
    if (dirty.size === 0) {
      queueMicrotask(() => {
        const due = [...dirty]
        dirty.clear()
        for (const each of due) if (served.serves(each.resource)) plan(each)
        wake()
      })
    }
    dirty.add(supply)
  }

  function plan(supply: Supply): void {
    if (isStopped) return
    const { resource, inputs, held } = supply
    const wishes = watchRequestsFor({ resource, inputs, named: references.named(resource), namespaces })
    supply.wanted = new Set(wishes.map(watchRequestKey))
    for (const wish of wishes) if (!held.has(watchRequestKey(wish))) subscribe(supply, wish)
    tidy(supply)
  }

  function subscribe(supply: Supply, wish: WatchRequest): void {
    const { resource } = supply
    const key = watchRequestKey(wish)
    const subscription = subscribeTo(resource, {
      consumer,
      ...subscriptionFor(wish),
      onEvent: (event) => {
        if (one.isReady && supply.held.get(key) === one) take(supply, changeOf(resource, event))
      },
      onFreshness: ({ state, reason }) => {
        one.problem = state === 'syncing' ? reason : undefined
        if (one.problem === undefined) return
        log({ operator: operator.name, problem: `${formatResource(resource)} cannot be watched`, error: one.problem })
        wake()
      },
    })
    const one: Held = { wish, subscription, isReady: false, problem: undefined }
    supply.held.set(key, one)
    if (wish.name === undefined) supply.broad.add(one)
    void load(supply, key, one)
  }

  /** Where names are mapped, a reference may lead to where nothing of this operator's can be. */
  function subscribeTo(resource: Resource, wish: SubscribeOptions): Subscription {
    try {
      return cache.subscribe(resource, wish)
    } catch (error) {
      if (!isMusterError(error, 'NameOutsideMap')) throw error
      log({ operator: operator.name, problem: 'a reference leads outside', error: error.message })
      return nothingOf(resource, consumer)
    }
  }

  async function load(supply: Supply, key: string, one: Held): Promise<void> {
    try {
      await one.subscription.synced()
    } catch {
      // One that was closed meanwhile has nothing more to say.
      return
    }
    if (supply.held.get(key) === one) admit(supply, one)
  }

  /** From now on it is read from. What was not seen before is told. */
  function admit(supply: Supply, one: Held): void {
    const { resource, pending } = supply
    const isFirst = readyOf(supply).length === 0
    const news = one.subscription.list().flatMap((after): readonly InputChange[] => {
      const before = isFirst ? undefined : look(supply, { name: '', ...after.metadata })
      return before?.metadata.resourceVersion === after.metadata.resourceVersion ? [] : [{ resource, before, after }]
    })
    one.isReady = true
    const loaded = [...pending].filter(([, name]) => watchRequestCovers(one.wish, name))
    for (const [key] of loaded) pending.delete(key)
    for (const change of news) note(change)
    tidy(supply)
    // Before that, the kind itself is not there yet.
    if (supply.isServed) for (const change of news) options.onChange(change)
    if (loaded.length > 0) options.onLoaded()
    wake()
  }

  /**
   * What nobody wants any more goes when all that is wanted is there, and not before: what both hold stays in sight.
   */
  function tidy(supply: Supply): void {
    const { held, broad, wanted, pending, resource } = supply
    for (const [key, name] of pending)
      if (!references.names(resource, name) || isLoaded(supply, name)) pending.delete(key)
    if (dirty.has(supply) || [...wanted].some((key) => !held.get(key)?.isReady)) return
    for (const [key, one] of held) {
      if (wanted.has(key)) continue
      held.delete(key)
      broad.delete(one)
      one.subscription.close()
    }
  }

  // ── what happens ───────────────────────────────────────────────────────────────────────────────────────────

  function take(supply: Supply, change: InputChange): void {
    note(change)
    if (supply.isServed) options.onChange(change)
  }

  /** First who is named, then who is concerned: whoever is woken finds the new references in force. */
  function note({ resource, before, after }: InputChange): void {
    const object = after ?? before
    if (!object || !references.isReferring(resource)) return
    const name = { name: '', ...object.metadata }
    // As it is now, and not as the change says: out of one selection it may still be in another.
    references.note(resource, name, look(supplies.get(formatResource(resource)), name))
  }

  const isBusy = (): boolean =>
    dirty.size > 0 ||
    [...supplies.values()].some(({ held }) =>
      [...held.values()].some(({ isReady, problem }) => !isReady && problem === undefined),
    )

  function wake(): void {
    for (const waiter of waiters) waiter()
  }

  return {
    source,
    peek: (resource, name) => look(supplies.get(formatResource(resource)), name),
    references,
    note,
    async start() {
      await served.start()
      await Promise.all([...supplies.values()].filter(({ resource }) => served.serves(resource)).map(open))
    },
    isPending(asked, own, object) {
      if ([...supplies.values()].every(({ pending }) => pending.size === 0)) return false
      return asked.some((reference) => {
        const { pending } = supplies.get(formatResource(reference.resource))!
        if (pending.size === 0) return false
        const [root, ...links] = chainOf(reference) as readonly [Input, ...Reference[]]
        if (describeInput(root) !== describeInput(own)) {
          return [...pending.values()].some((name) => references.has(reference, name))
        }
        return targetsFrom(object, links).some((name) => pending.has(keyOf(name)))
      })
    },
    pending: () =>
      [...supplies.values()].flatMap(({ resource, pending }) =>
        Array.from(pending.values(), (name) => ({ resource, name })),
      ),
    settled: () =>
      new Promise((resolve) => {
        const check = (): void => {
          if (isBusy() && !isStopped) return
          waiters.delete(check)
          resolve()
        }
        waiters.add(check)
        check()
      }),
    stop() {
      isStopped = true
      served.stop()
      for (const { held } of supplies.values()) for (const { subscription } of held.values()) subscription.close()
      wake()
    },
  }

  /** Where a chain leads from one object. */
  function targetsFrom(object: KubeObject, links: readonly Reference[]): readonly ObjectName[] {
    let objects: readonly KubeObject[] = [object]
    let names: readonly ObjectName[] = []
    for (const link of links) {
      names = objects.flatMap((each) => references.of(link, each))
      objects = names.flatMap((name) => look(supplies.get(formatResource(link.resource)), name) ?? [])
    }
    return names
  }
}

function nothingOf(resource: Resource, consumer: string): Subscription {
  return {
    resource,
    consumer,
    freshness: { state: 'synced', since: 0 },
    get: () => undefined,
    list: () => [],
    byOwner: () => [],
    byIndex: () => [],
    synced: () => Promise.resolve(),
    close: () => undefined,
  }
}

/** Where names are mapped, some lead nowhere: somebody wrote them into his object, and that harms nobody. */
function getFrom(subscription: Subscription, name: ObjectName): KubeObject | undefined {
  try {
    return subscription.get(name)
  } catch (error) {
    if (isMusterError(error, 'NameOutsideMap')) return undefined
    throw error
  }
}

function readyOf(supply: Supply | undefined): readonly Held[] {
  return [...(supply?.held.values() ?? [])].filter(({ isReady }) => isReady)
}

function isLoaded(supply: Supply, name: ObjectName): boolean {
  return concerning(supply, name).some(({ wish }) => watchRequestCovers(wish, name))
}

/** The subscriptions, of those that are ready, that may hold the object. */
function concerning({ held, broad }: Supply, { namespace, name }: ObjectName): readonly Held[] {
  const found = [...broad].filter(
    ({ isReady, wish: { namespaces } }) =>
      isReady && (namespaces === undefined || namespace === undefined || namespaces.includes(namespace)),
  )
  // Most kinds are asked for whole, and a key is not written for nothing: this is asked with every read.
  const isExactAsked = held.size > broad.size
  const exact =
    isExactAsked && held.get(watchRequestKey(namespace === undefined ? { name } : { namespaces: [namespace], name }))
  return exact && exact.isReady ? [exact, ...found] : found
}

/** Each subscription is as far as its own watch. */
function laterOf<T extends KubeObject>(a: T | undefined, b: T | undefined): T | undefined {
  return a && b ? (isLater(resourceVersionOf(b), resourceVersionOf(a)) ? b : a) : (a ?? b)
}

function changeOf(resource: Resource, event: CacheEvent): InputChange {
  const { object, type } = event
  if (type === 'deleted') return { resource, before: object, after: undefined }
  return { resource, before: type === 'updated' ? event.previous : undefined, after: object }
}

function keyOf({ namespace = '', name }: ObjectName): string {
  return `${namespace}/${name}`
}

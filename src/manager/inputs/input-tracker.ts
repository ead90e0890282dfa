/**
 * The input tracker: what one controller reads from one cluster. It subscribes to the declared inputs
 * (`watch-requests.ts`), follows references as the referring objects change, and reports changes. Reads are served from
 * the same subscriptions, so events and reads agree.
 *
 * When a reference leads to a new object, that object has to be loaded first. Until then it is *pending*: a reconcile
 * that needs it does not start, and a read of it fails as retryable instead of reporting that there is no such object.
 */
import { resourceVersionOf } from '../../cache/key.ts'
import { isLater } from '../../cache/resource-version.ts'
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { SubscribeOptions, Subscription } from '../../cache/subscription.ts'
import type { Client } from '../../client/client.ts'
import { cacheErrors } from '../../cache/errors.ts'
import { managerErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { Log } from '../logging/log-line.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { chainOf, describeInput, type Input, type Reference } from '../../operator/view/input.ts'
import type { Operator } from '../../operator/operator.ts'
import { coverageOf, maySelect } from '../../operator/view/coverage.ts'
import { fieldsServe, joinFields } from '../../operator/view/projection.ts'
import { createReferenceTable, type References } from '../../operator/view/references.ts'
import type { InputChange, ObjectName, ViewSource } from '../../operator/view/view.ts'
import { changeOf } from './input-change.ts'
import { createMixedObjects, type MixedObjects } from './mixed-objects.ts'
import { createServedKinds } from './served-kinds.ts'
import {
  subscriptionFor,
  type WatchRequest,
  watchRequestsFor,
  watchRequestCovers,
  watchRequestKey,
} from './watch-requests.ts'

interface InputTrackerOptions {
  /** The operator, or the part of its declared inputs that is tracked. */
  readonly operator: Pick<Operator, 'name' | 'inputs' | 'declaredInputs'>
  readonly client: Client
  readonly cache: SharedCache
  /** Namespaces that the operator watches. @default all */
  readonly namespaces?: readonly string[] | undefined
  /** Report changes made by the operator itself, too. @default false */
  readonly ownWrites?: boolean | undefined
  readonly onChange: (change: InputChange) => void
  /** A reference leads to this name now, or no longer. The object itself, if it exists, has not changed. */
  readonly onNamed: (reference: Reference, name: ObjectName, object: KubeObject | undefined) => void
  /** A kind is served now, or no longer. */
  readonly onKind: (resource: Resource) => void
  /** A pending object is loaded. */
  readonly onLoaded: () => void
  readonly log: Log
}

export interface InputTracker {
  readonly source: ViewSource
  /** As `source` has it, except that a pending object reads as missing. */
  peek(resource: Resource, name: ObjectName): KubeObject | undefined
  readonly references: References
  /** Resolves when all declared inputs are loaded, except those that are only referred to. */
  start(): Promise<void>
  /**
   * Whether an object that these references lead to is not loaded yet. References that begin at `own` are followed from
   * this object alone.
   */
  isPending(references: readonly Reference[], own: Input, object: KubeObject): boolean
  /** All objects that are not loaded yet. */
  pending(): Iterable<{ readonly resource: Resource; readonly name: ObjectName }>
  /** Resolves when nothing is being loaded, except what cannot be loaded. */
  settled(): Promise<void>
  stop(): void
}

/** The subscriptions of one kind. */
interface KindSubscriptions {
  readonly resource: Resource
  readonly inputs: readonly Input[]
  /** If the inputs read different fields. */
  readonly mixed: MixedObjects | undefined
  /** By watch request: the requested ones, and those that stay until their replacements are loaded. */
  readonly active: Map<string, ActiveSubscription>
  /** Those that are not for a single name: of single names there may be thousands. */
  readonly broad: Set<ActiveSubscription>
  requested: ReadonlySet<string>
  /** All declared inputs of the kind were loaded once. */
  isServed: boolean
  /** Referred to, and not loaded. */
  readonly pending: Map<string, ObjectName>
}

interface ActiveSubscription {
  readonly request: WatchRequest
  readonly subscription: Subscription
  isReady: boolean
  /** Why the kind cannot be loaded. */
  problem: string | undefined
}

export function createInputTracker(options: InputTrackerOptions): InputTracker {
  const { operator, client, cache, namespaces, log } = options
  const consumer = operator.name
  const coverage = coverageOf(operator.declaredInputs)
  const byKind = new Map<string, KindSubscriptions>(
    operator.inputs.map((resource): [string, KindSubscriptions] => {
      const kind = formatResource(resource)
      const inputs = operator.declaredInputs.filter((input) => formatResource(input.resource) === kind)
      const empty = {
        active: new Map(),
        broad: new Set<ActiveSubscription>(),
        requested: new Set<string>(),
        pending: new Map(),
      }
      return [kind, { resource, inputs, mixed: mixedOf(resource, inputs), ...empty, isServed: false }]
    }),
  )
  const dirty = new Set<KindSubscriptions>()
  const waiters = new Set<() => void>()
  let isStopped = false

  const served = createServedKinds({
    client,
    cache,
    consumer,
    resources: operator.inputs,
    onChange: (resource) => {
      const subscriptions = byKind.get(formatResource(resource))!
      if (served.serves(resource)) void open(subscriptions)
      else close(subscriptions)
    },
  })

  const references = createReferenceTable({
    inputs: operator.declaredInputs,
    namespaces,
    get: (resource, name) => lookUp(byKind.get(formatResource(resource)), name),
    onCame(reference, name) {
      const subscriptions = byKind.get(formatResource(reference.resource))!
      updateMixed(subscriptions, name)
      const object = lookUp(subscriptions, name)
      const isMissing = !object || subscriptions.mixed !== undefined
      if (isMissing && served.serves(subscriptions.resource) && !isLoaded(subscriptions, name))
        subscriptions.pending.set(keyOf(name), name)
      updateSoon(subscriptions)
      options.onNamed(reference, name, object)
    },
    onWent(reference, name) {
      const subscriptions = byKind.get(formatResource(reference.resource))!
      updateMixed(subscriptions, name)
      updateSoon(subscriptions)
      options.onNamed(reference, name, lookUp(subscriptions, name))
    },
    onProblem: (reference, { metadata }, error) =>
      log({
        level: 'warn',
        msg: `${describeInput(reference)} cannot be followed from ${keyOf({ name: '', ...metadata })}`,
        operator: operator.name,
        error: error.message,
      }),
  })

  const source: ViewSource = {
    get(resource, name) {
      const subscriptions = byKind.get(formatResource(resource))
      if (subscriptions?.pending.has(keyOf(name))) {
        throw new MusterError(
          cacheErrors.NotSynced,
          `${formatResource(resource)} ${keyOf(name)} is a new reference and is being loaded.`,
        )
      }
      return lookUp(subscriptions, name)
    },
    list: (resource, namespace) => gather(resource, (subscription) => subscription.list(namespace)),
    byOwner: (resource, uid) => gather(resource, (subscription) => subscription.byOwner(uid)),
    serves: (resource) => byKind.get(formatResource(resource))?.isServed ?? false,
  }

  function mixedOf(resource: Resource, inputs: readonly Input[]): MixedObjects | undefined {
    if (new Set(inputs.map(({ fields }) => fields?.join())).size <= 1) return undefined
    return createMixedObjects({
      resource,
      coverage,
      references: () => references,
      copies: (name) =>
        coveringSubscriptions(byKind.get(formatResource(resource))!, name).flatMap(({ request, subscription }) => {
          const object = getFrom(subscription, name)
          return object ? [{ object, fields: request.fields }] : []
        }),
    })
  }

  /** A reference leads to the object now, or no longer: other fields of it may be shown. */
  function updateMixed({ resource, mixed, isServed }: KindSubscriptions, name: ObjectName): void {
    const change = mixed?.update(name)
    if (change && isServed) options.onChange({ resource, ...change })
  }

  function lookUp(subscriptions: KindSubscriptions | undefined, name: ObjectName): KubeObject | undefined {
    if (subscriptions?.mixed) return subscriptions.mixed.get(name)
    let latest: KubeObject | undefined
    for (const { subscription } of subscriptions ? coveringSubscriptions(subscriptions, name) : []) {
      latest = laterOf(latest, getFrom(subscription, name))
    }
    return latest
  }

  /** Whether it is known whether there is such an object, and all fields of it that are read. */
  function isLoaded(subscriptions: KindSubscriptions, name: ObjectName): boolean {
    const { inputs, mixed } = subscriptions
    const naming = mixed
      ? inputs.filter((input) => input.select !== 'labels' && maySelect(input, name, references))
      : []
    const fields = joinFields(naming.map((input) => input.fields))
    return coveringSubscriptions(subscriptions, name).some(
      ({ request }) => watchRequestCovers(request, name) && (!mixed || fieldsServe(request.fields, fields)),
    )
  }

  /** The objects of all subscriptions, each once. */
  function gather(
    resource: Resource,
    read: (subscription: Subscription) => readonly KubeObject[],
  ): readonly KubeObject[] {
    const subscriptions = byKind.get(formatResource(resource))
    const ready = readyOf(subscriptions)
    const mixed = subscriptions?.mixed
    if (ready.length <= 1 && !mixed) return ready[0] ? read(ready[0].subscription) : []
    const found = new Map<string, KubeObject | undefined>()
    for (const { subscription } of ready) {
      for (const object of read(subscription)) {
        const name = { name: '', ...object.metadata }
        const key = keyOf(name)
        if (!mixed) found.set(key, laterOf(found.get(key), object))
        else if (!found.has(key)) found.set(key, mixed.get(name))
      }
    }
    return [...found.values()].filter((object) => object !== undefined)
  }

  // ── subscriptions ──────────────────────────────────────────────────────────────────────────────────────────

  /** A kind is served. The operator is notified when all of its declared inputs of that kind are loaded. */
  async function open(subscriptions: KindSubscriptions): Promise<void> {
    updateSubscriptions(subscriptions)
    const { resource, inputs, active, pending } = subscriptions
    for (const name of references.named(resource)) if (!isLoaded(subscriptions, name)) pending.set(keyOf(name), name)
    const fixed = watchRequestsFor({ resource, inputs, named: [], namespaces }).map(watchRequestKey)
    // Only the controllers that refer to a referenced object wait for it; the others start without it.
    const first = fixed.every((key) => active.has(key)) ? fixed.map((key) => active.get(key)!) : [...active.values()]
    await Promise.all(first.map(({ subscription }) => subscription.synced().catch(() => undefined)))
    if (isStopped || subscriptions.isServed || !served.serves(resource)) return
    subscriptions.isServed = true
    options.onKind(subscriptions.resource)
    for (const object of source.list(subscriptions.resource)) {
      options.onChange({ resource: subscriptions.resource, before: undefined, after: object })
    }
    notifyWaiters()
  }

  function close(subscriptions: KindSubscriptions): void {
    for (const { subscription } of subscriptions.active.values()) subscription.close()
    subscriptions.active.clear()
    subscriptions.broad.clear()
    subscriptions.pending.clear()
    subscriptions.mixed?.clear()
    subscriptions.requested = new Set()
    subscriptions.isServed = false
    references.noteGone(subscriptions.resource)
    options.onKind(subscriptions.resource)
    notifyWaiters()
  }

  /** Thousands of references that change at once cause one recalculation. */
  function updateSoon(subscriptions: KindSubscriptions): void {
    if (dirty.size === 0) {
      queueMicrotask(() => {
        const due = [...dirty]
        dirty.clear()
        for (const each of due) if (served.serves(each.resource)) updateSubscriptions(each)
        notifyWaiters()
      })
    }
    dirty.add(subscriptions)
  }

  function updateSubscriptions(subscriptions: KindSubscriptions): void {
    if (isStopped) return
    const { resource, inputs, active } = subscriptions
    const requests = watchRequestsFor({ resource, inputs, named: references.named(resource), namespaces })
    subscriptions.requested = new Set(requests.map(watchRequestKey))
    for (const request of requests) if (!active.has(watchRequestKey(request))) subscribe(subscriptions, request)
    closeUnrequested(subscriptions)
  }

  function subscribe(subscriptions: KindSubscriptions, request: WatchRequest): void {
    const { resource } = subscriptions
    const key = watchRequestKey(request)
    const subscription = subscribeTo(resource, {
      consumer,
      ...subscriptionFor(request),
      ownWrites: options.ownWrites,
      onEvent: (event) => {
        if (one.isReady && subscriptions.active.get(key) === one) handle(subscriptions, changeOf(resource, event))
      },
      onFreshness: ({ state, reason }) => {
        one.problem = state === 'syncing' ? reason : undefined
        if (one.problem === undefined) return
        log({
          level: 'warn',
          msg: 'Resource cannot be watched',
          operator: operator.name,
          resource: formatResource(resource),
          error: one.problem,
        })
        notifyWaiters()
      },
    })
    const one: ActiveSubscription = { request, subscription, isReady: false, problem: undefined }
    subscriptions.active.set(key, one)
    if (request.name === undefined) subscriptions.broad.add(one)
    void load(subscriptions, key, one)
  }

  /** With mapped names, a reference may lead to a name that is outside of this operator's part of the cluster. */
  function subscribeTo(resource: Resource, request: SubscribeOptions): Subscription {
    try {
      return cache.subscribe(resource, request)
    } catch (error) {
      if (!isMusterError(error, managerErrors.NameOutsideMap)) throw error
      log({
        level: 'warn',
        msg: 'Reference leads outside of the mapped names',
        operator: operator.name,
        error: error.message,
      })
      return emptySubscription(resource, consumer)
    }
  }

  async function load(subscriptions: KindSubscriptions, key: string, one: ActiveSubscription): Promise<void> {
    try {
      await one.subscription.synced()
    } catch {
      // It was closed meanwhile.
      return
    }
    if (subscriptions.active.get(key) === one) activate(subscriptions, one)
  }

  /** Reads are served from this subscription from now on. Objects that were not visible before are reported. */
  function activate(subscriptions: KindSubscriptions, one: ActiveSubscription): void {
    const { pending } = subscriptions
    const changes = subscriptions.mixed
      ? activateMixed(subscriptions, subscriptions.mixed, one)
      : activateUniform(subscriptions, one)
    const loaded = [...pending].filter(([, name]) => isLoaded(subscriptions, name))
    for (const [key] of loaded) pending.delete(key)
    for (const change of changes) note(change)
    closeUnrequested(subscriptions)
    // Before that, the kind counts as not served.
    if (subscriptions.isServed) for (const change of changes) options.onChange(change)
    if (loaded.length > 0) options.onLoaded()
    notifyWaiters()
  }

  function activateUniform(subscriptions: KindSubscriptions, one: ActiveSubscription): readonly InputChange[] {
    const { resource } = subscriptions
    const isFirst = readyOf(subscriptions).length === 0
    const changes = one.subscription.list().flatMap((after): readonly InputChange[] => {
      const before = isFirst ? undefined : lookUp(subscriptions, after.metadata)
      return before?.metadata.resourceVersion === after.metadata.resourceVersion ? [] : [{ resource, before, after }]
    })
    one.isReady = true
    return changes
  }

  function activateMixed(
    { resource }: KindSubscriptions,
    mixed: MixedObjects,
    one: ActiveSubscription,
  ): readonly InputChange[] {
    one.isReady = true
    return one.subscription.list().flatMap(({ metadata }): readonly InputChange[] => {
      const change = mixed.update(metadata)
      return change ? [{ resource, ...change }] : []
    })
  }

  /**
   * Closes subscriptions that are no longer requested, but only after all requested ones are loaded: objects that both
   * hold stay visible.
   */
  function closeUnrequested(subscriptions: KindSubscriptions): void {
    const { active, broad, requested, pending, resource, mixed } = subscriptions
    for (const [key, name] of pending)
      if (!references.names(resource, name) || isLoaded(subscriptions, name)) pending.delete(key)
    if (dirty.has(subscriptions) || [...requested].some((key) => !active.get(key)?.isReady)) return
    for (const [key, one] of active) {
      if (requested.has(key)) continue
      const held = mixed ? one.subscription.list().map(({ metadata }) => metadata) : []
      active.delete(key)
      broad.delete(one)
      one.subscription.close()
      for (const name of held) updateMixed(subscriptions, name)
    }
  }

  // ── changes ────────────────────────────────────────────────────────────────────────────────────────────────

  function handle(subscriptions: KindSubscriptions, reported: InputChange): void {
    const change = subscriptions.mixed ? handleMixed(subscriptions.mixed, reported) : reported
    if (!change) return
    note(change)
    if (subscriptions.isServed && isShown(change)) options.onChange(change)
  }

  function handleMixed(mixed: MixedObjects, change: InputChange): InputChange | undefined {
    const { metadata } = (change.after ?? change.before)!
    const name = { name: '', ...metadata }
    const shown = mixed.update(name)
    if (shown)
      return {
        ...change,
        ...shown,
        version: change.version && (shown.after?.metadata.resourceVersion ?? change.version),
      }
    const object = change.isHidden ? mixed.get(name) : undefined
    return object && { ...change, before: object, after: object }
  }

  /** Whether a field that is read has changed. */
  function isShown({ resource, before, after, isHidden }: InputChange): boolean {
    if (!before || !after || isHidden || !coverage.isProjected(resource)) return true
    if (byKind.get(formatResource(resource))?.mixed) return true
    return !coverage.projectionOf(resource, after, references).isSame(before, after)
  }

  /** Updates references first and notifies controllers second: a key that is enqueued sees the new references. */
  function note({ resource, before, after }: InputChange): void {
    const object = after ?? before
    if (!object || !references.isReferring(resource)) return
    const name = { name: '', ...object.metadata }
    // The live object, and not that of the event: an object that has left one selection may still be in another.
    references.note(resource, name, lookUp(byKind.get(formatResource(resource)), name))
  }

  const isBusy = (): boolean =>
    dirty.size > 0 ||
    [...byKind.values()].some(({ active }) =>
      [...active.values()].some(({ isReady, problem }) => !isReady && problem === undefined),
    )

  function notifyWaiters(): void {
    for (const waiter of waiters) waiter()
  }

  return {
    source,
    peek: (resource, name) => lookUp(byKind.get(formatResource(resource)), name),
    references,
    async start() {
      await served.start()
      await Promise.all([...byKind.values()].filter(({ resource }) => served.serves(resource)).map(open))
    },
    isPending(asked, own, object) {
      if ([...byKind.values()].every(({ pending }) => pending.size === 0)) return false
      return asked.some((reference) => {
        const { pending } = byKind.get(formatResource(reference.resource))!
        if (pending.size === 0) return false
        const [root, ...links] = chainOf(reference) as readonly [Input, ...Reference[]]
        if (describeInput(root) !== describeInput(own)) {
          return [...pending.values()].some((name) => references.has(reference, name))
        }
        return targetsFrom(object, links).some((name) => pending.has(keyOf(name)))
      })
    },
    pending: () =>
      [...byKind.values()].flatMap(({ resource, pending }) =>
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
      for (const { active } of byKind.values()) for (const { subscription } of active.values()) subscription.close()
      notifyWaiters()
    },
  }

  /** The objects that a chain of references leads to from one object. */
  function targetsFrom(object: KubeObject, links: readonly Reference[]): readonly ObjectName[] {
    let objects: readonly KubeObject[] = [object]
    let names: readonly ObjectName[] = []
    for (const link of links) {
      names = objects.flatMap((each) => references.of(link, each))
      objects = names.flatMap((name) => lookUp(byKind.get(formatResource(link.resource)), name) ?? [])
    }
    return names
  }
}

function emptySubscription(resource: Resource, consumer: string): Subscription {
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

/**
 * With mapped names, users may write references into their objects that lead outside of the mapped names: those are
 * ignored.
 */
function getFrom(subscription: Subscription, name: ObjectName): KubeObject | undefined {
  try {
    return subscription.get(name)
  } catch (error) {
    if (isMusterError(error, managerErrors.NameOutsideMap)) return undefined
    throw error
  }
}

function readyOf(subscriptions: KindSubscriptions | undefined): readonly ActiveSubscription[] {
  return [...(subscriptions?.active.values() ?? [])].filter(({ isReady }) => isReady)
}

/** The ready subscriptions that may hold the object. */
function coveringSubscriptions(
  { active, broad }: KindSubscriptions,
  { namespace, name }: ObjectName,
): readonly ActiveSubscription[] {
  const found = [...broad].filter(
    ({ isReady, request: { namespaces } }) =>
      isReady && (namespaces === undefined || namespace === undefined || namespaces.includes(namespace)),
  )
  // Most kinds are subscribed to as a whole: then no key is formatted, since this runs with every read.
  const isExactAsked = active.size > broad.size
  const exact =
    isExactAsked && active.get(watchRequestKey(namespace === undefined ? { name } : { namespaces: [namespace], name }))
  return exact && exact.isReady ? [exact, ...found] : found
}

/** Subscriptions are served by different watches, and one may be ahead of the other. */
function laterOf<T extends KubeObject>(a: T | undefined, b: T | undefined): T | undefined {
  return a && b ? (isLater(resourceVersionOf(b), resourceVersionOf(a)) ? b : a) : (a ?? b)
}

function keyOf({ namespace = '', name }: ObjectName): string {
  return `${namespace}/${name}`
}

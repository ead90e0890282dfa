/**
 * What the cache promises about own writes, held against random schedules: two consumers write through the cache,
 * foreigners change the same objects behind their backs, and answers and watches are late, cut, mute or lost.
 */
import { describe, expect, it } from 'vitest'
import { hostileServer, type HostileServer, type OpenWatch, type Thing } from '../../test/hostile-server.ts'
import { seededRandom } from '../clock/random.ts'
import { type VirtualClock, virtualClock } from '../clock/virtual-clock.ts'
import { createClient } from '../client/create-client.ts'
import { inProcessTransport } from '../client/in-process.ts'
import type { Resource } from '../kube/kind.ts'
import { createSharedCache, type SharedCache } from './shared-cache.ts'
import type { CacheEvent, Subscription } from './subscription.ts'

const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }
const names = ['x', 'y', 'z'] as const
const apps = ['web', 'db'] as const
const steps = 150

const versionOf = (thing: Thing): number => Number(thing.metadata.resourceVersion)
const identity = ({ metadata }: Thing): string => `${metadata.uid} ${metadata.resourceVersion}`
const refOf = (name: string): { readonly namespace: string; readonly name: string } => ({ namespace: 'default', name })

/** A consumer that believes events and the answers of its own writes, and nothing else. */
interface Believer {
  readonly name: string
  readonly subscription: Subscription<Thing>
  readonly sees: (thing: Thing) => boolean
  /** What it takes for present: name → uid. */
  readonly known: Map<string, string>
  /** How many events it got, and for each name the last of them. */
  readonly told: { count: number; readonly last: Map<string, number> }
  /** Its writes under way, by name. */
  readonly underWay: Map<string, number>
  /** The same consumer, where it asks for its own writes, too. */
  readonly mirror: Mirror
}

/** Follows every event, and tells those of its own writes from others by their versions. */
interface Mirror {
  readonly subscription: Subscription<Thing>
  /** What it takes for present: name → uid and version. */
  readonly known: Map<string, string>
  /** The versions of the events so far, by name. */
  readonly heard: Map<string, string[]>
  /** Versions that its own answers named. */
  readonly written: Set<string>
}

/** A write that the server has carried out and not yet answered, and what becomes of its answer. */
interface Sending {
  readonly by: Believer
  readonly delayMs: number
  readonly isLost: boolean
}

interface Act {
  readonly by: Believer | undefined
  readonly version: number
  /** What it left. */
  readonly object: Thing | undefined
  /** How many events each consumer had got before it. */
  readonly counts: ReadonlyMap<Believer, number>
  /** How many events of the object each mirror had got before it. */
  readonly heard: ReadonlyMap<Believer, number>
}

class World {
  readonly clock: VirtualClock = virtualClock()
  readonly server: HostileServer = hostileServer({ clock: this.clock, bookmarkMs: 5000 })
  readonly cache: SharedCache
  readonly believers: readonly Believer[]
  readonly broken: string[] = []
  readonly #random: () => number
  /** What no read may fall behind: the latest answer for each name. */
  readonly #floors = new Map<string, Thing>()
  /** UIDs whose deletion a response of the server confirmed. */
  readonly #ended = new Set<string>()
  /** By consumer: UIDs whose deletion the consumer knows, from an event or a response. */
  readonly #over = new Map<Believer, Set<string>>()
  readonly #acts = new Map<string, Act[]>()
  readonly #delayed = new WeakSet<OpenWatch>()
  readonly #writes = new Set<Promise<void>>()
  #sending: Sending | undefined
  #guest: Subscription<Thing> | undefined
  #values = 0

  constructor(seed: number) {
    const random = seededRandom(seed)
    this.#random = () => random.next()
    const client = createClient({ transport: inProcessTransport(this.server), clock: this.clock, random })
    this.cache = createSharedCache({ client, clock: this.clock, random })
    this.server.streamsLists = this.chance(0.5)
    this.server.beforeAnswer = () => this.#beforeAnswer()
    this.believers = this.pick<() => readonly Believer[]>([
      () => [this.#believer('all', {}, () => true), this.#believer('other', {}, () => true)],
      () => [this.#believer('all', {}, () => true), this.#web()],
      // Two watches that overlap, each at its own pace.
      () => [this.#web(), this.#x()],
    ])()
  }

  #web(): Believer {
    return this.#believer('web', { labels: 'app=web' }, ({ metadata }) => metadata.labels?.['app'] === 'web')
  }

  #x(): Believer {
    return this.#believer('x', { fields: 'metadata.name=x' }, ({ metadata }) => metadata.name === 'x')
  }

  chance(share: number): boolean {
    return this.#random() < share
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)]!
  }

  upTo(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #believer(
    name: string,
    wish: { readonly labels?: string; readonly fields?: string },
    sees: Believer['sees'],
  ): Believer {
    const onEvent = (event: CacheEvent<Thing>): void => this.#told(believer, event)
    const believer: Believer = {
      name,
      sees,
      mirror: this.#mirror(name, wish),
      known: new Map(),
      told: { count: 0, last: new Map() },
      underWay: new Map(),
      subscription: this.cache.subscribe<Thing>(configMaps, { consumer: name, onEvent, ...wish }),
    }
    this.#over.set(believer, new Set())
    return believer
  }

  #mirror(name: string, wish: { readonly labels?: string; readonly fields?: string }): Mirror {
    const known = new Map<string, string>()
    const heard = new Map<string, string[]>()
    const onEvent = (event: CacheEvent<Thing>): void => {
      const { metadata } = event.object
      const called = metadata.name!
      const before =
        event.type === 'added' ? undefined : identity(event.type === 'updated' ? event.previous : event.object)
      if (known.get(called) !== before)
        this.#break(`${name}, mirrored: ${event.type} ${called} from ${before}, knew ${known.get(called)}`)
      if (event.type === 'deleted') known.delete(called)
      else known.set(called, identity(event.object))
      heard.set(called, [...(heard.get(called) ?? []), event.version])
    }
    const options = { consumer: name, ownWrites: true, onEvent, ...wish }
    return { subscription: this.cache.subscribe<Thing>(configMaps, options), known, heard, written: new Set() }
  }

  #told(believer: Believer, event: CacheEvent<Thing>): void {
    const { known, told, underWay } = believer
    const { name = '', uid = '' } = event.object.metadata
    const before = known.get(name)
    const isSense = event.type === 'added' ? before === undefined : before === uid
    // While its own write is under way the consumer cannot know what is there: the event may be later than the write.
    if (!isSense && !underWay.has(name)) this.#break(`${believer.name}: ${event.type} ${name} ${uid}, knew ${before}`)
    if (event.type === 'updated' && event.previous.metadata.uid !== uid)
      this.#break(`${believer.name}: updated ${name} from one life to another`)
    if (event.type === 'deleted') {
      known.delete(name)
      if (this.#isOver(uid)) this.#over.get(believer)!.add(uid)
    } else known.set(name, uid)
    told.last.set(name, ++told.count)
  }

  #break(what: string): void {
    this.broken.push(what)
  }

  #same(what: string, found: readonly string[], wanted: readonly string[]): void {
    const [left, right] = [found.toSorted().join(', '), wanted.toSorted().join(', ')]
    if (left !== right) this.#break(`${what} ${left}; should be ${right}`)
  }

  #isOver(uid: string | undefined): boolean {
    return !this.server.objects.some(({ metadata }) => metadata.uid === uid)
  }

  #counts(): ReadonlyMap<Believer, number> {
    return new Map(this.believers.map((believer) => [believer, believer.told.count]))
  }

  #heard(name: string): ReadonlyMap<Believer, number> {
    return new Map(this.believers.map((believer) => [believer, believer.mirror.heard.get(name)?.length ?? 0]))
  }

  #acted(name: string, by: Believer | undefined, counts: Act['counts'], heard: Act['heard']): void {
    const acts = this.#acts.get(name) ?? []
    acts.push({ by, version: this.server.version, object: this.server.get(name), counts, heard })
    this.#acts.set(name, acts)
  }

  // ── what happens ───────────────────────────────────────────────────────────────────────────────────────────

  async #beforeAnswer(): Promise<void> {
    const { delayMs, isLost } = this.#sending!
    if (delayMs > 0) await this.clock.sleep(delayMs)
    if (isLost) throw new Error('the answer got lost')
  }

  /** Starts a write and lets the server carry it out; its answer may come much later. */
  async write(by: Believer, { mayLose = true } = {}): Promise<void> {
    const name = this.pick(names)
    const delayMs = this.chance(0.5) ? this.upTo(4000) : 0
    const isLost = mayLose && this.chance(0.15)
    const writer = this.cache.writer(by.name)
    const thing: Thing = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...refOf(name), ...(this.chance(0.4) ? { labels: { app: this.pick(apps) } } : {}) },
      data: { v: String(++this.#values) },
    }
    const live = this.server.get(name)
    const verbs = {
      create: () => writer.create<Thing>(configMaps, thing),
      update: () => writer.update<Thing>(configMaps, thing),
      patch: () => writer.patch<Thing>(configMaps, refOf(name), { ...thing }, { type: 'merge' }),
      delete: () => writer.delete<Thing>(configMaps, refOf(name)),
    }
    const verb = live ? this.pick(['update', 'patch', 'patch', 'delete'] as const) : 'create'
    by.underWay.set(name, (by.underWay.get(name) ?? 0) + 1)
    this.#sending = { by, delayMs, isLost }
    const [before, counts, heard] = [this.server.version, this.#counts(), this.#heard(name)]
    const send = async (): Promise<void> => {
      const answer = await verbs[verb]().catch(() => undefined)
      if (answer?.kind === 'ConfigMap') this.#answered(by, answer)
      else if (answer) this.#answeredGone(by, name, live!.metadata.uid!)
      const left = by.underWay.get(name)! - 1
      if (left > 0) by.underWay.set(name, left)
      else by.underWay.delete(name)
    }
    const writing = send().finally(() => this.#writes.delete(writing))
    this.#writes.add(writing)
    await this.clock.settle()
    if (this.server.version > before) this.#acted(name, isLost ? undefined : by, counts, heard)
  }

  #answered(by: Believer, answer: Thing): void {
    const { name = '', uid = '' } = answer.metadata
    by.mirror.written.add(answer.metadata.resourceVersion!)
    const floor = this.#floors.get(name)
    if (!floor || versionOf(floor) < versionOf(answer)) this.#floors.set(name, answer)
    this.check()
    const now = by.subscription.get(refOf(name))
    // Events that came before the answer may be later than it; the copy tells.
    if (now) by.known.set(name, now.metadata.uid!)
    else by.known.delete(name)
    if (this.#over.get(by)!.has(uid) && now?.metadata.uid === uid) this.#break(`${by.name}: ${name} came back`)
  }

  #answeredGone(by: Believer, name: string, uid: string): void {
    this.#ended.add(uid)
    this.check()
    const now = by.subscription.get(refOf(name))
    if (now) by.known.set(name, now.metadata.uid!)
    else by.known.delete(name)
  }

  foreign(): void {
    const name = this.pick(names)
    const heard = this.#heard(name)
    if (!this.server.get(name) || this.chance(0.7)) {
      this.server.put(name, { v: String(++this.#values) }, { labels: { app: this.pick(apps) } })
    } else this.server.remove(name)
    this.#acted(name, undefined, this.#counts(), heard)
  }

  delayWatch(): void {
    const watch = this.pick(this.server.watches)
    if (!watch || this.#delayed.has(watch)) return
    this.#delayed.add(watch)
    const resume = watch.delay()
    this.clock.after(this.upTo(6000), () => {
      this.#delayed.delete(watch)
      resume()
    })
  }

  disturb(isRelistAllowed: boolean): void {
    const watch = this.pick(this.server.watches)
    const mild = [() => this.delayWatch(), () => this.delayWatch(), () => this.server.bookmark()]
    const rude = [() => watch?.cut(), () => watch?.end()]
    const wild = [
      () => watch?.mute(),
      () => this.server.compact(),
      () => watch?.cut(true),
      () => {
        this.server.fault = ({ isWatch }) => (isWatch ? undefined : { kind: 'slow', ms: this.upTo(5000) })
      },
      () => (this.server.fault = undefined),
      () => this.#visit(),
    ]
    this.pick<() => unknown>(isRelistAllowed ? [...mild, ...rude, ...wild] : [...mild, ...rude])()
  }

  /** A consumer of all objects subscribes, or closes: another watch serves the other consumers from then on. */
  #visit(): void {
    if (this.#guest) this.#guest.close()
    this.#guest = this.#guest ? undefined : this.cache.subscribe<Thing>(configMaps, { consumer: 'guest' })
  }

  async pause(): Promise<void> {
    if (this.chance(0.5)) await this.clock.settle()
    else await this.clock.advance(this.upTo(3000))
    this.check()
  }

  /** Faults stop, and whatever is under way ends. */
  async rest(): Promise<void> {
    this.server.fault = undefined
    for (const watch of this.server.watches) if (this.chance(0.3)) watch.end()
    await this.clock.advance(200_000)
    await Promise.all(this.#writes)
    this.check()
  }

  // ── what must hold ─────────────────────────────────────────────────────────────────────────────────────────

  /** No read falls behind an answer, and events with own writes say at every moment what reads say. */
  check(): void {
    for (const { name: reader, mirror } of this.believers) {
      const read = mirror.subscription.list().map((thing) => `${thing.metadata.name} ${identity(thing)}`)
      const known = [...mirror.known].map(([called, state]) => `${called} ${state}`)
      this.#same(`${reader}, mirrored, knows`, known, read)
    }
    for (const { name: reader, subscription, sees } of this.believers) {
      for (const name of names) {
        const read = subscription.get(refOf(name))
        const floor = this.#floors.get(name)
        if (read && this.#ended.has(read.metadata.uid!)) this.#break(`${reader} reads ${name}, which is deleted`)
        if (!floor) continue
        if (read && versionOf(read) < versionOf(floor))
          this.#break(`${reader} reads ${name} at ${versionOf(read)}, answered ${versionOf(floor)}`)
        if (!read && sees(floor) && this.server.get(name)?.metadata.resourceVersion === floor.metadata.resourceVersion)
          this.#break(`${reader} misses ${name} at ${versionOf(floor)}`)
      }
    }
  }

  /** The cache equals the server, and each consumer received an event for each change by another writer. */
  checkRest(): void {
    const summary = (things: Iterable<Thing>): readonly string[] =>
      [...things]
        .map(({ metadata, data }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion} ${data?.['v']}`)
        .toSorted()
    const life = (name: string | undefined, uid: string | undefined): string => `${name} ${uid}`
    for (const { name, subscription, sees, known } of this.believers) {
      const visible = this.server.objects.filter(sees)
      this.#same(`${name} reads`, summary(subscription.list()), summary(visible))
      this.#same(
        `${name} knows`,
        [...known].map(([object, uid]) => life(object, uid)),
        visible.map(({ metadata }) => life(metadata.name, metadata.uid)),
      )
      this.#same(`${name} is`, [subscription.freshness.state], ['synced'])
    }
    for (const [name, acts] of this.#acts) for (const believer of this.believers) this.#checkTold(name, acts, believer)
  }

  /** The latest change by another in this life of an object that is there and seen must have been followed by an event. */
  #checkTold(name: string, acts: readonly Act[], believer: Believer): void {
    const object = this.server.get(name)
    const foreign = acts.findLast(({ by }) => by !== believer)
    if (!foreign?.object || !object || !believer.sees(object)) return
    // What happened before an own write made the object, or brought it into view, is no news to the writer.
    if (foreign.object.metadata.uid !== object.metadata.uid || !believer.sees(foreign.object)) return
    if ((believer.told.last.get(name) ?? 0) <= foreign.counts.get(believer)!)
      this.#break(`${believer.name} was not told of ${name} at ${foreign.version}`)
    const { heard, written } = believer.mirror
    const since = heard.get(name)?.slice(foreign.heard.get(believer)) ?? []
    if (since.every((version) => written.has(version)))
      this.#break(`${believer.name}, mirrored, was told of its own writes only since ${name} at ${foreign.version}`)
  }

  /** Whatever is remembered of own writes, it must not swallow or double what others do from now on. */
  async checkNothingIsKept(): Promise<void> {
    for (const name of names) {
      for (const { told } of this.believers) told.count = 0
      const last = this.server.put(name, { v: 'last' }, { labels: { app: 'web' } })
      await this.clock.settle()
      this.server.remove(name)
      await this.clock.settle()
      for (const believer of this.believers)
        this.#same(
          `${believer.name}, events of ${name}`,
          [String(believer.told.count)],
          [believer.sees(last) ? '2' : '0'],
        )
    }
  }
}

const seeds = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1)

describe('own writes under random schedules', () => {
  it.each(seeds(60))('are never undone, and hide no foreign change (schedule %i)', async (seed) => {
    const world = new World(seed)
    await world.clock.settle()
    for (let step = 0; step < steps; step++) {
      const dice = world.upTo(10)
      if (dice < 4) await world.write(world.pick(world.believers))
      else if (dice < 7) world.foreign()
      else world.disturb(true)
      await world.pause()
    }
    await world.rest()
    world.checkRest()
    await world.checkNothingIsKept()
    expect(world.broken).toEqual([])
    world.cache.close()
  })

  it.each(seeds(20))('never wake their writer, if there is no foreign change (schedule %i)', async (seed) => {
    const world = new World(1000 + seed)
    await world.clock.settle()
    const [writer] = world.believers
    for (let step = 0; step < steps; step++) {
      if (world.chance(0.6)) await world.write(writer!, { mayLose: false })
      else world.disturb(false)
      await world.pause()
    }
    await world.rest()
    world.checkRest()
    expect(world.broken).toEqual([])
    expect(writer!.told.count).toBe(0)
    world.cache.close()
  })
})

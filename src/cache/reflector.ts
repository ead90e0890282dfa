/**
 * A reflector keeps the copy of one scope of one resource in sync with the server: it lists, then watches from that
 * resource version. After an error it continues from the last version seen, or lists again. Only `stop` ends it: no
 * response and no silence of the server does.
 *
 *     list ──▶ watch ──ended, cut, silent──▶ watch again from the last version
 *      ▲         │
 *      └─────────┴── 410, an older server, events out of order: the watch cannot be continued safely
 *
 * Where the server offers streaming lists, list and watch are one request.
 */
import type { Clock } from '../clock/clock.ts'
import { jitter, type Random } from '../clock/random.ts'
import { isLater } from './resource-version.ts'
import { backoffMs, type BackoffOptions } from './backoff.ts'
import type { Detail, WatchScope } from './need.ts'
import { scanList, scanWatchFrame } from './decode/frames.ts'
import { readLineBatches, readText } from '../client/body.ts'
import type { Client, ListOptions } from '../client/client.ts'
import { mediaType } from '../client/media-type.ts'
import { resourceVersionOf } from './key.ts'
import { listPath, watchPath } from '../client/paths.ts'
import { cacheErrors } from './errors.ts'
import { transportErrors } from '../transport/errors.ts'
import { clientErrors } from '../client/errors.ts'
import { describeError, isMusterError, MusterError } from '../kube/muster-error.ts'
import { isJsonObject, type JsonObject, parseJson } from '../kube/json.ts'
import { asObject, asStatus } from '../kube/json-object.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import { formatFields, formatLabels } from '../kube/selector/selector.ts'
import { statusError } from '../client/api-error.ts'

export interface ReflectorOptions {
  /** Objects per page of an ordinary list. @default 500 */
  readonly pageSize: number
  /** A watch that delivers nothing for this long, not even a bookmark, is considered dead. @default 90_000 */
  readonly idleMs: number
  /** `timeoutSeconds` of watches, in milliseconds; jittered by a fifth. @default 1_500_000 */
  readonly watchMs: number
  /** Time-out of a list page, and of the response to a watch request. @default 30_000 */
  readonly answerMs: number
  readonly backoff: BackoffOptions
}

export const defaultReflectorOptions: ReflectorOptions = {
  pageSize: 500,
  idleMs: 90_000,
  // The minimum of kube-apiserver's own watch time-out; bookmarks show that a watch is alive.
  watchMs: 1_500_000,
  answerMs: 30_000,
  backoff: { firstMs: 500, maxMs: 30_000 },
}

/** The state of a reflector. `since` is the time at which it entered this state. */
export interface Freshness {
  readonly state: 'syncing' | 'synced' | 'stale'
  readonly since: number
  /** Why it is not synced, with cause and cure. */
  readonly reason?: string
  /** The last version seen. */
  readonly resourceVersion?: string
}

/** Receives the events of a reflector, in the server's order. */
export interface ReflectorSink {
  /** Decodes a range of the wire text into an object. */
  decode(text: string, start: number, end: number): KubeObject
  /** The same for a watch event, of which less may be needed. */
  decodeEvent(text: string, start: number, end: number, isDeletion: boolean): KubeObject
  /** Is the object kept? Others are left out of lists. */
  keeps(object: KubeObject): boolean
  /** All objects of the scope at one version; the list request began at `begunAt`. */
  replace(objects: readonly KubeObject[], resourceVersion: string, begunAt: number): void
  upsert(object: KubeObject): void
  remove(object: KubeObject): void
  /** No more events follow for versions up to this one. */
  progress(resourceVersion: string): void
  /** The latest version known from a write response, if the watch has not caught up with it. */
  latestWritten(): string | undefined
  /** The server responded with Forbidden. The reflector tries again. */
  refused(): void
  freshness(freshness: Freshness): void
}

/** Whether the server supports streaming lists (WatchList); detected once per cluster and shared by its reflectors. */
export interface ServerTraits {
  streamsLists: boolean
}

/** What all reflectors of a resource share. */
export interface ReflectorInput {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly resource: Resource
  readonly traits: ServerTraits
  readonly options: ReflectorOptions
}

/** The watch cannot be continued: a new list is required. */
class Relist extends Error {}

/** Responses that mean: this server does not support streaming lists. */
const noStreaming = [
  clientErrors.BadRequest,
  clientErrors.Invalid,
  clientErrors.MethodNotAllowed,
  clientErrors.NotAcceptable,
  clientErrors.UnsupportedMediaType,
]

type Selection = Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>

export class Reflector {
  readonly #input: ReflectorInput
  readonly #selection: Selection
  readonly #detail: Detail
  readonly #sink: ReflectorSink
  #freshness: Freshness
  /** The version to watch from; undefined until a list is stored, and again when it cannot be trusted. */
  #version: string | undefined
  /** The version up to which the sink has received every event. A 410 does not reset it, an older server does. */
  #reached: string | undefined
  /** False after a watch without events: the server may hold older data than this copy. */
  #isVersionProven = true
  /** The epoch of the transport in which the version was read. */
  #epoch = 0
  /** False for one attempt after a continue token expired: a list that is too large for its pages is read at once. */
  #inPages = true
  #failures = 0
  /** Aborts the current request. */
  #attempt = new AbortController()
  #isStopped = false
  #heardAt = 0

  constructor(input: ReflectorInput, scope: WatchScope, detail: Detail, sink: ReflectorSink) {
    this.#input = input
    this.#selection = {
      namespace: scope.namespace,
      labelSelector: formatLabels(scope.labels) || undefined,
      fieldSelector: formatFields(scope.fields) || undefined,
    }
    this.#detail = detail
    this.#sink = sink
    this.#freshness = { state: 'syncing', since: input.clock.now() }
    void this.#run()
  }

  get freshness(): Freshness {
    return this.#freshness
  }

  /** The version up to which the sink has received every event; undefined before the first list. */
  get reached(): string | undefined {
    return this.#reached
  }

  /** Has the sink received every event up to this version? */
  hasReached(version: string): boolean {
    return this.#reached === version || isLater(this.#reached ?? '', version)
  }

  stop(): void {
    this.#isStopped = true
    this.#attempt.abort(
      new MusterError(cacheErrors.CacheClosed, `${formatResource(this.#input.resource)}: no longer watched.`),
    )
  }

  async #run(): Promise<void> {
    const { clock, random, options } = this.#input
    while (!this.#isStopped) {
      const begunAt = clock.now()
      let atLeastMs = 0
      try {
        await this.#synchronise()
        // The usual end is the server's time-out. A server that ends watches at once would cause a hot loop.
        if (clock.now() - begunAt >= options.backoff.firstMs) continue
      } catch (error) {
        if (this.#isStopped) return
        this.#recover(error)
        atLeastMs = (error instanceof MusterError ? error.retryAfterMs : undefined) ?? 0
        // A response that is not continued must not stay open.
        this.#attempt.abort(error)
        this.#attempt = new AbortController()
      }
      this.#failures++
      const wait = backoffMs(this.#failures, options.backoff, random, atLeastMs)
      await clock.sleep(wait, this.#attempt.signal).catch(() => undefined)
    }
  }

  /** Lists if necessary, then watches until the watch ends. */
  async #synchronise(): Promise<void> {
    const { traits } = this.#input
    this.#checkEpoch(this.#version)
    if (this.#version === undefined) {
      if (traits.streamsLists) {
        try {
          await this.#watch(true)
          return
        } catch (error) {
          if (this.#version !== undefined || !isMusterError(error, ...noStreaming)) throw error
          traits.streamsLists = false
        }
      }
      await this.#list()
      this.#failures = 0
    }
    if (!this.#isVersionProven) await this.#proveVersion()
    await this.#watch(false)
  }

  /** What was read before the server moved (`read`) may be of another cluster, and is not continued. */
  #checkEpoch(read: string | undefined): void {
    const epoch = this.#input.client.transport.epoch?.() ?? 0
    if (epoch === this.#epoch) return
    this.#epoch = epoch
    if (read !== undefined) throw new Relist('the API server has another address or certificate authority')
  }

  /** Decides after an error whether to list again, and reports it. */
  #recover(error: unknown): void {
    if (error instanceof Relist || isMusterError(error, clientErrors.Gone)) this.#version = undefined
    if (error instanceof Relist) this.#reached = undefined
    const name = formatResource(this.#input.resource)
    const reason = error instanceof Relist ? `${name}: ${error.message}; listing again.` : describeError(error)
    this.#report(this.#freshness.state === 'syncing' ? 'syncing' : 'stale', reason)
    if (isMusterError(error, clientErrors.Forbidden)) this.#sink.refused()
  }

  /** Pages of an ordinary list, collected and then stored at once. */
  async #list(): Promise<void> {
    const { clock, resource, options } = this.#input
    const begunAt = clock.now()
    const objects: KubeObject[] = []
    const accept = this.#detail === 'metadata' ? mediaType.metadataList : mediaType.json
    let next: string | undefined
    for (;;) {
      const limit = this.#inPages ? options.pageSize : undefined
      const path = listPath(resource, { ...this.#selection, limit, continue: next })
      const text = await this.#fetch(path, accept).catch((error: unknown) => {
        if (next !== undefined && isMusterError(error, clientErrors.Gone)) this.#inPages = false
        throw error
      })
      this.#checkEpoch(next)
      const page = scanList(text)
      for (const { start, end } of page.items) {
        const object = this.#sink.decode(text, start, end)
        if (this.#sink.keeps(object)) objects.push(object)
      }
      if (!page.continue) {
        this.#inPages = true
        this.#stored(objects, page.resourceVersion, begunAt)
        return
      }
      next = page.continue
    }
  }

  async #fetch(path: string, accept: string): Promise<string> {
    const { client, options } = this.#input
    const limits = { signal: this.#attempt.signal, timeoutMs: options.answerMs, retry: false } as const
    const { body } = await client.request({ method: 'GET', path, headers: { accept }, ...limits })
    return await readText(body)
  }

  /** Checks the current version of the server: a watch from a version it has not reached would wait without any event. */
  async #proveVersion(): Promise<void> {
    const path = listPath(this.#input.resource, { ...this.#selection, limit: 1 })
    const current = scanList(await this.#fetch(path, mediaType.metadataList)).resourceVersion
    this.#checkEpoch(this.#version)
    for (const known of [this.#version, this.#sink.latestWritten()]) {
      if (known !== undefined && isLater(known, current)) {
        throw new Relist(`the server is at version ${current}, older than ${known} seen before`)
      }
    }
    this.#isVersionProven = true
  }

  /** Opens a watch and passes its events to the sink until it ends. `isInitial`: the stream begins with the list. */
  async #watch(isInitial: boolean): Promise<void> {
    const { client, clock, random, resource, options } = this.#input
    const begunAt = clock.now()
    const path = watchPath(resource, {
      ...this.#selection,
      allowBookmarks: true,
      timeoutSeconds: Math.round(jitter(options.watchMs, random) / 1000),
      ...(isInitial
        ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
        : { resourceVersion: this.#version }),
    })
    const accept = this.#detail === 'metadata' ? mediaType.metadata : mediaType.json
    const watchdog = this.#startWatchdog()
    const collected: KubeObject[] | undefined = isInitial ? [] : undefined
    this.#isVersionProven = false
    try {
      const { body } = await client.request({
        method: 'GET',
        path,
        headers: { accept },
        signal: this.#attempt.signal,
        timeoutMs: options.answerMs,
        streaming: true,
        retry: false,
      })
      this.#heardAt = clock.now()
      this.#checkEpoch(this.#version)
      if (!isInitial) this.#report('synced')
      await this.#follow(body, collected, begunAt)
      if (isInitial && this.#version === undefined) {
        throw new MusterError(transportErrors.ConnectionLost, `${path}: the stream ended before the list was complete.`)
      }
    } catch (error) {
      this.#isVersionProven = false
      throw error
    } finally {
      watchdog.stop()
    }
  }

  /** Aborts a silent stream. One timer, extended when it fires: an event costs only a reading of the clock. */
  #startWatchdog(): { stop(): void } {
    const { clock, resource, options } = this.#input
    this.#heardAt = clock.now()
    const check = (): void => {
      const left = this.#heardAt + options.idleMs - clock.now()
      if (left > 0) timer = clock.after(left, check)
      else {
        const why = `${formatResource(resource)}: no data for ${options.idleMs} ms.`
        this.#attempt.abort(new MusterError(cacheErrors.StreamIdle, why))
      }
    }
    let timer = clock.after(options.idleMs, check)
    return { stop: () => timer.cancel() }
  }

  async #follow(body: AsyncIterable<Uint8Array>, initial: KubeObject[] | undefined, begunAt: number): Promise<void> {
    const { clock } = this.#input
    let collected = initial
    for await (const lines of readLineBatches(body)) {
      this.#heardAt = clock.now()
      for (const line of lines) {
        if (this.#isStopped) return
        const { type, start, end } = scanWatchFrame(line)
        if (type === 'ERROR') throw statusError(asStatus(frameObject(line, start, end)))
        if (type === 'BOOKMARK') {
          const bookmark = asObject(frameObject(line, start, end))
          if (!collected) this.#bookmark(bookmark)
          else if (bookmark.metadata.annotations?.['k8s.io/initial-events-end'] === 'true') {
            this.#stored(collected, resourceVersionOf(bookmark), begunAt)
            collected = undefined
          }
        } else if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
          if (!collected) this.#event(type, this.#sink.decodeEvent(line, start, end, type === 'DELETED'))
          else if (type !== 'DELETED') {
            const object = this.#sink.decode(line, start, end)
            if (this.#sink.keeps(object)) collected.push(object)
          }
        } else {
          throw new MusterError(
            clientErrors.ProtocolError,
            `${formatResource(this.#input.resource)}: unknown watch event type "${type}".`,
          )
        }
        if (!collected) this.#trusted()
      }
    }
  }

  #event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): void {
    this.#advance(object)
    if (type === 'DELETED') this.#sink.remove(object)
    else this.#sink.upsert(object)
  }

  #bookmark(bookmark: KubeObject): void {
    this.#advance(bookmark)
    this.#sink.progress(resourceVersionOf(bookmark))
  }

  /** The watch delivered an event: the server knows the version that the watch started from. */
  #trusted(): void {
    this.#isVersionProven = true
    this.#failures = 0
  }

  /** Versions only grow; a lower one means that the server has lost or hides data, and that this copy may be wrong. */
  #advance({ metadata }: KubeObject): void {
    const next = metadata.resourceVersion
    if (next === undefined) {
      throw new MusterError(
        clientErrors.ProtocolError,
        `${formatResource(this.#input.resource)}: a watch event has no resourceVersion.`,
      )
    }
    if (this.#version !== undefined && isLater(this.#version, next)) {
      throw new Relist(`the server went back from version ${this.#version} to ${next}`)
    }
    this.#version = next
    this.#reached = next
  }

  #stored(objects: readonly KubeObject[], resourceVersion: string, begunAt: number): void {
    this.#version = resourceVersion
    this.#reached = resourceVersion
    this.#isVersionProven = true
    this.#sink.replace(objects, resourceVersion, begunAt)
    this.#report('synced')
  }

  #report(state: Freshness['state'], reason?: string): void {
    const { state: before, reason: reasonBefore, since } = this.#freshness
    this.#freshness = {
      state,
      since: before === state ? since : this.#input.clock.now(),
      ...(reason === undefined ? {} : { reason }),
      ...(this.#version === undefined ? {} : { resourceVersion: this.#version }),
    }
    if (before !== state || reasonBefore !== reason) this.#sink.freshness(this.#freshness)
  }
}

/** The object of a watch event. @throws ProtocolError unless it is one */
function frameObject(line: string, start: number, end: number): JsonObject {
  const parsed = parseJson(line.slice(start, end))
  if (isJsonObject(parsed)) return parsed
  throw new MusterError(clientErrors.ProtocolError, 'a watch event without an object.')
}

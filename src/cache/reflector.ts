/**
 * A reflector keeps a copy of one scope of one resource equal to the server's: it lists, then watches from there,
 * and when anything goes wrong it goes on from the last version it saw, or lists again. It has no end of its own:
 * no answer of the server, and no silence, stops it; only `stop` does.
 *
 *     list ──▶ watch ──ended, cut, silent──▶ watch again from the last version
 *      ▲         │
 *      └─────────┴── 410, an older server, events out of order: the copy cannot be trusted to continue
 *
 * Where the server offers streaming lists, list and watch are one request.
 */
import type { Clock } from '../clock/clock.ts'
import { jitter, type Random } from '../clock/random.ts'
import { isLater } from './own-writes.ts'
import { backoff, type BackoffOptions } from './backoff.ts'
import type { Detail, Scope } from './need.ts'
import { scanList, scanWatchFrame } from './frames.ts'
import { readLineBatches, readText } from '../client/body.ts'
import type { Client } from '../client/client.ts'
import { listPath, watchPath } from '../client/paths.ts'
import { describeError, isMusterError, MusterError } from '../kube/errors.ts'
import { parseJson } from '../kube/json.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject, Status } from '../kube/object.ts'
import { formatFields, formatLabels } from '../kube/selector.ts'
import { statusError } from '../client/api-error.ts'

export interface ReflectorOptions {
  /** Objects a page of an ordinary list. @default 500 */
  readonly pageSize: number
  /** A watch that brings nothing for this long, not even a bookmark, is taken for dead. @default 90_000 */
  readonly idleMs: number
  /** How long the server is asked to keep a watch open; spread by a fifth. @default 290_000 */
  readonly watchMs: number
  /** The longest wait for the answer to a list page, or to the opening of a watch. @default 30_000 */
  readonly answerMs: number
  readonly backoff: BackoffOptions
}

export const defaultReflectorOptions: ReflectorOptions = {
  pageSize: 500,
  idleMs: 90_000,
  watchMs: 290_000,
  answerMs: 30_000,
  backoff: { firstMs: 500, maxMs: 30_000 },
}

/** How a reflector stands. `since` is the moment it came into this state. */
export interface Freshness {
  readonly state: 'syncing' | 'synced' | 'stale'
  readonly since: number
  /** Why it is not synced; names cause and cure. */
  readonly reason?: string
  /** The last version seen. */
  readonly resourceVersion?: string
}

/** What a reflector feeds. Calls come in the server's order. */
export interface ReflectorSink {
  /** Turns a stretch of wire text into an object. */
  decode(text: string, start: number, end: number): KubeObject
  /** The whole scope at one version; the request that brought it began at `begunAt`. */
  replace(objects: readonly KubeObject[], resourceVersion: string, begunAt: number): void
  upsert(object: KubeObject): void
  remove(object: KubeObject): void
  /** Nothing more will come for versions up to this one. */
  progress(resourceVersion: string): void
  /** The latest version that the answer of a write told of, if the watch has not caught up with it. */
  answered(): string | undefined
  freshness(freshness: Freshness): void
}

/** Whether the server streams lists; learnt once for a cluster and shared by its reflectors. */
export interface ServerTraits {
  streamsLists: boolean
}

export interface Reflector {
  readonly freshness: Freshness
  stop(): void
}

export interface ReflectorInput {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly resource: Resource
  readonly scope: Scope
  readonly detail: Detail
  readonly sink: ReflectorSink
  readonly traits: ServerTraits
  readonly options: ReflectorOptions
}

/** Why the copy must be listed anew rather than continued. */
class Relist extends Error {}

const metadataAccept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
const metadataListAccept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

export function startReflector(input: ReflectorInput): Reflector {
  const { client, clock, random, resource, scope, sink, traits, options } = input
  const stopping = new AbortController()
  const retries = backoff(options.backoff, random)
  let freshness: Freshness = { state: 'syncing', since: clock.now() }
  /** The version to go on from; undefined until a list has been stored, and again when it cannot be trusted. */
  let version: string | undefined
  /** A watch that told nothing proves nothing: the server may hold older data than we do. */
  let isVersionProven = true
  /** Pages are given up for one attempt when their token expired half-way: so large a list never ends in pages. */
  let inPages = true

  const selection = {
    namespace: scope.namespace,
    labelSelector: formatLabels(scope.labels) || undefined,
    fieldSelector: formatFields(scope.fields) || undefined,
  }
  const watchHeaders = { accept: input.detail === 'metadata' ? metadataAccept : 'application/json' }
  const listHeaders = { accept: input.detail === 'metadata' ? metadataListAccept : 'application/json' }

  const report = (state: Freshness['state'], reason?: string): void => {
    const unchanged = freshness.state === state && freshness.reason === reason
    freshness = {
      state,
      since: freshness.state === state ? freshness.since : clock.now(),
      ...(reason === undefined ? {} : { reason }),
      ...(version === undefined ? {} : { resourceVersion: version }),
    }
    if (!unchanged) sink.freshness(freshness)
  }

  const stored = (objects: readonly KubeObject[], resourceVersion: string, begunAt: number): void => {
    version = resourceVersion
    isVersionProven = true
    sink.replace(objects, resourceVersion, begunAt)
    report('synced')
  }

  const fetchText = async (path: string, headers: Readonly<Record<string, string>>): Promise<string> => {
    const limits = { signal: stopping.signal, timeoutMs: options.answerMs, retry: false } as const
    const { body } = await client.request({ method: 'GET', path, headers, ...limits })
    return await readText(body)
  }

  /** Pages of an ordinary list, collected and then stored at once. */
  const listPages = async (): Promise<void> => {
    const begunAt = clock.now()
    const objects: KubeObject[] = []
    let next: string | undefined
    for (;;) {
      const path = listPath(resource, { ...selection, limit: inPages ? options.pageSize : undefined, continue: next })
      const text = await fetchText(path, listHeaders).catch((error: unknown) => {
        if (next !== undefined && isMusterError(error, 'Gone')) inPages = false
        throw error
      })
      const page = scanList(text)
      for (const { start, end } of page.items) objects.push(sink.decode(text, start, end))
      if (!page.continue) {
        inPages = true
        stored(objects, page.resourceVersion, begunAt)
        return
      }
      next = page.continue
    }
  }

  /** Calls off a stream that has fallen silent. */
  const watchdog = (): { readonly signal: AbortSignal; alive(): void; stop(): void } => {
    const cut = new AbortController()
    let heardAt = clock.now()
    const check = (): void => {
      const left = heardAt + options.idleMs - clock.now()
      if (left > 0) timer = clock.after(left, check)
      else
        cut.abort(new MusterError('StreamIdle', `${formatResource(resource)}: nothing came for ${options.idleMs} ms.`))
    }
    let timer = clock.after(options.idleMs, check)
    return {
      signal: AbortSignal.any([stopping.signal, cut.signal]),
      // One timer a watch, moved when it fires: an event costs a clock reading and no more.
      alive: () => void (heardAt = clock.now()),
      stop: () => timer.cancel(),
    }
  }

  /** Opens a watch and feeds what it brings to the sink until it ends. `initial`: the list comes first, in the stream. */
  const watch = async (initial: boolean): Promise<void> => {
    const begunAt = clock.now()
    const path = watchPath(resource, {
      ...selection,
      allowBookmarks: true,
      timeoutSeconds: Math.round(jitter(options.watchMs, random) / 1000),
      ...(initial ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : { resourceVersion: version }),
    })
    const dog = watchdog()
    let collected: KubeObject[] | undefined = initial ? [] : undefined
    let heard = false
    try {
      const { body } = await client.request({
        method: 'GET',
        path,
        headers: watchHeaders,
        signal: dog.signal,
        timeoutMs: options.answerMs,
        streaming: true,
        retry: false,
      })
      dog.alive()
      if (!initial) report('synced')
      for await (const lines of readLineBatches(body)) {
        dog.alive()
        for (const line of lines) {
          if (stopping.signal.aborted) return
          const frame = scanWatchFrame(line)
          if (!heard && frame.type !== 'ERROR') {
            heard = true
            isVersionProven = true
            if (!initial) retries.reset()
          }
          switch (frame.type) {
            case 'ADDED':
            case 'MODIFIED':
            case 'DELETED': {
              const object = sink.decode(line, frame.start, frame.end)
              if (collected) {
                if (frame.type !== 'DELETED') collected.push(object)
                break
              }
              advance(object)
              if (frame.type === 'DELETED') sink.remove(object)
              else sink.upsert(object)
              break
            }
            case 'BOOKMARK': {
              const bookmark = parseJson(line.slice(frame.start, frame.end)) as unknown as KubeObject
              if (!collected) {
                advance(bookmark)
                sink.progress(version!)
              } else if (bookmark.metadata.annotations?.['k8s.io/initial-events-end'] === 'true') {
                stored(collected, bookmark.metadata.resourceVersion ?? '', begunAt)
                collected = undefined
                retries.reset()
              }
              break
            }
            case 'ERROR':
              throw statusError(parseJson(line.slice(frame.start, frame.end)) as unknown as Status)
            default:
              throw new MusterError('ProtocolError', `${path}: a watch event of unknown type "${frame.type}".`)
          }
        }
      }
      if (collected) throw new MusterError('ConnectionLost', `${path}: the stream ended before the list was whole.`)
      if (!heard) isVersionProven = false
    } catch (error) {
      isVersionProven = false
      throw error
    } finally {
      dog.stop()
    }
  }

  /** Versions only grow; one that falls means that the server has lost or hides data, and that our copy may be wrong. */
  const advance = (object: KubeObject): void => {
    const next = object.metadata.resourceVersion
    if (next === undefined)
      throw new MusterError('ProtocolError', `${formatResource(resource)}: an event without resourceVersion.`)
    if (version !== undefined && isLater(version, next)) {
      throw new Relist(`the server went back from version ${version} to ${next}`)
    }
    version = next
  }

  /** Asks the server how far it is: a watch from a version it has not reached would wait in silence. */
  const proveVersion = async (): Promise<void> => {
    const path = listPath(resource, { ...selection, limit: 1 })
    const current = scanList(await fetchText(path, { accept: metadataListAccept })).resourceVersion
    for (const known of [version, sink.answered()]) {
      if (known !== undefined && isLater(known, current)) {
        throw new Relist(`the server is at version ${current}, older than ${known} seen before`)
      }
    }
    isVersionProven = true
  }

  const synchronise = async (): Promise<void> => {
    if (version === undefined) {
      if (traits.streamsLists) {
        try {
          await watch(true)
          return
        } catch (error) {
          if (
            version !== undefined ||
            !isMusterError(error, 'BadRequest', 'Invalid', 'MethodNotAllowed', 'NotAcceptable', 'UnsupportedMediaType')
          )
            throw error
          traits.streamsLists = false
        }
      }
      await listPages()
      retries.reset()
    }
    if (!isVersionProven) await proveVersion()
    await watch(false)
  }

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const begunAt = clock.now()
      let wait: number
      try {
        await synchronise()
        // The usual end: the server's time-out. One that ends watches at once would have us run in circles.
        if (clock.now() - begunAt >= options.backoff.firstMs) continue
        wait = retries.next()
      } catch (error) {
        if (stopping.signal.aborted) return
        wait = recover(error)
      }
      await clock.sleep(wait, stopping.signal).catch(() => undefined)
    }
  }

  /** Takes the consequence of an error, and says how long to wait. */
  const recover = (error: unknown): number => {
    if (error instanceof Relist || isMusterError(error, 'Gone')) version = undefined
    const reason =
      error instanceof Relist ? `${formatResource(resource)}: ${error.message}; listing again.` : describeError(error)
    report(freshness.state === 'syncing' ? 'syncing' : 'stale', reason)
    return retries.next(error instanceof MusterError ? error.retryAfterMs : undefined)
  }

  void run()
  return {
    get freshness() {
      return freshness
    },
    stop: () => stopping.abort(new MusterError('CacheClosed', `${formatResource(resource)}: no longer watched.`)),
  }
}

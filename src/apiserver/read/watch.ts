/**
 * Watch: the changes of a resource from a revision on. Each watch has its own buffer; a watch whose client reads too
 * slowly is ended, and the client resumes from the last resourceVersion it saw.
 *
 * With a selector, an object that starts to match is ADDED and one that stops matching is DELETED, whatever the actual
 * change was.
 */
import { stringifyJson } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { isTrueParameter } from '../cluster/call.ts'
import { numberIn, versionIn } from './list.ts'
import { forbiddenField, unsupported } from '../../kube/validation/field-error.ts'
import { type Cause, expired, invalidOptions, StatusError } from '../errors/status-error.ts'
import { objectText } from '../codec/object-text.ts'
import { emptyQueue } from './queue.ts'
import { type Dressing, dressObject } from '../representation/representation.ts'
import type { Route } from '../catalog/route.ts'
import { selectionOf } from '../catalog/selection.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StorageChange, StoredObject } from '../storage/storage.ts'

/** Without timeoutSeconds, a watch lasts between this and twice this long. */
const minWatchMs = 1_800_000

/**
 * `raw` is a stored object, still to be converted to the requested representation; `object` is sent unchanged. `size`
 * counts towards the limit of the buffer: initial events and bookmarks have none.
 */
type WatchEvent =
  | { readonly type: StorageChange['type'] | 'BOOKMARK'; readonly raw: UntypedObject; readonly size?: number }
  | { readonly type: 'BOOKMARK' | 'ERROR'; readonly object: unknown }

interface ServedWatchRequest {
  readonly route: Route
  readonly query: URLSearchParams
  readonly dressing: Dressing
  readonly signal: AbortSignal | undefined
}

/** The lines of the response. The watch is active from this call on. */
export function watch(state: ClusterState, request: ServedWatchRequest): AsyncIterable<Uint8Array> {
  const { route, query, dressing, signal } = request
  checkWatchOptions(query)
  const { served, namespace } = route
  const { bookmarkMs } = state
  const selection = selectionOf(served, query)
  const table = state.storage.table(served.table)
  const hasBookmarks = isTrueParameter(query.get('allowWatchBookmarks'))
  const timeoutMs = (numberIn(query, 'timeoutSeconds') || 0) * 1000 || minWatchMs * (1 + state.random.next())
  // Only the first table has column definitions.
  let hasHeaders = true
  const encodeNow = (event: WatchEvent): string | Promise<string> => {
    const isFirst = hasHeaders
    hasHeaders = false
    // Ages in tables are those of the event, not of the request.
    return encodeEvent(event, { ...dressing, now: state.clock.now() }, isFirst)
  }
  const encode = (event: WatchEvent): string | Promise<string> => {
    // An event is sent only when its change would survive a crash.
    const kept = state.storage.durable()
    return kept ? kept.then(() => encodeNow(event)) : encodeNow(event)
  }
  const stream = createStream({ signal, encode })

  const send = (type: StorageChange['type'], object: UntypedObject, size = 0): void =>
    stream.push({ type, raw: object, size })
  const inView = (object: StoredObject | undefined): object is StoredObject =>
    object !== undefined &&
    (namespace === undefined || object.metadata.namespace === namespace) &&
    selection.matches(object)
  const sendChange = (change: StorageChange, size?: number): void => {
    const event = eventFor(change, inView)
    if (event) send(event.type, event.object, size)
  }
  const bookmark = (annotations?: Readonly<Record<string, string>>): void => {
    const metadata = { resourceVersion: String(state.storage.revision), ...(annotations && { annotations }) }
    const marker = { kind: served.kind, apiVersion: formatApiVersion(served), metadata }
    const { form, metaVersion = 'meta.k8s.io/v1' } = dressing
    if (form === 'table') return stream.push({ type: 'BOOKMARK', raw: marker })
    const isMetadata = form === 'metadata'
    const object = isMetadata ? { kind: 'PartialObjectMetadata', apiVersion: metaVersion, metadata } : marker
    return stream.push({ type: 'BOOKMARK', object })
  }

  const version = watchedVersion(query)
  const wantsInitial = query.get('sendInitialEvents')
  // Without a resourceVersion, or with sendInitialEvents, a watch starts with the current objects.
  const startsWithState = wantsInitial === null ? !version : isTrueParameter(wantsInitial)
  if (startsWithState) {
    for (const object of table.objects(namespace)) if (selection.matches(object)) send('ADDED', object)
    if (isTrueParameter(wantsInitial) && hasBookmarks) bookmark({ 'k8s.io/initial-events-end': 'true' })
  } else if (version) {
    const changes = table.changesSince(version)
    if (!changes) {
      const { status } = expired(`too old resource version: ${version} (${table.compacted})`)
      stream.push({ type: 'ERROR', object: status })
      stream.end()
      return stream.lines
    }
    for (const change of changes) sendChange(change)
  }
  stream.bound(state.watchBuffer, state.watchBufferBytes)

  const stopListening = table.listen({
    change: (change, size) => {
      if (change.revision > (version ?? 0)) sendChange(change, size)
    },
    end: (isUndone) => (isUndone ? stream.drop() : stream.end()),
  })
  const ending = state.clock.after(timeoutMs, () => stream.end())
  let ticking = hasBookmarks ? state.clock.after(bookmarkMs, tick) : undefined
  function tick(): void {
    bookmark()
    ticking = state.clock.after(bookmarkMs, tick)
  }
  stream.onEnd(() => {
    stopListening()
    ending.cancel()
    ticking?.cancel()
  })
  return stream.lines
}

/** kube-apiserver reports an invalid resourceVersion of a watch as a 500, not as a 400. */
function watchedVersion(query: URLSearchParams): number | undefined {
  try {
    return versionIn(query)
  } catch (error) {
    if (error instanceof StatusError) throw new StatusError(500, '', error.message)
    throw error
  }
}

/** The event that a change is to a watch with a selector; undefined if it is none. */
function eventFor(
  { type, object, previous, revision }: StorageChange,
  inView: (object: StoredObject | undefined) => boolean,
): { readonly type: StorageChange['type']; readonly object: UntypedObject } | undefined {
  const isIn = type !== 'DELETED' && inView(object)
  const wasIn = inView(previous)
  if (isIn) return { type: wasIn ? 'MODIFIED' : 'ADDED', object }
  if (!wasIn || !previous) return undefined
  if (type === 'DELETED') return { type, object }
  // The object no longer matches: its last matching state, at the current revision.
  return {
    type: 'DELETED',
    object: { ...previous, metadata: { ...previous.metadata, resourceVersion: String(revision) } },
  }
}

/** Synchronous, unless a conversion webhook is called. */
function encodeEvent(event: WatchEvent, dressing: Dressing, isFirst: boolean): string | Promise<string> {
  if (!('raw' in event)) return `{"type":"${event.type}","object":${stringifyJson(event.object)}}\n`
  // A bookmark has no fields to convert.
  const own = event.type === 'BOOKMARK' ? { ...dressing, served: { ...dressing.served, convert: undefined } } : dressing
  const dressed = dressObject(event.raw, own, isFirst)
  const write = (object: unknown): string => {
    const text = object === event.raw ? objectText(event.raw) : stringifyJson(object)
    return `{"type":"${event.type}","object":${text}}\n`
  }
  return dressed instanceof Promise ? dressed.then(write) : write(dressed)
}

interface EventStream {
  push(event: WatchEvent): void
  /** Ends the stream; buffered events are still delivered. */
  end(): void
  /** Ends the stream and drops buffered events. */
  drop(): void
  onEnd(callback: () => void): void
  /** Limits the buffer from now on, beyond what is in it: the initial events do not count. */
  bound(events: number, bytes: number): void
  readonly lines: AsyncIterable<Uint8Array>
}

interface StreamOptions {
  readonly signal: AbortSignal | undefined
  readonly encode: (event: WatchEvent) => string | Promise<string>
}

/** Size of one write: large enough to save writes, small enough to hold for a slow reader. */
const burstCharacters = 256 * 1024

function sizeOf(event: WatchEvent): number {
  return 'raw' in event ? (event.size ?? 0) : 0
}

function createStream({ signal, encode }: StreamOptions): EventStream {
  let buffered = emptyQueue<WatchEvent>()
  let maxBuffered = Number.POSITIVE_INFINITY
  let bufferedSize = 0
  let maxSize = Number.POSITIVE_INFINITY
  let isEnded = false
  let cleanUp: () => void = () => undefined
  /** Set while the reader waits for an event. */
  let wake: ((next: Promise<IteratorResult<Uint8Array>> | IteratorResult<Uint8Array>) => void) | undefined

  /** Deferred by a microtask, so that all events of this turn go out in one write. */
  const wakeReader = (): void => {
    if (!wake) return
    const resolve = wake
    wake = undefined
    queueMicrotask(() => resolve(iterator.next()))
  }
  const end = (): void => {
    if (isEnded) return
    isEnded = true
    signal?.removeEventListener('abort', abort)
    cleanUp()
    wakeReader()
  }
  const abort = (): void => {
    buffered = emptyQueue()
    end()
  }
  if (signal?.aborted) isEnded = true
  else signal?.addEventListener('abort', abort, { once: true })

  /** Buffered events go out together: a burst costs one write, not one per event. */
  const burst = async (): Promise<IteratorResult<Uint8Array>> => {
    const lines: string[] = []
    for (let size = 0; size < burstCharacters && buffered.length > 0; size += lines.at(-1)!.length) {
      const event = buffered.take()!
      bufferedSize -= sizeOf(event)
      const line = encode(event)
      lines.push(typeof line === 'string' ? line : await line)
    }
    return { done: false, value: Buffer.from(lines.length === 1 ? lines[0]! : lines.join('')) }
  }

  const iterator: AsyncIterator<Uint8Array> = {
    next() {
      if (signal?.aborted) return Promise.reject(signal.reason as Error)
      if (buffered.length > 0) return burst()
      if (isEnded) return Promise.resolve({ done: true, value: undefined })
      return new Promise((resolve) => (wake = resolve))
    },
    return() {
      abort()
      return Promise.resolve({ done: true, value: undefined })
    },
  }
  return {
    push(event) {
      if (isEnded) return
      bufferedSize += sizeOf(event)
      // One event always fits, however large it is.
      if (buffered.push(event) > maxBuffered || (bufferedSize > maxSize && buffered.length > 1)) {
        // The reader is too slow. Unread events are dropped too, or it would learn of the end much later.
        buffered = emptyQueue()
        end()
      }
      wakeReader()
    },
    end,
    drop: abort,
    bound(events, bytes) {
      maxBuffered = buffered.length + events
      maxSize = bytes
    },
    onEnd(callback) {
      if (isEnded) callback()
      else cleanUp = callback
    },
    lines: { [Symbol.asyncIterator]: () => iterator },
  }
}

function checkWatchOptions(query: URLSearchParams): void {
  const match = query.get('resourceVersionMatch') ?? ''
  const hasInitial = query.get('sendInitialEvents') !== null
  const causes: Cause[] = []
  const field = 'resourceVersionMatch'
  if (hasInitial && match !== 'NotOlderThan') {
    causes.push(forbiddenField(field, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'))
  }
  if (match !== '') {
    if (!hasInitial) {
      causes.push(
        forbiddenField(field, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'),
      )
    }
    if (match !== 'NotOlderThan') causes.push(unsupported(field, match, ['NotOlderThan']))
    if (query.get('continue')) {
      causes.push(forbiddenField(field, 'resourceVersionMatch is forbidden when continue is provided'))
    }
  }
  if (causes.length > 0) throw invalidOptions('ListOptions', causes)
}

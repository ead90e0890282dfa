/**
 * Watch: the changes of a resource as they happen, from a revision on. Each watch has a buffer of its own; one whose
 * reader is too slow is ended, harms nobody, and its client goes on from the last version it saw.
 *
 * With a selector a watch tells of the objects in its view: one that comes to match is ADDED, one that no longer does is
 * DELETED, whatever happened to it in truth.
 */
import { stringifyJson } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { isTrueParameter } from '../cluster/call.ts'
import { numberIn, versionIn } from './list.ts'
import { forbiddenField, unsupported } from '../../kube/validation/field-error.ts'
import { type Cause, expired, invalidOptions, StatusError } from '../errors/status-error.ts'
import { sizeOf } from '../codec/object-size.ts'
import { objectText } from '../codec/object-text.ts'
import { emptyQueue } from './queue.ts'
import { type Dressing, dressObject } from '../representation/representation.ts'
import type { Route } from '../catalog/route.ts'
import { selectionOf } from '../catalog/selection.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StorageChange, StoredObject } from '../storage/storage.ts'

/** Without a wish, a watch lasts this long, and up to twice that. */
const leastWatchMs = 1_800_000

/** `raw` objects are still to be dressed; what ERROR carries, and BOOKMARK outside of tables, goes out as it is. */
type WatchEvent =
  | { readonly type: StorageChange['type'] | 'BOOKMARK'; readonly raw: UntypedObject }
  | { readonly type: 'BOOKMARK' | 'ERROR'; readonly object: unknown }

export interface ServedWatchRequest {
  readonly route: Route
  readonly query: URLSearchParams
  readonly dressing: Dressing
  readonly signal: AbortSignal | undefined
}

/** The lines of the answer. The watch is on from the moment of this call. */
export function watch(state: ClusterState, request: ServedWatchRequest): AsyncIterable<Uint8Array> {
  const { route, query, dressing, signal } = request
  checkWatchOptions(query)
  const { served, namespace } = route
  const { bookmarkMs } = state
  const selection = selectionOf(served, query)
  const table = state.storage.table(served.table)
  const hasBookmarks = isTrueParameter(query.get('allowWatchBookmarks'))
  const timeoutMs = (numberIn(query, 'timeoutSeconds') || 0) * 1000 || leastWatchMs * (1 + state.random.next())
  // The first table has headers, the others do without.
  let hasHeaders = true
  const encodeNow = (event: WatchEvent): string | Promise<string> => {
    const isFirst = hasHeaders
    hasHeaders = false
    // Ages in tables are those of the event, not of the request.
    return encodeEvent(event, { ...dressing, now: state.clock.now() }, isFirst)
  }
  const encode = (event: WatchEvent): string | Promise<string> => {
    // Nobody hears of what a crash could still undo.
    const kept = state.storage.durable()
    return kept ? kept.then(() => encodeNow(event)) : encodeNow(event)
  }
  const stream = createStream({ signal, encode })

  const send = (type: StorageChange['type'], object: UntypedObject): void => stream.push({ type, raw: object })
  const inView = (object: StoredObject | undefined): object is StoredObject =>
    object !== undefined &&
    (namespace === undefined || object.metadata.namespace === namespace) &&
    selection.matches(object)
  const sendChange = (change: StorageChange): void => {
    const event = seenAs(change, inView)
    if (event) send(event.type, event.object)
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
  // Without a version a watch starts with what there is; so it does on demand.
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
    change: (change) => {
      if (change.revision > (version ?? 0)) sendChange(change)
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

/** A version that is none is the client's mistake; a watch takes it for the server's. */
function watchedVersion(query: URLSearchParams): number | undefined {
  try {
    return versionIn(query)
  } catch (error) {
    if (error instanceof StatusError) throw new StatusError(500, '', error.message)
    throw error
  }
}

/** What a change looks like to those who see only a part of the objects. */
function seenAs(
  { type, object, previous, revision }: StorageChange,
  inView: (object: StoredObject | undefined) => boolean,
): { readonly type: StorageChange['type']; readonly object: UntypedObject } | undefined {
  const isIn = type !== 'DELETED' && inView(object)
  const wasIn = inView(previous)
  if (isIn) return { type: wasIn ? 'MODIFIED' : 'ADDED', object }
  if (!wasIn || !previous) return undefined
  if (type === 'DELETED') return { type, object }
  // It left the view: the state it had there, at the version of now.
  return {
    type: 'DELETED',
    object: { ...previous, metadata: { ...previous.metadata, resourceVersion: String(revision) } },
  }
}

/** At once, unless a webhook must be asked. */
function encodeEvent(event: WatchEvent, dressing: Dressing, isFirst: boolean): string | Promise<string> {
  if (!('raw' in event)) return `{"type":"${event.type}","object":${stringifyJson(event.object)}}\n`
  // There is nothing to convert in a bookmark.
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
  /** No more events; what is buffered is still delivered. */
  end(): void
  /** Nor what is buffered. */
  drop(): void
  onEnd(callback: () => void): void
  /** From now on so much more may wait to be read. What the watch starts with is not the reader's fault. */
  bound(events: number, bytes: number): void
  readonly lines: AsyncIterable<Uint8Array>
}

interface StreamOptions {
  readonly signal: AbortSignal | undefined
  readonly encode: (event: WatchEvent) => string | Promise<string>
}

/** Of a burst, what goes out in one write: enough to save writes, and little enough to hold for a slow reader. */
const burstCharacters = 256 * 1024

function bytesOf(event: WatchEvent): number {
  return 'raw' in event ? sizeOf(event.raw) : 0
}

function createStream({ signal, encode }: StreamOptions): EventStream {
  let buffered = emptyQueue<WatchEvent>()
  let maxBuffered = Number.POSITIVE_INFINITY
  let bufferedBytes = 0
  let maxBytes = Number.POSITIVE_INFINITY
  let isEnded = false
  let cleanUp: () => void = () => undefined
  /** The reader waits for something to happen. */
  let wake: ((next: Promise<IteratorResult<Uint8Array>> | IteratorResult<Uint8Array>) => void) | undefined

  /** Not at once: what else happens in this moment goes out together. */
  const rouse = (): void => {
    if (!wake) return
    const tell = wake
    wake = undefined
    queueMicrotask(() => tell(iterator.next()))
  }
  const end = (): void => {
    if (isEnded) return
    isEnded = true
    signal?.removeEventListener('abort', abort)
    cleanUp()
    rouse()
  }
  const abort = (): void => {
    buffered = emptyQueue()
    end()
  }
  if (signal?.aborted) isEnded = true
  else signal?.addEventListener('abort', abort, { once: true })

  /** What is ready goes out together: a burst costs one write, not one an event. */
  const burst = async (): Promise<IteratorResult<Uint8Array>> => {
    const lines: string[] = []
    for (let size = 0; size < burstCharacters && buffered.length > 0; size += lines.at(-1)!.length) {
      const event = buffered.take()!
      bufferedBytes -= bytesOf(event)
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
      bufferedBytes += bytesOf(event)
      // One event always fits, however large it is.
      if (buffered.push(event) > maxBuffered || (bufferedBytes > maxBytes && buffered.length > 1)) {
        // Too slow. What it has not read is dropped too, or it would read on for long without hearing of the end.
        buffered = emptyQueue()
        end()
      }
      rouse()
    },
    end,
    drop: abort,
    bound(events, bytes) {
      maxBuffered = buffered.length + events
      maxBytes = bufferedBytes + bytes
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

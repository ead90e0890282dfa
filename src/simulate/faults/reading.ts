/**
 * Lists and watches of one process, which feed its caches. Event faults are injected here: an event is lost, late,
 * merged with the next or repeated, a watch ends, a cache is frozen or shows the past.
 */
import type { ApiServer } from '../../apiserver/server/api-server.ts'
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { clientErrors } from '../../client/errors.ts'
import { transportErrors } from '../../transport/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Recall } from './recall.ts'
import { expiredLine, jsonHeaders, once } from './answer.ts'
import { type Fault, formatFault } from './fault.ts'
import { type SimulatedProcess, never } from './simulated-process.ts'
import { type Request, requestOf } from '../scorecard/request.ts'
import type { SimulatedTime } from './time.ts'
import { inReport, type Trace } from './trace.ts'
import { bytesOf, eventIn, isBookmark, type Lines, mergedLine, type RawEvent, readWatchLines } from './watch-lines.ts'

/** A watch event on its way to a cache. */
export interface SeenEvent {
  readonly number: number
  readonly type: string
  /** `configmaps default/sample` */
  readonly object: string
}

interface ReadingOptions {
  readonly proc: SimulatedProcess
  readonly time: SimulatedTime
  readonly server: ApiServer
  readonly trace: Trace
  /** Draws the next latency. */
  readonly latency: () => number
  /** Waits; never resolves for a process that is gone. */
  readonly travel: (ms: number) => Promise<void>
  /** Counts events on their way. */
  readonly wait: (change: 1 | -1) => void
  /** The faults that are due at the nth event. */
  readonly takeFaults: (number: number) => readonly Fault[]
  /** Of all processes, in order. */
  readonly events: SeenEvent[]
  readonly requests: Request[]
  readonly recall: Recall
}

/** How long a broken watch cannot be restarted. */
const outageMs = 500
/** The longest that an event waits for the one to merge with. */
const mergeMs = 500
/** The interval between events of a server that catches up. */
const catchUpMs = 10

/** A watch in progress. */
interface Watch {
  readonly request: Request
  readonly path: string
  readonly signal: AbortSignal | undefined
  /** It begins with the existing objects. */
  readonly isInitial: boolean
  /** The earliest time of an event of this revision. @default at once */
  readonly notBefore?: (version: number) => number
}

interface StruckEvent extends SeenEvent {
  readonly line: Uint8Array
  readonly raw: RawEvent
}

type SimulatedRead = (sent: TransportRequest, request: Request) => Promise<TransportResponse>

/** The shared state of a process's watches. */
interface Reader extends ReadingOptions {
  /** Paths whose watches may not resume, and until when no new ones can be opened. */
  readonly expired: Set<string>
  readonly brokenUntil: Map<string, number>
}

export function openReading(options: ReadingOptions): SimulatedRead {
  const { proc, time, server, latency, travel, requests } = options
  const expired = new Set<string>()
  const brokenUntil = new Map<string, number>()
  const reader: Reader = { ...options, expired, brokenUntil }

  const read = async (sent: TransportRequest, request: Request): Promise<TransportResponse> => {
    const [path = '', text = ''] = sent.path.split('?')
    if (proc.frozenUntil > time.now()) await thaw(reader)
    await travel(latency())
    sent.signal?.throwIfAborted()
    if ((brokenUntil.get(path) ?? 0) > time.now()) {
      throw new MusterError(clientErrors.Unreachable, 'the server cannot be reached.')
    }
    const query = new URLSearchParams(text)
    const isResumed = request.verb === 'watch' && query.has('resourceVersion') && !query.has('sendInitialEvents')
    if (isResumed && expired.delete(path)) {
      requests.push({ ...request, status: 200 })
      return { status: 200, headers: jsonHeaders, body: once(`${expiredLine}\n`) }
    }
    const lag = proc.lag
    // A list without a version is read from the store itself.
    const isFresh = request.verb === 'list' && !query.has('resourceVersion')
    if (lag && lag.until > time.now() && !isResumed && !isFresh) {
      if (request.verb !== 'watch') return await pastList(server, sent, path, query, lag)
      return { status: 200, headers: jsonHeaders, body: pastEvents(reader, sent, path, lag) }
    }
    const answer = await server.handle(sent)
    requests.push({ ...request, status: answer.status })
    if (request.verb !== 'watch' || answer.status !== 200) {
      await travel(latency())
      return answer
    }
    return {
      ...answer,
      whole: undefined,
      body: delivered(reader, answer.body, { request, path, signal: sent.signal, isInitial: !isResumed }),
    }
  }

  return read
}

/** Waits, unless aborted; never resolves for a process that is gone. */
async function pause({ proc, time }: Reader, ms: number, signal: AbortSignal | undefined): Promise<void> {
  await time.sleep(ms, signal)
  if (proc.isOver) await never()
}

/** Waits until its caches are no longer frozen. */
async function thaw({ proc, time, travel }: Reader): Promise<void> {
  if (proc.frozenUntil === Infinity) await never()
  while (proc.frozenUntil > time.now()) await travel(proc.frozenUntil - time.now())
}

async function pastList(
  server: ApiServer,
  asked: TransportRequest,
  path: string,
  query: URLSearchParams,
  { revision }: NonNullable<SimulatedProcess['lag']>,
): Promise<TransportResponse> {
  query.set('resourceVersion', String(revision))
  query.set('resourceVersionMatch', 'Exact')
  query.delete('continue')
  query.delete('limit')
  return await server.handle({ ...asked, path: `${path}?${query.toString()}` })
}

// Generators are top-level functions, not closures of a reader: a generator inside would keep alive what it refers to
// until a full garbage collection.

/** A watch that begins with a past state, and continues when the server has caught up. */
async function* pastEvents(
  reader: Reader,
  asked: TransportRequest,
  path: string,
  lag: NonNullable<SimulatedProcess['lag']>,
): AsyncGenerator<Uint8Array> {
  const { proc, time, server, trace } = reader
  const selectors = selectorsOf(asked)
  const list = await pastList(server, listFor(asked), path, new URLSearchParams(selectors), lag)
  const {
    items = [],
    apiVersion,
    kind,
  } = JSON.parse(await textOf(list.body)) as {
    readonly items?: readonly UntypedObject[]
    readonly apiVersion: string
    readonly kind: string
  }
  const identity = { apiVersion, kind: kind.replace(/List$/, '') }
  for (const item of items) yield bytesOf({ type: 'ADDED', object: { ...identity, ...item } })
  const annotations = { 'k8s.io/initial-events-end': 'true' }
  const metadata = { resourceVersion: String(lag.revision), annotations }
  yield bytesOf({ type: 'BOOKMARK', object: { ...identity, metadata } })
  trace.note(`process ${proc.number} is shown ${path} as of version ${lag.revision}`)
  await pause(reader, Math.max(lag.until - time.now(), 0), asked.signal)
  const resumed = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: String(lag.revision) }
  const query = new URLSearchParams([...selectors, ...Object.entries(resumed)]).toString()
  const { body: rest } = await server.handle({ ...asked, path: `${path}?${query}` })
  const request = requestOf({ ...asked, path: `${path}?${query}` }, proc.number)
  // Events come in their original order.
  const since = (version: number): number => lag.until + (version - lag.revision) * catchUpMs
  yield* delivered(reader, rest, { request, path, signal: asked.signal, isInitial: false, notBefore: since })
}

/** Which objects a watch selects. */
function selectorsOf({ path }: TransportRequest): [string, string][] {
  const query = new URLSearchParams(path.split('?')[1] ?? '')
  return [...query].filter(([name]) => name === 'labelSelector' || name === 'fieldSelector')
}

/** The list for a watch: of metadata, if the watch is. */
function listFor(asked: TransportRequest): TransportRequest {
  const accept = String(asked.headers['accept'] ?? '')
  const headers = { ...asked.headers, accept: accept.replaceAll(/as=PartialObjectMetadata(?=[;,]|$)/g, '$&List') }
  return { ...asked, headers }
}

/** Delivers the events of a watch, one after the other, each at its time. */
async function* delivered(reader: Reader, body: AsyncIterable<Uint8Array>, watch: Watch): AsyncGenerator<Uint8Array> {
  const { proc, time, trace, latency, wait, takeFaults, events, recall } = reader
  const { request, signal, notBefore } = watch
  let { isInitial } = watch
  const lines = readWatchLines(body)
  proc.watches.add(lines)
  try {
    for (;;) {
      if (!lines.isReady()) await lines.wait()
      if (proc.isOver) await never()
      const line = lines.take()
      if (!line) return
      // Existing objects at the start are no events.
      if (isInitial && !isBookmark(line)) {
        yield line
        continue
      }
      const raw = eventIn(line, recall)
      const { type, object } = raw
      if (isInitial || type === 'BOOKMARK' || type === 'ERROR') {
        if (type === 'BOOKMARK' && object.metadata.annotations?.['k8s.io/initial-events-end']) isInitial = false
        yield line
        continue
      }
      wait(1)
      try {
        await time.sleep(latency())
        if (proc.isOver) await never()
        signal?.throwIfAborted()
        const moment = notBefore?.(Number(object.metadata.resourceVersion)) ?? 0
        if (moment > time.now()) await pause(reader, moment - time.now(), signal)
        if (proc.frozenUntil > time.now()) await thaw(reader)
        const event: SeenEvent = { number: events.length + 1, type, object: shownObject(request, object) }
        events.push(event)
        const [fault] = takeFaults(event.number)
        trace.note(`event ${event.number}: ${event.object} ${type}, version ${object.metadata.resourceVersion}`)
        if (!fault) yield line
        else if ((yield* struck(reader, fault, { ...event, line, raw }, lines, watch)) === 'over') return
      } finally {
        wait(-1)
      }
    }
  } finally {
    proc.watches.delete(lines)
    lines.leave()
  }
}

/** An event with faults; `over` ends the watch. */
async function* struck(
  reader: Reader,
  fault: Fault,
  event: StruckEvent,
  lines: Lines,
  { request, path, signal }: Watch,
): AsyncGenerator<Uint8Array, 'over' | undefined> {
  const { proc, time, trace, latency, recall, expired, brokenUntil } = reader
  const { line, raw } = event
  trace.note(`${formatFault(fault)} takes effect: event ${event.number}, ${event.object} ${event.type}`, inReport)
  switch (fault.kind) {
    case 'lose':
      brokenUntil.set(path, time.now() + outageMs)
      expired.add(path)
      throw new MusterError(transportErrors.ConnectionLost, 'the watch broke.')
    case 'expire':
      yield Buffer.from(`${expiredLine}\n`)
      return 'over'
    case 'delay':
      await pause(reader, Number(fault.value ?? 500), signal)
      yield line
      break
    case 'freeze':
      proc.frozenUntil = time.now() + Number(fault.value ?? 500)
      await thaw(reader)
      yield line
      break
    case 'repeat':
      yield line
      await pause(reader, latency(), signal)
      yield line
      break
    case 'merge': {
      const held = [line]
      const deadline = pause(reader, mergeMs, signal)
      // The deadline is not awaited if the other event is there already.
      deadline.catch(() => undefined)
      for (;;) {
        if (!lines.isReady()) await Promise.race([lines.wait(), deadline])
        if (proc.isOver) await never()
        const later = lines.take()
        if (!later) break
        held.push(later)
        const other = eventIn(later, recall)
        if (shownObject(request, other.object) !== event.object) continue
        held.shift()
        held.pop()
        held.push(mergedLine(raw, other))
        trace.note(`event ${event.number} is not seen: ${event.object} ${other.type} comes in its place`, inReport)
        break
      }
      yield* held
      break
    }
    default:
  }
  return undefined
}

function shownObject({ resource }: Request, { metadata }: UntypedObject): string {
  return `${resource?.plural ?? ''} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/**
 * The wire between an operator and its server. Everything that an operator learns or does goes over it, so here is where
 * faults strike: a write is refused, lost, answered late or never; an event is dropped, delayed, merged, repeated; a
 * cache is shown the past. How long anything takes is drawn from the seed, and that decides what comes first.
 */
import type { Random } from '../clock/random.ts'
import type { Transport, TransportRequest, TransportResponse } from '../client/transport.ts'
import type { ApiServer } from '../apiserver/api-server.ts'
import type { Recall } from '../kube/recall.ts'
import type { Storage } from '../apiserver/storage.ts'
import { MusterError } from '../kube/errors.ts'
import type { UntypedObject } from '../kube/object.ts'
import { expiredLine, jsonHeaders, once, refusal } from './answer.ts'
import { type Fault, formatFault } from './fault.ts'
import type { Life } from './life.ts'
import { isWrite, type Request, requestOf, shownRequest } from './scorecard/request.ts'
import { absenceMs, isAboutLease, type Tenure } from './tenure.ts'
import type { SimulatedTime } from './time.ts'
import type { Trace } from './trace.ts'

/** A write as the run remembers it. */
export interface Write {
  /** Counted in the order in which they reach the server; 1 is the first. */
  readonly number: number
  readonly request: Request
  readonly status: number
  /** Of the server, before this write. */
  readonly revision: number
}

/** An event on its way to a cache. */
export interface SeenEvent {
  readonly number: number
  readonly type: string
  /** `configmaps default/sample` */
  readonly object: string
}

export interface WireOptions {
  readonly time: SimulatedTime
  readonly server: ApiServer
  readonly storage: Storage
  readonly random: Random
  readonly trace: Trace
  /** The faults that are due at the nth write or event. They are struck off by whoever takes them. */
  readonly strike: (on: 'write' | 'event', number: number) => readonly Fault[]
  /** Things that others do at this moment: a person, another process. Awaited before the answer goes out. */
  readonly onFault: (fault: Fault, life: Life, write: Write) => Promise<void>
  /** Told of each write when it is done. */
  readonly onWrite: () => void
  /** Who may write; undefined: there is one process at a time, and it always may. */
  readonly tenure: Tenure | undefined
  /** Answers that are the same in all runs. */
  readonly answers: Map<string, TransportResponse>
  /** Events that were read before: most are the same in all runs, too. */
  readonly recall: Recall
}

export interface Wire {
  readonly writes: readonly Write[]
  readonly events: readonly SeenEvent[]
  /** Everything that was asked for and answered, watches included. */
  readonly requests: readonly Request[]
  /** When the operator last asked for a change. */
  readonly lastWriteAt: number
  /** Something is under way: a request without its answer, an event that is held back. */
  readonly isBusy: boolean
  transport(life: Life): Transport
}

/** How long a request, an answer or an event takes at the least and at the most. */
const latencyMs = [1, 4] as const
/** How long a broken watch cannot be mended. */
const outageMs = 500
/** The longest that an event waits for another one to take its place. */
const mergeMs = 500
/** How far apart events come that a server has to catch up with. */
const catchUpMs = 10
/** How late answers come to a process whose lease is not renewed: in time for a write, and too late for many. */
const lateMs = 4000
/** How long the first of two leaders waits, so that the second has begun. */
const overlapMs = 20

export function openWire(options: WireOptions): Wire {
  const { time, server, storage, random, trace, strike, onFault, onWrite, tenure, answers, recall } = options
  const writes: Write[] = []
  const events: SeenEvent[] = []
  const requests: Request[] = []
  let lastWriteAt = time.now()
  /** What each process waits for. Nobody waits for one that is gone. */
  const waiting = new Map<Life, number>()
  let slowMs = 0
  /** Watches that may not resume where they were: by process and path. */
  const expired = new Set<string>()
  const brokenUntil = new Map<string, number>()

  const latency = (): number => latencyMs[0] + Math.floor(random.next() * (latencyMs[1] - latencyMs[0] + 1)) + slowMs

  const wait = (life: Life, change: 1 | -1): void => void waiting.set(life, (waiting.get(life) ?? 0) + change)

  const transport = (life: Life): Transport => {
    let isDoomed = false

    /** A moment on the way; never comes back for a process that is gone. */
    const travel = async (ms: number): Promise<void> => {
      await time.sleep(ms)
      while (life.stoppedUntil > time.now()) await time.sleep(life.stoppedUntil - time.now())
      if (life.isOver) await never()
    }

    /** On the server's side: what was sent arrives, whatever became of who sent it. */
    const arrive = async (): Promise<void> => {
      await travel(latency())
      while (life.cutUntil > time.now()) await time.sleep(life.cutUntil - time.now())
    }

    const isLapsed = (): boolean => life.lapsedUntil > time.now()

    /** Takes or looks at the lease: that is no work, and not counted. */
    const elect = async (sent: TransportRequest, who: Tenure): Promise<TransportResponse> => {
      const sentAt = time.now()
      await arrive()
      if (isLapsed()) return await never()
      const answer = await handle(sent)
      const hear = who.answered(life, sent, sentAt, answer.status)
      await travel(latency())
      hear()
      return answer
    }

    const send = async (sent: TransportRequest): Promise<TransportResponse> => {
      if (isDoomed) life.end()
      if (life.isOver) return await never()
      if (tenure && isAboutLease(sent)) {
        const answered = elect(sent, tenure)
        return await (sent.signal ? abortable(answered, sent.signal) : answered)
      }
      const request = requestOf(sent, life.number)
      if (tenure && request.method !== 'GET') tenure.leaves(life, shownRequest(request))
      if (request.verb === 'watch' || request.verb === 'list') return await read(sent, request)
      wait(life, 1)
      try {
        sent.signal?.throwIfAborted()
        const answered = exchange(sent, request)
        return await (sent.signal ? abortable(answered, sent.signal) : answered)
      } finally {
        wait(life, -1)
        // What comes of an answer, or of none, begins here.
        if (isWrite(request)) lastWriteAt = time.now()
      }
    }

    /** A server goes on with what it was asked, whatever becomes of the client. */
    const handle = (sent: TransportRequest): Promise<TransportResponse> => server.handle({ ...sent, signal: undefined })

    /** What is served is the same for all runs: the answer to that is kept as long as no definition changes. */
    const known = async (sent: TransportRequest): Promise<TransportResponse> => {
      if (sent.path !== '/api' && sent.path !== '/apis') return await handle(sent)
      const definitions = storage.table('customresourcedefinitions.apiextensions.k8s.io').objects()
      const versions = definitions.map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`)
      const key = [sent.path, String(sent.headers['accept']), ...versions].join('\n')
      const kept = answers.get(key)
      if (kept?.whole) return { ...kept, body: once(kept.whole) }
      const answer = await handle(sent)
      if (answer.whole && answer.status === 200) answers.set(key, answer)
      return answer
    }

    const exchange = async (sent: TransportRequest, request: Request): Promise<TransportResponse> => {
      await arrive()
      if (!isWrite(request)) {
        const answer = await known(sent)
        requests.push({ ...request, status: answer.status })
        await travel(latency())
        return answer
      }
      lastWriteAt = time.now()
      let number = writes.length + 1
      const revision = storage.revision
      const faults = strike('write', number)
      let name = `write ${number}: ${shownRequest(request)}`
      const struck = (...kinds: readonly Fault['kind'][]): Fault | undefined =>
        faults.find(({ kind }) => kinds.includes(kind))
      const note = (status: number): Write => {
        const write: Write = { number, request: { ...request, status }, status, revision }
        writes.push(write)
        requests.push(write.request)
        onWrite()
        return write
      }

      const early = struck('crash-before', 'lost', 'refuse', 'usurp')
      if (early?.kind === 'crash-before') {
        await onFault(early, life, note(0))
        trace.note(`${name} never arrives: process ${life.number} has crashed`, told)
        life.end()
        return await never()
      }
      if (early?.kind === 'lost') {
        trace.note(`${name} never arrives: the connection broke`, told)
        await onFault(early, life, note(0))
        throw new MusterError('ConnectionLost', 'the connection broke.')
      }
      if (early?.kind === 'refuse') {
        const status = Number(early.value ?? 500)
        trace.note(`${name} is refused with ${status}`, told)
        await onFault(early, life, note(status))
        await travel(latency())
        return refusal(status)
      }
      if (early?.kind === 'usurp') {
        trace.note(`${name} is held up: process ${life.number} is cut off for ${absenceMs / 1000} s`, told)
        life.cutUntil = time.now() + absenceMs
        life.frozenUntil = life.cutUntil
        await onFault(early, life, { number, request, status: 0, revision })
        await time.sleep(absenceMs)
        number = writes.length + 1
        name = `write ${number}, the one that was held up: ${shownRequest(request)}`
      }
      const answer = await handle(sent)
      const write = note(answer.status)
      trace.note(`${name} → ${answer.status}, version ${storage.revision}, by process ${life.number}`, told)
      for (const fault of faults) {
        switch (fault.kind) {
          case 'crash':
          case 'travel':
            trace.note(`process ${life.number} crashes before it hears of write ${number}`, told)
            life.end()
            break
          case 'crash-after':
            trace.note(`process ${life.number} hears of write ${number} and crashes`, told)
            isDoomed = true
            break
          case 'pause':
            life.stoppedUntil = time.now() + absenceMs
            life.frozenUntil = life.stoppedUntil
            trace.note(`process ${life.number} is stopped for ${absenceMs / 1000} s`, told)
            break
          case 'lapse':
            life.lapsedUntil = time.now() + absenceMs
            trace.note(`process ${life.number} cannot renew its lease, and answers take ${lateMs} ms`, told)
            break
          case 'slow':
            slowMs = Number(fault.value ?? 3000)
            trace.note(`from here on each request takes ${2 * slowMs} ms more`, told)
            break
          case 'jump':
            life.skewMs += Number(fault.value ?? 3_600_000)
            trace.note(`the clock of process ${life.number} jumps by ${fault.value ?? 3_600_000} ms`, told)
            break
          default:
        }
        if (fault.kind !== 'usurp') await onFault(fault, life, write)
      }
      if (struck('unheard')) {
        trace.note(`the answer to write ${number} is lost: the connection broke`, told)
        await travel(latency())
        throw new MusterError('ConnectionLost', 'the connection broke.')
      }
      if (struck('silent')) {
        trace.note(`no answer to write ${number} ever comes`, told)
        return await never()
      }
      if (life.isOver) return await never()
      await travel(latency() + (isLapsed() ? lateMs : 0) + (struck('leaders') ? overlapMs : 0))
      if (isDoomed) {
        // What it still does in this breath stays in its memory, and goes with it.
        time.after(50, () => life.end())
      }
      return answer
    }

    /** Lists and watches: how caches are kept. */
    const read = async (sent: TransportRequest, request: Request): Promise<TransportResponse> => {
      const place = `${life.number} ${sent.path.split('?')[0]}`
      if (life.frozenUntil > time.now()) await sleepUntil(life.frozenUntil)
      await travel(latency())
      sent.signal?.throwIfAborted()
      if ((brokenUntil.get(place) ?? 0) > time.now()) {
        throw new MusterError('Unreachable', 'the server cannot be reached.')
      }
      const [path = '', text = ''] = sent.path.split('?')
      const query = new URLSearchParams(text)
      const isResumed = request.verb === 'watch' && query.has('resourceVersion') && !query.has('sendInitialEvents')
      if (isResumed && expired.delete(place)) {
        requests.push({ ...request, status: 200 })
        return { status: 200, headers: jsonHeaders, body: once(`${expiredLine}\n`) }
      }
      const signal = sent.signal ? firstOf(sent.signal, life.signal) : life.signal
      const asked = { ...sent, signal }
      const lag = life.lag
      if (lag && lag.until > time.now() && !isResumed) {
        return request.verb === 'watch' ? pastWatch(asked, path, lag) : await pastList(asked, path, query, lag)
      }
      const answer = await server.handle(asked)
      requests.push({ ...request, status: answer.status })
      if (request.verb !== 'watch' || answer.status !== 200) {
        await travel(latency())
        return answer
      }
      return { ...answer, whole: undefined, body: delivered(answer.body, request, place, signal, !isResumed) }
    }

    const sleepUntil = async (moment: number): Promise<void> => {
      if (moment === Infinity) await never()
      while (life.frozenUntil > time.now()) await travel(life.frozenUntil - time.now())
    }

    const pastList = async (
      asked: TransportRequest,
      path: string,
      query: URLSearchParams,
      { revision }: NonNullable<Life['lag']>,
    ): Promise<TransportResponse> => {
      query.set('resourceVersion', String(revision))
      query.set('resourceVersionMatch', 'Exact')
      query.delete('continue')
      query.delete('limit')
      return await server.handle({ ...asked, path: `${path}?${query.toString()}` })
    }

    /** A watch that begins with what there was, and goes on when the server has caught up. */
    const pastWatch = (asked: TransportRequest, path: string, lag: NonNullable<Life['lag']>): TransportResponse => {
      async function* body(): AsyncGenerator<Uint8Array> {
        const list = await pastList(asked, path, new URLSearchParams(), lag)
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
        trace.note(`process ${life.number} is shown ${path} as of version ${lag.revision}`)
        await time.sleep(Math.max(lag.until - time.now(), 0), asked.signal)
        const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${lag.revision}`
        const { body: rest } = await server.handle({ ...asked, path: `${path}?${query}` })
        const request = requestOf({ ...asked, path: `${path}?${query}` }, life.number)
        // It catches up in the order in which everything happened.
        const since = (version: number): number => lag.until + (version - lag.revision) * catchUpMs
        yield* delivered(rest, request, `${life.number} ${path}`, asked.signal!, false, since)
      }
      return { status: 200, headers: jsonHeaders, body: body() }
    }

    /** Hands on what a watch brings, one event after the other, each in its time. */
    async function* delivered(
      body: AsyncIterable<Uint8Array>,
      request: Request,
      place: string,
      signal: AbortSignal,
      beginsWithState: boolean,
      notBefore: (version: number) => number = () => 0,
    ): AsyncGenerator<Uint8Array> {
      let isInitial = beginsWithState
      const lines = readLines(body)
      try {
        for (;;) {
          if (!lines.isReady) await lines.wait()
          const line = lines.take()
          if (!line) return
          // What there is at the begin is no event.
          if (isInitial && !isBookmark(line)) {
            yield line
            continue
          }
          const { type, object } = eventIn(line, recall)
          if (isInitial || type === 'BOOKMARK' || type === 'ERROR') {
            if (type === 'BOOKMARK' && object.metadata.annotations?.['k8s.io/initial-events-end']) isInitial = false
            yield line
            continue
          }
          wait(life, 1)
          try {
            await time.sleep(latency(), signal)
            const moment = notBefore(Number(object.metadata.resourceVersion))
            if (moment > time.now()) await time.sleep(moment - time.now(), signal)
            if (life.frozenUntil > time.now()) await sleepUntil(life.frozenUntil)
            const event: SeenEvent = { number: events.length + 1, type, object: shownObject(request, object) }
            events.push(event)
            const faults = strike('event', event.number)
            trace.note(`event ${event.number}: ${event.object} ${type}, version ${object.metadata.resourceVersion}`)
            const [fault] = faults
            if (!fault) {
              yield line
              continue
            }
            trace.note(`${formatFault(fault)} strikes: event ${event.number}, ${event.object} ${type}`, told)
            switch (fault.kind) {
              case 'lose':
                brokenUntil.set(place, time.now() + outageMs)
                expired.add(place)
                throw new MusterError('ConnectionLost', 'the watch broke.')
              case 'expire':
                yield Buffer.from(`${expiredLine}\n`)
                return
              case 'delay':
                await time.sleep(Number(fault.value ?? 500), signal)
                yield line
                break
              case 'freeze':
                life.frozenUntil = time.now() + Number(fault.value ?? 500)
                await sleepUntil(life.frozenUntil)
                yield line
                break
              case 'repeat':
                yield line
                await time.sleep(latency(), signal)
                yield line
                break
              case 'merge': {
                const held = [line]
                const deadline = time.sleep(mergeMs, signal)
                // Nobody waits for it where the other one is there already.
                deadline.catch(() => undefined)
                for (;;) {
                  if (!lines.isReady) await Promise.race([lines.wait(), deadline])
                  const later = lines.take()
                  if (!later) break
                  held.push(later)
                  const other = eventIn(later, recall)
                  if (shownObject(request, other.object) !== event.object) continue
                  held.shift()
                  held.pop()
                  held.push(mergedLine({ type, object }, other))
                  trace.note(
                    `event ${event.number} is not seen: ${event.object} ${other.type} comes in its place`,
                    told,
                  )
                  break
                }
                yield* held
                break
              }
              default:
            }
          } finally {
            wait(life, -1)
          }
        }
      } finally {
        lines.leave()
      }
    }

    return {
      send,
      connect: ({ path }) => Promise.reject(new MusterError('ProtocolError', `${path}: no message streams here.`)),
      stats: () => ({ connections: 0, streams: 0 }),
      close: () => Promise.resolve(),
    }
  }

  return {
    writes,
    events,
    requests,
    get lastWriteAt() {
      return lastWriteAt
    },
    get isBusy() {
      return [...waiting].some(([life, count]) => count > 0 && !life.isOver)
    },
    transport,
  }
}

const told = { isTold: true } as const

interface RawEvent {
  readonly type: string
  readonly object: UntypedObject
}

/** What somebody sees who was not looking in between. */
function mergedLine(first: RawEvent, last: RawEvent): Uint8Array {
  // An end is always told: a cache may know by an answer what it never saw by an event.
  if (last.type === 'DELETED') return bytesOf(last)
  return bytesOf({ type: first.type === 'DELETED' ? 'MODIFIED' : first.type, object: last.object })
}

function shownObject({ resource }: Request, { metadata }: UntypedObject): string {
  return `${resource?.plural ?? ''} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    const leave = (): void => signal.removeEventListener('abort', abort)
    work.then(resolve, reject)
    work.then(leave, leave)
  })
}

function bytesOf(event: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(event)}\n`)
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** The lines of a watch, each with its newline, as bytes: most are only passed on. */
interface Lines {
  readonly isReady: boolean
  /** Until there is one, or no more will come. */
  wait(): Promise<void>
  /** One that is there. */
  take(): Uint8Array | undefined
  leave(): void
}

function readLines(body: AsyncIterable<Uint8Array>): Lines {
  const chunks = body[Symbol.asyncIterator]()
  const there: Uint8Array[] = []
  let rest: Uint8Array | undefined
  /** Somebody who gave up waiting may wait again. */
  let waiting: Promise<void> | undefined
  const split = (chunk: Uint8Array): void => {
    const bytes = rest ? Buffer.concat([rest, chunk]) : chunk
    let start = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      there.push(bytes.subarray(start, end + 1))
      start = end + 1
    }
    rest = start < bytes.length ? bytes.subarray(start) : undefined
  }
  const fill = async (): Promise<void> => {
    while (there.length === 0) {
      const { done, value } = await chunks.next()
      if (done) break
      split(value)
    }
    waiting = undefined
  }
  return {
    get isReady() {
      return there.length > 0
    },
    wait: () => (waiting ??= fill()),
    take: () => there.shift(),
    leave: () => void chunks.return?.(),
  }
}

const newline = 10

function eventIn(line: Uint8Array, recall: Recall): RawEvent {
  const text = textIn(line, line.length)
  return recall(
    () => text,
    () => JSON.parse(text) as RawEvent,
  )
}

const bookmarkStart = '{"type":"BOOKMARK"'

function isBookmark(line: Uint8Array): boolean {
  return textIn(line, Math.min(line.length, bookmarkStart.length)) === bookmarkStart
}

function textIn({ buffer, byteOffset }: Uint8Array, length: number): string {
  return Buffer.from(buffer, byteOffset, length).toString()
}

/** Aborted with the first of the two. */
function firstOf(one: AbortSignal, other: AbortSignal): AbortSignal {
  const either = new AbortController()
  for (const signal of [one, other]) {
    if (signal.aborted) either.abort(signal.reason)
    else signal.addEventListener('abort', () => either.abort(signal.reason), { once: true })
  }
  return either.signal
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}

/**
 * The wire between an operator and its server. Everything that an operator learns or does goes over it, so here is where
 * faults strike: a write is refused, lost, answered late or never; what caches are kept by goes through `reading.ts`. How long
 * anything takes is drawn from the seed, and that decides what comes first.
 */
import { aborted } from '../../clock/aborted.ts'
import type { Random } from '../../clock/random.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../transport/transport.ts'
import type { ApiServer } from '../../apiserver/server/api-server.ts'
import type { Recall } from '../../kube/recall.ts'
import type { Storage } from '../../apiserver/storage/storage.ts'
import { MusterError } from '../../kube/errors.ts'
import { once, refusal } from './answer.ts'
import type { Fault } from './fault.ts'
import { type SimulatedLife, never } from './life.ts'
import { openReading, type SeenEvent } from './reading.ts'
import { isWriteRequest, type Request, requestOf, shownRequest } from '../scorecard/request.ts'
import { absenceMs, isAboutLease, type LeaseObserver } from './lease-observer.ts'
import type { SimulatedTime } from './time.ts'
import { told, type Trace } from './trace.ts'

/** A write as the run remembers it. */
export interface SimulatedWrite {
  /** Counted in the order in which they reach the server; 1 is the first. */
  readonly number: number
  readonly request: Request
  readonly status: number
  /** Of the server, before this write. */
  readonly revision: number
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
  readonly onFault: (fault: Fault, life: SimulatedLife, write: SimulatedWrite) => Promise<void>
  /** Told of each write when it is done. */
  readonly onWrite: () => void
  /** Who may write; undefined: there is one process at a time, and it always may. */
  readonly tenure: LeaseObserver | undefined
  /** Answers that are the same in all runs. */
  readonly answers: Map<string, TransportResponse>
  /** Events that were read before: most are the same in all runs, too. */
  readonly recall: Recall
}

export interface Wire {
  readonly writes: readonly SimulatedWrite[]
  readonly events: readonly SeenEvent[]
  /** Everything that was asked for and answered, watches included. */
  readonly requests: readonly Request[]
  /** When the operator last asked for a change. */
  readonly lastWriteAt: number
  /** Something is under way: a request without its answer, an event that is held back. */
  isBusy(): boolean
  transport(life: SimulatedLife): Transport
}

/** How long a request, an answer or an event takes at the least and at the most. */
const latencyMs = [1, 4] as const
/** How late answers come to a process whose lease is not renewed: in time for a write, and too late for many. */
const lateMs = 4000
/** How long the first of two leaders waits, so that the second has begun. */
const overlapMs = 20

export function openWire(options: WireOptions): Wire {
  const { time, server, storage, random, trace, strike, onFault, onWrite, tenure, answers, recall } = options
  const writes: SimulatedWrite[] = []
  const events: SeenEvent[] = []
  const requests: Request[] = []
  const lives: SimulatedLife[] = []
  let slowMs = 0
  const latency = (): number => latencyMs[0] + Math.floor(random.next() * (latencyMs[1] - latencyMs[0] + 1)) + slowMs

  const transport = (life: SimulatedLife): Transport => {
    lives.push(life)
    let isDoomed = false

    /** A moment on the way; never comes back for a process that is gone. */
    const travel = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        const pass = (): void => {
          if (life.stoppedUntil > time.now()) time.after(life.stoppedUntil - time.now(), pass)
          else if (!life.isOver) resolve()
        }
        time.after(ms, pass)
      })

    /** Until what it sends arrives again, whatever becomes of it meanwhile. */
    const uncut = async (): Promise<void> => {
      while (life.cutUntil > time.now()) await time.sleep(life.cutUntil - time.now())
    }

    const read = openReading({
      life,
      time,
      server,
      trace,
      latency,
      travel,
      wait: (change) => void (life.waiting += change),
      strike: (number) => strike('event', number),
      events,
      requests,
      recall,
    })

    const isLapsed = (): boolean => life.lapsedUntil > time.now()

    /** Takes or looks at the lease: that is no work, and not counted. */
    const elect = async (sent: TransportRequest, who: LeaseObserver): Promise<TransportResponse> => {
      const sentAt = time.now()
      await travel(latency())
      if (life.cutUntil > time.now()) await uncut()
      if (isLapsed()) return await never()
      const answer = await carriedOut(sent)
      const hear = who.answered(life, sent, sentAt, answer.status)
      await travel(latency())
      hear()
      return answer
    }

    const send = async (sent: TransportRequest): Promise<TransportResponse> => {
      if (isDoomed) life.end()
      if (life.isOver) return await never()
      if (tenure && isAboutLease(sent)) {
        return await elect(sent, tenure)
      }
      const request = requestOf(sent, life.number)
      if (tenure && request.method !== 'GET') tenure.leaves(life, shownRequest(request))
      if (request.verb === 'watch' || request.verb === 'list') return await read(sent, request)
      life.waiting++
      try {
        sent.signal?.throwIfAborted()
        return await exchange(sent, request)
      } finally {
        life.waiting--
        // What comes of an answer, or of none, begins here.
        if (isWriteRequest(request)) wire.lastWriteAt = time.now()
      }
    }

    /** A server goes on with what it was asked, whatever becomes of the client. */
    const handle = (sent: TransportRequest): Promise<TransportResponse> => server.handle({ ...sent, signal: undefined })

    /** All that comes of it at once has come of it: how long the server took to answer does not decide what comes first. */
    const carriedOut = async (sent: TransportRequest): Promise<TransportResponse> => {
      const answer = await handle(sent)
      await time.sleep(0)
      return answer
    }

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
      await travel(latency())
      if (life.cutUntil > time.now()) await uncut()
      if (!isWriteRequest(request)) {
        const answer = await (sent.method === 'GET' ? known(sent) : carriedOut(sent))
        requests.push({ ...request, status: answer.status })
        await travel(latency())
        return answer
      }
      wire.lastWriteAt = time.now()
      let number = writes.length + 1
      const revision = storage.revision
      const faults = strike('write', number)
      let name = `write ${number}: ${shownRequest(request)}`
      const struck = (...kinds: readonly Fault['kind'][]): Fault | undefined =>
        faults.find(({ kind }) => kinds.includes(kind))
      const note = (status: number): SimulatedWrite => {
        const write: SimulatedWrite = { number, request: { ...request, status }, status, revision }
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
      const answer = await carriedOut(sent)
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
        if (fault.kind !== 'usurp') {
          await onFault(fault, life, write)
          await time.sleep(0)
        }
      }
      if (struck('unheard')) {
        trace.note(`the answer to write ${number} is lost: the connection broke`, told)
        await travel(latency())
        throw new MusterError('ConnectionLost', 'the connection broke.')
      }
      if (struck('silent')) {
        trace.note(`no answer to write ${number} ever comes`, told)
        if (!sent.signal) return await never()
        // Whoever asked gives up some day.
        await aborted(sent.signal)
        throw sent.signal.reason
      }
      if (life.isOver) return await never()
      await travel(latency() + (isLapsed() ? lateMs : 0) + (struck('leaders') ? overlapMs : 0))
      if (isDoomed) {
        // What it still does in this breath stays in its memory, and goes with it.
        time.after(50, () => life.end())
      }
      return answer
    }

    return {
      send,
      connect: ({ path }) => Promise.reject(new MusterError('ProtocolError', `${path}: no message streams here.`)),
      stats: () => ({ connections: 0, streams: 0 }),
      close: () => Promise.resolve(),
    }
  }

  const wire: Wire & { lastWriteAt: number } = {
    writes,
    events,
    requests,
    lastWriteAt: time.now(),
    // Nobody waits for one that is gone.
    isBusy: () => lives.some(({ waiting, isOver }) => waiting > 0 && !isOver),
    transport,
  }
  return wire
}

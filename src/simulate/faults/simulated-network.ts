/**
 * The network between an operator and its API server. All requests pass here, so faults are injected here: a write is
 * rejected, lost, answered late or never; lists and watches go through `reading.ts`. Latencies are drawn from the seed,
 * and determine the order of events.
 */
import { aborted } from '../../clock/aborted.ts'
import type { Random } from '../../clock/random.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../transport/transport.ts'
import type { ApiServer } from '../../apiserver/server/api-server.ts'
import type { Recall } from './recall.ts'
import type { Storage } from '../../apiserver/storage/storage.ts'
import { transportErrors } from '../../transport/errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { once, refusal } from './answer.ts'
import type { Fault } from './fault.ts'
import { type SimulatedProcess, never } from './simulated-process.ts'
import { openReading, type SeenEvent } from './reading.ts'
import { isWriteRequest, type Request, requestOf, shownRequest } from '../scorecard/request.ts'
import { absenceMs, isAboutLease, type LeaseObserver } from './lease-observer.ts'
import type { SimulatedTime } from './time.ts'
import { inReport, type Trace } from './trace.ts'

/** A recorded write. */
export interface SimulatedWrite {
  /** In the order of arrival at the server; 1 is the first. */
  readonly number: number
  readonly request: Request
  readonly status: number
  /** The server's revision before this write. */
  readonly revision: number
}

export interface SimulatedNetworkOptions {
  readonly time: SimulatedTime
  readonly server: ApiServer
  readonly storage: Storage
  readonly random: Random
  readonly trace: Trace
  /** Takes the faults that are due at the nth write or event. */
  readonly takeFaults: (on: 'write' | 'event', number: number) => readonly Fault[]
  /** Actions of users and other processes at this moment. Awaited before the answer is sent. */
  readonly onFault: (fault: Fault, proc: SimulatedProcess, write: SimulatedWrite) => Promise<void>
  /** Called after each write. */
  readonly onWrite: () => void
  /** Undefined: there is one process at a time, and it may always write. */
  readonly leaseObserver: LeaseObserver | undefined
  /** Answers that are shared by all runs. */
  readonly answers: Map<string, TransportResponse>
  /** The memo of parsed events, most of which are the same in all runs. */
  readonly recall: Recall
}

interface SimulatedNetwork {
  readonly writes: readonly SimulatedWrite[]
  readonly events: readonly SeenEvent[]
  /** All answered requests, watches included. */
  readonly requests: readonly Request[]
  /** The time of the operator's last write. */
  readonly lastWriteAt: number
  /** When the last read was answered, if requests are slow: a reconcile may read for longer than a quiet operator rests. */
  readonly lastSlowReadAt: number
  /** Whether a request is unanswered or an event held back. */
  isBusy(): boolean
  transport(proc: SimulatedProcess): Transport
}

/** The minimum and maximum latency of a request, an answer or an event. */
const latencyMs = [1, 4] as const
/** The latency for a process whose lease is not renewed: in time for one write, too late for many. */
const lateMs = 4000
/** How long the first of two leaders waits for the second to start. */
const overlapMs = 20

export function openSimulatedNetwork(options: SimulatedNetworkOptions): SimulatedNetwork {
  const { time, server, storage, random, trace, takeFaults, onFault, onWrite, leaseObserver, answers, recall } = options
  const writes: SimulatedWrite[] = []
  const events: SeenEvent[] = []
  const requests: Request[] = []
  const lives: SimulatedProcess[] = []
  let slowMs = 0
  const latency = (): number => latencyMs[0] + Math.floor(random.next() * (latencyMs[1] - latencyMs[0] + 1)) + slowMs

  const transport = (proc: SimulatedProcess): Transport => {
    lives.push(proc)
    let isDoomed = false

    /** Waits; never resolves for a process that is gone. */
    const travel = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        const pass = (): void => {
          if (proc.stoppedUntil > time.now()) time.after(proc.stoppedUntil - time.now(), pass)
          else if (!proc.isOver) resolve()
        }
        time.after(ms, pass)
      })

    /** Waits until its requests arrive again. */
    const uncut = async (): Promise<void> => {
      while (proc.cutUntil > time.now()) await time.sleep(proc.cutUntil - time.now())
    }

    const read = openReading({
      proc,
      time,
      server,
      trace,
      latency,
      travel,
      wait: (change) => void (proc.waiting += change),
      takeFaults: (number) => takeFaults('event', number),
      events,
      requests,
      recall,
    })

    const isLapsed = (): boolean => proc.lapsedUntil > time.now()

    /** A lease request: not counted as work. */
    const elect = async (sent: TransportRequest, who: LeaseObserver): Promise<TransportResponse> => {
      const sentAt = time.now()
      await travel(latency())
      if (proc.cutUntil > time.now()) await uncut()
      if (isLapsed()) return await never()
      const answer = await carriedOut(sent)
      const hear = who.answered(proc, sent, sentAt, answer.status)
      await travel(latency())
      hear()
      return answer
    }

    const send = async (sent: TransportRequest): Promise<TransportResponse> => {
      if (isDoomed) proc.end()
      if (proc.isOver) return await never()
      if (leaseObserver && isAboutLease(sent)) {
        return await elect(sent, leaseObserver)
      }
      const request = requestOf(sent, proc.number)
      if (leaseObserver && request.method !== 'GET') leaseObserver.leaves(proc, shownRequest(request))
      if (request.verb === 'watch' || request.verb === 'list') {
        if (slowMs > 0 && request.verb === 'list') network.lastSlowReadAt = time.now() + 2 * slowMs
        return await read(sent, request)
      }
      proc.waiting++
      try {
        sent.signal?.throwIfAborted()
        return await exchange(sent, request)
      } finally {
        proc.waiting--
        // The effects of an answer, or of a missing one, begin here.
        if (isWriteRequest(request)) network.lastWriteAt = time.now()
        else if (slowMs > 0) network.lastSlowReadAt = time.now()
      }
    }

    /** The server completes a request even if the client is gone. */
    const handle = (sent: TransportRequest): Promise<TransportResponse> => server.handle({ ...sent, signal: undefined })

    /** Waits for the immediate effects: the server's processing time must not determine the order of events. */
    const carriedOut = async (sent: TransportRequest): Promise<TransportResponse> => {
      const answer = await handle(sent)
      await time.sleep(0)
      return answer
    }

    /** Discovery is the same in all runs: its answers are cached as long as no CRD changes. */
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
      if (proc.cutUntil > time.now()) await uncut()
      if (!isWriteRequest(request)) {
        const answer = await (sent.method === 'GET' ? known(sent) : carriedOut(sent))
        requests.push({ ...request, status: answer.status })
        await travel(latency())
        return answer
      }
      network.lastWriteAt = time.now()
      let number = writes.length + 1
      const revision = storage.revision
      const faults = takeFaults('write', number)
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
        await onFault(early, proc, note(0))
        trace.note(`${name} never arrives: process ${proc.number} has crashed`, inReport)
        proc.end()
        return await never()
      }
      if (early?.kind === 'lost') {
        trace.note(`${name} never arrives: the connection broke`, inReport)
        await onFault(early, proc, note(0))
        throw new MusterError(transportErrors.ConnectionLost, 'the connection broke.')
      }
      if (early?.kind === 'refuse') {
        const status = Number(early.value ?? 500)
        trace.note(`${name} is refused with ${status}`, inReport)
        await onFault(early, proc, note(status))
        await travel(latency())
        return refusal(status)
      }
      if (early?.kind === 'usurp') {
        trace.note(`${name} is held up: process ${proc.number} is cut off for ${absenceMs / 1000} s`, inReport)
        proc.cutUntil = time.now() + absenceMs
        proc.frozenUntil = proc.cutUntil
        await onFault(early, proc, { number, request, status: 0, revision })
        await time.sleep(absenceMs)
        number = writes.length + 1
        name = `write ${number}, the one that was held up: ${shownRequest(request)}`
      }
      const answer = await carriedOut(sent)
      const write = note(answer.status)
      trace.note(`${name} → ${answer.status}, version ${storage.revision}, by process ${proc.number}`, inReport)
      for (const fault of faults) {
        switch (fault.kind) {
          case 'crash':
          case 'travel':
            trace.note(`process ${proc.number} crashes before it hears of write ${number}`, inReport)
            proc.end()
            break
          case 'crash-after':
            trace.note(`process ${proc.number} hears of write ${number} and crashes`, inReport)
            isDoomed = true
            break
          case 'pause':
            proc.stoppedUntil = time.now() + absenceMs
            proc.frozenUntil = proc.stoppedUntil
            trace.note(`process ${proc.number} is stopped for ${absenceMs / 1000} s`, inReport)
            break
          case 'lapse':
            proc.lapsedUntil = time.now() + absenceMs
            trace.note(`process ${proc.number} cannot renew its lease, and answers take ${lateMs} ms`, inReport)
            break
          case 'slow':
            slowMs = Number(fault.value ?? 3000)
            trace.note(`from here on each request takes ${2 * slowMs} ms more`, inReport)
            break
          case 'jump':
            proc.skewMs += Number(fault.value ?? 3_600_000)
            trace.note(`the clock of process ${proc.number} jumps by ${fault.value ?? 3_600_000} ms`, inReport)
            break
          default:
        }
        if (fault.kind !== 'usurp') {
          await onFault(fault, proc, write)
          await time.sleep(0)
        }
      }
      if (struck('unheard')) {
        trace.note(`the answer to write ${number} is lost: the connection broke`, inReport)
        await travel(latency())
        throw new MusterError(transportErrors.ConnectionLost, 'the connection broke.')
      }
      if (struck('silent')) {
        trace.note(`no answer to write ${number} ever comes`, inReport)
        if (!sent.signal) return await never()
        // The caller times out.
        await aborted(sent.signal)
        throw sent.signal.reason
      }
      if (proc.isOver) return await never()
      await travel(latency() + (isLapsed() ? lateMs : 0) + (struck('leaders') ? overlapMs : 0))
      if (isDoomed) {
        // What the process still does synchronously is lost with its memory.
        time.after(50, () => proc.end())
      }
      return answer
    }

    return {
      send,
      connect: ({ path }) =>
        Promise.reject(new MusterError(clientErrors.ProtocolError, `${path}: no message streams here.`)),
      stats: () => ({ connections: 0, streams: 0 }),
      close: () => Promise.resolve(),
    }
  }

  const network: SimulatedNetwork & { lastWriteAt: number; lastSlowReadAt: number } = {
    writes,
    events,
    requests,
    lastWriteAt: time.now(),
    lastSlowReadAt: 0,
    // Processes that are gone do not count.
    isBusy: () => lives.some(({ waiting, isOver }) => waiting > 0 && !isOver),
    transport,
  }
  return network
}

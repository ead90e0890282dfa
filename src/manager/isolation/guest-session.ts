/**
 * One guest, from its start to its end: passes reconciles to it, answers its reads, executes its waves, and watches it.
 * When it ends, the reconciles in progress fail, except those that had not started.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import type { Log } from '../logging/log-line.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Conclusion, Situation } from '../../operator/reconcile.ts'
import type { Execute } from '../run/executor.ts'
import { createConsultations, type Question } from './protocol/consultation.ts'
import type { Guest, GuestEvents } from './launch/guest-handle.ts'
import { answerCall, answerRead } from './guest-rpc.ts'
import { interrupted } from './interruption.ts'
import type { Limits } from './launch/limits.ts'
import type { ModuleName } from './protocol/module-name.ts'
import { type Canary, decodeError, type ToGuest } from './protocol/protocol.ts'
import type { IsolationLevel } from './runner.ts'
import { rememberSecrets } from './seen-secrets.ts'
import { amount, decodeConclusion, decodeWave, encodeMemory, encodeOutcome, texts, wrong } from './protocol/wire.ts'

export interface SessionOptions {
  readonly level: IsolationLevel
  readonly module: ModuleName
  /** Its name in messages. */
  readonly place: string
  readonly canary: Canary
  readonly start: (events: GuestEvents) => Guest
  readonly limits: Limits
  /** Origins that it may call. */
  readonly outside: readonly string[]
  /** Runs it although a restriction is not enforced, with a warning each time. */
  readonly allowUnenforced: boolean
  readonly clock: Clock
  readonly log: Log
  /** Unique ids across guests. */
  readonly nextId: () => number
  /** Validates the declarations of the guest; throws when they are invalid. */
  readonly declared: (declaration: Json | undefined) => Operator
  /** A reconcile has concluded. */
  readonly onDone: (situation: Situation<KubeObject>) => void
  /** A reconcile blocked others. */
  readonly onStuck: (situation: Situation<KubeObject>) => void
  /** The conclusion of a reconcile that had not started. */
  readonly requeueLater: (situation: Situation<KubeObject>, startedAt: number) => Conclusion
  /** Called once: later errors are consequences. */
  readonly onEnd: (error: unknown) => void
}

export interface GuestSession {
  readonly startedAt: number
  /** Resolves when the operator is loaded. */
  readonly loaded: Promise<Operator>
  /** Loaded, and not ended. */
  readonly isReady: boolean
  /** Resolves when the guest is gone completely. */
  readonly ended: Promise<string>
  run(situation: Situation<KubeObject>, execute: Execute): Promise<Conclusion>
  consult(question: Question): Promise<unknown>
  end(reason: unknown): void
}

interface Running {
  readonly situation: Situation<KubeObject>
  readonly execute: Execute
  readonly startedAt: number
  readonly resolve: (conclusion: Conclusion | Promise<Conclusion>) => void
  readonly deadline: Timer
  /** Writes and calls in progress: the next reconcile of the object must wait for them. */
  readonly underWay: Set<Promise<void>>
  /** The guest's message count when the reconcile was sent, if others were in progress there. */
  readonly behind: number | undefined
  waves: number
  reads: number
  readBytes: number
  calls: number
}

/** @throws errors of creating the guest */
export function openSession(options: SessionOptions): GuestSession {
  const { level, module, place, canary, limits, outside, allowUnenforced, clock, log } = options
  // The limit of a reconcile also limits the silence.
  const silentMs = Math.min(limits.silentMs, limits.reconcileMs)
  const startedAt = clock.now()
  const loaded = Promise.withResolvers<Operator>()
  const consultations = createConsultations(clock)
  const runs = new Map<number, Running>()
  const secrets = rememberSecrets()
  /** Number of messages from the guest. */
  let said = 0
  let ping = 0
  let pong = 0
  let silences = 0
  /** Unsolicited messages, and messages about reconciles that are over. */
  let strays = 0
  /** It reported failed restrictions. */
  let hasLeaks = false
  /** It sent its declarations. */
  let isLoaded = false
  /** While reconciles are in progress. */
  let isWeighed = false
  let isOver = false
  let watching: Timer | undefined

  const guest = options.start({
    onText: (text) => guarded(() => hear(text)),
    onRead: (text) => answerRead(text, readerOf, limits, weighReads),
    onPrinted: (text) =>
      log({
        msg: 'Output of the operator',
        module: module.file,
        isolation: level,
        output: secrets.hide(text.trimEnd()),
      }),
    secrets,
    onTooLong: (size) => end(misbehaved(`It sends ${size} bytes at once; ${limits.messageBytes} are allowed.`)),
  })
  const patience = clock.after(limits.startMs, () =>
    end(new MusterError(managerErrors.OperatorUnresponsive, `${place} was not loaded within ${limits.startMs} ms.`)),
  )
  void guest.ended.then((why) => end(new MusterError(managerErrors.OperatorCrashed, `${place} ended: ${why}.`)))
  send({ say: 'load', ...module, canary, tolerant: allowUnenforced })

  function end(reason: unknown): void {
    if (isOver) return
    isOver = true
    const error = secrets.without(reason)
    patience.cancel()
    watching?.cancel()
    guest.kill()
    loaded.reject(error)
    for (const running of runs.values()) {
      if (isWaiting(running)) requeueLater(running)
      else {
        suspect(running)
        void abandon(running, error)
      }
    }
    runs.clear()
    consultations.fail(error)
    options.onEnd(error)
  }

  /**
   * Requires signs of life. A late one may be our own fault, if this thread was blocked: the guest gets a second
   * chance.
   */
  function watch(): void {
    watching = clock.after(silentMs / 2, () => {
      silences = pong === ping ? 0 : silences + 1
      if (silences > 1) {
        const cause = `${place} has not answered for ${silentMs} ms: it blocks its event loop.`
        end(new MusterError(managerErrors.OperatorUnresponsive, cause))
        return
      }
      if (silences === 0) send({ say: 'ping', count: ++ping })
      void weigh()
      watch()
    })
  }

  /** The engine limits the heap only: memory outside of it is checked here. */
  async function weigh(): Promise<void> {
    const bytes = (await guest.buffers?.().catch(() => 0)) ?? 0
    if (bytes <= limits.memoryMb * 2 ** 20) return
    const cause = `${place} ended: it holds ${Math.ceil(bytes / 2 ** 20)} MiB in buffers; ${limits.memoryMb} are allowed.`
    end(new MusterError(managerErrors.OperatorCrashed, cause))
  }

  function works(): void {
    if (!guest.buffers || isWeighed) return
    isWeighed = true
    weighWhileWorking()
  }

  /** Buffers grow within a moment: while it works, it is checked more often. */
  function weighWhileWorking(): void {
    clock.after(weighMs, () => void again())
    const again = async (): Promise<void> => {
      await weigh()
      if (!isOver && runs.size + consultations.size > 0) weighWhileWorking()
      else isWeighed = false
    }
  }

  function send(message: ToGuest): void {
    guest.send(stringifyJson(message))
  }

  function guarded(listen: () => void): void {
    if (isOver) return
    said++
    try {
      listen()
    } catch (error) {
      end(misbehaved(messageOf(error)))
    }
  }

  function hear(text: string): void {
    const message = parseMessage(text)
    const say = message['say']
    // Each is sent once, and before anything else.
    if (beforeWork.has(say) && isLoaded) wrong('a message out of turn')
    switch (say) {
      case 'unconfined':
        if (hasLeaks) wrong('a message out of turn')
        hasLeaks = true
        hearLeaks(texts(message['leaks'], 'leaks'))
        break
      case 'ready':
        loaded.resolve(options.declared(message['operator']))
        isLoaded = true
        patience.cancel()
        watch()
        break
      case 'unloaded': {
        const { name, message: why } = decodeError(message['error'])
        end(new MusterError(managerErrors.OperatorNotLoaded, `${place} cannot be loaded: ${name}: ${why}`))
        break
      }
      case 'pong':
        if (message['count'] !== ping) wrong('a sign of life')
        // One was requested, not a thousand.
        if (pong === ping) stray()
        pong = ping
        break
      case 'opinion':
        if (!consultations.answer(amount(message['id'], 'an id'), message['answer'], (error) => secrets.without(error)))
          stray()
        break
      default:
        hearOfRun(message)
    }
  }

  function hearOfRun(message: JsonObject): void {
    if (!ofRuns.has(message['say'])) wrong('a message')
    const id = amount(message['id'], 'an id')
    const running = runs.get(id)
    if (!running) {
      stray()
      return
    }
    switch (message['say']) {
      case 'wave': {
        if (++running.waves > limits.waves) wrong(`wave ${running.waves} of one reconcile`)
        const wave = decodeWave(message['wave'], running.situation)
        keep(running, async (): Promise<ToGuest> => {
          const outcomes = (await running.execute(wave)).map(encodeOutcome)
          return { say: 'outcomes', id, now: running.situation.clock.now(), outcomes }
        })
        break
      }
      case 'call': {
        if (++running.calls > limits.calls) wrong(`call ${running.calls} of one reconcile`)
        const call = amount(message['call'], 'a call')
        keep(running, async (): Promise<ToGuest> => {
          const answer = await answerCall(message, running.situation.live, outside)
          return { say: 'answer', id, call, answer }
        })
        break
      }
      case 'done': {
        const conclusion = decodeConclusion(message['conclusion'], running.situation, running.startedAt)
        options.onDone(running.situation)
        finish(id)?.resolve(conclusion)
        break
      }
      default:
        finish(id)
        void abandon(running, secrets.without(decodeError(message['error'])))
    }
  }

  /** The guest may not know yet that the reconcile is over. After a while it must. */
  function stray(): void {
    if (++strays > limits.calls) end(misbehaved('It keeps sending messages that were not requested.'))
  }

  /** Executes a request of the guest, and sends the result. */
  function keep(running: Running, carryOut: () => Promise<ToGuest>): void {
    const work = async (): Promise<void> => {
      try {
        const answer = await carryOut()
        if (!isOver) send(answer)
      } catch (error) {
        end(error)
      }
    }
    const working = work().finally(() => void running.underWay.delete(working))
    running.underWay.add(working)
  }

  function hearLeaks(leaks: readonly string[]): void {
    const cause = `${place}: not enforced by Node ${process.versions.node} here: ${leaks.join(', ')}.`
    if (!allowUnenforced) {
      end(new MusterError(managerErrors.IsolationRefused, cause))
      return
    }
    log({
      level: 'warn',
      msg: 'Operator is NOT ISOLATED as configured; allowUnenforced permits it',
      isolation: level,
      error: cause,
    })
  }

  function finish(id: number): Running | undefined {
    const running = runs.get(id)
    runs.delete(id)
    running?.deadline.cancel()
    return running
  }

  /** Sent to a busy guest, without a message since: it had not started. */
  function isWaiting({ behind, reads, waves, calls }: Running): boolean {
    return behind === said && reads + waves + calls === 0
  }

  function suspect(running: Running): void {
    if ([...runs.values()].some(isWaiting)) options.onStuck(running.situation)
  }

  function requeueLater(running: Running): void {
    running.deadline.cancel()
    running.resolve(options.requeueLater(running.situation, running.startedAt))
  }

  async function abandon(running: Running, error: unknown): Promise<void> {
    running.deadline.cancel()
    await Promise.all(running.underWay)
    running.resolve(interrupted({ ...running, level }, error, running.execute))
  }

  function readerOf(id: number): Situation<KubeObject> | undefined {
    const running = isOver ? undefined : runs.get(id)
    if (!running) {
      stray()
      return undefined
    }
    said++
    if (++running.reads > limits.reads) {
      end(misbehaved(`It reads more than ${limits.reads} times in one reconcile.`))
      return undefined
    }
    return running.situation
  }

  function weighReads(id: number, bytes: number): void {
    const running = runs.get(id)
    if (!running) return
    running.readBytes += bytes
    if (running.readBytes <= limits.readBytes) return
    end(misbehaved(`It reads more than ${limits.readBytes} bytes in one reconcile.`))
  }

  function misbehaved(why: string): MusterError {
    return new MusterError(managerErrors.GuestMisbehaved, `${place}: ${why}`)
  }

  function run(situation: Situation<KubeObject>, execute: Execute): Promise<Conclusion> {
    const begun = situation.clock.now()
    secrets.add(situation.view.secrets)
    return new Promise((resolve) => {
      const id = options.nextId()
      const deadline = clock.after(limits.reconcileMs, () => {
        const running = finish(id)
        if (!running) return
        send({ say: 'drop', id })
        if (isWaiting(running)) {
          requeueLater(running)
          return
        }
        suspect(running)
        const cause = `${place}: no conclusion after ${limits.reconcileMs} ms.`
        void abandon(running, new MusterError(managerErrors.ReconcileTimeout, cause))
      })
      const counts = { waves: 0, reads: 0, readBytes: 0, calls: 0 }
      const behind = runs.size > 0 ? said : undefined
      const underWay = new Set<Promise<void>>()
      runs.set(id, { situation, execute, startedAt: begun, resolve, deadline, underWay, behind, ...counts })
      works()
      const { controller, cr, config, memory } = situation
      send({
        say: 'run',
        id,
        controller: controller.name,
        now: begun,
        cr: cr as unknown as JsonObject,
        config,
        memory: encodeMemory(memory),
        live: situation.live.available,
      })
    })
  }

  async function consult(question: Question): Promise<unknown> {
    const id = options.nextId()
    works()
    return await consultations.ask(id, () => send({ say: 'consult', id, question }))
  }

  return {
    startedAt,
    loaded: loaded.promise,
    get isReady() {
      return watching !== undefined && !isOver
    },
    ended: guest.ended,
    run,
    consult,
    end,
  }
}

const weighMs = 250

/** Messages before the first reconcile. */
const beforeWork: ReadonlySet<unknown> = new Set(['unconfined', 'ready', 'unloaded'])

/** Messages about a reconcile. */
const ofRuns: ReadonlySet<unknown> = new Set(['wave', 'call', 'done', 'threw'])

/** The message is not quoted: it may contain secrets. */
function parseMessage(text: string): JsonObject {
  let message: unknown
  try {
    message = parseJson(text)
  } catch {
    throw new MusterError(managerErrors.GuestMisbehaved, 'It sent something that is no JSON.')
  }
  return isJsonObject(message) ? message : wrong('a message')
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

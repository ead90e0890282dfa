/**
 * The manager's side of an isolated operator: starts its guest, hands it reconciles, answers what it reads, carries out
 * what it wants, and watches it.
 *
 * | what it does                                  | what becomes of it                                               |
 * | --------------------------------------------- | ---------------------------------------------------------------- |
 * | does not answer: it blocks its event loop     | `OperatorUnresponsive`; ended and started again, with back-off   |
 * | ends, runs out of memory, throws by the way   | `OperatorCrashed`; likewise                                      |
 * | says what makes no sense, too much, too often | `GuestMisbehaved`; likewise                                      |
 * | takes too long over one object                | `ReconcileTimeout` for that object; the others go on             |
 *
 * Whatever it is, the reconciles under way fail with it and are tried again; nothing outside this operator notices.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { isMusterError, MusterError } from '../../kube/errors.ts'
import { isJsonObject, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Conclusion, Situation } from '../../operator/reconcile.ts'
import { type WatchedSecrets, watchSecrets } from '../../operator/secrecy.ts'
import type { Execute } from '../executor.ts'
import { type Consultations, createConsultations, type Question } from './consultation.ts'
import { operatorFrom } from './description.ts'
import { interrupted, postponed } from './interruption.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { answerCall, answerRead } from './hands.ts'
import type { ModuleName } from './module-name.ts'
import { type Canary, decodeError, type ToGuest } from './protocol.ts'
import type { Level, Runner } from './runner.ts'
import { amount, decodeConclusion, decodeWave, encodeMemory, encodeOutcome, texts, wrong } from './wire.ts'

/** A guest that is there, as a text channel and a life. */
export interface Guest {
  send(text: string): void
  /** It is gone shortly after: `ended` says so. */
  kill(): void
  /** Why it ended; never rejects. */
  readonly ended: Promise<string>
  /** Bytes that it holds beside its heap, where that can be asked. */
  buffers?(): Promise<number>
}

export interface GuestEvents {
  readonly onText: (text: string) => void
  /** Answers at once: the guest stands still. */
  readonly onRead: (text: string) => string
  readonly onTooLong: (size: number) => void
  readonly onPrinted: (text: string) => void
}

export interface ConfinedOptions {
  readonly level: Level
  readonly module: ModuleName
  readonly canary: Canary
  readonly start: (events: GuestEvents) => Guest
  readonly limits?: Partial<Limits> | undefined
  /** Origins that it may call. */
  readonly outside: readonly string[]
  /** Starts it although something is not enforced; told each time. */
  readonly allowUnenforced: boolean
  /** For watching, which is about real threads: not the clock of the operator. @default the machine's */
  readonly clock?: Clock | undefined
  readonly log: (line: JsonObject) => void
  /** Gives back what was taken for it. */
  readonly dispose: () => Promise<void>
}

interface Running {
  readonly situation: Situation<KubeObject>
  readonly execute: Execute
  readonly startedAt: number
  readonly resolve: (conclusion: Conclusion | Promise<Conclusion>) => void
  readonly deadline: Timer
  /** What is being carried out for it: nothing else is done about its object before that has ended. */
  readonly underWay: Set<Promise<void>>
  /** What the guest had said when it was sent, if others were under way there by then. */
  readonly behind: number | undefined
  waves: number
  reads: number
  readBytes: number
  calls: number
}

interface Live {
  readonly guest: Guest
  readonly running: Map<number, Running>
  /** How often it has been heard of. */
  said: number
  ping: number
  pong: number
  silences: number
  readonly startedAt: number
  /** It said what it could do although it must not. */
  hasLeaks: boolean
  /** It said what it declares. */
  isLoaded: boolean
  /** What the last reconciles saw: what it says when it ends, or prints, may repeat it. */
  readonly secrets: WatchedSecrets[]
  /** What it said that nobody asked for, or about reconciles that are over. */
  strays: number
  watch: Timer | undefined
  /** While it works. */
  isWeighed: boolean
  readonly consultations: Consultations
}

/** @throws IsolationRefused, OperatorNotLoaded, OperatorCrashed, OperatorUnresponsive */
export async function openConfined(options: ConfinedOptions): Promise<Runner> {
  const { level, module, canary, outside, allowUnenforced, clock = systemClock, log, dispose } = options
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const place = `${module.file}#${module.exported} (${level})`
  // Whoever may take two seconds over an object need not be silent for ten.
  const silentMs = Math.min(limits.silentMs, limits.reconcileMs)
  let live: Live | undefined
  let last: Guest | undefined
  let operator: Operator | undefined
  let ids = 0
  /**
   * CRs during whose runs a guest fell silent while others waited for it. In the next one they let those go first:
   * or else they would end it each time before anybody else had a turn.
   */
  const suspects = new Set<string>()
  let failures = 0
  /** How long was waited before the last start. */
  let delay = 0
  let retryAt = 0
  let retry: Timer | undefined
  let isClosed = false

  /** Resolves when the operator is loaded. */
  async function start(): Promise<Operator> {
    const loaded = Promise.withResolvers<Operator>()
    const it: Live = {
      running: new Map(),
      said: 0,
      ping: 0,
      pong: 0,
      silences: 0,
      startedAt: clock.now(),
      hasLeaks: false,
      isLoaded: false,
      secrets: [],
      strays: 0,
      watch: undefined,
      isWeighed: false,
      consultations: createConsultations(clock),
      guest: options.start({
        onText: (text) => guarded(it, () => hear(it, text, loaded)),
        onRead: (text) => {
          const given = (id: number, bytes: number): void => weighReads(it, id, bytes)
          return answerRead(text, (id) => readerOf(it, id), limits, given)
        },
        onPrinted: (text) => log({ module: module.file, level, printed: hide(it, text.trimEnd()) }),
        onTooLong: (size) => end(it, misbehaved(`It sends ${size} bytes at once; ${limits.messageBytes} are allowed.`)),
      }),
    }
    live = it
    last = it.guest
    const patience = clock.after(limits.startMs, () =>
      end(it, new MusterError('OperatorUnresponsive', `${place} was not loaded within ${limits.startMs} ms.`)),
    )
    const fail = (error: unknown): void => {
      patience.cancel()
      loaded.reject(error)
    }
    onEnd.set(it, fail)
    void it.guest.ended.then((why) => end(it, new MusterError('OperatorCrashed', `${place} ended: ${why}.`)))
    tell(it, { say: 'load', ...module, canary, tolerant: allowUnenforced })
    const declared = await loaded.promise
    patience.cancel()
    if (live === it) watch(it)
    return declared
  }

  const onEnd = new WeakMap<Live, (error: unknown) => void>()

  /** Once for each guest: whatever comes later about it is an echo. */
  function end(it: Live, reason: unknown): void {
    if (live !== it) return
    live = undefined
    const error = withoutSecrets(it, reason)
    it.watch?.cancel()
    it.guest.kill()
    onEnd.get(it)?.(error)
    for (const running of it.running.values()) {
      if (isWaiting(it, running)) putOff(running)
      else {
        suspect(it, running)
        void abandon(running, error)
      }
    }
    it.running.clear()
    it.consultations.fail(error)
    startLater(error)
  }

  function startLater(error: unknown): void {
    if (isClosed || !operator) return
    delay = Math.min(limits.backOff.firstMs * 2 ** Math.min(failures, 30), limits.backOff.mostMs)
    failures++
    retryAt = clock.now() + delay
    log({ operator: operator.name, level, problem: messageOf(error), startsAgainAfterMs: delay })
    retry = clock.after(delay, () => void startAgain())
  }

  async function startAgain(): Promise<void> {
    retry = undefined
    try {
      await start()
    } catch (reason) {
      // One that ended has seen to it already; one that could not even be made has not.
      if (retry === undefined) startLater(reason)
    }
  }

  /** Asks now and then for a sign of life. One that is late may be our own fault, when this thread was blocked: it is asked for twice. */
  function watch(it: Live): void {
    it.watch = clock.after(silentMs / 2, () => {
      it.silences = it.pong === it.ping ? 0 : it.silences + 1
      if (it.silences > 1) {
        const cause = `${place} has not answered for ${silentMs} ms: it blocks its event loop.`
        end(it, new MusterError('OperatorUnresponsive', cause))
        return
      }
      if (it.silences === 0) tell(it, { say: 'ping', count: ++it.ping })
      void weigh(it)
      watch(it)
    })
  }

  /** The engine limits the heap alone; what lies beside it is asked for. */
  async function weigh(it: Live): Promise<void> {
    const bytes = (await it.guest.buffers?.().catch(() => 0)) ?? 0
    if (bytes <= limits.memoryMb * 2 ** 20) return
    const cause = `${place} ended: it holds ${Math.ceil(bytes / 2 ** 20)} MiB in buffers; ${limits.memoryMb} are allowed.`
    end(it, new MusterError('OperatorCrashed', cause))
  }

  function works(it: Live): void {
    if (!it.guest.buffers || it.isWeighed) return
    it.isWeighed = true
    weighWhileWorking(it)
  }

  /** Buffers fill within a moment: while it works, it is looked at more often. */
  function weighWhileWorking(it: Live): void {
    clock.after(weighMs, () => void again())
    const again = async (): Promise<void> => {
      await weigh(it)
      if (live === it && it.running.size + it.consultations.size > 0) weighWhileWorking(it)
      else it.isWeighed = false
    }
  }

  function tell(it: Live, message: ToGuest): void {
    it.guest.send(stringifyJson(message))
  }

  function guarded(it: Live, listen: () => void): void {
    if (live !== it) return
    it.said++
    try {
      listen()
    } catch (error) {
      end(it, misbehaved(messageOf(error)))
    }
  }

  function hear(it: Live, text: string, loaded: PromiseWithResolvers<Operator>): void {
    const message = told(text)
    const say = message['say']
    // Each is said once, and before anything else.
    if (beforeWork.has(say) && it.isLoaded) wrong('a message out of turn')
    switch (say) {
      case 'unconfined':
        if (it.hasLeaks) wrong('a message out of turn')
        it.hasLeaks = true
        hearLeaks(it, texts(message['leaks'], 'leaks'))
        break
      case 'ready':
        operator = sameAs(operator, operatorFrom(message['operator'], consult))
        it.isLoaded = true
        loaded.resolve(operator)
        break
      case 'unloaded': {
        const { name, message: why } = decodeError(message['error'])
        end(it, new MusterError('OperatorNotLoaded', `${place} cannot be loaded: ${name}: ${why}`))
        break
      }
      case 'pong':
        if (message['count'] !== it.ping) wrong('a sign of life')
        // One was asked for, not a thousand.
        if (it.pong === it.ping) stray(it)
        it.pong = it.ping
        break
      case 'opinion': {
        const secretless = (error: unknown): unknown => withoutSecrets(it, error)
        if (!it.consultations.answer(amount(message['id'], 'an id'), message['answer'], secretless)) stray(it)
        break
      }
      default:
        hearOfRun(it, message)
    }
  }

  function hearOfRun(it: Live, message: JsonObject): void {
    if (!ofRuns.has(message['say'])) wrong('a message')
    const id = amount(message['id'], 'an id')
    const running = it.running.get(id)
    if (!running) {
      stray(it)
      return
    }
    switch (message['say']) {
      case 'wave': {
        if (++running.waves > limits.waves) wrong(`wave ${running.waves} of one reconcile`)
        const wave = decodeWave(message['wave'], running.situation)
        keep(it, running, async (): Promise<ToGuest> => {
          const outcomes = (await running.execute(wave)).map(encodeOutcome)
          return { say: 'outcomes', id, now: running.situation.clock.now(), outcomes }
        })
        break
      }
      case 'call': {
        if (++running.calls > limits.calls) wrong(`call ${running.calls} of one reconcile`)
        const call = amount(message['call'], 'a call')
        keep(it, running, async (): Promise<ToGuest> => {
          const answer = await answerCall(message, running.situation.live, outside)
          return { say: 'answer', id, call, answer }
        })
        break
      }
      case 'done': {
        const conclusion = decodeConclusion(message['conclusion'], running.situation, running.startedAt)
        // One that ends sooner than it was waited for waits longer each time.
        if (clock.now() - it.startedAt >= delay) failures = 0
        suspects.delete(keyOf(running.situation))
        finish(it, id)?.resolve(conclusion)
        break
      }
      default:
        finish(it, id)
        void abandon(running, withoutSecrets(it, decodeError(message['error'])))
    }
  }

  /** It may not have heard yet that nobody waits for it any more. It will have, after a while. */
  function stray(it: Live): void {
    if (++it.strays > limits.calls) end(it, misbehaved('It does not stop talking about what nobody asked for.'))
  }

  /** Does what was asked for, and tells what came of it. */
  function keep(it: Live, running: Running, carryOut: () => Promise<ToGuest>): void {
    const work = async (): Promise<void> => {
      try {
        const answer = await carryOut()
        if (live === it) tell(it, answer)
      } catch (error) {
        end(it, error)
      }
    }
    const working = work().finally(() => void running.underWay.delete(working))
    running.underWay.add(working)
  }

  function hearLeaks(it: Live, leaks: readonly string[]): void {
    const cause = `${place}: not enforced by Node ${process.versions.node} here: ${leaks.join(', ')}.`
    if (!allowUnenforced) {
      end(it, new MusterError('IsolationRefused', cause))
      return
    }
    log({ level, warning: `NOT ISOLATED as asked for, and allowed by allowUnenforced. ${cause}` })
  }

  function finish(it: Live, id: number): Running | undefined {
    const running = it.running.get(id)
    it.running.delete(id)
    running?.deadline.cancel()
    return running
  }

  /** It was sent to a guest that was busy with others, and has not been heard of since: its turn never came. */
  function isWaiting(it: Live, { behind, reads, waves, calls }: Running): boolean {
    return behind === it.said && reads + waves + calls === 0
  }

  function suspect(it: Live, running: Running): void {
    if ([...it.running.values()].some((other) => isWaiting(it, other))) suspects.add(keyOf(running.situation))
  }

  function putOff(running: Running): void {
    running.deadline.cancel()
    running.resolve(postponed({ ...running, level }, Math.max(retryAt - clock.now(), 0) + limits.backOff.firstMs))
  }

  async function abandon(running: Running, error: unknown): Promise<void> {
    running.deadline.cancel()
    await Promise.all(running.underWay)
    running.resolve(interrupted({ ...running, level }, error, running.execute))
  }

  function readerOf(it: Live, id: number): Situation<KubeObject> | undefined {
    const running = live === it ? it.running.get(id) : undefined
    if (!running) {
      stray(it)
      return undefined
    }
    it.said++
    if (++running.reads > limits.reads) {
      end(it, misbehaved(`It reads more than ${limits.reads} times in one reconcile.`))
      return undefined
    }
    return running.situation
  }

  function weighReads(it: Live, id: number, bytes: number): void {
    const running = it.running.get(id)
    if (!running) return
    running.readBytes += bytes
    if (running.readBytes <= limits.readBytes) return
    end(it, misbehaved(`It reads more than ${limits.readBytes} bytes in one reconcile.`))
  }

  function hide(it: Live, text: string): string {
    return it.secrets.reduce((hidden, secrets) => secrets.hide(hidden), text)
  }

  function withoutSecrets(it: Live, reason: unknown): unknown {
    if (isMusterError(reason)) {
      const { name, message, retryAfterMs } = reason
      return new MusterError(name, hide(it, message), retryAfterMs === undefined ? {} : { retryAfterMs })
    }
    if (!(reason instanceof Error)) return hide(it, String(reason))
    return Object.assign(new Error(hide(it, reason.message)), { name: reason.name })
  }

  function misbehaved(why: string): MusterError {
    return new MusterError('GuestMisbehaved', `${place}: ${why}`)
  }

  function run(given: Situation<KubeObject>, execute: Execute): Promise<Conclusion> {
    const startedAt = given.clock.now()
    const it = live
    if (!it || it.watch === undefined) {
      const wait = Math.max(retryAt - clock.now(), 0) + limits.backOff.firstMs
      return Promise.resolve(postponed({ situation: given, level, startedAt }, wait))
    }
    const upMs = clock.now() - it.startedAt
    if (suspects.has(keyOf(given)) && upMs < courtesyMs) {
      return Promise.resolve(postponed({ situation: given, level, startedAt }, courtesyMs - upMs))
    }
    const secrets = watchSecrets(given.view)
    const situation = { ...given, view: secrets.view }
    if (it.secrets.push(secrets) > mostRemembered) it.secrets.shift()
    return new Promise((resolve) => {
      const id = ++ids
      const deadline = clock.after(limits.reconcileMs, () => {
        const running = finish(it, id)
        if (!running) return
        tell(it, { say: 'drop', id })
        if (isWaiting(it, running)) {
          putOff(running)
          return
        }
        suspect(it, running)
        const cause = `${place}: no conclusion after ${limits.reconcileMs} ms.`
        void abandon(running, new MusterError('ReconcileTimeout', cause))
      })
      const counts = { waves: 0, reads: 0, readBytes: 0, calls: 0 }
      const behind = it.running.size > 0 ? it.said : undefined
      it.running.set(id, { situation, execute, startedAt, resolve, deadline, underWay: new Set(), behind, ...counts })
      works(it)
      const { controller, cr, config, memory } = situation
      tell(it, {
        say: 'run',
        id,
        controller: controller.name,
        now: startedAt,
        cr: cr as unknown as JsonObject,
        config,
        memory: encodeMemory(memory),
        live: situation.live.available,
      })
    })
  }

  async function consult(question: Question): Promise<unknown> {
    const it = live
    if (!it || it.watch === undefined) {
      throw new MusterError('OperatorUnresponsive', `${place} is being started again.`)
    }
    const id = ++ids
    works(it)
    return await it.consultations.ask(id, () => tell(it, { say: 'consult', id, question }))
  }

  async function close(): Promise<void> {
    isClosed = true
    retry?.cancel()
    if (live) end(live, new MusterError('OperatorCrashed', `${place} ended: the manager stopped it.`))
    await last?.ended
    await dispose()
  }

  try {
    const declared = await start()
    return { level, operator: declared, run, close }
  } catch (error) {
    await close()
    throw error
  }
}

const weighMs = 250
/** Reconciles whose Secrets are not repeated. */
const mostRemembered = 64

/** What is said before the first reconcile. */
const beforeWork: ReadonlySet<unknown> = new Set(['unconfined', 'ready', 'unloaded'])

/** What is said about a reconcile. */
/** How long those who are suspected wait in a new guest. */
const courtesyMs = 5000

function keyOf({ controller, cr: { metadata } }: Situation<KubeObject>): string {
  return `${controller.name} ${metadata.namespace ?? ''}/${metadata.name}`
}

const ofRuns: ReadonlySet<unknown> = new Set(['wave', 'call', 'done', 'threw'])

/** What it said is not repeated to anybody: there may be secrets in it. */
function told(text: string): JsonObject {
  let message: unknown
  try {
    message = parseJson(text)
  } catch {
    throw new MusterError('GuestMisbehaved', 'It sent something that is no JSON.')
  }
  return isJsonObject(message) ? message : wrong('a message')
}

/** What it declared when it was opened is what its caches and its role were made for. */
function sameAs(before: Operator | undefined, after: Operator): Operator {
  if (!before) return after
  const text = ({ name, declaredInputs, declaredOutputs, webhooks, conversions }: Operator): string =>
    stringifyJson([name, declaredInputs, declaredOutputs, webhooks, conversions])
  if (text(before) !== text(after)) wrong('a declaration other than before')
  return before
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

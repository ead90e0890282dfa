/**
 * The manager's side of an isolated operator: starts its guest (`guest-session.ts`), passes reconciles to it, and
 * restarts it.
 *
 * | the guest                                  | result                                                      |
 * | ------------------------------------------ | ----------------------------------------------------------- |
 * | does not respond: its event loop is blocked | `OperatorUnresponsive`; killed and restarted with back-off |
 * | exits, runs out of memory, throws globally | `OperatorCrashed`; restarted with back-off                  |
 * | sends invalid, too large or too many messages | `GuestMisbehaved`; killed and restarted with back-off    |
 * | takes too long over one object             | `ReconcileTimeout` for that object; the others continue     |
 *
 * In each case the reconciles in progress fail and are retried; no other operator is affected.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { stringifyJson } from '../../kube/json.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Conclusion, Situation } from '../../operator/reconcile.ts'
import type { Execute } from '../run/executor.ts'
import type { Question } from './protocol/consultation.ts'
import { operatorFrom } from './protocol/description.ts'
import { type GuestSession, messageOf, openSession, type SessionOptions } from './guest-session.ts'
import { postponed } from './interruption.ts'
import { defaultGuestLimits, type Limits } from './launch/limits.ts'
import type { Runner } from './runner.ts'

type Given = 'level' | 'module' | 'canary' | 'start' | 'outside' | 'allowUnenforced' | 'log'

interface ConfinedOptions extends Pick<SessionOptions, Given> {
  readonly limits?: Partial<Limits> | undefined
  /** For watching real threads: not the operator's clock. @default the system clock */
  readonly clock?: Clock | undefined
  /** Releases the resources of the runner. */
  readonly dispose: () => Promise<void>
}

/** @throws IsolationRefused, OperatorNotLoaded, OperatorCrashed, OperatorUnresponsive */
export async function openConfined(options: ConfinedOptions): Promise<Runner> {
  const { level, module, clock = systemClock, log, dispose } = options
  const limits: Limits = { ...defaultGuestLimits, ...options.limits }
  const place = `${module.file}#${module.exported} (${level})`
  let live: GuestSession | undefined
  let last: GuestSession | undefined
  let operator: Operator | undefined
  let ids = 0
  /**
   * CRs during whose reconciles a guest stopped responding while others waited for it. In the next guest the others go
   * first: otherwise these CRs would kill it each time before any other had a turn.
   */
  const suspects = new Set<string>()
  let failures = 0
  /** The back-off before the last start. */
  let delay = 0
  let retryAt = 0
  let retry: Timer | undefined
  let isClosed = false

  /** Resolves when the operator is loaded. */
  async function start(): Promise<Operator> {
    const session = openSession({
      ...options,
      place,
      clock,
      limits,
      nextId: () => ++ids,
      declared: (declaration) => (operator = sameAs(operator, operatorFrom(declaration, consult))),
      onDone(situation) {
        // A guest that lives shorter than its back-off increases the back-off.
        if (clock.now() - session.startedAt >= delay) failures = 0
        suspects.delete(keyOf(situation))
      },
      onStuck: (situation) => void suspects.add(keyOf(situation)),
      requeueLater,
      onEnd(error) {
        live = undefined
        startLater(error)
      },
    })
    live = session
    last = session
    return await session.loaded
  }

  function startLater(error: unknown): void {
    if (isClosed || !operator) return
    delay = Math.min(limits.backOff.firstMs * 2 ** Math.min(failures, 30), limits.backOff.mostMs)
    failures++
    retryAt = clock.now() + delay
    log({
      level: 'warn',
      msg: 'Isolated operator ended and is restarted',
      operator: operator.name,
      isolation: level,
      error: messageOf(error),
      retryAfterMs: delay,
    })
    retry = clock.after(delay, () => void startAgain())
  }

  async function startAgain(): Promise<void> {
    retry = undefined
    try {
      await start()
    } catch (reason) {
      // A guest that ended has scheduled its restart already; one that could not be created has not.
      if (retry === undefined) startLater(reason)
    }
  }

  /** Until the next guest is ready. */
  function requeueLater(situation: Situation<KubeObject>, startedAt: number): Conclusion {
    const wait = Math.max(retryAt - clock.now(), 0) + limits.backOff.firstMs
    return postponed({ situation, level, startedAt }, wait)
  }

  function run(situation: Situation<KubeObject>, execute: Execute): Promise<Conclusion> {
    const startedAt = situation.clock.now()
    if (!live?.isReady) return Promise.resolve(requeueLater(situation, startedAt))
    const upMs = clock.now() - live.startedAt
    if (suspects.has(keyOf(situation)) && upMs < suspectDelayMs) {
      return Promise.resolve(postponed({ situation, level, startedAt }, suspectDelayMs - upMs))
    }
    return live.run(situation, execute)
  }

  async function consult(question: Question): Promise<unknown> {
    if (live?.isReady) return await live.consult(question)
    throw new MusterError(managerErrors.OperatorUnresponsive, `${place} is being started again.`)
  }

  async function close(): Promise<void> {
    isClosed = true
    retry?.cancel()
    live?.end(new MusterError(managerErrors.OperatorCrashed, `${place} ended: the manager stopped it.`))
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

/** How long a CR that may have ended the guest before waits in the next one. */
const suspectDelayMs = 5000

function keyOf({ controller, cr: { metadata } }: Situation<KubeObject>): string {
  return `${controller.name} ${metadata.namespace ?? ''}/${metadata.name}`
}

/** Caches and role were made for the operator's first declarations: a restarted guest must declare the same. */
function sameAs(before: Operator | undefined, after: Operator): Operator {
  if (!before) return after
  const text = ({ name, declaredInputs, declaredOutputs, webhooks, conversions }: Operator): string =>
    stringifyJson([name, declaredInputs, declaredOutputs, webhooks, conversions])
  if (text(before) !== text(after)) {
    throw new MusterError(managerErrors.GuestMisbehaved, 'Its declarations changed after a restart.')
  }
  return before
}

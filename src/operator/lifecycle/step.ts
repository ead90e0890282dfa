/**
 * One life-cycle decision: from the desired state, the status and the observation to the next status, and
 * the request to the sidecar, if any. It never waits: it returns when to run again.
 *
 * - An action is started only when its transition is in the status *as it was read*: the intent is written first, then
 *   carried out, under a key derived from the status. After a crash at any point the next process resumes that action.
 * - The observed state wins over the stored one, except while a transition is in progress: that succeeds or fails
 *   first, whatever is desired or observed meanwhile.
 * - Without news the same status object is returned: at rest nothing is written.
 */
import type { ConditionUpdate } from '../../kube/meta/condition.ts'
import { formatMicroTime, parseTime } from '../../kube/units/duration.ts'
import { equalJson } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import type { Fields } from '../kind/field.ts'
import { formatActionKey, numberOfKey } from './action-key.ts'
import {
  type LifecycleDecision,
  failureText,
  type LifecycleInput,
  refuseTransition,
  retryText,
  routeText,
  stay,
  type LifecycleTurn,
  turnOf,
  unknownLifecycleState,
  wait,
} from './decision.ts'
import { type LifecycleNode, sideExits } from './graph.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ActionReport, LifecycleAct } from './observation.ts'
import { restOf, routeTo } from './route.ts'
import {
  type HistoryEntry,
  type LifecycleFailure,
  type LifecycleStatus,
  longestHistory,
  shorten,
  type Transition,
  type Why,
} from './status.ts'

export interface LifecycleStep<Name extends string = string> {
  /** Written if it is not the object that was passed in, with the resourceVersion that was read. */
  readonly status: LifecycleStatus<Name> | undefined
  /** Sent to the sidecar now; if that fails, it is requested again. */
  readonly act?: LifecycleAct
  /** When to run again without an event; undefined: not before something changes. */
  readonly requeueAtMs?: number
  readonly condition: ConditionUpdate
  /** Why the desired state cannot be reached. */
  readonly refusal?: string
}

/** The type of the condition. */
const lifecycleCondition = 'AtDesiredState'

/** The polling interval of an action or application in transition. */
export const pollMs = 5000

/** After this time in the desired state, the back-off of relapses is reset. */
const calmMs = 600_000
const firstRelapseMs = 1000
const longestRelapseMs = 300_000

/** The keys of the actions to query from the sidecar. */
export function actionKeys(status: LifecycleStatus | undefined): readonly string[] {
  return [status?.transition?.key, ...(status?.overdue ?? [])].filter((key) => key !== undefined)
}

/** Whether it is in the desired state without a transition: for finalizers, with the end state as the desired one. */
export function isSettled({ condition }: LifecycleStep): boolean {
  return condition.status === 'True'
}

export function stepLifecycle<Name extends string, Desired extends Name, Spec extends Fields>(
  life: Lifecycle<Name, Desired, Spec>,
  input: LifecycleInput<Name, NoInfer<Spec>>,
): LifecycleStep<Name> {
  const turn = turnOf(life, input)
  const { status, condition, ...rest } = withOverdue(turn, decide(turn))
  const isSame = status !== undefined && equalJson(asJson(status), asJson(input.status))
  return {
    ...rest,
    status: isSame ? input.status : (status as LifecycleStatus<Name> | undefined),
    condition: { type: lifecycleCondition, observedGeneration: turn.generation, ...condition },
  }
}

function decide(turn: LifecycleTurn): LifecycleDecision {
  const { life, now } = turn
  const before = turn.before && withoutFuture(turn.before, life, now)
  // A state that this version of the graph does not have is ignored.
  if (!before || !life.nodes.has(before.state)) return firstSeen(turn)
  return before.transition ? underWay(turn, before, before.transition) : atRest(turn, before)
}

/**
 * Stored moments further ahead than any delay allows: the clock was set back since, and the delay would grow by that.
 * They count from now.
 */
function withoutFuture(status: LifecycleStatus, { nodes }: LifecycleTurn['life'], now: number): LifecycleStatus {
  const { since, transition } = status
  const isAhead = (text: string, mostMs: number): boolean => timeOf(text, now) > now + mostMs + pollMs
  const at = formatMicroTime(now)
  const mostMs = (transition && nodes.get(transition.to)?.onFailure.mostMs) ?? 0
  return {
    ...status,
    ...(isAhead(since, 0) && { since: at }),
    ...(transition && isAhead(transition.attemptAt, mostMs) && { transition: { ...transition, attemptAt: at } }),
  }
}

/** An application without a usable status. */
function firstSeen(turn: LifecycleTurn): LifecycleDecision {
  const { life, desired, before, here, now } = turn
  const at = formatMicroTime(now)
  const history = before?.history ?? []
  const attempts = before?.attempts ?? 0
  const overdue = actionKeys(before)
  const blank = { since: at, history, attempts, ...(overdue.length > 0 && { overdue }) }
  if (here !== undefined && here !== life.end) {
    return atRest(turn, { ...blank, state: here, history: withEntry(history, { state: here, at, why: 'observed' }) })
  }
  if (!life.nodes.has(desired)) return refuseTransition(turn, undefined, desired)
  // It does not exist, and is not desired.
  if (desired === life.end) return atRest(turn, { ...blank, state: life.end })
  return enter(turn, { ...blank, state: life.start }, undefined, life.start, 'desired')
}

// Under way ------------------------------------------------------------------------------------------------------

function underWay(turn: LifecycleTurn, status: LifecycleStatus, transition: Transition): LifecycleDecision {
  const { life, now, observed } = turn
  const node = life.nodes.get(transition.to)
  if (!node) return firstSeen(turn)
  const attemptStart = timeOf(transition.attemptAt, now)
  if (now < attemptStart) {
    // No action is running, so a new desired state need not wait for further attempts.
    if (transition.desired !== turn.desired) return abandon(turn, status, transition, node, transition.message ?? '')
    return wait(status, 'Retrying', retryText(transition, node), attemptStart)
  }
  const isTimedOut = now >= attemptStart + node.timeoutMs
  const pollAt = Math.min(now + pollMs, attemptStart + node.timeoutMs)
  const report = observed.actions.find(({ key }) => key === transition.key)
  // It was starting, nothing of it exists yet, and it is no longer desired: it is in its end state.
  if (turn.desired === life.end && turn.here === life.end && !observed.reachable && node.leadsTo?.state !== life.end) {
    const { transition: _given, ...rest } = status
    return atRest(turn, rest)
  }
  // An application that has ended or is gone needs no action, and no sidecar may be left to run it.
  const hasEnded = turn.here === life.end && node.leadsTo?.state === life.end && report?.state !== 'running'
  if (node.action && !transition.acted && !hasEnded) {
    const name = `action ${node.action.name}`
    switch (report?.state) {
      case undefined:
        if (isTimedOut)
          return fail(turn, overdueIf(!observed.reachable, status), transition, node, `${name} was not started in time`)
        return start(turn, status, transition, node.action.name, pollAt)
      case 'failed':
      case 'lost': {
        const reason = report.message ?? (report.state === 'lost' ? 'its outcome is unknown' : 'it gave no reason')
        return fail(turn, status, transition, node, `${name} failed: ${reason}`)
      }
      case 'running':
        if (isTimedOut) return fail(turn, overdueIf(true, status), transition, node, `${name} took too long`)
        return wait(
          { ...status, transition: withReport(transition, report) },
          'InTransition',
          `${routeText(transition)}: ${name} is running`,
          pollAt,
        )
      case 'succeeded':
    }
  }
  const acted: Transition = node.action ? { ...withReport(transition, undefined), acted: true } : transition
  const missing = missingFor(turn, node)
  if (missing === undefined) return arrive(turn, status, acted, node)
  if (isTimedOut) return fail(turn, status, acted, node, missing)
  return wait({ ...status, transition: acted }, 'InTransition', `${routeText(transition)}: ${missing}`, pollAt)
}

/** Starts the action that the stored status intends. */
function start(
  turn: LifecycleTurn,
  status: LifecycleStatus,
  transition: Transition,
  action: string,
  pollAt: number,
): LifecycleDecision {
  const { observed, uid } = turn
  const { key, input = null } = transition
  const place = routeText(transition)
  if (!observed.reachable) return wait(status, 'InTransition', `${place}: waits for the application to answer`, pollAt)
  const isBusy = observed.actions.some(
    (other) => other.state === 'running' && other.key !== key && numberOfKey(other.key, uid) !== undefined,
  )
  if (isBusy) return wait(status, 'InTransition', `${place}: waits for an earlier action to end`, pollAt)
  // Readers need not distinguish an action that is about to start from a running one.
  const decision = wait(status, 'InTransition', `${place}: action ${action} is running`, pollAt)
  return { ...decision, act: { verb: 'start', key, action, input } }
}

/** What is missing until the state is entered or left; undefined when nothing is. */
function missingFor(
  { life, here, observed, context }: LifecycleTurn,
  { name, leadsTo }: LifecycleNode,
): string | undefined {
  const verdict = leadsTo?.guard?.(context) ?? true
  if (verdict !== true) return `not yet ${leadsTo?.state}: ${verdict}`
  const next = leadsTo ? life.nodes.get(leadsTo.state) : undefined
  // A next state with an action or a `leadsTo` is confirmed by its own transition.
  if (leadsTo && (next?.leadsTo || next?.action)) return undefined
  const expected = leadsTo?.state ?? name
  if (here === expected) return undefined
  if (observed.state !== undefined) return `the application is still ${observed.state}, not ${expected}`
  return observed.reachable ? undefined : 'waits for the application to answer'
}

function arrive(
  turn: LifecycleTurn,
  status: LifecycleStatus,
  transition: Transition,
  node: LifecycleNode,
): LifecycleDecision {
  const { transition: _, ...rest } = status
  const { leadsTo } = node
  if (!leadsTo) return atRest(turn, rest)
  const { request } = transition
  const isServed = node.name === turn.desired
  const served: LifecycleStatus = isServed
    ? { ...rest, served: { state: node.name, ...(request !== undefined && { request }) } }
    : rest
  return enter(turn, served, node.name, leadsTo.state, 'automatic')
}

function fail(
  turn: LifecycleTurn,
  status: LifecycleStatus,
  transition: Transition,
  node: LifecycleNode,
  why: string,
): LifecycleDecision {
  const { attempt, desired } = transition
  const message = shorten(why)
  const { retries, firstMs, mostMs } = node.onFailure
  if (attempt > retries || desired !== turn.desired) return abandon(turn, status, transition, node, message)
  const attemptStart = turn.now + Math.min(firstMs * 2 ** Math.min(attempt - 1, 30), mostMs)
  const number = nextNumber(turn, status)
  const { acted: _acted, progress: _progress, input: _input, ...rest } = transition
  const next: Transition = {
    ...rest,
    key: formatActionKey({ uid: turn.uid, number, from: transition.from, to: transition.to }),
    // Another key is another action: its input is computed from the current spec.
    ...inputOf(turn, node),
    generation: turn.generation,
    attempt: attempt + 1,
    attemptAt: formatMicroTime(attemptStart),
    message,
  }
  return wait({ ...status, attempts: number, transition: next }, 'Retrying', retryText(next, node), attemptStart)
}

function abandon(
  turn: LifecycleTurn,
  status: LifecycleStatus,
  transition: Transition,
  node: LifecycleNode,
  message: string,
): LifecycleDecision {
  const { transition: _, ...rest } = status
  const { goTo } = node.onFailure
  const failure: LifecycleFailure = {
    state: node.name,
    message,
    attempts: transition.attempt,
    ...(goTo !== undefined && { goTo }),
    desired: transition.desired,
    generation: transition.generation,
  }
  return atRest(turn, { ...rest, failure })
}

// At rest --------------------------------------------------------------------------------------------------------

function atRest(turn: LifecycleTurn, stored: LifecycleStatus): LifecycleDecision {
  const { life, here, desired } = turn
  if (here !== undefined && here !== stored.state) return atRest(turn, moved(turn, stored, here))
  if (!life.nodes.has(desired)) return refuseTransition(turn, stored, desired)
  const { failure } = stored
  const isBlocked = failure !== undefined && blocks(turn, failure)
  const hasFailedHere = failure?.state === stored.state
  if (isBlocked && hasFailedHere && failure.goTo !== undefined) {
    return enter(turn, stored, stored.state, failure.goTo, 'failed')
  }
  const target = isBlocked ? failure.goTo && restOf(life.nodes, failure.goTo) : targetOf(turn, stored)
  const status = withoutObsolete(turn, stored, isBlocked)
  if (target === undefined) return stay(status, 'Failed', failureText(failure))
  const node = life.nodes.get(stored.state)!
  if (node.leadsTo && !hasFailedHere) {
    // It entered a transient state by itself, and may leave it by itself.
    const until = timeOf(stored.since, turn.now) + node.timeoutMs
    if (turn.now < until)
      return wait(
        status,
        'OnItsOwn',
        `${stored.state}: expected to become ${node.leadsTo.state}`,
        Math.min(turn.now + pollMs, until),
      )
  }
  const route = routeTo(life.nodes, stored.state, target)
  if (!route) return isBlocked ? stay(status, 'Failed', failureText(failure)) : refuseTransition(turn, status, target)
  const [hop] = route
  if (hop === undefined) {
    if (isBlocked) return stay(status, 'Failed', failureText(failure))
    return hasFailedHere || node.leadsTo
      ? enter(turn, status, stored.state, stored.state, 'desired')
      : settled(turn, status)
  }
  const exit = sideExits(node).find(({ state }) => state === hop)
  // A transient state leaves by `leadsTo` after its action; other exits are for failures.
  if (!exit || (node.leadsTo && !hasFailedHere)) return enter(turn, status, stored.state, stored.state, 'desired')
  const verdict = exit.guard?.(turn.context) ?? true
  if (verdict !== true) return stay(status, 'Guarded', `${stored.state} → ${hop}: ${verdict}`)
  const allowedAt = correctionAt(turn, status, target)
  if (turn.now < allowedAt) {
    return wait(
      status,
      'Relapsed',
      `${stored.state}: left ${target} on its own ${status.relapse?.times} times of late`,
      allowedAt,
    )
  }
  return enter(turn, status, stored.state, hop, isBlocked ? 'failed' : 'desired')
}

/** The application changed its state by itself. */
function moved(turn: LifecycleTurn, status: LifecycleStatus, here: string): LifecycleStatus {
  const { now } = turn
  const at = formatMicroTime(now)
  const { failure, relapse, ...rest } = status
  const target = targetOf(turn, status)
  const isCalm = now - timeOf(status.since, now) >= calmMs
  const times = relapse?.from === status.state && !isCalm ? relapse.times + 1 : 1
  const nextRelapse = status.state === target && !isDeletedByOthers(turn) ? { from: status.state, times } : relapse
  return {
    ...rest,
    // It has reached the desired state, with or without the operator.
    ...(failure && here !== target && { failure }),
    ...(nextRelapse && { relapse: nextRelapse }),
    state: here,
    since: at,
    history: withEntry(status.history, { state: here, at, why: 'observed' }),
  }
}

/**
 * Its objects are gone although it had not ended: another client deleted them. That is no relapse, and is corrected at
 * once like any drift; waiting would store the end state, which would delete the remaining objects, too.
 */
function isDeletedByOthers({ life, before, observed, here }: LifecycleTurn): boolean {
  return !observed.reachable && here === life.end && before?.state !== life.end
}

/** The state to reach: the desired one, or the state that it led to if it has been served. */
function targetOf({ life, desired, request }: LifecycleTurn, { served }: LifecycleStatus): string {
  const isServed = served?.state === desired && served.request === request
  return isServed ? restOf(life.nodes, desired) : desired
}

/** A failure blocks further transitions until the spec changes. */
function blocks({ desired, generation }: LifecycleTurn, failure: LifecycleFailure): boolean {
  return failure.desired === desired && failure.generation === generation
}

/** Drops what no longer applies. */
function withoutObsolete({ desired }: LifecycleTurn, status: LifecycleStatus, isBlocked: boolean): LifecycleStatus {
  const { failure, served, ...rest } = status
  return { ...rest, ...(failure && isBlocked && { failure }), ...(served?.state === desired && { served }) }
}

/** When an application that keeps leaving `target` is brought back there again. */
function correctionAt(turn: LifecycleTurn, { relapse, since, history }: LifecycleStatus, target: string): number {
  const { now } = turn
  if (relapse?.from !== target || relapse.times < 2 || history.at(-1)?.why !== 'observed' || isDeletedByOthers(turn))
    return now
  return timeOf(since, now) + Math.min(firstRelapseMs * 2 ** Math.min(relapse.times - 2, 30), longestRelapseMs)
}

function settled({ life, observed, here, desired }: LifecycleTurn, status: LifecycleStatus): LifecycleDecision {
  const { state } = status
  if (observed.state !== undefined && here === undefined) {
    const known = [...life.nodes.keys()].join(', ')
    return unknownLifecycleState(
      status,
      'UnknownState',
      `the application says ${observed.state}, which is none of ${known}`,
    )
  }
  if (!observed.reachable && here === undefined && state !== life.end) {
    return unknownLifecycleState(status, 'Unreachable', `${state} when the application was last heard of`)
  }
  const message = state === desired ? `${state}, as desired` : `${desired} has been done; ${state} again`
  return { status, condition: { status: 'True', reason: 'AsDesired', message } }
}

// Entering -------------------------------------------------------------------------------------------------------

function enter(
  turn: LifecycleTurn,
  stored: LifecycleStatus,
  from: string | undefined,
  to: string,
  why: Why,
): LifecycleDecision {
  const { life, uid, now, desired, request, generation } = turn
  const at = formatMicroTime(now)
  const node = life.nodes.get(to)!
  const status: LifecycleStatus = {
    ...stored,
    state: to,
    since: at,
    history: withEntry(stored.history, { state: to, at, why }),
  }
  // No action and nothing to wait for: the state is entered.
  if (!node.action && !node.leadsTo && missingFor(turn, node) === undefined) {
    // Its objects are deleted before it starts again, and that depends on the stored state.
    const isRestart = to === life.end && desired !== life.end
    return isRestart ? wait(status, 'InTransition', `${to}: what it ran on goes first`, now) : atRest(turn, status)
  }
  const number = nextNumber(turn, stored)
  const transition: Transition = {
    ...(from !== undefined && { from }),
    to,
    key: formatActionKey({ uid, number, from, to }),
    ...inputOf(turn, node),
    desired,
    ...(request !== undefined && { request }),
    generation,
    startedAt: at,
    attempt: 1,
    attemptAt: at,
  }
  const doing = node.action ? `action ${node.action.name} is running` : 'entered'
  // Run again at once: the intent is written first.
  return wait({ ...status, attempts: number, transition }, 'InTransition', `${routeText(transition)}: ${doing}`, now)
}

function inputOf({ context }: LifecycleTurn, { action }: LifecycleNode): Pick<Transition, 'input'> {
  return action?.input ? { input: action.input(context) } : {}
}

/** Above all earlier numbers, even those of a lost status. */
function nextNumber({ observed, uid }: LifecycleTurn, { attempts }: LifecycleStatus): number {
  const seen = observed.actions.map(({ key }) => numberOfKey(key, uid) ?? 0)
  return Math.max(attempts, ...seen) + 1
}

function withEntry(history: readonly HistoryEntry[], entry: HistoryEntry): readonly HistoryEntry[] {
  return [...history, entry].slice(-longestHistory)
}

// Overdue actions ------------------------------------------------------------------------------------------------

function overdueIf(mayRun: boolean, status: LifecycleStatus): LifecycleStatus {
  if (!mayRun || !status.transition) return status
  return { ...status, overdue: [...(status.overdue ?? []), status.transition.key] }
}

/** Cancels actions that timed out, and drops them when they have ended. */
function withOverdue({ life, observed, before, now }: LifecycleTurn, decision: LifecycleDecision): LifecycleDecision {
  const { status, requeueAtMs = Infinity } = decision
  if (!status?.overdue) return decision
  const { overdue: all, ...rest } = status
  const isGone = status.state === life.end && !status.transition
  const runs = (wanted: string): boolean =>
    observed.actions.some(({ key, state }) => key === wanted && state === 'running')
  const overdue = observed.reachable ? all.filter(runs) : isGone ? [] : all
  if (overdue.length === 0) return { ...decision, status: rest }
  const next = { ...decision, status: { ...rest, overdue }, requeueAtMs: Math.min(requeueAtMs, now + pollMs) }
  const key = overdue.find((wanted) => runs(wanted) && actionKeys(before).includes(wanted))
  // No other action is started while one runs, so this replaces no other request.
  return key === undefined ? next : { ...next, act: { verb: 'cancel', key } }
}

/** The progress and message that the action reported. */
function withReport(transition: Transition, report: ActionReport | undefined): Transition {
  const { progress: _progress, message: _message, ...rest } = transition
  const { progress, message } = report ?? {}
  return {
    ...rest,
    ...(progress !== undefined && { progress: Math.round(Math.min(Math.max(progress, 0), 1) * 100) }),
    ...(message !== undefined && { message: shorten(message) }),
  }
}

function timeOf(text: string, otherwise: number): number {
  return parseTime(text) ?? otherwise
}

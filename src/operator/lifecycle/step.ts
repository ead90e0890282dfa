/**
 * One decision about an application's life: from the wish, the status and what is observed to the next status, and what
 * is to be done now, if anything. It never waits: it says when to ask again.
 *
 * - An action is started only when its transition stands in the status *as it was read*: first the intent is written,
 *   then it is carried out, under a key that follows from what was written. Whatever crashes in between, the next one
 *   resumes that very action.
 * - What is observed wins over what is remembered, except while a transition is under way: that is finished or fails
 *   first, whatever is wished or seen meanwhile.
 * - Nothing new gives the same status object back: at rest nothing is written.
 */
import type { ConditionUpdate } from '../../kube/condition.ts'
import { formatMicroTime, parseTime } from '../../kube/duration.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import type { Fields } from '../field.ts'
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
  /** To be written when it is another object than was given, with the resourceVersion that was read. */
  readonly status: LifecycleStatus<Name> | undefined
  /** To be carried out now; may fail, and is then asked for again. */
  readonly act?: LifecycleAct
  /** When to ask again even if nothing happens; undefined: not before something changes. */
  readonly requeueAtMs?: number
  readonly condition: ConditionUpdate
  /** Why the wish cannot come true. */
  readonly refusal?: string
}

/** The type of the condition. */
export const lifecycleCondition = 'AtWishedState'

/** How often an action or an application under way is looked at. */
export const pollMs = 5000

/** An application that was where it should be for so long starts anew with its relapses. */
const calmMs = 600_000
const firstRelapseMs = 1000
const longestRelapseMs = 300_000

/** The actions that the sidecar is to be asked for. */
export function actionKeys(status: LifecycleStatus | undefined): readonly string[] {
  return [status?.transition?.key, ...(status?.overdue ?? [])].filter((key) => key !== undefined)
}

/** Whether it is where it is wished to be, and nothing is under way: for finalizers, with the end as the wish. */
export function isSettled({ condition }: LifecycleStep): boolean {
  return condition.status === 'True'
}

export function stepLifecycle<Name extends string, Wish extends Name, Spec extends Fields>(
  life: Lifecycle<Name, Wish, Spec>,
  input: LifecycleInput<Name, NoInfer<Spec>>,
): LifecycleStep<Name> {
  const turn = turnOf(life, input)
  const { status, condition, ...rest } = withOverdue(turn, decide(turn))
  const isSame = status !== undefined && equalJson(status as unknown as Json, input.status as unknown as Json)
  return {
    ...rest,
    status: isSame ? input.status : (status as LifecycleStatus<Name> | undefined),
    condition: { type: lifecycleCondition, observedGeneration: turn.generation, ...condition },
  }
}

function decide(turn: LifecycleTurn): LifecycleDecision {
  const { life, now } = turn
  const before = turn.before && withoutFuture(turn.before, life, now)
  // A state that this version of the graph does not have tells nothing.
  if (!before || !life.nodes.has(before.state)) return firstSeen(turn)
  return before.transition ? underWay(turn, before, before.transition) : atRest(turn, before)
}

/**
 * Moments that lie further ahead than anything is put off: the clock was set back since they were written down, and whoever
 * waited for them would wait as long as it was set back by. They count from now on.
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

/** An application of which nothing is known yet, or no longer. */
function firstSeen(turn: LifecycleTurn): LifecycleDecision {
  const { life, wish, before, here, now } = turn
  const at = formatMicroTime(now)
  const history = before?.history ?? []
  const attempts = before?.attempts ?? 0
  const overdue = actionKeys(before)
  const blank = { since: at, history, attempts, ...(overdue.length > 0 && { overdue }) }
  if (here !== undefined && here !== life.end) {
    return atRest(turn, { ...blank, state: here, history: remember(history, { state: here, at, why: 'observed' }) })
  }
  if (!life.nodes.has(wish)) return refuseTransition(turn, undefined, wish)
  // Nothing is there, and nothing is wanted.
  if (wish === life.end) return atRest(turn, { ...blank, state: life.end })
  return enter(turn, { ...blank, state: life.start }, undefined, life.start, 'wished')
}

// Under way ------------------------------------------------------------------------------------------------------

function underWay(turn: LifecycleTurn, status: LifecycleStatus, transition: Transition): LifecycleDecision {
  const { life, now, observed } = turn
  const node = life.nodes.get(transition.to)
  if (!node) return firstSeen(turn)
  const begins = timeOf(transition.attemptAt, now)
  if (now < begins) {
    // Nothing runs, so a new wish need not wait for further attempts.
    if (transition.wish !== turn.wish) return abandon(turn, status, transition, node, transition.message ?? '')
    return wait(status, 'Retrying', retryText(transition, node), begins)
  }
  const isLate = now >= begins + node.timeoutMs
  const again = Math.min(now + pollMs, begins + node.timeoutMs)
  const report = observed.actions.find(({ key }) => key === transition.key)
  // It was on its way back, nothing of it is there yet, and nobody wants it any more: it is where it is wished to be.
  if (turn.wish === life.end && turn.here === life.end && !observed.reachable && node.leadsTo?.state !== life.end) {
    const { transition: _given, ...rest } = status
    return atRest(turn, rest)
  }
  // What has come to its end, or is gone, need not be brought there, and nobody may be left who could.
  const isOver = turn.here === life.end && node.leadsTo?.state === life.end && report?.state !== 'running'
  if (node.action && !transition.acted && !isOver) {
    const name = `action ${node.action.name}`
    switch (report?.state) {
      case undefined:
        if (isLate)
          return fail(turn, overdueIf(!observed.reachable, status), transition, node, `${name} was not started in time`)
        return start(turn, status, transition, node.action.name, again)
      case 'failed':
      case 'lost': {
        const reason = report.message ?? (report.state === 'lost' ? 'nobody knows how it ended' : 'it gave no reason')
        return fail(turn, status, transition, node, `${name} failed: ${reason}`)
      }
      case 'running':
        if (isLate) return fail(turn, overdueIf(true, status), transition, node, `${name} took too long`)
        return wait(
          { ...status, transition: withReport(transition, report) },
          'InTransition',
          `${routeText(transition)}: ${name} is running`,
          again,
        )
      case 'succeeded':
    }
  }
  const acted: Transition = node.action ? { ...withReport(transition, undefined), acted: true } : transition
  const missing = missingFor(turn, node)
  if (missing === undefined) return arrive(turn, status, acted, node)
  if (isLate) return fail(turn, status, acted, node, missing)
  return wait({ ...status, transition: acted }, 'InTransition', `${routeText(transition)}: ${missing}`, again)
}

/** Carries out what the status, as it was read, says is intended. */
function start(
  turn: LifecycleTurn,
  status: LifecycleStatus,
  transition: Transition,
  action: string,
  again: number,
): LifecycleDecision {
  const { observed, uid } = turn
  const { key, input = null } = transition
  const place = routeText(transition)
  if (!observed.reachable) return wait(status, 'InTransition', `${place}: waits for the application to answer`, again)
  const isBusy = observed.actions.some(
    (other) => other.state === 'running' && other.key !== key && numberOfKey(other.key, uid) !== undefined,
  )
  if (isBusy) return wait(status, 'InTransition', `${place}: waits for an earlier action to end`, again)
  // It is the same to a reader whether the action is about to run or runs.
  const decision = wait(status, 'InTransition', `${place}: action ${action} is running`, again)
  return { ...decision, act: { verb: 'start', key, action, input } }
}

/** What the state still lacks before it has been entered, or may lead on; undefined when nothing does. */
function missingFor(
  { life, here, observed, context }: LifecycleTurn,
  { name, leadsTo }: LifecycleNode,
): string | undefined {
  const verdict = leadsTo?.guard?.(context) ?? true
  if (verdict !== true) return `not yet ${leadsTo?.state}: ${verdict}`
  const next = leadsTo ? life.nodes.get(leadsTo.state) : undefined
  // What has an action of its own, or leads on, is not confirmed by being there.
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
  const isServed = node.name === turn.wish
  const served: LifecycleStatus = isServed
    ? { ...rest, served: { state: node.name, ...(request !== undefined && { request }) } }
    : rest
  return enter(turn, served, node.name, leadsTo.state, 'ledOn')
}

function fail(
  turn: LifecycleTurn,
  status: LifecycleStatus,
  transition: Transition,
  node: LifecycleNode,
  why: string,
): LifecycleDecision {
  const { attempt, wish } = transition
  const message = shorten(why)
  const { retries, firstMs, mostMs } = node.onFailure
  if (attempt > retries || wish !== turn.wish) return abandon(turn, status, transition, node, message)
  const begins = turn.now + Math.min(firstMs * 2 ** Math.min(attempt - 1, 30), mostMs)
  const number = nextNumber(turn, status)
  const { acted: _acted, progress: _progress, input: _input, ...rest } = transition
  const next: Transition = {
    ...rest,
    key: formatActionKey({ uid: turn.uid, number, from: transition.from, to: transition.to }),
    // Another key, hence another action: it may go by what the spec says now.
    ...inputOf(turn, node),
    generation: turn.generation,
    attempt: attempt + 1,
    attemptAt: formatMicroTime(begins),
    message,
  }
  return wait({ ...status, attempts: number, transition: next }, 'Retrying', retryText(next, node), begins)
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
    wish: transition.wish,
    generation: transition.generation,
  }
  return atRest(turn, { ...rest, failure })
}

// At rest --------------------------------------------------------------------------------------------------------

function atRest(turn: LifecycleTurn, was: LifecycleStatus): LifecycleDecision {
  const { life, here, wish } = turn
  if (here !== undefined && here !== was.state) return atRest(turn, moved(turn, was, here))
  if (!life.nodes.has(wish)) return refuseTransition(turn, was, wish)
  const { failure } = was
  const isHeld = failure !== undefined && isHolding(turn, failure)
  const hasFailedHere = failure?.state === was.state
  if (isHeld && hasFailedHere && failure.goTo !== undefined) {
    return enter(turn, was, was.state, failure.goTo, 'failed')
  }
  const target = isHeld ? failure.goTo && restOf(life.nodes, failure.goTo) : targetOf(turn, was)
  const status = forget(turn, was, isHeld)
  if (target === undefined) return stay(status, 'Failed', failureText(failure))
  const node = life.nodes.get(was.state)!
  if (node.leadsTo && !hasFailedHere) {
    // It got into a passing state on its own, and may get out of it likewise.
    const until = timeOf(was.since, turn.now) + node.timeoutMs
    if (turn.now < until)
      return wait(
        status,
        'OnItsOwn',
        `${was.state}: expected to become ${node.leadsTo.state}`,
        Math.min(turn.now + pollMs, until),
      )
  }
  const route = routeTo(life.nodes, was.state, target)
  if (!route) return isHeld ? stay(status, 'Failed', failureText(failure)) : refuseTransition(turn, status, target)
  const [hop] = route
  if (hop === undefined) {
    if (isHeld) return stay(status, 'Failed', failureText(failure))
    return hasFailedHere || node.leadsTo ? enter(turn, status, was.state, was.state, 'wished') : settled(turn, status)
  }
  const exit = sideExits(node).find(({ state }) => state === hop)
  // A passing state leads on when it has done what it is for, and only if it failed in another way.
  if (!exit || (node.leadsTo && !hasFailedHere)) return enter(turn, status, was.state, was.state, 'wished')
  const verdict = exit.guard?.(turn.context) ?? true
  if (verdict !== true) return stay(status, 'Guarded', `${was.state} → ${hop}: ${verdict}`)
  const calm = calmAt(turn, status, target)
  if (turn.now < calm) {
    return wait(
      status,
      'Relapsed',
      `${was.state}: left ${target} on its own ${status.relapse?.times} times of late`,
      calm,
    )
  }
  return enter(turn, status, was.state, hop, isHeld ? 'failed' : 'wished')
}

/** The application went somewhere by itself. */
function moved(turn: LifecycleTurn, status: LifecycleStatus, here: string): LifecycleStatus {
  const { now } = turn
  const at = formatMicroTime(now)
  const { failure, relapse, ...rest } = status
  const target = targetOf(turn, status)
  const isCalm = now - timeOf(status.since, now) >= calmMs
  const times = relapse?.from === status.state && !isCalm ? relapse.times + 1 : 1
  const nextRelapse = status.state === target && !isTaken(turn) ? { from: status.state, times } : relapse
  return {
    ...rest,
    // It has come where it was wished to be, by whatever help.
    ...(failure && here !== target && { failure }),
    ...(nextRelapse && { relapse: nextRelapse }),
    state: here,
    since: at,
    history: remember(status.history, { state: here, at, why: 'observed' }),
  }
}

/**
 * What it ran on is gone, and not because it had ended: somebody took it away. That is no relapse, and is put right at once
 * as with any other object; to wait would be to store that it has ended, by which the rest would go, too.
 */
function isTaken({ life, before, observed, here }: LifecycleTurn): boolean {
  return !observed.reachable && here === life.end && before?.state !== life.end
}

/** What is to be reached: the wish, or where it led once it has been gone through. */
function targetOf({ life, wish, request }: LifecycleTurn, { served }: LifecycleStatus): string {
  const isServed = served?.state === wish && served.request === request
  return isServed ? restOf(life.nodes, wish) : wish
}

/** A failure keeps everything as it is until somebody changes something. */
function isHolding({ wish, generation }: LifecycleTurn, failure: LifecycleFailure): boolean {
  return failure.wish === wish && failure.generation === generation
}

/** What no longer means anything goes. */
function forget({ wish }: LifecycleTurn, status: LifecycleStatus, isHeld: boolean): LifecycleStatus {
  const { failure, served, ...rest } = status
  return { ...rest, ...(failure && isHeld && { failure }), ...(served?.state === wish && { served }) }
}

/** When an application that keeps leaving `target` is next brought back there. */
function calmAt(turn: LifecycleTurn, { relapse, since, history }: LifecycleStatus, target: string): number {
  const { now } = turn
  if (relapse?.from !== target || relapse.times < 2 || history.at(-1)?.why !== 'observed' || isTaken(turn)) return now
  return timeOf(since, now) + Math.min(firstRelapseMs * 2 ** Math.min(relapse.times - 2, 30), longestRelapseMs)
}

function settled({ life, observed, here, wish }: LifecycleTurn, status: LifecycleStatus): LifecycleDecision {
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
  const message = state === wish ? `${state}, as wished` : `${wish} has been done; ${state} again`
  return { status, condition: { status: 'True', reason: 'AsWished', message } }
}

// Entering -------------------------------------------------------------------------------------------------------

function enter(
  turn: LifecycleTurn,
  was: LifecycleStatus,
  from: string | undefined,
  to: string,
  why: Why,
): LifecycleDecision {
  const { life, uid, now, wish, request, generation } = turn
  const at = formatMicroTime(now)
  const node = life.nodes.get(to)!
  const status: LifecycleStatus = {
    ...was,
    state: to,
    since: at,
    history: remember(was.history, { state: to, at, why }),
  }
  // Nothing to do and nothing to wait for: it is there.
  if (!node.action && !node.leadsTo && missingFor(turn, node) === undefined) {
    // What it ran on goes before it starts anew, and that goes by what is stored.
    const isPassing = to === life.end && wish !== life.end
    return isPassing ? wait(status, 'InTransition', `${to}: what it ran on goes first`, now) : atRest(turn, status)
  }
  const number = nextNumber(turn, was)
  const transition: Transition = {
    ...(from !== undefined && { from }),
    to,
    key: formatActionKey({ uid, number, from, to }),
    ...inputOf(turn, node),
    wish,
    ...(request !== undefined && { request }),
    generation,
    startedAt: at,
    attempt: 1,
    attemptAt: at,
  }
  const doing = node.action ? `action ${node.action.name} is running` : 'entered'
  // Again at once: the intent is written first.
  return wait({ ...status, attempts: number, transition }, 'InTransition', `${routeText(transition)}: ${doing}`, now)
}

function inputOf({ context }: LifecycleTurn, { action }: LifecycleNode): Pick<Transition, 'input'> {
  return action?.input ? { input: action.input(context) } : {}
}

/** Above all that were given before, even by a status that was lost. */
function nextNumber({ observed, uid }: LifecycleTurn, { attempts }: LifecycleStatus): number {
  const seen = observed.actions.map(({ key }) => numberOfKey(key, uid) ?? 0)
  return Math.max(attempts, ...seen) + 1
}

function remember(history: readonly HistoryEntry[], entry: HistoryEntry): readonly HistoryEntry[] {
  return [...history, entry].slice(-longestHistory)
}

// Overdue actions ------------------------------------------------------------------------------------------------

function overdueIf(mayRun: boolean, status: LifecycleStatus): LifecycleStatus {
  if (!mayRun || !status.transition) return status
  return { ...status, overdue: [...(status.overdue ?? []), status.transition.key] }
}

/** Cancels what took too long, and forgets it when it has ended. */
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
  // Nothing else is started while one runs, so there is no act that this one could displace.
  return key === undefined ? next : { ...next, act: { verb: 'cancel', key } }
}

/** What the action says of itself; times and texts of nobody else. */
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

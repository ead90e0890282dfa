/**
 * The input and the result of a life-cycle decision, and its messages. Messages hold no times or counters: an unchanged
 * situation has an unchanged message, and then nothing is written.
 */
import type { ConditionUpdate } from '../../kube/meta/condition.ts'
import type { Fields } from '../kind/field.ts'
import type { LifecycleContext, LifecycleNode } from './graph.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { LifecycleAct, Observed } from './observation.ts'
import { reachableStates } from './rules.ts'
import type { LifecycleFailure, LifecycleStatus, Transition } from './status.ts'

export interface LifecycleInput<Name extends string = string, Spec extends Fields = Fields> {
  /** The desired state: `spec.state`; the end state for a CR that is being deleted. */
  readonly desired: Name
  /** `spec.stateRequest`. */
  readonly request?: string | undefined
  /** `status.lifecycle`, as it is stored. */
  readonly status: LifecycleStatus<Name> | undefined
  readonly observed: Observed
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly context: Omit<LifecycleContext<Spec>, 'observed'>
}

/** The constant input of one decision. */
export interface LifecycleTurn {
  readonly life: Lifecycle
  readonly desired: string
  readonly request: string | undefined
  readonly before: LifecycleStatus | undefined
  readonly observed: Observed
  /** The observed state, if it is a state of the graph. */
  readonly here: string | undefined
  readonly now: number
  readonly uid: string
  readonly generation: number
  readonly context: LifecycleContext
}

export interface LifecycleDecision {
  readonly status: LifecycleStatus | undefined
  readonly condition: Pick<ConditionUpdate, 'status' | 'reason' | 'message'>
  readonly requeueAtMs?: number
  readonly act?: LifecycleAct
  readonly refusal?: string
}

export function turnOf(
  life: Lifecycle,
  { desired, request, status, observed, now, context }: LifecycleInput,
): LifecycleTurn {
  const { uid = '', generation = 0 } = context.cr.metadata
  const here = observed.state !== undefined && life.nodes.has(observed.state) ? observed.state : undefined
  return {
    life,
    desired,
    request,
    before: status,
    observed,
    here,
    now,
    uid,
    generation,
    context: { ...context, observed },
  }
}

export function wait(status: LifecycleStatus, reason: string, message: string, requeueAtMs: number): LifecycleDecision {
  return { status, condition: { status: 'False', reason, message }, requeueAtMs }
}

export function stay(status: LifecycleStatus, reason: string, message: string): LifecycleDecision {
  return { status, condition: { status: 'False', reason, message } }
}

export function unknownLifecycleState(status: LifecycleStatus, reason: string, message: string): LifecycleDecision {
  return { status, condition: { status: 'Unknown', reason, message } }
}

export function refuseTransition(
  { life, desired }: LifecycleTurn,
  status: LifecycleStatus | undefined,
  target: string,
): LifecycleDecision {
  const allowed = status ? reachableStates(life, status.state) : life.desiredStates
  const from = status ? `from ${status.state}` : 'at first'
  const which = allowed.length === 0 ? 'nothing' : `only ${allowed.join(', ')}`
  const refusal = `${desired === target ? desired : `${target} (after ${desired})`} cannot be reached; ${from} ${which} can be requested`
  return { status, condition: { status: 'False', reason: 'Refused', message: refusal }, refusal }
}

export function routeText({ from, to }: Transition): string {
  return from === undefined || from === to ? to : `${from} → ${to}`
}

export function retryText(transition: Transition, { onFailure }: LifecycleNode): string {
  const { attempt, message = '' } = transition
  return `${routeText(transition)}: attempt ${attempt} of ${onFailure.retries + 1} is due, because ${message}`
}

export function failureText(failure: LifecycleFailure | undefined): string {
  if (!failure) return ''
  const { state, attempts, message } = failure
  const times = attempts === 1 ? 'once' : `${attempts} times`
  return `${state} was tried ${times}: ${message}. It is tried again when the spec changes`
}

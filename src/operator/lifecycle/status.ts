/**
 * The fields that a life cycle adds to a kind: the desired state in the spec; in the status the current state, its
 * history and the transition in progress. The status is the complete memory of the life cycle: a new process can
 * continue from it alone.
 */
import { cutText } from '../../kube/text/hidden-text.ts'
import type { Json } from '../../kube/json.ts'
import {
  anything,
  boolean,
  type Field,
  integer,
  list,
  object,
  oneOf,
  optional,
  schemaField,
  string,
} from '../kind/field.ts'

export interface LifecycleStatus<Name extends string = string> {
  /** The current state. With a transition: the state being entered. */
  readonly state: Name
  readonly since: string
  readonly transition?: Transition<Name>
  /** Why the last transition was abandoned. */
  readonly failure?: LifecycleFailure<Name>
  /** The transient state that was desired and completed: it runs once per request. */
  readonly served?: ServedState<Name>
  /** How often the application left its desired state recently; the back-off grows with it. */
  readonly relapse?: Relapse<Name>
  /** Entered states, the latest last. */
  readonly history: readonly HistoryEntry<Name>[]
  /** The number of attempts so far; each has its number. */
  readonly attempts: number
  /** Keys of actions that timed out and may still be running. */
  readonly overdue?: readonly string[]
}

/** A state that is being entered. There is one at a time. */
export interface Transition<Name extends string = string> {
  /** Absent for the first transition. */
  readonly from?: Name
  readonly to: Name
  /** The key of the action in the sidecar. */
  readonly key: string
  /** The input of the action. */
  readonly input?: Json
  /** The desired state it serves, and the CR's generation at this attempt. */
  readonly desired: string
  readonly request?: string
  readonly generation: number
  readonly startedAt: string
  /** From 1. */
  readonly attempt: number
  /** The start of this attempt, past or future. */
  readonly attemptAt: string
  /** The action has succeeded; the application has yet to confirm it. */
  readonly acted?: boolean
  /** Per cent. */
  readonly progress?: number
  /** The last message of the action, or why the previous attempt failed. */
  readonly message?: string
}

export interface LifecycleFailure<Name extends string = string> {
  /** The state that could not be entered. */
  readonly state: Name
  readonly message: string
  readonly attempts: number
  /** The state entered instead, if any. */
  readonly goTo?: Name
  /** It is retried when one of these changes. */
  readonly desired: string
  readonly generation: number
}

interface ServedState<Name extends string = string> {
  readonly state: Name
  readonly request?: string
}

interface Relapse<Name extends string = string> {
  readonly from: Name
  readonly times: number
}

/**
 * `desired`: on the path to the desired state. `automatic`: from a transient state. `observed`: the application changed by
 * itself.
 */
export type Why = 'desired' | 'automatic' | 'observed' | 'failed'

export interface HistoryEntry<Name extends string = string> {
  readonly state: Name
  readonly at: string
  readonly why: Why
}

/** The length limit of the history. */
export const longestHistory = 10

const longestMessage = 1024

/** Truncates a message of the application. */
export function shorten(message: string): string {
  return cutText(message, longestMessage)
}

// Type aliases, not interfaces: only aliases are assignable to an index signature, which `defineKind` requires.

export type LifecycleSpecFields<Desired extends string> = {
  readonly state: Field<Desired, Desired, 'defaulted'>
  readonly stateRequest: Field<string, string, 'optional'>
}

export type LifecycleStatusFields<Name extends string> = {
  readonly lifecycle: Field<LifecycleStatus<Name>, LifecycleStatus<Name>, 'optional'>
}

export function lifecycleSpecFields<Desired extends string>(
  desiredStates: readonly Desired[],
  defaultState: Desired,
): LifecycleSpecFields<Desired> {
  const state: Field<Desired> = oneOf(desiredStates, {
    default: defaultState,
    description: 'The state the application shall be in.',
  })
  const request = string({
    maxLength: 253,
    description: 'Change it to have a state that leads on by itself, such as a service, gone through once more.',
  })
  return { state: { ...state, presence: 'defaulted' }, stateRequest: optional(request) }
}

export function statusFields<Name extends string>(names: readonly Name[]): LifecycleStatusFields<Name> {
  const state = oneOf(names)
  // The history may name states that a later version of the graph does not have.
  const once: Field<Name, Name, 'required'> = schemaField({ type: 'string' })
  const time = string({ format: 'date-time' })
  const message = string({ maxLength: longestMessage })
  const history = object({ state: once, at: time, why: oneOf(['desired', 'automatic', 'observed', 'failed']) })
  const transition = object(
    {
      from: optional(once),
      to: state,
      key: string(),
      input: optional(anything()),
      desired: string(),
      request: optional(string()),
      generation: integer(),
      startedAt: time,
      attempt: integer({ minimum: 1 }),
      attemptAt: time,
      acted: optional(boolean()),
      progress: optional(integer({ minimum: 0, maximum: 100, description: 'Per cent.' })),
      message: optional(message),
    },
    { description: 'The state that is being entered, and how far it got.' },
  )
  const failure = object(
    { state: once, message, attempts: integer(), goTo: optional(once), desired: string(), generation: integer() },
    { description: 'Why the last transition was given up. It is tried again when the spec changes.' },
  )
  const lifecycle = object(
    {
      state,
      since: time,
      transition: optional(transition),
      failure: optional(failure),
      served: optional(object({ state: once, request: optional(string()) })),
      relapse: optional(object({ from: once, times: integer({ minimum: 1 }) })),
      history: list(history, { maxItems: longestHistory }),
      attempts: integer({ minimum: 0 }),
      overdue: optional(list(string())),
    },
    { description: 'Where the application is in its life.' },
  )
  return { lifecycle: optional(lifecycle) }
}

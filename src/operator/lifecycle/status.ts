/**
 * What a life cycle adds to a kind: the wish in the spec, and in the status the truth about where the application is, how
 * it got there and what is being done. The status is the memory of the life cycle, and all of it: a process that knows
 * nothing else can go on from there.
 */
import { cutText } from '../../kube/hidden-text.ts'
import type { Json } from '../../kube/json.ts'
import { anything, boolean, type Field, integer, list, object, oneOf, optional, schemaField, string } from '../field.ts'

export interface LifecycleStatus<Name extends string = string> {
  /** Where the application is. With a transition: what it is about to enter, or what it passes through. */
  readonly state: Name
  readonly since: string
  readonly transition?: Transition<Name>
  /** Why the last transition was given up. */
  readonly failure?: LifecycleFailure<Name>
  /** The passing state that was wished and gone through: it is not done twice for one wish. */
  readonly served?: ServedWish<Name>
  /** How often the application left the state it should be in, of late: each time it is put right a little later. */
  readonly relapse?: Relapse<Name>
  /** States that were entered, the latest last. */
  readonly history: readonly HistoryEntry<Name>[]
  /** How many attempts there have been so far; each has its number. */
  readonly attempts: number
  /** Keys of actions that took too long and may still be running. */
  readonly overdue?: readonly string[]
}

/** A state that is being entered. There is one at a time. */
export interface Transition<Name extends string = string> {
  /** Absent for the first. */
  readonly from?: Name
  readonly to: Name
  /** The key of the action, for whoever looks into the sidecar. */
  readonly key: string
  /** What the action is given. */
  readonly input?: Json
  /** The wish it is for, and the generation of the CR that this attempt goes by. */
  readonly wish: string
  readonly request?: string
  readonly generation: number
  readonly startedAt: string
  /** From 1. */
  readonly attempt: number
  /** When this attempt begins or began. */
  readonly attemptAt: string
  /** The action is done; the application has yet to confirm it. */
  readonly acted?: boolean
  /** Per cent. */
  readonly progress?: number
  /** What the action said last, or why the attempt before failed. */
  readonly message?: string
}

export interface LifecycleFailure<Name extends string = string> {
  /** What could not be entered. */
  readonly state: Name
  readonly message: string
  readonly attempts: number
  /** Where it went instead; absent: nowhere. */
  readonly goTo?: Name
  /** It is tried again when one of these is different. */
  readonly wish: string
  readonly generation: number
}

export interface ServedWish<Name extends string = string> {
  readonly state: Name
  readonly request?: string
}

export interface Relapse<Name extends string = string> {
  readonly from: Name
  readonly times: number
}

/** `wished`: on the way to the wish. `ledOn`: by the state before. `observed`: the application went there itself. */
export type Why = 'wished' | 'ledOn' | 'observed' | 'failed'

export interface HistoryEntry<Name extends string = string> {
  readonly state: Name
  readonly at: string
  readonly why: Why
}

/** The most that the history holds. */
export const longestHistory = 10

const longestMessage = 1024

/** A message of the application's, no longer than it may be. */
export function shorten(message: string): string {
  return cutText(message, longestMessage)
}

// Type aliases, not interfaces: only those are fields by name, too, which is what a kind takes.

export type LifecycleSpecFields<Wish extends string> = {
  readonly state: Field<Wish, Wish, 'defaulted'>
  readonly stateRequest: Field<string, string, 'optional'>
}

export type LifecycleStatusFields<Name extends string> = {
  readonly lifecycle: Field<LifecycleStatus<Name>, LifecycleStatus<Name>, 'optional'>
}

export function lifecycleSpecFields<Wish extends string>(
  wishes: readonly Wish[],
  defaultWish: Wish,
): LifecycleSpecFields<Wish> {
  const state: Field<Wish> = oneOf(wishes, {
    default: defaultWish,
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
  // What is past may name states that a later version of the graph no longer has.
  const once: Field<Name, Name, 'required'> = schemaField({ type: 'string' })
  const time = string({ format: 'date-time' })
  const message = string({ maxLength: longestMessage })
  const history = object({ state: once, at: time, why: oneOf(['wished', 'ledOn', 'observed', 'failed']) })
  const transition = object(
    {
      from: optional(once),
      to: state,
      key: string(),
      input: optional(anything()),
      wish: string(),
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
    { state: once, message, attempts: integer(), goTo: optional(once), wish: string(), generation: integer() },
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

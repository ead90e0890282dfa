/**
 * A sequence of requests as data: what the generator makes, the runner sends to both servers, and the minimiser cuts.
 *
 * What only a server knows is said by words that the runner replaces, each server's by its own: `{{version}}`, `{{uid}}`
 * and `{{stale}}` (its first version) of the object of the step, `{{continue}}` and `{{list}}` (token and version of the
 * last list) of its collection, `{{start}}` for the version at which the sequence began.
 */
import type { Json, JsonObject } from '../../../src/kube/json.ts'

export type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Step {
  readonly method: Verb
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Content type. @default application/json */
  readonly type?: string
  /** @default application/json */
  readonly accept?: string
  /** Text is sent as it is. */
  readonly body?: Json
  /** The body is a merge patch of what the server has at `path`; the outcome is sent. */
  readonly onto?: boolean
  /** A watch: events are read until one about an object of this name. */
  readonly until?: string
}

export interface Sequence {
  readonly seed: number
  readonly namespace: string
  readonly steps: readonly Step[]
}

/** One kind of object, with what may be written to it. */
export interface Kind {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  /** A valid object, without its metadata. */
  readonly template: JsonObject
  /** Changes that a user might make, valid or not. */
  readonly edits: readonly Edits[]
  /** Changes of its status, where that has an endpoint. */
  readonly status?: readonly Edits[]
  readonly hasScale?: boolean
  /** The real server stores a new object once more at its first change, even if that changes nothing: no watches. */
  readonly isRestless?: boolean
  /** One server acts on stored objects of this kind and the other does not: every write is a dry run. */
  readonly isDryRun?: boolean
  /** Values of the template that must stay, for the sake of other sequences: no hostile edits there. */
  readonly isTouchy?: boolean
  /** Requests that only this kind knows. */
  readonly actions?: readonly Action[]
}

/** Values for one place, `spec/ports/0/port`: each is a change. `gone` takes away what is there. */
export type Edits = readonly [place: string, ...values: readonly Json[]]

/** Removes the place. A word of its own, since JSON's null is a value that clients send. */
export const gone = '{{gone}}'

export interface Action {
  readonly method: Verb
  /** Behind the path of the object. */
  readonly subresource: string
  readonly bodies: readonly Json[]
  readonly type?: string
}

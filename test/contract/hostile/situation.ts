/** What the hostile program, the process around it and the test agree upon. */

export interface Report {
  /** The uid of the process around it. */
  readonly uid: number
  readonly tried: number
  /** What was not refused. */
  readonly done: readonly string[]
  /** What the machine shows afterwards that should not be. */
  readonly left: readonly string[]
  readonly trouble?: string
  /** How it ended for taking shared memory, by the way it did; none where there are no control groups. */
  readonly memory?: Readonly<Record<string, string>> | undefined
}

/** A descriptor beyond the gap up to which Node closes those that it inherits. */
export const inherited = 40

/** It is in files, in the environment and behind the descriptor. */
export const secret = 'hush-hush'

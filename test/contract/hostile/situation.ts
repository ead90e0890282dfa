/** The contract between the hostile program, the process around it and the test. */

export interface Report {
  /** The uid of the surrounding process. */
  readonly uid: number
  readonly tried: number
  /** The attempts that succeeded. */
  readonly done: readonly string[]
  /** Effects that are visible on the machine afterwards. */
  readonly left: readonly string[]
  readonly problem?: string
  /** The exit after exceeding shared memory, by kind of memory; empty without control groups. */
  readonly memory?: Readonly<Record<string, string>> | undefined
}

/** A descriptor beyond the range of those that Node closes at start. */
export const inherited = 40

/** The secret is in files, in the environment and behind the descriptor. */
export const secret = 'hush-hush'

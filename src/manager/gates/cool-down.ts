/** Cool-down: the least time between the end of one run of a key and the start of the next. */

export interface CoolDownOptions {
  /** @default 0 */
  readonly leastMs: number
}

/** The moment a key that last ran until `ended` may run again; a key that never ran may run at once. */
export function cooledAt(ended: number | undefined, { leastMs }: CoolDownOptions): number {
  return ended === undefined ? -Infinity : ended + leastMs
}

/** Cool-down: the minimum time between the end of one reconcile of a key and the start of the next. */

export interface CoolDownOptions {
  /** The minimum time between two reconciles of a key. @default 0 */
  readonly leastMs: number
}

/** The moment a key whose last reconcile ended at `ended` may run again; a key that never ran may run at once. */
export function cooledAt(ended: number | undefined, { leastMs }: CoolDownOptions): number {
  return ended === undefined ? -Infinity : ended + leastMs
}

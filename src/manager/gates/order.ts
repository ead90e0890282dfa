/**
 * The order of the gates. All of them must be open for a key to run, so the order decides only which closed gate is
 * reported (`heldBy`): in `muster top`, in metrics, in the console. `README.md` says what each one waits for.
 *
 * The first three close for an operator as a whole; the next three for one of its keys, until a time; the allowance for
 * all of its keys, until a time; the last two are decided when a worker becomes free. Among the keys that may run,
 * priority decides.
 */
export const gateOrder = [
  'pause',
  'standby',
  'budget',
  'throttle',
  'coolDown',
  'debounce',
  'allowance',
  'concurrency',
  'share',
] as const

export type Gate = (typeof gateOrder)[number]

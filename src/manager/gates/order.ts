/**
 * The order of the gates. All of them have to agree, so it decides nothing but which one is told to hold an operator back
 * (`heldBy`): in `muster top`, in metrics, in the console. `README.md` says what each one waits for.
 *
 * The first three hold back an operator whole; the next three one of its keys until a moment; the allowance all of its keys
 * until a moment; the last two are decided when a place falls free. Who goes first of those that may run, priority decides.
 */
export const gateOrder = [
  'pause',
  'standby',
  'budget',
  'crawl',
  'coolDown',
  'debounce',
  'allowance',
  'concurrency',
  'share',
] as const

export type Gate = (typeof gateOrder)[number]

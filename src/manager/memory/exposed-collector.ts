/** V8's own garbage collector, for those who know a better moment than it does. */
export type Collector = (how: { readonly type: 'major' | 'minor'; readonly flavor?: 'last-resort' }) => void

let known: Collector | undefined

/** Nothing but a flag makes it visible, and only to a context that is made after it was set. */
export function exposedCollector(): Collector {
  if (known) return known
  // At hand, and loaded only now: a manager that never rests has no use for them.
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc')
  known = process.getBuiltinModule('node:vm').runInNewContext('gc') as Collector
  return known
}

/** V8's garbage collector, callable at a better moment than V8 would choose. */
type Collector = (how: { readonly type: 'major' | 'minor'; readonly flavor?: 'last-resort' }) => void

let known: Collector | undefined

/** It is exposed by a flag, and only to a context that is created after the flag was set. */
export function exposedCollector(): Collector {
  if (known) return known
  // Loaded on demand: a manager that is never idle does not need it.
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc')
  known = process.getBuiltinModule('node:vm').runInNewContext('gc') as Collector
  return known
}

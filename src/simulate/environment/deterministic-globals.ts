/**
 * Deterministic globals: time and randomness of a simulated process come from the simulation. The kit injects them, but
 * authors and libraries also call `Date.now`, `setTimeout` or `Math.random`, which would make every run different. So
 * while simulations run, these globals are replaced; code inside of a simulated process gets its virtual clock and its
 * seed, all other code the real ones.
 *
 * Processes of several runs share one thread: AsyncLocalStorage tells which one is calling.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { setInterval as tickEvery, setTimeout as sleepFor } from 'node:timers/promises'
import { type Clock, sleepOn, type Timer } from '../../clock/clock.ts'
import { installSeeds, openSource, type SeedSource, withSource } from './seeded-crypto.ts'

/** Runs code in the context of a process. */
export type Within = <T>(work: () => T) => T

const clocks = new AsyncLocalStorage<Clock>()

/** The context of a process with this clock and seed. */
export function withDeterministicGlobals(seed: number, clock: Clock): Within {
  const source: SeedSource = openSource(seed)
  return (work) => clocks.run(clock, () => withSource(source, work))
}

/**
 * The context of a task, for which the simulation stops: its date is that of the process, its timers are real, since no other
 * would fire, and its random values depend on its key alone.
 */
export function withStandingClock(key: string, clock: Clock): Within {
  const after: Clock['after'] = (ms, fire) => {
    const timer = real.setTimeout(fire, ms)
    return { cancel: () => real.clearTimeout(timer) }
  }
  const standing: Clock = { now: () => clock.now(), after, sleep: (ms, signal) => sleepOn(after, ms, signal) }
  return withDeterministicGlobals(Number.parseInt(key.slice(0, 8), 16), standing)
}

let users = 0
let restores: readonly (() => void)[] = []

/** Installs the globals until the last caller has called the returned function. */
export function installDeterministicGlobals(): () => void {
  if (users++ === 0) {
    const endSeeds = installSeeds()
    restores = [...replaceTime(), endSeeds]
    syncBuiltinESMExports()
  }
  return () => {
    if (--users > 0) return
    for (const restore of restores) restore()
    syncBuiltinESMExports()
  }
}

function replaceTime(): readonly (() => void)[] {
  const require = createRequire(import.meta.url)
  const timers = require('node:timers') as object
  const promised = require('node:timers/promises') as object
  return [
    replace(globalThis, { Date: simulatedDate, ...simulatedTimers }),
    replace(timers, simulatedTimers),
    replace(promised, promisedTimers),
    replace(AbortSignal, { timeout: signalAfter }),
    replace(performance, { now: () => clocks.getStore()?.now() ?? real.performanceNow() }),
  ]
}

function replace(target: object, members: Readonly<Record<string, unknown>>): () => void {
  const before = Object.keys(members).map((name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const)
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: true })
  }
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(target, name, descriptor)
      else Reflect.deleteProperty(target, name)
    }
  }
}

const real = {
  Date,
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  clearTimeout,
  clearInterval,
  performanceNow: performance.now.bind(performance),
  signalAfter: AbortSignal.timeout.bind(AbortSignal),
  promised: { setTimeout: sleepFor, setInterval: tickEvery },
} as const

const simulatedDate: DateConstructor = new Proxy(real.Date, {
  construct: (target, given: unknown[], asked: new () => object) => {
    const clock = given.length === 0 ? clocks.getStore() : undefined
    return Reflect.construct(target, clock ? [clock.now()] : given, asked) as object
  },
  apply: () => new real.Date(clocks.getStore()?.now() ?? real.Date.now()).toString(),
  get: (target, name, asked) => (name === 'now' ? now : (Reflect.get(target, name, asked) as unknown)),
})

function now(): number {
  return clocks.getStore()?.now() ?? real.Date.now()
}

/** The result of `setTimeout`, with the methods of Node's own. */
class SimulatedTimeout implements Disposable {
  readonly #start: () => Timer
  #timer: Timer

  constructor(start: () => Timer) {
    this.#start = start
    this.#timer = start()
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  refresh(): this {
    this.#timer.cancel()
    this.#timer = this.#start()
    return this
  }

  close(): this {
    this.#timer.cancel()
    return this
  }

  [Symbol.dispose](): void {
    this.#timer.cancel()
  }
}

type Callback = (...given: unknown[]) => void

const simulatedTimers = {
  setTimeout(callback: Callback, ms = 1, ...given: unknown[]): unknown {
    const clock = clocks.getStore()
    if (!clock) return real.setTimeout(callback, ms, ...given)
    return new SimulatedTimeout(() => clock.after(atLeastOne(ms), () => callback(...given)))
  },
  setInterval(callback: Callback, ms = 1, ...given: unknown[]): unknown {
    const clock = clocks.getStore()
    if (!clock) return real.setInterval(callback, ms, ...given)
    const again: SimulatedTimeout = new SimulatedTimeout(() =>
      clock.after(atLeastOne(ms), () => {
        again.refresh()
        callback(...given)
      }),
    )
    return again
  },
  clearTimeout(timer: unknown): void {
    if (timer instanceof SimulatedTimeout) timer.close()
    else real.clearTimeout(timer as NodeJS.Timeout)
  },
  clearInterval(timer: unknown): void {
    if (timer instanceof SimulatedTimeout) timer.close()
    else real.clearInterval(timer as NodeJS.Timeout)
  },
}

const promisedTimers = {
  setTimeout<T>(ms = 1, value?: T, options?: { readonly signal?: AbortSignal }): Promise<T | undefined> {
    const clock = clocks.getStore()
    if (!clock) return real.promised.setTimeout(ms, value, options)
    return clock.sleep(atLeastOne(ms), options?.signal).then(() => value)
  },
  setInterval<T>(ms = 1, value?: T, options?: { readonly signal?: AbortSignal }): AsyncIterable<T | undefined> {
    const clock = clocks.getStore()
    if (!clock) return real.promised.setInterval(ms, value, options)
    return every(clock, atLeastOne(ms), value, options?.signal)
  },
}

async function* every<T>(clock: Clock, ms: number, value: T, signal: AbortSignal | undefined): AsyncGenerator<T> {
  for (;;) {
    await clock.sleep(ms, signal)
    yield value
  }
}

function signalAfter(ms: number): AbortSignal {
  const clock = clocks.getStore()
  if (!clock) return real.signalAfter(ms)
  const controller = new AbortController()
  clock.after(ms, () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')))
  return controller.signal
}

/** As in Node. */
function atLeastOne(ms: number): number {
  return ms >= 1 ? ms : 1
}

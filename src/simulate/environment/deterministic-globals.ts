/**
 * Seclusion: the code of a simulated process asks for time and chance as it likes, and is given the simulation's. What the kit passes
 * in is virtual anyway; but authors also call `Date.now`, `setTimeout` or `Math.random`, or a library does, and then a run would be
 * another one each time it is played. So while simulations are played these are in other hands, and answer whoever is in a process of
 * one by its clock and its seed. Everybody else gets what they always got.
 *
 * Processes of several runs go side by side in one thread: which one is asking is told by the engine, across all that it awaits.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { setInterval as tickEvery, setTimeout as sleepFor } from 'node:timers/promises'
import type { Clock, Timer } from '../../clock/clock.ts'
import { installSeeds, openSource, type SeedSource, withSource } from './seeded-crypto.ts'

/** Does this as the process would. */
export type Within = <T>(work: () => T) => T

const clocks = new AsyncLocalStorage<Clock>()

/** A process with this clock, and chance that follows from the seed. */
export function withDeterministicGlobals(seed: number, clock: Clock): Within {
  const source: SeedSource = openSource(seed)
  return (work) => clocks.run(clock, () => withSource(source, work))
}

let users = 0
let putBack: readonly (() => void)[] = []

/** From here on, until the last one who called this lets go. */
export function installDeterministicGlobals(): () => void {
  if (users++ === 0) {
    const endSeeds = installSeeds()
    putBack = [...replaceTime(), endSeeds]
    syncBuiltinESMExports()
  }
  return () => {
    if (--users > 0) return
    for (const restore of putBack) restore()
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

/** What `setTimeout` gives: with all that Node's own can do. */
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

/** As Node has it. */
function atLeastOne(ms: number): number {
  return ms >= 1 ? ms : 1
}

/** Runs all probes periodically, and keeps the resulting state. */
import type { Clock, Timer } from '../clock/clock.ts'
import { probe, type ProbeSpec } from './probe.ts'
import { type ProbeAnswers, type SidecarState, stateOf, type StateRule } from './state.ts'
import type { Variables } from './environment.ts'

interface ObserverOptions {
  readonly clock: Clock
  readonly probes: ReadonlyMap<string, ProbeSpec>
  readonly rules: readonly StateRule[]
  /** The pause between two rounds of probes. */
  readonly intervalMs: number
  readonly environment: Variables
  /** The names of running actions. */
  readonly running: () => ReadonlySet<string>
}

export interface Observer {
  state(): SidecarState
  onChange(listener: (state: SidecarState) => void): () => void
  /**
   * An action started or ended. A start takes effect at once. After an end the state is kept until new probe results
   * are there.
   */
  poke(what: 'began' | 'ended'): void
  close(): void
}

export function startObserver(options: ObserverOptions): Observer {
  const { clock, probes, rules, intervalMs, environment, running } = options
  const listeners = new Set<(state: SidecarState) => void>()
  const stop = new AbortController()
  let answers: ProbeAnswers = new Map()
  let lastStamp = clock.now()
  let current: SidecarState = { ...stateOf(rules, answers, running()), since: new Date(lastStamp).toISOString() }
  let timer: Timer | undefined
  let isAsking = false
  let askAgain = false

  const judge = (): void => {
    const seen = stateOf(rules, answers, running())
    const isSame = seen.state === current.state && seen.reachable === current.reachable
    if (!isSame) lastStamp = Math.max(clock.now(), lastStamp + 1)
    current = { ...seen, since: new Date(lastStamp).toISOString() }
    if (!isSame) for (const listener of listeners) listener(current)
  }

  const ask = async (): Promise<void> => {
    if (isAsking) {
      askAgain = true
      return
    }
    isAsking = true
    timer?.cancel()
    do {
      askAgain = false
      const context = { clock, environment, signal: stop.signal }
      const asked = [...probes].map(async ([name, spec]) => [name, await probe(spec, context)] as const)
      answers = new Map(await Promise.all(asked))
      if (stop.signal.aborted) return
      // Results from before the end of an action say nothing about the state after it.
      if (!askAgain) judge()
    } while (askAgain)
    isAsking = false
    timer = clock.after(intervalMs, () => void ask())
  }
  void ask()

  return {
    state: () => current,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    poke(what) {
      if (stop.signal.aborted) return
      if (what === 'began') judge()
      void ask()
    },
    close() {
      stop.abort()
      timer?.cancel()
    },
  }
}

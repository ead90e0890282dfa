/**
 * The coordinators of one operator on one cluster, and who reads their decisions. A controller has its own readers
 * (`decision-readers.ts`): a changed decision enqueues exactly the CRs whose last reconcile read it.
 */
import type { Controller } from '../../operator/controller.ts'
import type { Coordinator } from '../../operator/coordinator/coordinator.ts'
import { type DecisionSource, suspendedUntilDecided } from '../../operator/coordinator/decisions.ts'
import { type CoordinatorHost, type CoordinatorHostOptions, createCoordinatorHost } from './coordinator-host.ts'
import { DecisionReaders } from './decision-readers.ts'

interface CoordinatorsOptions extends Omit<
  CoordinatorHostOptions,
  'coordinator' | 'onDecided' | 'onReady' | 'onProblem' | 'onBatch' | 'holding'
> {
  readonly coordinators: readonly Coordinator[]
  readonly onBatch?: (coordinator: string, changed: number, tookMs: number) => void
  readonly holding?: <T>(coordinator: string, step: string, work: () => T) => T
  /** A mistake of author code. */
  readonly onProblem: (coordinator: string, message: string) => void
}

interface Coordinators {
  /** The decisions for one controller. Undefined: it declares no coordinator. */
  openReader(
    controller: Pick<Controller, 'coordinators'>,
    wake: (keys: Iterable<string>, why: DecisionCause) => void,
  ): DecisionReader | undefined
  /** Resolves when all inputs are loaded. */
  start(): Promise<void>
  /** The configuration of the operator has changed. */
  restart(): void
  /** Resolves when no input is being loaded and all changes so far are decided. */
  settled(): Promise<void>
  stop(): void
}

/** Why keys are enqueued. */
export interface DecisionCause {
  readonly coordinator: string
  readonly origin: number
}

/** The decisions of coordinators, as one controller reads them. */
export interface DecisionReader {
  /** Resolves when all changes so far are decided. */
  decided(): Promise<void>
  /** A reconcile of the key begins. */
  open(key: string): DecisionSession
  forget(key: string): void
}

interface DecisionSession extends DecisionSource {
  /** The reconcile has ended. */
  close(): void
}

export function createCoordinators(options: CoordinatorsOptions): Coordinators {
  const { coordinators, history, holding, onBatch } = options
  const readers = new Set<{
    readonly index: DecisionReaders
    /** The keys that wait for the first decisions of a coordinator. */
    readonly suspended: Map<string, Set<string>>
    readonly wake: (keys: Iterable<string>, why: DecisionCause) => void
  }>()
  const hosts = new Map<Coordinator, CoordinatorHost>(
    coordinators.map((coordinator) => {
      const { name } = coordinator
      const host = createCoordinatorHost({
        ...options,
        coordinator,
        onBatch: onBatch && ((changed, tookMs) => onBatch(name, changed, tookMs)),
        holding: holding && ((step, work) => holding(name, step, work)),
        onProblem: (message) => options.onProblem(name, message),
        onDecided(changed, origin) {
          for (const { index, wake } of readers) wake(index.of(name, changed), { coordinator: name, origin })
        },
        onReady() {
          for (const { suspended, wake } of readers) {
            const keys = suspended.get(name) ?? []
            suspended.delete(name)
            wake(keys, { coordinator: name, origin: history.newOrigin() })
          }
        },
      })
      return [coordinator, host]
    }),
  )

  return {
    openReader(controller, wake) {
      if (controller.coordinators.length === 0) return undefined
      const own = controller.coordinators.map((coordinator) => hosts.get(coordinator)!)
      const index = new DecisionReaders()
      const suspended = new Map<string, Set<string>>()
      readers.add({ index, suspended, wake })
      return {
        async decided() {
          for (const host of own) await host.decided()
        },
        open(key) {
          const reads: [coordinator: string, key: string][] = []
          return {
            decision<Decision>(coordinator: Coordinator<Decision>, asked: string): Decision | undefined {
              const host = hosts.get(coordinator)!
              if (!host.isReady) {
                const waiting = suspended.get(coordinator.name) ?? new Set()
                suspended.set(coordinator.name, waiting.add(key))
                throw suspendedUntilDecided(coordinator)
              }
              reads.push([coordinator.name, asked])
              index.add(key, coordinator.name, asked)
              return host.decision(asked) as Decision | undefined
            },
            close: () => index.keepOnly(key, reads),
          }
        },
        forget(key) {
          index.keepOnly(key, [])
          for (const keys of suspended.values()) keys.delete(key)
        },
      }
    },
    async start() {
      await Promise.all([...hosts.values()].map((host) => host.start()))
    },
    restart() {
      for (const host of hosts.values()) if (host.coordinator.config) host.restart()
    },
    async settled() {
      for (const host of hosts.values()) await host.settled()
    },
    stop() {
      for (const host of hosts.values()) host.stop()
    },
  }
}

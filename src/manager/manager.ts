/**
 * A manager: any number of operators on one cluster, with one set of caches and one scheduler. Fifty operators that read the
 * same kind cost one watch and one copy of it; each gets its share of the places, and no more changes than it is allowed.
 * Operators come and go while the others run.
 */
import { systemClock } from '../clock/system-clock.ts'
import type { Clock } from '../clock/clock.ts'
import type { Client } from '../client/client.ts'
import { createSharedCache, type SharedCache } from '../cache/shared-cache.ts'
import { MusterError } from '../kube/errors.ts'
import type { JsonObject } from '../kube/json.ts'
import type { Ledger } from '../operator/ledger.ts'
import type { Live } from '../operator/live.ts'
import type { Operator } from '../operator/operator.ts'
import type { Finding } from './findings/finding.ts'
import { type Host, hostOperator } from './host.ts'
import type { Metrics } from './metrics.ts'
import { createScheduler, defaultGates, type GateOptions, type Lane, type LaneState } from './scheduler.ts'
import type { Webhooks } from './webhooks/webhooks.ts'

export interface ManagerOptions {
  readonly client: Client
  /** @default one of its own */
  readonly cache?: SharedCache
  readonly clock?: Clock
  /** Reconciles of all operators at once. @default 16 */
  readonly concurrency?: number
  readonly log?: (line: JsonObject) => void
  readonly metrics?: Metrics
  readonly webhooks?: Pick<Webhooks, 'set' | 'settled' | 'delete'>
  readonly onLedger?: (ledger: Ledger) => void
  readonly onFinding?: (finding: Finding) => void
  readonly live?: Live
}

/** How one of them is hosted. */
export interface HostedOptions {
  /** @default as `defaultGates` says */
  readonly gates?: Partial<GateOptions>
  readonly config?: Readonly<Record<string, unknown>>
  /** @default all */
  readonly namespaces?: readonly string[]
}

export interface Manager {
  /** Resolves when its caches are filled. @throws InvalidController when one of that name is here */
  add(operator: Operator, options?: HostedOptions): Promise<void>
  /** Lets what is under way finish. What it made stays. */
  remove(name: string): Promise<void>
  /** Nothing of it runs until it is resumed; without a name: of nobody. */
  pause(name?: string): void
  resume(name?: string): void
  /** How each stands. */
  lanes(): ReadonlyMap<string, LaneState>
  /** Resolves when nothing is waiting or under way. */
  idle(): Promise<void>
  stop(): Promise<void>
}

interface Hosted {
  readonly host: Host
  lane: Lane | undefined
}

export function createManager(options: ManagerOptions): Manager {
  const { client, clock = systemClock, concurrency = 16 } = options
  const cache = options.cache ?? createSharedCache({ client, clock })
  const scheduler = createScheduler({ clock, concurrency })
  const hosted = new Map<string, Hosted>()

  const chosen = (name: string | undefined): readonly Hosted[] => {
    if (name === undefined) return [...hosted.values()]
    const one = hosted.get(name)
    if (!one) throw new MusterError('InvalidController', `There is no operator ${name} here.`)
    return [one]
  }

  return {
    async add(operator, { gates, ...rest } = {}) {
      const { name } = operator
      if (hosted.has(name)) throw new MusterError('InvalidController', `Operator ${name} is hosted already.`)
      const entry: { host: Host | undefined; lane: Lane | undefined } = { host: undefined, lane: undefined }
      // The host joins the scheduler by itself; what it gets there is kept, to be paused and looked at.
      const joining = {
        ...scheduler,
        join: (...parameters: Parameters<typeof scheduler.join>) => (entry.lane = scheduler.join(...parameters)),
      }
      const { cache: _, concurrency: __, ...shared } = options
      entry.host = hostOperator({
        ...shared,
        ...rest,
        clock,
        cache,
        operator,
        schedule: { scheduler: joining, gates: { ...defaultGates, ...gates } },
      })
      hosted.set(name, entry as Hosted)
      await entry.host.start()
    },
    async remove(name) {
      const [one] = chosen(name)
      hosted.delete(name)
      await one!.host.stop()
      await options.webhooks?.delete(name)
    },
    pause(name) {
      for (const { lane } of chosen(name)) lane?.pause()
    },
    resume(name) {
      for (const { lane } of chosen(name)) lane?.resume()
    },
    lanes: () => new Map([...hosted].flatMap(([name, { lane }]) => (lane ? [[name, lane.state] as const] : []))),
    async idle() {
      // One operator's writes may wake another.
      const isBusy = ({ lane }: Hosted): boolean => lane !== undefined && lane.state.waiting + lane.state.running > 0
      while ([...hosted.values()].some(isBusy)) await Promise.all([...hosted.values()].map(({ host }) => host.idle()))
    },
    async stop() {
      await Promise.all([...hosted.values()].map(({ host }) => host.stop()))
      hosted.clear()
      if (!options.cache) cache.close()
    },
  }
}

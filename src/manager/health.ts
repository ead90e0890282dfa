/**
 * Health that tells the truth. A manager is *alive* while it gets its turn, and *ready* while what it reads is fresh and
 * what it runs comes to an end: a stale cache or a run that is stuck is not ready, however well the process answers.
 */
import type { FeedReport } from '../cache/shared-cache.ts'
import { formatResource } from '../kube/kind.ts'
import type { LaneState } from './scheduler.ts'

export interface HealthOptions {
  /** How long a cache may be stale. @default 60_000 */
  readonly staleMs: number
  /** How long a run may take. @default 120_000 */
  readonly stuckMs: number
  /** How long the event loop may be held by one turn. @default 5000 */
  readonly blockedMs: number
}

export const defaultHealth: HealthOptions = { staleMs: 60_000, stuckMs: 120_000, blockedMs: 5000 }

/** A run that is under way. */
export interface UnderWay {
  readonly operator: string
  readonly key: string
  readonly since: number
}

/** What is under way in all lanes. */
export function underWay(lanes: ReadonlyMap<string, LaneState>): readonly UnderWay[] {
  return [...lanes].flatMap(([operator, { runs }]) => runs.map((run) => ({ operator, ...run })))
}

export interface HealthInput {
  readonly now: number
  readonly feeds: readonly FeedReport[]
  readonly runs: readonly UnderWay[]
  /** When the event loop last had a turn of its own. */
  readonly turnAt: number
}

export interface HealthReport {
  readonly isAlive: boolean
  readonly isReady: boolean
  /** What is wrong, one line each. */
  readonly problems: readonly string[]
}

export function healthReport(input: HealthInput, options: HealthOptions = defaultHealth): HealthReport {
  const { now, feeds, runs, turnAt } = input
  const { staleMs, stuckMs, blockedMs } = options
  const isAlive = now - turnAt <= blockedMs
  const problems = [
    ...(isAlive ? [] : [`the event loop has been held for ${seconds(now - turnAt)}`]),
    ...feeds.flatMap(({ resource, freshness }) => {
      if (freshness.state === 'synced') return []
      const age = now - freshness.since
      const isPatient = freshness.state === 'stale' && age <= staleMs
      const why = freshness.reason === undefined ? '' : `: ${freshness.reason}`
      return isPatient ? [] : [`${formatResource(resource)} is ${freshness.state} for ${seconds(age)}${why}`]
    }),
    ...runs
      .filter(({ since }) => now - since > stuckMs)
      .map(({ operator, key, since }) => `${operator} has been at ${key} for ${seconds(now - since)}`),
  ]
  return { isAlive, isReady: problems.length === 0, problems }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

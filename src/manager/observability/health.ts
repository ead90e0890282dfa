/**
 * Health that tells the truth. A manager is *alive* while it gets its turn, and *ready* while what it reads is fresh and
 * what it runs comes to an end: a stale cache or a run that is stuck is not ready, however well the process answers.
 *
 * What concerns one operator or one cluster of many is told, and the manager is ready: whoever is not ready gets no more
 * requests, and a cluster that is away must not keep webhooks from answering for all others.
 */
import type { InformerReport } from '../../cache/shared-cache.ts'
import { formatResource } from '../../kube/kind.ts'
import type { LaneState } from '../schedule/scheduler.ts'

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
  /** Of the cluster that it is at home in. */
  readonly feeds: readonly InformerReport[]
  /** Of other clusters. @default none */
  readonly elsewhere?: readonly (readonly [cluster: string, feeds: readonly InformerReport[]])[]
  /** Operators that have yet to be started for the first time. @default none */
  readonly starting?: readonly string[]
  /** Those that could not be started, and why: when that is all of them, it is not ready. @default none */
  readonly failed?: readonly (readonly [operator: string, why: string])[]
  /** How many were. @default 0 */
  readonly standing?: number
  /** What else is wrong with some of it, one line each. @default none */
  readonly warned?: readonly string[]
  readonly runs: readonly UnderWay[]
  /** When the event loop last had a turn of its own. */
  readonly turnAt: number
}

export interface HealthReport {
  readonly isAlive: boolean
  readonly isReady: boolean
  /** Why it is not ready, one line each. */
  readonly problems: readonly string[]
  /** What is wrong with some of it, one line each, while the rest goes on. */
  readonly warnings: readonly string[]
}

export function healthReport(input: HealthInput, options: HealthOptions = defaultHealth): HealthReport {
  const { now, feeds, elsewhere = [], starting = [], failed = [], standing = 0, warned = [], runs, turnAt } = input
  const { staleMs, stuckMs, blockedMs } = options
  const isAlive = now - turnAt <= blockedMs
  const unstarted = failed.map(([operator, why]) => `${operator} cannot be started: ${why}`)
  const problems = [
    ...(isAlive ? [] : [`the event loop has been held for ${seconds(now - turnAt)}`]),
    ...starting.map((operator) => `${operator} is being started`),
    ...(standing === 0 ? unstarted : []),
    ...feeds.flatMap((feed) => behind(feed, now, staleMs)),
    ...runs
      .filter(({ since }) => now - since > stuckMs)
      .map(({ operator, key, since }) => `${operator} has been at ${key} for ${seconds(now - since)}`),
  ]
  const warnings = [
    ...(standing === 0 ? [] : unstarted),
    ...warned,
    ...elsewhere.flatMap(([cluster, there]) =>
      there.flatMap((feed) => behind(feed, now, staleMs)).map((text) => `cluster ${cluster}: ${text}`),
    ),
  ]
  return { isAlive, isReady: problems.length === 0, problems, warnings }
}

function behind({ resource, freshness }: InformerReport, now: number, staleMs: number): readonly string[] {
  if (freshness.state === 'synced') return []
  const age = now - freshness.since
  if (freshness.state === 'stale' && age <= staleMs) return []
  const why = freshness.reason === undefined ? '' : `: ${freshness.reason}`
  return [`${formatResource(resource)} is ${freshness.state} for ${seconds(age)}${why}`]
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

/**
 * Health checks. A manager is *alive* while its event loop runs, and *ready* while its caches are fresh and its
 * reconciles finish: a stale cache or a stuck reconcile makes it unready, even if the process responds.
 *
 * A problem of one operator or of one cluster among many, or a rejected configuration, is a warning, and the manager stays
 * ready: an unready Pod is removed from its Service, and an unreachable cluster must not stop webhooks from being served
 * for all others.
 */
import type { InformerReport } from '../../cache/shared-cache.ts'
import { formatResource } from '../../kube/kind.ts'
import type { LaneState } from '../schedule/lane.ts'

export interface HealthOptions {
  /** How long a cache may be stale. @default 60_000 */
  readonly staleMs: number
  /** How long a reconcile may take. @default 120_000 */
  readonly stuckMs: number
  /** How long the event loop may be blocked. @default 5000 */
  readonly blockedMs: number
}

export const defaultHealth: HealthOptions = { staleMs: 60_000, stuckMs: 120_000, blockedMs: 5000 }

/** A reconcile in progress. */
export interface UnderWay {
  readonly operator: string
  readonly key: string
  readonly since: number
}

/** The reconciles in progress in all lanes. */
export function underWay(lanes: ReadonlyMap<string, LaneState>): readonly UnderWay[] {
  return [...lanes].flatMap(([operator, { runs }]) => runs.map((run) => ({ operator, ...run })))
}

export interface HealthInput {
  readonly now: number
  /** Of the local cluster. */
  readonly informers: readonly InformerReport[]
  /** Of other clusters. @default none */
  readonly elsewhere?: readonly (readonly [cluster: string, informers: readonly InformerReport[]])[]
  /** Operators that have not been started yet. @default none */
  readonly starting?: readonly string[]
  /** Operators that failed to start, and why: if all of them fail, the manager is not ready. @default none */
  readonly failed?: readonly (readonly [operator: string, why: string])[]
  /** Number of started operators. @default 0 */
  readonly started?: number
  /** Operators in quarantine, one line each. @default none */
  readonly quarantined?: readonly string[]
  /** Why the latest configuration is not in force. @default it is */
  readonly configuration?: string | undefined
  readonly runs: readonly UnderWay[]
  /** When the event loop last ran. */
  readonly turnAt: number
}

/** One aspect of health, as `/readyz?verbose` lists it. */
export interface HealthCheck {
  readonly name: 'event-loop' | 'configuration' | 'operators' | 'quarantine' | 'caches' | 'clusters' | 'reconciles'
  /** Why the manager is not ready, one line each. */
  readonly problems: readonly string[]
  /** Problems that leave the manager ready, one line each. */
  readonly warnings: readonly string[]
}

export interface HealthReport {
  readonly isAlive: boolean
  readonly isReady: boolean
  readonly checks: readonly HealthCheck[]
  /** Of all checks. */
  readonly problems: readonly string[]
  /** Of all checks. */
  readonly warnings: readonly string[]
}

export function healthReport(input: HealthInput, options: HealthOptions = defaultHealth): HealthReport {
  const { now, informers, elsewhere = [], starting = [], failed = [], started = 0, runs, turnAt } = input
  const { staleMs, stuckMs, blockedMs } = options
  const isAlive = now - turnAt <= blockedMs
  const unstarted = failed.map(([operator, why]) => `${operator} cannot be started: ${why}`)
  const behindIn = (some: readonly InformerReport[]): readonly string[] =>
    some.flatMap((informer) => behind(informer, now, staleMs))
  const checks: readonly HealthCheck[] = [
    check('event-loop', isAlive ? [] : [`the event loop has been held for ${seconds(now - turnAt)}`]),
    check('configuration', [], input.configuration === undefined ? [] : [input.configuration]),
    check(
      'operators',
      [...starting.map((operator) => `${operator} is being started`), ...(started === 0 ? unstarted : [])],
      started === 0 ? [] : unstarted,
    ),
    check('quarantine', [], input.quarantined),
    check('caches', behindIn(informers)),
    check(
      'clusters',
      [],
      elsewhere.flatMap(([cluster, there]) => behindIn(there).map((text) => `cluster ${cluster}: ${text}`)),
    ),
    check(
      'reconciles',
      runs
        .filter(({ since }) => now - since > stuckMs)
        .map(({ operator, key, since }) => `${operator} has been at ${key} for ${seconds(now - since)}`),
    ),
  ]
  const problems = checks.flatMap((one) => one.problems)
  const warnings = checks.flatMap((one) => one.warnings)
  return { isAlive, isReady: problems.length === 0, checks, problems, warnings }
}

function check(name: HealthCheck['name'], problems: readonly string[], warnings: readonly string[] = []): HealthCheck {
  return { name, problems, warnings }
}

/** The checks as the health endpoints of Kubernetes list them: `[+]` passed, `[-]` failed, `[!]` a warning of ours. */
export function verboseHealth({ checks, isReady }: HealthReport): string {
  const lines = checks.flatMap(({ name, problems, warnings }) => [
    ...problems.map((problem) => `[-]${name} failed: ${problem}`),
    ...warnings.map((warning) => `[!]${name} warning: ${warning}`),
    ...(problems.length + warnings.length === 0 ? [`[+]${name} ok`] : []),
  ])
  return [...lines, `readyz check ${isReady ? 'passed' : 'failed'}`].join('\n')
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

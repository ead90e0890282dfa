/**
 * A version that may move (a tag, a range, the newest release) is resolved anew every `interval`, and rendered again only if it
 * means another artifact.
 *
 * Time is divided into periods; the number of the period is part of the question to the registry. So nothing has to be stored
 * about when it was asked last, and at rest nothing is written. The periods of each Installation begin at another moment, and
 * Installations with the same source and interval share the answer of a period.
 *
 * A registry that cannot answer does no harm: what it said last, which is in the status, stays. The number of the period stands
 * still meanwhile, so that back-off and `Retry-After` last longer than one period.
 */
import { hash } from 'node:crypto'
import { canonicalJson } from '../../kube/apply/canonical.ts'
import { asJson } from '../../kube/json-object.ts'
import { durationToMs, parseDuration, parseTime } from '../../kube/units/duration.ts'
import type { LiveContext } from '../../operator/controller.ts'
import { failureOf } from '../../operator/failure.ts'
import type { Task } from '../../operator/task/task.ts'
import { Suspended } from '../../operator/suspended.ts'
import type { FixedVersion } from '../../render/source/moving-version.ts'
import type { InstallationArtifact, InstallationObject, InstallationSource } from './installation.ts'
import type { SourceRequest } from './render-source.ts'
import { credentialsOwner, requestedAt, sourceCredentials } from './source-request.ts'

/** What is asked of the registry or the chart repository. */
export interface VersionRequest extends Pick<SourceRequest, 'source' | 'credentials' | 'requestedAt'> {
  readonly period: number
}

export interface ResolvedSource {
  readonly artifact: InstallationArtifact
  /** Why it could not be resolved anew. */
  readonly problem?: unknown
}

/** The condition of a source that could not be resolved anew. */
export const fetchFailed = 'FetchFailed'
/** The reason for which the period stands still: the same question is repeated with back-off. */
const unavailable = 'SourceUnavailable'

const shortestMs = 10_000

interface Period {
  readonly number: number
  /** Until the next one. */
  readonly leftMs: number
}

/**
 * @param now and `intervalMs`: whole milliseconds
 * @param phase which part of an interval its periods begin after; in [0, 1)
 */
export function periodAt(now: number, intervalMs: number, phase: number): Period {
  const since = now - Math.floor(phase * intervalMs)
  const number = Math.floor(since / intervalMs)
  return { number, leftMs: (number + 1) * intervalMs - since }
}

/** The period that an Installation is in; undefined if its source is not resolved by itself. */
export function sourcePeriod({ spec, metadata }: InstallationObject, now: number): Period | undefined {
  const { source, suspend, revision } = spec
  if (source.interval === undefined || !mayMove(source) || suspend || revision !== undefined) return undefined
  const intervalMs = Math.max(shortestMs, Math.round(durationToMs(parseDuration(source.interval))))
  const phase = Number.parseInt(hash('sha256', metadata.uid ?? '').slice(0, 8), 16) / 2 ** 32
  return periodAt(Math.floor(now), intervalMs, phase)
}

/** Files and digests do not move. */
function mayMove({ oci, helm }: InstallationSource): boolean {
  return helm !== undefined || (oci !== undefined && oci.digest === undefined && oci.layer === undefined)
}

/**
 * Undefined if the render resolves the version itself.
 * @throws the error of the registry, unless the source was resolved before
 */
export async function resolvedSource(
  context: LiveContext<InstallationObject>,
  resolve: Task<VersionRequest, FixedVersion>,
): Promise<ResolvedSource | undefined> {
  const { cr, view, now } = context
  const period = sourcePeriod(cr, failedAt(cr) ?? now)
  if (!period) return undefined
  const { source } = cr.spec
  const asked = hash('sha256', canonicalJson(asJson(source)))
  const last = cr.status?.artifact
  try {
    const request: VersionRequest = {
      source,
      period: period.number,
      ...credentialsOwner(cr, view),
      ...requestedAt(cr),
    }
    const fixed = await context.result(resolve, request, { secrets: sourceCredentials(cr, view) })
    return { artifact: { ...fixed, source: asked } }
  } catch (problem) {
    if (problem instanceof Suspended || last?.source !== asked) throw problem
    return { artifact: last, problem }
  }
}

export function fixedVersion({ version, digest }: InstallationArtifact): FixedVersion {
  return { ...(version !== undefined && { version }), ...(digest !== undefined && { digest }) }
}

/** Since when the registry has not answered. Conditions have whole seconds: the moment is not before the failure. */
function failedAt({ status }: InstallationObject): number | undefined {
  const failed = status?.conditions?.find(({ type }) => type === fetchFailed)
  if (failed?.status !== 'True' || failed.reason !== unavailable) return undefined
  const at = parseTime(failed.lastTransitionTime)
  return at === undefined ? undefined : at + 1000
}

/** The condition that names the cause; what is installed stays ready. */
export function fetchCondition(problem: unknown): { type: string; status: 'True'; reason: string; message: string } {
  const { reason, message, retry } = failureOf(problem, '', '')
  return {
    type: fetchFailed,
    status: 'True',
    reason: retry === 'terminal' ? reason : unavailable,
    message: `${message} What was found last stays installed.`,
  }
}

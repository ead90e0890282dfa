/**
 * The revision that a chart is rendered as (`.Release.Revision`, `.Release.IsUpgrade`). The number is part of what is rendered,
 * and what is rendered decides whether there is a new revision: so a chart is rendered as the revisions that exist first, and as
 * the next one if the result is none of them.
 */
import type { InstallationObject } from './installation.ts'
import { isChartSource, type SourceRequest } from './render-source.ts'
import { contentDigest, type RevisionContent, type RevisionObject } from './revision.ts'

export type ReleaseRevision = Required<NonNullable<SourceRequest['release']>>

/**
 * Whether a revision replaces another one. The first one does not, also if it was deleted and is created again; a release that is
 * taken over is installed already.
 */
export function isUpgrading({ spec, status }: InstallationObject, revision: number): boolean {
  return spec.adopt !== undefined || (status?.lastGood !== undefined && revision > 1)
}

interface KnownRelease extends ReleaseRevision {
  readonly digest: string | undefined
}

/** The newest revision, and one that was begun and is not in the cache, or was deleted. */
export function knownReleases(cr: InstallationObject, revisions: readonly RevisionObject[]): readonly KnownRelease[] {
  const newest = revisions.at(-1)?.spec
  const attempt = cr.status?.attempt
  const isLost = attempt !== undefined && attempt.revision > (newest?.number ?? 0)
  return [
    ...(newest ? [releaseAt(cr, newest.number, newest.digest, newest.isUpgrade === true)] : []),
    ...(isLost ? [releaseAt(cr, attempt.revision, attempt.digest, true)] : []),
  ]
}

function releaseAt(
  cr: InstallationObject,
  revision: number,
  digest: string | undefined,
  mayUpgrade: boolean,
): KnownRelease {
  return { revision, digest, isUpgrade: mayUpgrade && isUpgrading(cr, revision) }
}

/**
 * The first content that is that of its revision; otherwise the content of the next one, whose number follows from it.
 *
 * @param render undefined: it cannot be rendered yet
 */
export async function renderRelease(
  cr: InstallationObject,
  revisions: readonly RevisionObject[],
  render: (release: ReleaseRevision | undefined) => Promise<RevisionContent | undefined>,
  numberOf: (content: RevisionContent) => number,
): Promise<RevisionContent | undefined> {
  if (!isChartSource(cr.spec.source)) return await render(undefined)
  const known = knownReleases(cr, revisions)
  for (const { digest, ...release } of known) {
    const content = await render(release)
    if (!content || contentDigest(content) === digest) return content
  }
  let revision = 1 + known.reduce((highest, one) => Math.max(highest, one.revision), cr.status?.lastGood ?? 0)
  for (;;) {
    const content = await render({ revision, isUpgrade: isUpgrading(cr, revision) })
    const number = content ? numberOf(content) : revision
    if (number <= revision) return content
    // Its number is taken, by a revision that was not finished.
    revision = number
  }
}

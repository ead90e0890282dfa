/** Chooses among versions. */
import { compareSemanticVersions, parseVersion } from './semantic-version.ts'
import { parseConstraint, satisfies } from './version-constraint.ts'

/**
 * The newest version in a range; without a range the newest release. A version that is named exactly is taken even if it is a
 * pre-release. Undefined if there is none.
 */
export function bestVersion(versions: readonly string[], range: string | undefined): string | undefined {
  if (range !== undefined && versions.includes(range)) return range
  const constraint = parseConstraint(range === undefined || range === '' ? '*' : range)
  if (!constraint) return undefined
  let best: { readonly text: string; readonly version: NonNullable<ReturnType<typeof parseVersion>> } | undefined
  for (const text of versions) {
    const version = parseVersion(text)
    if (!version || !satisfies(version, constraint)) continue
    if (!best || compareSemanticVersions(version, best.version) > 0) best = { text, version }
  }
  return best?.text
}

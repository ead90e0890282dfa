/**
 * The changelog, as text: what "Unreleased" holds becomes the section of a version. Its headings are those of Keep a Changelog, so
 * that a user finds what concerns an update in one place.
 */

/** A release that cannot be cut; the message says why. */
export class ReleaseRefused extends Error {
  override readonly name = 'ReleaseRefused'
}

const headings = ['Changed', 'Deprecated', 'Removed', 'Fixed', 'Security', 'Added']
const unreleased = '## Unreleased\n'

export interface CutChangelog {
  /** The whole file, with the new section. */
  readonly text: string
  /** The new section without its title: what the release notes say. */
  readonly notes: string
}

/** `date` is `2026-11-17`. @throws ReleaseRefused */
export function cutChangelog(text: string, version: string, date: string): CutChangelog {
  const start = text.indexOf(unreleased)
  if (start < 0) throw new ReleaseRefused('CHANGELOG.md has no section "Unreleased"')
  if (text.includes(`\n## ${version} `)) throw new ReleaseRefused(`CHANGELOG.md has a section for ${version} already`)
  const from = start + unreleased.length
  const next = text.indexOf('\n## ', from)
  const notes = text.slice(from, next < 0 ? undefined : next + 1).trim()
  checkNotes(notes)
  const rest = next < 0 ? '' : text.slice(next + 1)
  const section = `## ${version} (${date})\n\n${notes}\n`
  return { text: `${text.slice(0, from)}\n${section}${rest === '' ? '' : `\n${rest}`}`, notes }
}

function checkNotes(notes: string): void {
  if (!/^- \S/m.test(notes)) throw new ReleaseRefused('the section "Unreleased" of CHANGELOG.md lists nothing')
  for (const [, heading = ''] of notes.matchAll(/^### (.*)$/gm)) {
    if (!headings.includes(heading))
      throw new ReleaseRefused(
        `CHANGELOG.md: "### ${heading}" is no heading of Keep a Changelog: use ${headings.join(', ')}`,
      )
  }
  const first = notes.search(/^### /m)
  if (first !== 0)
    throw new ReleaseRefused('CHANGELOG.md: the section "Unreleased" begins without a heading such as "### Added"')
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutChangelog } from '../../scripts/changelog.ts'
import { isNewer, parseVersion } from '../../scripts/semantic-version.ts'

const head = '# Changelog\n\nAll notable changes.\n\n'
const older = '## 0.1.0 (2026-01-02)\n\n### Added\n\n- everything\n'
const changes = '### Fixed\n\n- a mistake,\n  on two lines\n\n### Added\n\n- a command'

describe('the changelog', () => {
  it('of a release contains the unreleased entries, and none remain unreleased', () => {
    const { text, notes } = cutChangelog(`${head}## Unreleased\n\n${changes}\n\n${older}`, '0.2.0', '2026-03-04')
    expect(text).toBe(`${head}## Unreleased\n\n## 0.2.0 (2026-03-04)\n\n${changes}\n\n${older}`)
    expect(notes).toBe(changes)
  })

  it('of the first release has no older section', () => {
    const { text } = cutChangelog(`${head}## Unreleased\n\n${changes}\n`, '0.1.0', '2026-03-04')
    expect(text).toBe(`${head}## Unreleased\n\n## 0.1.0 (2026-03-04)\n\n${changes}\n`)
  })

  it.each([
    [`${head}${older}`, 'no section "Unreleased"'],
    [`${head}## Unreleased\n\n${older}`, 'lists nothing'],
    [`${head}## Unreleased\n\n### Added\n\n${older}`, 'lists nothing'],
    [`${head}## Unreleased\n\n- loose\n\n${older}`, 'begins without a heading'],
    [`${head}## Unreleased\n\n### News\n\n- a\n\n${older}`, '"### News" is no heading'],
    [`${head}## Unreleased\n\n${changes}\n\n## 0.2.0 (2026-02-02)\n`, 'has a section for 0.2.0 already'],
  ])('is rejected: %#', (text, why) => {
    expect(() => cutChangelog(text, '0.2.0', '2026-03-04')).toThrow(why)
  })

  it('of this repository can be cut, also with the first entry after a release', async () => {
    const { readFile } = await import('node:fs/promises')
    const text = await readFile(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
    const more = text.replace('## Unreleased\n\n', '## Unreleased\n\n### Security\n\n- an entry\n\n')
    expect(cutChangelog(more, '99.0.0', '2026-03-04').notes).toMatch(/^### Security\n\n- an entry/)
  })
})

describe('versions', () => {
  it('are in the order of Semantic Versioning', () => {
    const inOrder = [
      '0.1.0',
      '0.9.0',
      '0.10.0',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '2.0.0',
    ]
    fc.assert(
      fc.property(fc.nat(inOrder.length - 1), fc.nat(inOrder.length - 1), (a, b) => {
        expect(isNewer(inOrder[a]!, inOrder[b]!)).toBe(a > b)
      }),
    )
  })

  it.each(['', '1', '1.2', 'v1.2.3', '1.2.3+build', '01.2.3', '1.2.3-', '1.2.3-a..b', '1.2.3-01'])(
    '%j is none',
    (text) => {
      expect(parseVersion(text)).toBeUndefined()
    },
  )
})

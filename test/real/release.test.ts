/** A release, cut in a copy of the repository: the package is packed and tried as its users would. Needs npm's registry. */
import { execFile } from 'node:child_process'
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { emptyFolder } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const version = '98.7.6'
const person = {
  GIT_AUTHOR_NAME: 'release',
  GIT_COMMITTER_NAME: 'release',
  GIT_AUTHOR_EMAIL: '@',
  GIT_COMMITTER_EMAIL: '@',
}

it('a release has its section in the changelog, a tag, and a package that works', { timeout: 600_000 }, async () => {
  const copy = path.join(await emptyFolder(), 'copy')
  await run('git', ['clone', '--quiet', '--no-hardlinks', root, copy])
  for (const modules of ['node_modules', path.join('runtime', 'node_modules')])
    await symlink(path.join(root, modules), path.join(copy, modules))
  // A link is no folder, which is what .gitignore names.
  await writeFile(path.join(copy, '.git', 'info', 'exclude'), 'node_modules\n')
  const env = { ...process.env, ...person }
  const git = async (...words: readonly string[]): Promise<string> =>
    (await run('git', words, { cwd: copy, env })).stdout
  const release = (...words: readonly string[]): Promise<{ readonly stdout: string }> =>
    run(process.execPath, ['scripts/release.ts', ...words], { cwd: copy, env })

  await writeFile(path.join(copy, 'note'), '')
  await expect(release(version, '--no-ci')).rejects.toMatchObject({
    stderr: 'no release: the checkout has changes that are not committed.\n',
  })
  await git('clean', '-fq', 'note')
  // Just after a release there is nothing to release.
  const file = path.join(copy, 'CHANGELOG.md')
  const unreleased = '## Unreleased\n\n'
  const entry = `${unreleased}### Added\n\n- What this test adds.\n\n`
  await writeFile(file, (await readFile(file, 'utf8')).replace(unreleased, entry))
  await git('commit', '--quiet', '--all', '--message', 'docs(changelog): an entry')

  const { stdout } = await release(version, '--no-ci')
  expect(stdout).toContain(`installed @muster-dev/muster ${version} in an empty folder`)
  expect(stdout).toContain('made a project whose tests pass')
  expect(stdout).toContain(`git push origin HEAD v${version}`)
  expect(await readdir(copy)).toContain(`muster-dev-muster-${version}.tgz`)
  expect(await git('status', '--porcelain')).toBe('')
  expect(await git('log', '-1', '--format=%s')).toBe(`chore(release): ${version}\n`)
  const tagged = await git('tag', '--list', '--format=%(contents)', `v${version}`)
  expect(tagged).toContain('### Added\n\n- What this test adds.')
  const changelog = await readFile(file, 'utf8')
  expect(changelog).toMatch(
    new RegExp(`^## Unreleased\\n\\n## ${RegExp.escape(version)} \\(\\d{4}-\\d\\d-\\d\\d\\)\\n`, 'm'),
  )

  const again = { stderr: `no release: the tag v${version} exists.\n` }
  await expect(release(version, '--no-ci')).rejects.toMatchObject(again)
  const older = { stderr: `no release: 98.7.5 is older than ${version}.\n` }
  await expect(release('98.7.5', '--no-ci')).rejects.toMatchObject(older)
})

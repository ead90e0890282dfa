/**
 * `npm run release -- VERSION`: cuts a release on this machine. The section "Unreleased" of the changelog becomes that of the version,
 * package.json gets the version, `.ci/run` passes, the package is packed and tried in an empty folder; then everything is committed and
 * tagged. Nothing is pushed or published: the last lines say how.
 *
 * `--no-ci` leaves out `.ci/run`, for a commit that has passed it. `--dry-run` commits nothing and puts every file back.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cutChangelog, ReleaseRefused } from './changelog.ts'
import { run } from './real-binaries.ts'
import { isNewer, parseVersion } from './semantic-version.ts'
import { packPackage, tryPackage } from './try-package.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = ['CHANGELOG.md', 'package.json', 'package-lock.json'] as const

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false }, 'no-ci': { type: 'boolean', default: false } },
})

try {
  await release(positionals[0] ?? '')
} catch (error) {
  console.error(error instanceof ReleaseRefused ? `no release: ${error.message}.` : error)
  process.exitCode = 1
}

async function release(version: string): Promise<void> {
  if (!parseVersion(version))
    throw new ReleaseRefused('usage: npm run release -- VERSION [--dry-run] [--no-ci], with a VERSION such as 0.2.0')
  const tag = `v${version}`
  if ((await git('status', '--porcelain')) !== '')
    throw new ReleaseRefused('the checkout has changes that are not committed')
  if ((await git('tag', '--list', tag)) !== '') throw new ReleaseRefused(`the tag ${tag} exists`)
  const { version: current } = JSON.parse(read('package.json')) as { readonly version: string }
  // The first release has the version that package.json begins with.
  if (version !== current && !isNewer(version, current)) throw new ReleaseRefused(`${version} is older than ${current}`)

  const before = files.map(read)
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-release-'))
  let isDone = false
  try {
    const today = new Date().toISOString().slice(0, 10)
    const { text, notes } = cutChangelog(read('CHANGELOG.md'), version, today)
    writeFileSync(path.join(root, 'CHANGELOG.md'), text)
    for (const file of ['package.json', 'package-lock.json']) setVersion(file, version)

    if (!values['no-ci']) passCi()
    const archive = await packPackage(root, folder)
    await tryPackage(archive, folder, (line) => console.log(line))
    if (values['dry-run']) {
      console.log(`a release ${version} would say:\n\n${notes}`)
      return
    }
    await git('add', ...files)
    await git('commit', '--allow-empty', '--message', `chore(release): ${version}`)
    await git('tag', '--annotate', tag, '--cleanup=verbatim', '--message', `${version}\n\n${notes}\n`)
    isDone = true
    const kept = path.join(root, path.basename(archive))
    writeFileSync(kept, readFileSync(archive))
    console.log(
      `${tag} is cut. To publish it:\n\n  git push origin HEAD ${tag}\n  npm publish --access public ${path.basename(kept)}`,
    )
  } finally {
    if (!isDone) for (const [index, file] of files.entries()) writeFileSync(path.join(root, file), before[index]!)
    rmSync(folder, { recursive: true, force: true })
  }
}

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8')
}

/** The first `version` of the file is its own; in the lockfile the root package has another one. */
function setVersion(file: string, version: string): void {
  const found = JSON.parse(read(file)) as { version: string; packages?: Record<string, { version?: string }> }
  found.version = version
  const own = found.packages?.['']
  if (own) own.version = version
  writeFileSync(path.join(root, file), `${JSON.stringify(found, undefined, 2)}\n`)
}

function passCi(): void {
  const { status } = spawnSync(path.join(root, '.ci', 'run'), { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new ReleaseRefused('.ci/run failed')
}

async function git(...words: readonly string[]): Promise<string> {
  return (await run('git', words, { cwd: root })).trim()
}

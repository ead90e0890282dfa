/** The commands of the pages for people who come from Open Data Hub and Kyma run as they are shown. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { facadePages, readPage } from '../pages.ts'
import { emptyFolder } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = path.join(root, 'src', 'cli', 'main.ts')
/** Where there is no kubectl, its lines are left out; `test/real/platform.test.ts` runs them on kube-apiserver. */
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0

/** Resolves when the operators run; the process ends with the test. */
async function started(folder: string, words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [main, ...words], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  onTestFinished(async () => {
    child.kill()
    await ended
  })
  for await (const line of createInterface({ input: child.stdout })) if (line.includes('running')) return line
  throw new Error(`muster ${words.join(' ')} has ended.`)
}

describe.each(facadePages)('docs/$page', ({ page, operator, shown }) => {
  it('shows commands that run', { timeout: 120_000 }, async () => {
    const { blocks, runWords } = readPage(page)
    const folder = await emptyFolder()
    expect(await started(folder, runWords('--embedded'))).toContain(operator)
    const script = ['set -e', hasKubectl ? '' : 'kubectl() { :; }', ...blocks('sh')].join('\n')
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: folder })
    expect(hasKubectl ? shown.filter((line) => !stdout.includes(line)) : []).toEqual([])
  })
})

/** The commands of the pages for people who come from Open Data Hub and Kyma run as they are shown. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = path.join(root, 'src', 'cli', 'main.ts')
/** Where there is no kubectl, its lines are left out, and only the manager is started. */
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

const pages = [
  {
    page: 'coming-from-open-data-hub.md',
    operator: 'muster-open-data-hub',
    shown: [
      'datasciencecluster.datasciencecluster.opendatahub.io/default-dsc condition met',
      'default-dsc   True    Ready',
      'datasciencecluster.datasciencecluster.opendatahub.io/default-dsc patched',
    ],
  },
  {
    page: 'coming-from-kyma.md',
    operator: 'muster-kyma',
    shown: ['kyma.operator.kyma-project.io/default condition met', 'default   Ready', 'default patched'],
  },
]

describe.each(pages)('docs/$page', ({ page, operator, shown }) => {
  it('shows commands that run', { timeout: 120_000 }, async () => {
    const text = readFileSync(path.join(root, 'docs', page), 'utf8')
    const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block ?? '')
    const folder = await emptyFolder()
    const [words = ''] = text.match(/(?<=^ {4}muster )run .*--embedded$/m) ?? []
    expect(await started(folder, words.split(' '))).toContain(operator)
    const script = ['set -e', hasKubectl ? '' : 'kubectl() { :; }', ...blocks].join('\n')
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: folder })
    expect(hasKubectl ? shown.filter((line) => !stdout.includes(line)) : []).toEqual([])
  })
})

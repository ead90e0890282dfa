/** The commands of the pages about workloads run as they are shown. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { legacyFlags } from '../../src/workloads/configuration/legacy-flags.ts'
import { readPage } from '../pages.ts'
import { emptyFolder } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = path.join(root, 'src', 'cli', 'main.ts')
const muster = `muster() { "${process.execPath}" "${main}" "$@"; }`
/** Where there is no kubectl, its lines are left out. */
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0

async function shell(folder: string, blocks: readonly string[]): Promise<string> {
  const script = ['set -e', muster, hasKubectl ? '' : 'kubectl() { :; }', ...blocks].join('\n')
  return (await promisify(execFile)('sh', ['-c', script], { cwd: folder })).stdout
}

/** Resolves when the operator runs; the process ends with the test. */
async function started(folder: string, words: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [main, ...words], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  onTestFinished(async () => {
    child.kill()
    await ended
  })
  for await (const line of createInterface({ input: child.stdout })) if (line.includes('running')) return
  throw new Error(`muster ${words.join(' ')} has ended.`)
}

describe('docs/coming-from-codeflare.md', () => {
  const { blocks, runWords, text } = readPage('coming-from-codeflare.md')

  it('shows commands that run', { timeout: 120_000 }, async () => {
    const folder = await emptyFolder()
    await started(folder, runWords('--embedded'))
    // Without kubectl there is no AppWrapper to explain.
    const scripts = blocks('sh').map((block) =>
      hasKubectl ? block : block.replaceAll(/^muster queue explain.*$/gm, ''),
    )
    const stdout = await shell(folder, scripts)
    expect(stdout).toMatch(/^NAMESPACE +NAME +STATE/m)
    expect(stdout).toMatch(/mcad\.backoffTime +30 /)
    expect(stdout).toMatch(/mcad\.preemption +true /)
    const shown = hasKubectl ? ['train', 'condition met'] : []
    expect(shown.filter((word) => !stdout.includes(word))).toEqual([])
  })

  it('names every flag of MCAD that is no flag of its log', () => {
    const log = new Set(['logtostderr', 'alsologtostderr', 'stderrthreshold', 'log_dir', 'log_file', 'vmodule'])
    const flags = Object.entries(legacyFlags.mcad).filter(([name]) => !log.has(name))
    const variables = flags.flatMap(([, { variable, type }]) =>
      variable !== undefined && type === 'integer' ? [variable] : [],
    )
    const missing = [...flags.map(([name]) => `--${name}`), ...variables].filter(
      (word) => !text.includes(`\`${word}\``),
    )
    expect(missing).toEqual([])
  })
})

describe('docs/workload-configuration.md', () => {
  it('shows commands that run', { timeout: 60_000 }, async () => {
    const stdout = await shell(await emptyFolder(), readPage('workload-configuration.md').blocks('sh'))
    expect(stdout).toMatch(/maxScaleoutAllowed +5 /)
    expect(stdout).toMatch(/^team +train +waits +1 /m)
    expect(stdout).toContain('AppWrapper team/train waits.')
    expect(stdout).toContain('it does not start')
    expect(stdout).toContain('AppWrapper team/small starts now.')
  })
})

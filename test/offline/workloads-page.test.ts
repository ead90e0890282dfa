/** The commands of docs/workloads.md run as they are shown. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { emptyFolder } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(path.join(root, 'docs', 'workloads.md'), 'utf8')
const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text ?? '')

describe('docs/workloads.md', () => {
  it('shows commands that run', async () => {
    const folder = await emptyFolder()
    const muster = `muster() { "${process.execPath}" "${path.join(root, 'src', 'cli', 'main.ts')}" "$@"; }`
    const script = ['set -e', muster, ...blocks, 'muster queue replay trace.yaml -o json'].join('\n')
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: folder })
    expect(stdout).toMatch(/^reports +30 +30 /m)
    expect(stdout).toMatch(/^training +6 +6 /m)
    expect(stdout).toContain('cpu: ')
    expect(stdout).toContain('1 of large never started: the nodes have room for 0 of 1 pods (pods[0])')
    expect(stdout).toContain('some never started')
    expect(stdout).toMatch(/^borrower +4 +4 +2 /m)
    expect(stdout).toMatch(/^owner +1 +1 +0 +30\.0 s /m)
    expect(readFileSync(path.join(folder, 'usage.svg'), 'utf8')).toContain('</svg>')
    expect(stdout).toContain('"admitted": 36')
  })
})

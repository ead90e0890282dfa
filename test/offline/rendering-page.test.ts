/** The commands of docs/rendering.md run as they are shown. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { emptyFolder } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(path.join(root, 'docs', 'rendering.md'), 'utf8')
const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text ?? '')

describe('docs/rendering.md', () => {
  it('shows commands that run', async () => {
    const folder = await emptyFolder()
    const muster = `muster() { "${process.execPath}" "${path.join(root, 'src', 'cli', 'main.ts')}" "$@"; }`
    const script = ['set -e', muster, ...blocks].join('\n')
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: folder })
    expect(stdout).toContain('name: demo\nspec:\n  replicas: 3')
    expect(stdout).toContain('replicas: 2')
    expect(stdout.match(/kind: Deployment/g)).toHaveLength(5)
    expect(stdout).toContain('"kind": "Deployment"')
  })
})

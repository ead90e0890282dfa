/** The projects that docs/envtest.md shows are those that `npm run test:real` runs. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { emptyFolder, install } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(path.join(root, 'docs', 'envtest.md'), 'utf8')

function blockOf(language: string): string {
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(([, found]) => found === language)
  expect(blocks).toHaveLength(1)
  return blocks[0]![2]!
}

describe('docs/envtest.md', () => {
  it.each([
    ['go', 'go/controlplane_test.go'],
    ['java', 'java/src/test/java/ControlPlaneTest.java'],
    ['python', 'python/test_controlplane.py'],
    ['rust', 'rust/tests/controlplane.rs'],
  ])('shows the project in %s that is run', (language, file) => {
    expect(blockOf(language)).toBe(readFileSync(path.join(root, 'test', 'real', 'envtest', file), 'utf8'))
  })

  it('shows a program in TypeScript that runs', async () => {
    const folder = await emptyFolder()
    await install(folder)
    writeFileSync(path.join(folder, 'plane.ts'), blockOf('ts'))
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }')
    const words = ['--conditions=muster-source', 'plane.ts']
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: folder })
    expect(stdout.match(/^kind: Config$/gm)).toHaveLength(2)
  })
})

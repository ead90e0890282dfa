import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { withoutInherited } from './inherited-descriptors.ts'

describe('inherited file descriptors', () => {
  it('change nothing where there are none', () => {
    const stdio = withoutInherited(['ignore', 'pipe', 'pipe'])
    expect(stdio.slice(0, 3)).toEqual(['ignore', 'pipe', 'pipe'])
  })

  it.skipIf(process.platform !== 'linux')('are not passed to child processes', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-inherited-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(path.join(folder, 'secret'), 'hush')
    const descriptor = openSync(path.join(folder, 'secret'), 'r')
    const read = `try { console.log(require('node:fs').readFileSync(40, 'utf8') === 'hush' ? 'read' : 'empty') } catch { console.log('closed') }`
    const module = new URL('inherited-descriptors.ts', import.meta.url).href
    const between = `
      import { spawnSync } from 'node:child_process'
      import { withoutInherited } from ${JSON.stringify(module)}
      const plain = ['ignore', 'pipe', 'inherit']
      for (const stdio of [withoutInherited(plain), plain]) {
        console.log(String(spawnSync(process.execPath, ['-e', ${JSON.stringify(read)}], { stdio }).stdout).trim())
      }`
    const stdio = [...Array.from({ length: 40 }, (_, fd) => (fd === 1 ? 'pipe' : 'ignore')), descriptor]
    const words = ['--conditions=muster-source', '--input-type=module', '-e', between]
    const { stdout } = spawnSync(process.execPath, words, { stdio, encoding: 'utf8' })
    closeSync(descriptor)
    // Node itself hands it on.
    expect(stdout.split('\n')).toEqual(['empty', 'read', ''])
  })
})

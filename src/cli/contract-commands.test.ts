import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Command } from './command.ts'
import { command as inputs } from './inputs.ts'
import { command as operator } from './operator.ts'
import { command as test } from './test.ts'

const module = 'examples/memcached/operator.ts'
const tests = 'examples/memcached/tests'

async function run(
  command: Command,
  positionals: readonly string[],
  flags: object = {},
): Promise<{ readonly code: number; readonly out: string }> {
  const lines: string[] = []
  const tell = (line: string): void => void lines.push(line)
  const code = await command.run({
    flags,
    positionals,
    out: tell,
    err: tell,
    signal: new AbortController().signal,
  })
  return { code, out: lines.join('\n') }
}

function temporary(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('muster operator', () => {
  it('answers for the operator of a module', async () => {
    expect(await run(operator, [module, 'output-resources'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('resource: memcacheds') as string,
    })
    await expect(run(operator, [module])).rejects.toThrow(/takes a MODULE and a COMMAND/)
    expect(await run(operator, [module, 'nonsense'])).toMatchObject({ code: 1 })
  })
})

describe('muster test', () => {
  const open = { 'allow-network': true }

  it('tells each test, counts them, and ends with a code for CI', async () => {
    const folder = temporary()
    const junit = path.join(folder, 'junit.xml')
    const passed = await run(test, [tests], { ...open, junit })
    expect(passed.code).toBe(0)
    expect(passed.out).toContain('2 passed, 0 failed')
    expect(readFileSync(junit, 'utf8')).toContain('tests="2" failures="0" errors="0"')
    await expect(run(test, [path.join(folder, 'nothing')], open)).rejects.toThrow(/cannot be read/)
    await expect(run(test, [], open)).rejects.toThrow(/takes a DIR/)
    await expect(run(test, [tests], { ...open, jobs: '0' })).rejects.toThrow(/--jobs/)
    // It would be emptied.
    for (const place of ['.', '..', 'examples', tests]) {
      await expect(run(test, [tests], { ...open, 'output-dir': place })).rejects.toThrow(/is emptied first/)
    }
  })
})

describe('muster inputs', () => {
  it('cuts out what an operator declares, into a folder that is empty', async () => {
    const folder = path.join(temporary(), 'in')
    const from = ['from-must-gather', `${tests}/creates/input-dir`]
    const flags = { operator: module, 'output-dir': folder, redact: true }
    expect(await run(inputs, from, flags)).toMatchObject({ code: 0, out: `2 objects in 2 files: ${folder}` })
    expect(existsSync(path.join(folder, 'namespaces/default/core/secrets.yaml'))).toBe(true)
    await expect(run(inputs, from, flags)).rejects.toThrow(/is not empty/)
    await expect(run(inputs, from, { operator: module })).rejects.toThrow(/--output-dir is required/)
    await expect(run(inputs, from, { 'output-dir': 'x' })).rejects.toThrow(/say what is declared/)
    await expect(run(inputs, ['from-nowhere'], flags)).rejects.toThrow(/from-must-gather DIR/)
  })
})

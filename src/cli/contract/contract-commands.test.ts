import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../../../test/loopback.ts'
import type { Command } from '../command/command.ts'
import inputs from './inputs.ts'
import operator from './operator.ts'
import test from '../testing/test.ts'

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
  it('runs the contract commands of an operator module', async () => {
    expect(await run(operator, [module, 'output-resources'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('resource: memcacheds') as string,
    })
    await expect(run(operator, [module])).rejects.toThrow(/takes a MODULE and a COMMAND/)
    expect(await run(operator, [module, 'nonsense'])).toMatchObject({ code: 1 })
  })
})

describe('muster operator, interrupted', () => {
  it('ends at once and leaves nothing behind', async () => {
    const folder = temporary()
    const kit = fileURLToPath(new URL('../../operator/index.ts', import.meta.url))
    mkdirSync(path.join(folder, 'in'))
    writeFileSync(
      path.join(folder, 'in/a.yaml'),
      'apiVersion: test.example.com/v1\nkind: Call\nmetadata: {name: a, namespace: default, uid: u}\nspec: {}\n',
    )
    writeFileSync(
      path.join(folder, 'operator.ts'),
      `import { defineController, defineKind, defineOperator } from ${JSON.stringify(kit)}
const Call = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Call', spec: {} })
const reconcile = async () => {
  process.stderr.write('begun')
  await new Promise((resolve) => setTimeout(resolve, 50_000))
  return {}
}
export const operator = defineOperator({ name: 'slow', controllers: [defineController({ for: Call, name: 'slow', reconcile })] })
`,
    )
    const main = fileURLToPath(new URL('../main.ts', import.meta.url))
    const words = ['apply-configuration', '--input-dir', `${folder}/in`, '--output-dir', `${folder}/out`]
    const child = spawn(
      process.execPath,
      ['--conditions=muster-source', main, 'operator', `${folder}/operator.ts`, ...words],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
    for await (const text of child.stderr) {
      if (String(text).includes('begun')) break
    }
    child.kill('SIGINT')
    expect(await ended).toBe(130)
    expect(existsSync(path.join(folder, 'out'))).toBe(false)
  })
})

describe('muster test', () => {
  const open = { 'allow-network': true }

  it('prints and counts each test, and exits with a code for CI', async () => {
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

describe('muster test, of an operator that uses the network', () => {
  it('disables the network, unless told otherwise', async () => {
    let calls = 0
    const port = await listen(
      createServer((_, response) => {
        calls++
        response.end('somebody')
      }),
    )
    const folder = temporary()
    const kit = fileURLToPath(new URL('../../operator/index.ts', import.meta.url))
    writeFileSync(
      path.join(folder, 'operator.ts'),
      `import { ConfigMap, defineController, defineKind, defineOperator } from ${JSON.stringify(kit)}
const Call = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Call', spec: {} })
const reconcile = async ({ cr: { metadata: { name, namespace } } }) => {
  const who = await fetch('http://127.0.0.1:${port}/').then((answer) => answer.text(), () => 'nobody')
  return { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { who } }] }
}
export const operator = defineOperator({ name: 'caller', controllers: [defineController({ for: Call, name: 'caller', writes: [ConfigMap], reconcile })] })
`,
    )
    mkdirSync(path.join(folder, 'tests/input-dir'), { recursive: true })
    writeFileSync(
      path.join(folder, 'tests/input-dir/a.yaml'),
      'apiVersion: test.example.com/v1\nkind: Call\nmetadata: {name: a, namespace: default, uid: u}\nspec: {}\n',
    )
    const told = '{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {who: nobody}}'
    writeFileSync(
      path.join(folder, 'tests/test.yaml'),
      `operator: ../operator.ts\ntestName: t\ndescription: d\nexpect:\n  requests: false\n  objects:\n  - ${told}\n`,
    )
    const main = fileURLToPath(new URL('../main.ts', import.meta.url))
    const args = ['--conditions=muster-source', main, 'test', path.join(folder, 'tests')]
    const child = spawn(process.execPath, args, { stdio: 'ignore' })
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
    expect(calls).toBe(0)
    expect((await run(test, [path.join(folder, 'tests')], { 'allow-network': true })).code).toBe(1)
    expect(calls).toBe(1)
  })
})

describe('the exit code of muster test', () => {
  it('is 1 for a failed test, 2 for one that cannot be run, and 0 when all pass', async () => {
    const folder = temporary()
    cpSync(path.join(tests, 'creates'), path.join(folder, 'one'), { recursive: true })
    const file = path.join(folder, 'one/test.yaml')
    writeFileSync(file, readFileSync(file, 'utf8').replace('../../operator.ts', path.resolve(module)))
    rmSync(path.join(folder, 'one/expected-output/Configuration'), { recursive: true })
    const flags = { 'allow-network': true, 'output-dir': path.join(folder, '../', `${path.basename(folder)}-out`) }
    onTestFinished(() => rmSync(flags['output-dir'], { recursive: true, force: true }))
    const junit = (): string => readFileSync(path.join(flags['output-dir'], 'junit.xml'), 'utf8')
    expect(await run(test, [folder], flags)).toMatchObject({
      code: 1,
      out: expect.stringContaining('0 passed, 1 failed') as string,
    })
    expect(junit()).toContain('tests="1" failures="1" errors="0"')
    cpSync(path.join(folder, 'one'), path.join(folder, 'two'), { recursive: true })
    writeFileSync(path.join(folder, 'two/test.yaml'), 'testName: x\n')
    expect((await run(test, [folder], flags)).code).toBe(2)
    expect(junit()).toContain('tests="2" failures="1" errors="1"')
    rmSync(path.join(folder, 'two'), { recursive: true })
    const updated = await run(test, [folder], { ...flags, update: true })
    expect(updated).toMatchObject({ code: 0, out: expect.stringContaining('(1 updated)') as string })
    expect((await run(test, [folder], flags)).code).toBe(0)
    expect(junit()).toContain('tests="1" failures="0" errors="0"')
  })
})

describe('muster inputs', () => {
  it('extracts the declared inputs of an operator into an empty folder', async () => {
    const folder = path.join(temporary(), 'in')
    const from = ['from-must-gather', `${tests}/creates/input-dir`]
    const flags = { operator: module, 'output-dir': folder, redact: true }
    expect(await run(inputs, from, flags)).toMatchObject({ code: 0, out: `2 objects in 2 files: ${folder}` })
    expect(existsSync(path.join(folder, 'namespaces/default/core/secrets.yaml'))).toBe(true)
    await expect(run(inputs, from, flags)).rejects.toThrow(/is not empty/)
    await expect(run(inputs, from, { operator: module })).rejects.toThrow(/--output-dir is required/)
    await expect(run(inputs, from, { 'output-dir': 'x' })).rejects.toThrow(/Pass one of --operator/)
    await expect(run(inputs, ['from-nowhere'], flags)).rejects.toThrow(/from-must-gather DIR/)
  })
})

import { mkdir, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { emptyFolder } from '../../../test/project.ts'
import { readConfiguration } from '../config/configuration.ts'
import type { OperatorSettings } from '../config/operator-settings.ts'
import { settingsText, codeVersionOf } from './version.ts'

let folder = ''
beforeEach(async () => {
  folder = await emptyFolder()
})

async function file(name: string, text: string): Promise<void> {
  await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
  await writeFile(path.join(folder, name), text)
}

const version = async (name = 'operator.ts#one', settings = ''): Promise<string> =>
  (await codeVersionOf({ module: path.join(folder, name), settings })).version

const section = (value: object): OperatorSettings =>
  readConfiguration([{ source: 'test', value: { operators: { one: { ...value } } } }]).settings.operators['one']!

describe('the version of an operator', () => {
  it('changes when its module, a file that it imports, its package or its settings change', async () => {
    await file('operator.ts', `import { loop } from './lib/loop.ts'\nexport const one = loop`)
    await file('lib/loop.ts', `const deep = require('./deep')\nexport const loop = import("../last.ts")`)
    await file('lib/deep.js', '1')
    await file('last.ts', '2')
    await file('package.json', '{"version":"1.0.0"}')
    const seen = [await version(), await version('operator.ts#two'), await version('operator.ts#one', 'other')]
    const changes = { 'operator.ts': `import './lib/loop.ts'`, 'lib/loop.ts': `require('./deep')\nimport '../last.ts'` }
    const more = { ...changes, 'lib/deep.js': '3', 'last.ts': '4', 'package.json': '{"version":"1.0.1"}' }
    for (const [name, text] of Object.entries(more)) {
      await file(name, text)
      seen.push(await version())
    }
    expect(new Set(seen).size).toBe(8)
  })

  it('does not change when something else changes, or a file is rewritten', async () => {
    await file('operator.ts', 'export const one = 1')
    const before = await version()
    await file('beside.ts', '1')
    await file('operator.ts', 'export const one = 1')
    expect(await version()).toBe(before)
    expect(before).toMatch(/^[0-9a-f]{16}$/)
  })

  it('follows modules that import each other, and ignores missing ones', async () => {
    await file('operator.ts', `import './other.ts'\nimport './gone.ts'`)
    await file('other.ts', `import './operator.ts'`)
    const { files } = await codeVersionOf({ module: path.join(folder, 'operator.ts'), settings: '' })
    expect(files.map((each) => path.basename(each))).toEqual(['operator.ts', 'other.ts'])
  })

  it('includes the time of its newest file', async () => {
    await file('operator.ts', `import './other.ts'`)
    await file('other.ts', '')
    await utimes(path.join(folder, 'operator.ts'), 1000, 1000)
    await utimes(path.join(folder, 'other.ts'), 2000, 2000)
    expect((await codeVersionOf({ module: path.join(folder, 'operator.ts'), settings: '' })).newest).toBe(2_000_000)
  })

  it('of its settings excludes settings that change at run time, and the order', () => {
    const usual = settingsText(section({}), false)
    expect(settingsText(section({ paused: true, gates: { concurrency: 2 } }), false)).toBe(usual)
    expect(settingsText(section({ config: { a: 1, b: 2 } }), false)).toBe(
      settingsText(section({ config: { b: 2, a: 1 } }), false),
    )
    const others = [section({ config: { a: 1 } }), section({ namespaces: ['x'] }), section({ budgets: { cacheMi: 1 } })]
    for (const other of others) expect(settingsText(other, false)).not.toBe(usual)
  })

  it('changes when the isolation is set explicitly, even to the default', () => {
    expect(settingsText(section({ isolation: 'inline' }), true)).not.toBe(settingsText(section({}), false))
  })
})

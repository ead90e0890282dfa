import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { emptyFolder, muster } from '../../../test/project.ts'
import { loadKind, loadKinds, loadOperator } from './module.ts'

let folder = ''
beforeEach(async () => {
  folder = await emptyFolder()
})

const operator = (name: string): string =>
  `{ name: '${name}', controllers: [], inputs: [], outputs: [], kinds: [${kind(name)}] }`
const kind = (name: string): string => `{ kind: '${name}', definition: {}, crd: () => ({}) }`

/** A module that looks as if it were made with the kit. */
async function file(name: string, text: string): Promise<string> {
  const place = path.join(folder, name)
  await writeFile(place, text)
  return place
}

describe('the operator of a module', () => {
  it.each([
    ['operator', `export const operator = ${operator('a')}; export default ${operator('b')}`, '', 'a'],
    ['default', `export default ${operator('b')}; export const other = ${operator('c')}`, '', 'b'],
    ['the only one', `export const some = ${operator('c')}; export const number = 1`, '', 'c'],
    ['the named one', `export const a = ${operator('a')}; export const b = ${operator('b')}`, '#b', 'b'],
  ])('is exported as %s', async (_, text, suffix, name) => {
    expect((await loadOperator((await file('module.mjs', text)) + suffix)).name).toBe(name)
  })

  it.each([
    ['export const a = 1', '', 'exports no operator: make one with defineOperator and export it.'],
    [
      `export const a = ${operator('a')}; export const b = ${operator('b')}`,
      '',
      'exports several operators (a, b): say',
    ],
    [`export const first = ${operator('a')}`, '#frist', 'exports no "frist". Did you mean "first"?'],
    [`export const a = 1`, '#a', 'exports "a", but it is no operator.'],
    [`throw new TypeError('of mine')`, '', 'cannot be loaded: TypeError: of mine'],
    [`import './none.mjs'`, '', 'none.mjs, which does not exist.'],
    [`import 'not-there'`, '', 'it imports not-there, which is not installed: run npm install in its folder.'],
  ])('is explained when missing: %s', async (text, suffix, words) => {
    const loading = loadOperator((await file('module.mjs', text)) + suffix)
    await expect(loading).rejects.toMatchObject({ name: 'ModuleUnusable', message: expect.stringContaining(words) })
  })

  it('an import without its ending is named with the ending that is missing', { timeout: 60_000 }, async () => {
    await file('kind.ts', 'export const a = 1')
    await file('bare.ts', `import './kind'`)
    await file('built.ts', `import './kind.js'`)
    const [bare, built] = await Promise.all(
      ['bare.ts', 'built.ts'].map((name) => muster(folder, 'generate', 'crd', name)),
    )
    expect(bare?.stderr).toContain('bare.ts imports kind, which does not exist. Write the ending: kind.ts.')
    expect(built?.stderr).toContain('Import kind.ts: sources run as they are.')
  })

  it('is found in a folder with one operator, and named where it is missing', async () => {
    await expect(loadOperator(folder)).rejects.toThrow('is a folder without operator.ts, src/operator.ts or index.ts')
    await file('operator.ts', '')
    await expect(loadOperator(folder)).rejects.toThrow(`${path.join(folder, 'operator.ts')} exports no operator`)
    const near = path.join(folder, 'operator.ts')
    await expect(loadOperator(path.join(folder, 'operatr.ts'))).rejects.toThrow(`Did you mean "${near}"?`)
  })

  it('errors name the line, without a stack', { timeout: 60_000 }, async () => {
    await file('broken.ts', `export const a = 1\nexport const b: = 2\n`)
    const { code, stderr } = await muster(folder, 'run', 'broken.ts')
    expect(code).toBe(2)
    expect(stderr).toMatch(/^MUS1505 ModuleUnusable: broken\.ts cannot be loaded: SyntaxError: .* \(broken\.ts:2\)/)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})

describe('the kinds of a module', () => {
  it('are those that it exports, and those of its operator, each once', async () => {
    const text = `export const A = ${kind('A')}; export const operator = { ...${operator('B')}, kinds: [A, ${kind('B')}] }`
    const kinds = await loadKinds(await file('module.mjs', text))
    expect(kinds.map((one) => one.kind)).toEqual(['A', 'B'])
  })

  it('are distinguished by name', async () => {
    const place = await file('module.mjs', `export const A = ${kind('A')}; export const B = ${kind('B')}`)
    expect(await loadKind(`${place}#B`)).toMatchObject({ name: 'B', file: place, isBesideOperator: false })
    await expect(loadKind(place)).rejects.toThrow('exports several kinds (A, B): say which')
    await expect(loadKinds(await file('none.mjs', ''))).rejects.toThrow('exports no kind')
  })
})

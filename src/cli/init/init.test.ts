import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { emptyFolder } from '../../../test/project.ts'
import command from './init.ts'
import { kindFor } from './project.ts'

const ignore = (): void => undefined

async function init(name: string, flags: Readonly<Record<string, string>>): Promise<number> {
  return await command.run({
    flags,
    positionals: [name],
    out: ignore,
    err: ignore,
    signal: new AbortController().signal,
  })
}

describe('muster init', () => {
  it('names the kind after the project', () => {
    expect(['shop', 'web-shop', 'web-shop-operator', 'operator', 'db2'].map(kindFor)).toEqual([
      'Shop',
      'WebShop',
      'WebShop',
      'Operator',
      'Db2',
    ])
  })

  it('uses muster from its checkout, or from the given path', async () => {
    const dir = path.join(await emptyFolder(), 'a', 'b')
    await init('shop', { dir })
    const { dependencies } = JSON.parse(await readFile(path.join(dir, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>
    }
    const link = dependencies['@muster-dev/muster']!.replace(/^file:/, '')
    expect(await readdir(path.resolve(dir, link, 'src', 'operator'))).toContain('index.ts')
    expect(await readFile(path.join(dir, 'tsconfig.json'), 'utf8')).toContain('muster-source')

    const other = path.join(await emptyFolder(), 'shop')
    await init('shop', { dir: other, muster: '1.2.3' })
    expect(await readFile(path.join(other, 'package.json'), 'utf8')).toContain('"@muster-dev/muster": "1.2.3"')
    expect(await readFile(path.join(other, 'tsconfig.json'), 'utf8')).not.toContain('muster-source')
  })

  it('pins versions', async () => {
    const dir = path.join(await emptyFolder(), 'shop')
    await init('shop', { dir })
    const manifest = await readFile(path.join(dir, 'package.json'), 'utf8')
    const { devDependencies } = JSON.parse(manifest) as { readonly devDependencies: Readonly<Record<string, string>> }
    for (const version of Object.values(devDependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  })

  it.each([
    ['Shop', {}, 'NAME "Shop"'],
    ['3shop', {}, 'NAME "3shop"'],
    ['../shop', {}, 'NAME "../shop"'],
    ['a'.repeat(64), {}, 'NAME'],
    ['config-map', {}, 'its kind would be ConfigMap, which is there already'],
    ['object-of', {}, 'its kind would be ObjectOf, which is there already'],
    ['shop', { group: 'Example.com' }, '--group "Example.com"'],
    ['shop', { group: 'apps' }, '--group "apps": a group of your own has a dot'],
  ])('rejects %j %j', async (name, flags, words) => {
    const dir = path.join(await emptyFolder(), 'made')
    await expect(init(name, { dir, ...flags })).rejects.toMatchObject({
      name: 'InvalidFlag',
      message: expect.stringContaining(words),
    })
    await expect(readdir(dir)).rejects.toThrow('ENOENT')
  })

  it('writes into an empty folder only', async () => {
    const folder = await emptyFolder()
    const [empty, full, file] = ['empty', 'full', 'file'].map((name) => path.join(folder, name)) as [
      string,
      string,
      string,
    ]
    await mkdir(empty)
    await mkdir(full)
    await writeFile(path.join(full, '.hidden'), '')
    await writeFile(file, '')
    expect(await init('shop', { dir: empty })).toBe(0)
    for (const dir of [empty, full, file]) {
      await expect(init('shop', { dir })).rejects.toMatchObject({ name: 'AlreadyThere' })
    }
    expect(await readdir(full)).toEqual(['.hidden'])
  })
})

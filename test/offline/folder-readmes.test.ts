import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { commands } from '../../src/cli/commands.ts'

const root = path.resolve(import.meta.dirname, '../..')
/** Generated, one file a group and version. */
const generated = ['src/kube/types']

/** Folders whose files do not speak for themselves any more. */
const folders = globSync('src/**/', { cwd: root })
  .map((folder) => folder.split(path.sep).join('/').replace(/\/$/, ''))
  .filter((folder) => !generated.some((one) => folder.startsWith(one)) && sourcesOf(folder).length > 5)

function sourcesOf(folder: string): readonly string[] {
  return readdirSync(path.join(root, folder)).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'index.ts',
  )
}

/** The files of the first column of the tables: `` `a.ts`, `b.ts` ``; `` `pod-*.ts` `` stands for several. */
function listedIn(readme: string): readonly string[] {
  const rows = readme.split('\n').filter((line) => line.startsWith('|'))
  return rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([\w.*-]+\.ts)`/g)].map(([, name]) => name!))
}

function matches(pattern: string, name: string): boolean {
  return new RegExp(
    `^${pattern
      .split('*')
      .map((part) => RegExp.escape(part))
      .join('.*')}$`,
  ).test(name)
}

describe.each(folders)('%s', (folder) => {
  it('has a README whose table lists its files, each of which exists', () => {
    const place = path.join(root, folder, 'README.md')
    expect(existsSync(place), `${folder} has ${sourcesOf(folder).length} files and no README.md`).toBe(true)
    const listed = listedIn(readFileSync(place, 'utf8'))
    const sources = sourcesOf(folder)
    expect(sources.filter((name) => !listed.some((pattern) => matches(pattern, name)))).toEqual([])
    expect(listed.filter((pattern) => !sources.some((name) => matches(pattern, name)))).toEqual([])
  })
})

describe('src/cli/README.md', () => {
  it('names every command', () => {
    const readme = readFileSync(path.join(root, 'src/cli/README.md'), 'utf8')
    const named = (name: string): boolean => readme.includes(`\`${name}\``) || readme.includes(`\`muster ${name}\``)
    expect(commands.filter(({ name }) => !named(name))).toEqual([])
  })
})

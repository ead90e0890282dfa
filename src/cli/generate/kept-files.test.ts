import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/project.ts'
import { writeKeptFiles } from './kept-files.ts'

const files = (given: Readonly<Record<string, string>>): ReadonlyMap<string, string> => new Map(Object.entries(given))

it('generated files are replaced and removed, until a person changes them', async () => {
  const folder = await emptyFolder()
  const at = (name: string): string => path.join(folder, name)
  const read = (name: string): string => readFileSync(at(name), 'utf8')
  expect(writeKeptFiles(folder, files({ a: '1', 'b/c': '1', d: '1' }))).toEqual({
    written: ['a', 'b/c', 'd'].map(at),
    removed: [],
    kept: [],
  })
  expect(writeKeptFiles(folder, files({ a: '1', 'b/c': '1', d: '1' })).written).toEqual([])

  writeFileSync(at('a'), 'mine')
  expect(writeKeptFiles(folder, files({ a: '2', 'b/c': '2' }))).toEqual({
    written: [at('b/c')],
    removed: [at('d')],
    kept: [at('a')],
  })
  expect([read('a'), read('b/c'), existsSync(at('d'))]).toEqual(['mine', '2', false])

  // Deleted, to get the generated one again.
  rmSync(at('a'))
  expect(writeKeptFiles(folder, files({ a: '3', 'b/c': '2' }))).toEqual({ written: [at('a')], removed: [], kept: [] })
})

it('files of a folder without a record are those of a person, and a record removes nothing elsewhere', async () => {
  const folder = await emptyFolder()
  writeFileSync(path.join(folder, 'a'), 'mine')
  expect(writeKeptFiles(folder, files({ a: '1' })).kept).toEqual([path.join(folder, 'a')])
  const inner = path.join(folder, 'inner')
  writeKeptFiles(inner, files({ x: '1' }))
  writeFileSync(path.join(inner, '.generated.json'), JSON.stringify({ '../a': 'ff', '/etc/passwd': 'ff', x: 5 }))
  expect(writeKeptFiles(inner, files({}))).toEqual({ written: [], removed: [], kept: [] })
  expect(readFileSync(path.join(folder, 'a'), 'utf8')).toBe('mine')
})

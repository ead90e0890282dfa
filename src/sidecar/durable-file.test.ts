import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { claimDurably, readDurableObject, writeDurably } from './durable-file.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-durable-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('a durable file', () => {
  it('replaces the content, and leaves no temporary file', async () => {
    const file = path.join(folder, 'a.json')
    await writeDurably(file, '{"a":1}')
    await writeDurably(file, '{"a":2}')
    expect(await readDurableObject(file)).toEqual({ a: 2 })
    expect(await readdir(folder)).toEqual(['a.json'])
  })

  it('is claimed once, with the content of the first writer', async () => {
    const file = path.join(folder, 'claim.json')
    expect(await claimDurably(file, '{"by":"one"}')).toBe(true)
    expect(await claimDurably(file, '{"by":"two"}')).toBe(false)
    expect(await readFile(file, 'utf8')).toBe('{"by":"one"}')
    const many = Array.from({ length: 20 }, (_, by) => claimDurably(`${file}.2`, JSON.stringify({ by })))
    expect((await Promise.all(many)).filter(Boolean)).toHaveLength(1)
    await rm(`${file}.2`)
    expect(await readdir(folder)).toEqual(['claim.json'])
  })

  it.each(['', '{"a":', '[1]', 'null', '"text"'])('with %j is not an object', async (text) => {
    const file = path.join(folder, 'torn.json')
    await writeFile(file, text)
    expect(await readDurableObject(file)).toBeUndefined()
  })

  it('that is missing yields undefined; an unreadable one is an error', async () => {
    expect(await readDurableObject(path.join(folder, 'absent.json'))).toBeUndefined()
    await expect(readDurableObject(folder)).rejects.toThrow('EISDIR')
  })
})

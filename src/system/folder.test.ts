import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { folderMaker, makeFolder } from './folder.ts'

function scratch(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-folder-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('a folder', () => {
  it('is created with its parents and mode; an existing one stays', () => {
    const place = path.join(scratch(), 'a', 'b', 'c')
    makeFolder(place, 0o700)
    writeFileSync(path.join(place, 'kept'), '')
    makeFolder(place, 0o700)
    expect(existsSync(path.join(place, 'kept'))).toBe(true)
    for (const one of [place, path.dirname(place)]) expect(statSync(one).mode & 0o777).toBe(0o700)
  })

  it('is rejected where none can be created: below a file, and in a system folder', () => {
    const file = path.join(scratch(), 'file')
    writeFileSync(file, '')
    expect(() => makeFolder(path.join(file, 'a', 'b'))).toThrow('ENOTDIR')
    expect(() => makeFolder('/proc/none/here')).toThrow(/ENOENT|EACCES|EROFS|EPERM/)
  })

  it('that another process created meanwhile is accepted', () => {
    const folder = scratch()
    const make = folderMaker()
    make(path.join(folder, 'a'))
    // In one that is new nothing is looked for.
    makeFolder(path.join(folder, 'a', 'b'))
    make(path.join(folder, 'a', 'b', 'c'))
    expect(existsSync(path.join(folder, 'a', 'b', 'c'))).toBe(true)
  })
})

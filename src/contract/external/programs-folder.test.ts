import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../clock/system-clock.ts'
import { runProgram } from './program.ts'
import { openProgramFolder, programsFolder } from './programs-folder.ts'

let temporary: string
let before: string | undefined
beforeEach(() => {
  temporary = mkdtempSync(path.join(tmpdir(), 'muster-test-'))
  before = process.env['TMPDIR']
  process.env['TMPDIR'] = temporary
})
afterEach(() => {
  if (before === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = before
  rmSync(temporary, { recursive: true, force: true })
})

describe('the folders of programs', () => {
  it('are in a folder that only this user can access', () => {
    const [one, other] = [openProgramFolder('shop'), openProgramFolder('shop')]
    expect(one).not.toBe(other)
    expect([one, other].map((folder) => path.dirname(folder))).toEqual([programsFolder(), programsFolder()])
    expect(statSync(programsFolder()).mode & 0o777).toBe(0o700)
  })

  it('are never in a folder that others can read, or that is a link to elsewhere', async () => {
    const folder = programsFolder()
    // Never the folder of this machine: the link below would outlive the test.
    expect(path.dirname(folder)).toBe(temporary)
    chmodSync(folder, 0o755)
    expect(programsFolder).toThrow(/is not this user's alone; remove it, or set TMPDIR/)
    const { problem } = await runProgram({ program: { command: '/bin/sh' }, clock: systemClock }, [])
    expect(problem).toMatch(/^it does not start: .* is not this user's alone/)
    rmSync(folder, { recursive: true })
    symlinkSync(temporary, folder)
    expect(programsFolder).toThrow(/is not this user's alone/)
  })
})

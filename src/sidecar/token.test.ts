import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failure } from '../../test/loopback.ts'
import { tokenCheck } from './token.ts'

const [first, second] = ['first-token-of-many', 'second-token-of-many']
let folder = ''
let file = ''
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-token-'))
  file = path.join(folder, 'token')
})
afterEach(() => rm(folder, { recursive: true }))

describe('a token', () => {
  it('authorizes bearer requests with its value only', async () => {
    await writeFile(file, `${first}\n`)
    const check = tokenCheck(file)
    expect(await check.authenticate(`Bearer ${first}`)).toBe(true)
    expect(await check.authenticate(`bearer  ${first}`)).toBe(true)
    for (const wrong of [
      undefined,
      '',
      first,
      'Bearer',
      'Bearer ',
      `Bearer ${first}x`,
      `Basic ${first}`,
      `Bearer ${second}`,
    ])
      expect([wrong, await check.authenticate(wrong)]).toEqual([wrong, false])
  })

  it('is effective at once after rotation, and two are valid side by side', async () => {
    // As Secrets are mounted: a link is put in place of another.
    await writeFile(path.join(folder, '1'), first)
    await writeFile(path.join(folder, '2'), `${second}\n${first}\n`)
    await writeFile(path.join(folder, '3'), second)
    const check = tokenCheck(file)
    const seen: (readonly boolean[])[] = []
    for (const version of ['1', '2', '3']) {
      await rm(file, { force: true })
      await symlink(version, file)
      seen.push([await check.authenticate(`Bearer ${first}`), await check.authenticate(`Bearer ${second}`)])
    }
    expect(seen).toEqual([
      [true, false],
      [true, true],
      [false, true],
    ])
  })

  it('authorizes no request without a file, and no message quotes its content', async () => {
    const check = tokenCheck(file)
    expect((await failure(check.authenticate(`Bearer ${first}`))).message).toContain('ENOENT')
    for (const [text, words] of [
      ['\n', 'is empty'],
      ['short', 'less than 16'],
      ['a password with a space', 'space'],
    ] as const) {
      await writeFile(file, text)
      const error = await failure(check.authenticate(`Bearer ${text.trim()}`))
      expect(error).toMatchObject({ name: 'SidecarConfigInvalid', message: expect.stringContaining(words) as string })
      expect(error.message).not.toMatch(/short$|password/)
    }
  })
})

import { describe, expect, it } from 'vitest'
import { memoryMachine, systemError } from '../../../test/memory-machine.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { tokenFileCredentials } from './token-file.ts'

const path = '/run/token'

describe('tokenFileCredentials', () => {
  it('reads the file once a minute at most, and uses the new token then', async () => {
    const clock = virtualClock()
    const machine = memoryMachine({ files: { [path]: 'one\n' } })
    const credentials = tokenFileCredentials(path, { machine, clock })
    for (let call = 0; call < 20; call++) expect(await credentials.headers()).toEqual({ authorization: 'Bearer one' })
    machine.files.set(path, 'two')
    await clock.advance(59_999)
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer one' })
    await clock.advance(1)
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer two' })
    expect(machine.reads.length).toBe(2)
  })

  it('reloads it when the server rejects the token', async () => {
    const machine = memoryMachine({ files: { [path]: 'one' } })
    const credentials = tokenFileCredentials(path, { machine, clock: virtualClock() })
    const sent = await credentials.headers()
    machine.files.set(path, 'two')
    expect(credentials.refused(sent)).toBe(true)
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer two' })
  })

  it('keeps the new token after a late rejection of the old one', async () => {
    const machine = memoryMachine({ files: { [path]: 'one' } })
    const credentials = tokenFileCredentials(path, { machine, clock: virtualClock() })
    const old = await credentials.headers()
    machine.files.set(path, 'two')
    credentials.refused(old)
    await credentials.headers()
    expect(credentials.refused({ ...old })).toBe(true)
    await credentials.headers()
    expect(machine.reads.length).toBe(2)
  })

  it('uses the last token while the file cannot be read', async () => {
    const clock = virtualClock()
    const machine = memoryMachine({ files: { [path]: 'one' } })
    const credentials = tokenFileCredentials(path, { machine, clock, fallback: 'inline' })
    await credentials.headers()
    machine.files.set(path, systemError('EIO'))
    await clock.advance(3_600_000)
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer one' })
  })

  it('uses the inline token until the file was read for the first time', async () => {
    const clock = virtualClock()
    const machine = memoryMachine()
    const credentials = tokenFileCredentials(path, { machine, clock, fallback: 'inline' })
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer inline' })
    machine.files.set(path, 'one')
    await clock.advance(60_000)
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer one' })
  })

  it.each([
    ['is missing', systemError('ENOENT'), 'does not exist'],
    ['may not be read', systemError('EACCES'), 'may not be read by this user'],
    ['is a directory', systemError('EISDIR'), 'is a directory'],
    ['is empty', ' \n', 'is empty'],
    ['holds a whole document', 'apiVersion: v1\nkind: Secret', 'something else than one token'],
  ])('names the file when it %s', async (_name, content, words) => {
    const machine = memoryMachine({ files: { [path]: content } })
    const credentials = tokenFileCredentials(path, { machine, clock: virtualClock() })
    await expect(credentials.headers()).rejects.toMatchObject({
      name: 'CredentialFileUnreadable',
      message: expect.stringMatching(new RegExp(`${path} .*${words}`)) as string,
    })
  })
})

import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { makeCa } from '../../../test/certificates.ts'
import { memoryMachine, systemError } from '../../../test/memory-machine.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { type CertificateSource, certificateCredentials, checkPair } from './client-certificate.ts'

const start = Date.UTC(2026, 0, 1)
const day = 86_400_000
const ca = makeCa()
const issue = (name: string, days = 30): ReturnType<typeof ca.issue> =>
  ca.issue({ commonName: name, notBefore: new Date(start - day), notAfter: new Date(start + days * day) })

const files: CertificateSource = {
  cert: { file: '/pki/tls.crt', origin: 'users[0].user.client-certificate in config' },
  key: { file: '/pki/tls.key', origin: 'users[0].user.client-key in config' },
}

describe('certificateCredentials', () => {
  it('returns an inline pair with a stable id', async () => {
    const { cert, key } = issue('jane')
    const credentials = certificateCredentials(
      { cert: { pem: cert, origin: 'cert' }, key: { pem: key, origin: 'key' } },
      { machine: memoryMachine(), clock: virtualClock(start) },
    )
    const first = await credentials.certificate()
    expect(first).toMatchObject({ cert, key })
    expect((await credentials.certificate())?.id).toBe(first?.id)
    expect(credentials.refused()).toBe(false)
  })

  it('changes its id when the files were rotated, and only then', async () => {
    const clock = virtualClock(start)
    const [one, two] = [issue('jane'), issue('jane')]
    const machine = memoryMachine({ files: { '/pki/tls.crt': one.cert, '/pki/tls.key': one.key } })
    const credentials = certificateCredentials(files, { machine, clock })
    const first = await credentials.certificate()
    await clock.advance(120_000)
    expect((await credentials.certificate())?.id).toBe(first?.id)
    machine.files.set('/pki/tls.crt', two.cert).set('/pki/tls.key', two.key)
    await clock.advance(60_000)
    const second = await credentials.certificate()
    expect(second).toMatchObject(two)
    expect(second?.id).not.toBe(first?.id)
  })

  it('keeps the old pair while the files do not match', async () => {
    const clock = virtualClock(start)
    const [one, two] = [issue('jane'), issue('jane')]
    const machine = memoryMachine({ files: { '/pki/tls.crt': one.cert, '/pki/tls.key': one.key } })
    const credentials = certificateCredentials(files, { machine, clock })
    await credentials.certificate()
    machine.files.set('/pki/tls.crt', two.cert)
    await clock.advance(60_000)
    expect(await credentials.certificate()).toMatchObject(one)
    machine.files.set('/pki/tls.key', two.key)
    await clock.advance(1_000)
    expect(await credentials.certificate()).toMatchObject(two)
  })

  it('reloads the files when the server rejects them', async () => {
    const [one, two] = [issue('jane'), issue('jane')]
    const machine = memoryMachine({ files: { '/pki/tls.crt': one.cert, '/pki/tls.key': one.key } })
    const credentials = certificateCredentials(files, { machine, clock: virtualClock(start) })
    await credentials.certificate()
    machine.files.set('/pki/tls.crt', two.cert).set('/pki/tls.key', two.key)
    expect(credentials.refused()).toBe(true)
    expect(await credentials.certificate()).toMatchObject(two)
  })

  it('reports expiry, and recovers with a renewed file', async () => {
    const clock = virtualClock(start)
    const [one, two] = [issue('jane', 1), issue('jane', 30)]
    const machine = memoryMachine({ files: { '/pki/tls.crt': one.cert, '/pki/tls.key': one.key } })
    const credentials = certificateCredentials(files, { machine, clock })
    await credentials.certificate()
    await clock.advance(2 * day)
    await expect(credentials.certificate()).rejects.toMatchObject({
      name: 'CertificateExpired',
      message:
        'the client certificate in users[0].user.client-certificate in config expired at 2026-01-02T00:00:00.000Z.',
    })
    machine.files.set('/pki/tls.crt', two.cert).set('/pki/tls.key', two.key)
    await clock.advance(1_000)
    expect(await credentials.certificate()).toMatchObject(two)
  })

  it('names the unreadable file', async () => {
    const machine = memoryMachine({
      files: { '/pki/tls.crt': issue('jane').cert, '/pki/tls.key': systemError('EACCES') },
    })
    await expect(
      certificateCredentials(files, { machine, clock: virtualClock(start) }).certificate(),
    ).rejects.toMatchObject({
      name: 'CredentialFileUnreadable',
      message: '/pki/tls.key (users[0].user.client-key in config) may not be read by this user.',
    })
  })
})

describe('checkPair', () => {
  const pair = issue('jane')

  it('rejects an invalid certificate, an invalid key, and a mismatch', async () => {
    await expect(checkPair('garbage', pair.key, 'the cert', 'the key')).rejects.toThrow(
      'the cert holds no readable PEM',
    )
    await expect(checkPair(pair.cert, 'garbage', 'the cert', 'the key')).rejects.toThrow(
      'the key holds no readable PEM',
    )
    await expect(checkPair(pair.cert, issue('joe').key, 'the cert', 'the key')).rejects.toThrow('does not belong')
  })

  it('reports an encrypted key', async () => {
    const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-128-cbc',
      passphrase: 'hunter2',
    })
    await expect(checkPair(pair.cert, key, 'the cert', 'the key')).rejects.toThrow('it is encrypted')
  })
})

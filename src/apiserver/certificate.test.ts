import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { makeLoopbackCertificate } from './certificate.ts'

describe('the certificate of the embedded server', () => {
  it('is for loopback names alone, vouches for itself, and is valid for the time asked', () => {
    const { cert, key } = makeLoopbackCertificate(Date.UTC(2026, 0, 2), Date.UTC(2060, 0, 1))
    const read = new X509Certificate(cert)
    expect(read.subjectAltName).toBe('DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1')
    expect(read.verify(read.publicKey)).toBe(true)
    expect(read.ca).toBe(true)
    expect(new Date(read.validFrom)).toEqual(new Date(Date.UTC(2026, 0, 1, 23)))
    expect(new Date(read.validTo)).toEqual(new Date(Date.UTC(2060, 0, 1)))
    expect(key).toContain('PRIVATE KEY')
  })

  it('is another one each time', () => {
    const [one, two] = [makeLoopbackCertificate(0, 1), makeLoopbackCertificate(0, 1)]
    expect(one.cert).not.toBe(two.cert)
  })
})

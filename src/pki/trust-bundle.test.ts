import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createCertificateAuthority } from './certificate-authority.ts'
import { readTrustBundle } from './trust-bundle.ts'

const now = Date.UTC(2026, 5, 1)
const validity = { from: Date.UTC(2026, 0, 1), until: Date.UTC(2027, 0, 1) }
const [authority, other] = ['ca', 'other'].map((commonName) => createCertificateAuthority({ commonName, ...validity }))
const clientOf = (issuer = authority, terms: object = {}): X509Certificate =>
  new X509Certificate(issuer!.issue({ commonName: 'ada', purpose: 'client', ...validity, ...terms }).cert)

describe('a trust bundle', () => {
  it('admits the clients of each of its authorities, and those of no other one', () => {
    const bundle = readTrustBundle(`of two\n${authority!.cert}\n${other!.cert}`)!
    expect([clientOf(), clientOf(other)].map((one) => bundle.isClient(one, now))).toEqual([true, true])
    expect(readTrustBundle(other!.cert)!.isClient(clientOf(), now)).toBe(false)
  })

  it('admits a certificate that is in the bundle itself, and nothing that it claims to have issued', () => {
    const own = authority!.issue({ commonName: 'ada', purpose: 'client', ...validity })
    const bundle = readTrustBundle(own.cert)!
    expect(bundle.isClient(new X509Certificate(own.cert), now)).toBe(true)
    expect(bundle.isClient(clientOf(), now)).toBe(false)
  })

  it('refuses certificates for servers, and those that are not valid yet or no more', () => {
    const bundle = readTrustBundle(authority!.cert)!
    const refused = [
      clientOf(authority, { purpose: 'server' }),
      clientOf(authority, { from: now + 1000 }),
      clientOf(authority, { until: now - 1000 }),
    ]
    for (const one of refused) expect(bundle.isClient(one, now)).toBe(false)
    expect(bundle.isClient(clientOf(), validity.until + 1000)).toBe(false)
  })

  it.each(['', 'text', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])('is none in %j', (text) => {
    expect(readTrustBundle(text)).toBeUndefined()
  })
})

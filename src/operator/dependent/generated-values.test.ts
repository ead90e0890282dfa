import { X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { generateCertificate, generatePassword, isExpiring } from './generated-values.ts'

const now = Date.UTC(2026, 0, 31)
const dayMs = 86_400_000
const inSecret = (pem: string): string => Buffer.from(pem).toString('base64')

describe('a password', () => {
  it('has the length that was asked for, of letters and digits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), (length) => {
        const password = generatePassword({ length })
        expect(password).toHaveLength(length)
        expect(password).toMatch(/^[A-Za-z0-9]+$/)
      }),
    )
  })

  it('is another one each time', () => {
    expect(generatePassword()).not.toBe(generatePassword())
    expect(generatePassword()).toHaveLength(32)
  })
})

describe('a certificate', () => {
  const { ca, cert, key } = generateCertificate({ commonName: 'db', dnsNames: ['db', 'db.shop.svc'], now, days: 90 })

  it('is for its names, and signed by its authority', () => {
    const own = new X509Certificate(cert)
    const authority = new X509Certificate(ca)
    expect(own.checkHost('db.shop.svc')).toBe('db.shop.svc')
    expect(own.checkHost('other')).toBeUndefined()
    expect(own.verify(authority.publicKey)).toBe(true)
    expect(key).toContain('PRIVATE KEY')
  })

  it('expires when less than a third of its time is left', () => {
    expect(isExpiring(inSecret(cert), now)).toBe(false)
    expect(isExpiring(inSecret(cert), now + 59 * dayMs)).toBe(false)
    expect(isExpiring(inSecret(cert), now + 61 * dayMs)).toBe(true)
  })

  it('that is missing or unreadable must be replaced', () => {
    expect(isExpiring(undefined, now)).toBe(true)
    expect(isExpiring(inSecret('not a certificate'), now)).toBe(true)
  })
})

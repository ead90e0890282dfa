import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCertificateAuthority, openCertificateAuthority } from './certificate-authority.ts'
import { derInteger, octets, readDer, sequence } from './der.ts'

const validity = { from: Date.UTC(2026, 0, 2), until: Date.UTC(2060, 0, 1) }
const authority = createCertificateAuthority({ commonName: 'ca', ...validity })

describe('a certificate authority', () => {
  it('verifies itself and its certificates, and only it may issue', () => {
    const [root, leaf] = [
      new X509Certificate(authority.cert),
      new X509Certificate(authority.issue({ commonName: 'x', purpose: 'server', ...validity }).cert),
    ]
    expect(root.verify(root.publicKey) && root.ca).toBe(true)
    expect(leaf.checkIssued(root) && leaf.verify(root.publicKey)).toBe(true)
    expect(leaf.ca).toBe(false)
  })

  it('encodes names, addresses, groups, purposes and dates as specified', () => {
    const server = authority.issue({
      ...validity,
      commonName: 'muster',
      purpose: 'server',
      dnsNames: ['localhost'],
      ips: ['127.0.0.1', '::1', '2001:db8::5'],
    })
    const read = new X509Certificate(server.cert)
    expect(read.subjectAltName).toBe(
      'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:2001:DB8:0:0:0:0:0:5',
    )
    expect([read.validFromDate.getTime(), read.validToDate.getTime()]).toEqual([validity.from, validity.until])
    expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
    const client = authority.issue({ ...validity, commonName: 'ü', organizations: ['a', 'b'], purpose: 'client' })
    expect(new X509Certificate(client.cert).toLegacyObject().subject).toMatchObject({ CN: 'ü', O: ['a', 'b'] })
    expect(new X509Certificate(client.cert).keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
  })

  it('gives each certificate its own key and its own serial number', () => {
    const [one, two] = [1, 2].map(() => authority.issue({ commonName: 'x', purpose: 'client', ...validity }))
    expect(new X509Certificate(one!.cert).serialNumber).not.toBe(new X509Certificate(two!.cert).serialNumber)
    expect(one!.key).not.toBe(two!.key)
    const own = createPublicKey(createPrivateKey(one!.key))
    expect(new X509Certificate(one!.cert).publicKey.equals(own)).toBe(true)
  })
})

describe('client certificates of an authority', () => {
  const { from, until } = validity
  const client = { commonName: 'x', purpose: 'client', ...validity } as const

  it('are those it issued for clients, while valid', () => {
    const issued = new X509Certificate(authority.issue(client).cert)
    expect([from - 1, from, until, until + 1].map((now) => authority.isClient(issued, now))).toEqual([
      false,
      true,
      true,
      false,
    ])
    const server = authority.issue({ ...client, purpose: 'server' })
    expect(authority.isClient(new X509Certificate(server.cert), from)).toBe(false)
    expect(authority.isClient(new X509Certificate(authority.cert), from)).toBe(false)
  })

  it('are not those of another authority of the same name', () => {
    for (const commonName of ['ca', 'other']) {
      const other = createCertificateAuthority({ commonName, ...validity })
      expect(authority.isClient(new X509Certificate(other.issue(client).cert), from)).toBe(false)
    }
    // Not even when it holds a certificate of the real one.
    const { cert, key } = authority.issue({ ...client, commonName: 'ca' })
    const sub = openCertificateAuthority({ cert, key })
    expect(authority.isClient(new X509Certificate(sub.issue(client).cert), from)).toBe(false)
  })
})

describe('a restored certificate authority', () => {
  it('continues with the same identity', () => {
    const { cert, key } = createCertificateAuthority({ commonName: 'kept ü', organizations: ['a'], ...validity })
    const opened = openCertificateAuthority({ cert, key })
    expect(opened).toMatchObject({ cert, key })
    const leaf = new X509Certificate(opened.issue({ commonName: 'x', purpose: 'server', ...validity }).cert)
    const root = new X509Certificate(cert)
    expect(leaf.checkIssued(root) && leaf.verify(root.publicKey)).toBe(true)
  })
})

describe('DER', () => {
  it('round-trips for all lengths', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70_000, size: 'max' }), (bytes) => {
        const [outer] = readDer(sequence(octets(bytes), derInteger(Buffer.from([1]))))!
        const [inner, one] = readDer(outer!.content)!
        expect(inner!.content.equals(bytes)).toBe(true)
        expect(one).toMatchObject({ tag: 2 })
      }),
      { numRuns: 20 },
    )
  })

  it('that is truncated is rejected', () => {
    const whole = sequence(octets(Buffer.alloc(300)))
    for (const length of [1, 2, 3, 10, whole.length - 1]) expect(readDer(whole.subarray(0, length))).toBeUndefined()
  })
})

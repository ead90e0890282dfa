import { X509Certificate } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { type CertificateAuthority, type PemPair, makeCa } from '../certificates.ts'

const ca = makeCa({ commonName: 'ca' })
const server = { commonName: 'server', dnsNames: ['localhost'], ips: ['127.0.0.1', '::1'], server: true }

/** The error of a TLS handshake as the client sees it, or `ok` and who the client was to the server. */
function handshake(serving: PemPair, trusted: CertificateAuthority, client?: PemPair): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const listener = createServer(
    { ...serving, ca: trusted.cert, requestCert: true, rejectUnauthorized: false },
    (socket) => {
      // A client that rejects the certificate may be gone by now: what counts is the error that it saw.
      socket.on('error', () => undefined)
      const { CN, O } = socket.getPeerCertificate()?.subject ?? {}
      socket.end(socket.authorized ? `${[CN].flat().join()}/${[O].flat().join()}` : 'anonymous')
    },
  )
  listener.listen(0, '127.0.0.1', () => {
    const { port } = listener.address() as AddressInfo
    const socket = connect({ host: '127.0.0.1', port, ca: trusted.cert, ...client })
    socket.setEncoding('utf8')
    socket.on('data', (who: string) => resolve(`ok ${who}`))
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    socket.on('close', () => {
      resolve('closed without an answer')
      listener.close()
    })
  })
  return promise
}

describe('test certificates', () => {
  it('are trusted by clients of their authority, and carry user and groups', async () => {
    const client = ca.issue({ commonName: 'alice', organizations: ['one', 'two'] })
    expect(await handshake(ca.issue(server), ca, client)).toBe('ok alice/one,two')
  })

  it('are rejected when expired, not yet valid, for another name, or of another authority', async () => {
    const [past, future] = [new Date('2020-01-01'), new Date('2060-01-01')]
    expect(await handshake(ca.issue({ ...server, notBefore: new Date('2019-01-01'), notAfter: past }), ca)).toBe(
      'CERT_HAS_EXPIRED',
    )
    expect(await handshake(ca.issue({ ...server, notBefore: future, notAfter: new Date('2061-01-01') }), ca)).toBe(
      'CERT_NOT_YET_VALID',
    )
    expect(await handshake(ca.issue({ ...server, ips: ['127.0.0.2'] }), ca)).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
    expect(await handshake(makeCa().issue(server), ca)).toMatch(/UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED/)
  })

  it('are encoded as specified: names, addresses and dates round-trip', () => {
    const issued = ca.issue({
      ...server,
      ips: ['10.1.2.3', '2001:db8::1', '::'],
      notBefore: new Date('2020-02-03T04:05:06Z'),
      notAfter: new Date('2050-01-01T00:00:00Z'),
    })
    const read = new X509Certificate(issued.cert)
    expect(read.subjectAltName).toBe(
      'DNS:localhost, IP Address:10.1.2.3, IP Address:2001:DB8:0:0:0:0:0:1, IP Address:0:0:0:0:0:0:0:0',
    )
    expect([read.validFromDate.toISOString(), read.validToDate.toISOString()]).toEqual([
      '2020-02-03T04:05:06.000Z',
      '2050-01-01T00:00:00.000Z',
    ])
    expect(read.verify(new X509Certificate(ca.cert).publicKey)).toBe(true)
    expect(new X509Certificate(ca.cert).ca).toBe(true)
    expect(read.ca).toBe(false)
  })
})

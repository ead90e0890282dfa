import { createServer as createTcpServer } from 'node:net'
import { createServer, type TlsOptions } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { makeCa, type PemPair } from '../../../test/certificates.ts'
import { ca, connectionTo, failure, listen, serverPair } from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { ClientCertificate, TlsSettings } from '../connection.ts'
import { dialer } from './dial.ts'

async function startTls(pair: PemPair = serverPair, options: TlsOptions = {}): Promise<number> {
  return await listen(
    createServer({ ...pair, ALPNProtocols: ['h2', 'http/1.1'], ...options }, (socket) => {
      socket.on('error', () => {})
    }),
  )
}

async function dial(
  port: number,
  more: { tls?: TlsSettings; certificate?: ClientCertificate; clock?: typeof systemClock; host?: string } = {},
): Promise<string | false | null> {
  const connection = connectionTo(`https://${more.host ?? '127.0.0.1'}:${port}`, { tls: more.tls ?? { ca: ca.cert } })
  const options = { clock: more.clock ?? systemClock, connectTimeoutMs: 10_000, env: {} }
  const { dial: open } = dialer(connection, more.certificate, options)
  const socket = await open(['h2', 'http/1.1'], new AbortController().signal)
  socket.destroy()
  return (socket as unknown as { alpnProtocol: string | false | null }).alpnProtocol
}

const longAgo = { notBefore: new Date('2020-01-01T00:00:00Z'), notAfter: new Date('2021-01-01T00:00:00Z') }

describe('a server', () => {
  it('signed by the configured CA is trusted, and selects the protocol', async () => {
    expect(await dial(await startTls())).toBe('h2')
    expect(await dial(await startTls(serverPair, { ALPNProtocols: ['http/1.1'] }))).toBe('http/1.1')
  })

  it('whose own certificate is configured as the CA is trusted, under its own name only', async () => {
    const tls = { ca: serverPair.cert }
    expect(await dial(await startTls(), { tls })).toBe('h2')
    const named = ca.issue({ commonName: 'named', dnsNames: ['elsewhere.example.com'], server: true })
    expect((await failure(dial(await startTls(named), { tls: { ca: named.cert } }))).name).toBe(
      'CertificateNameMismatch',
    )
    expect((await failure(dial(await startTls(named), { tls }))).name).toBe('CertificateUntrusted')
  })

  it('signed by another CA is not trusted', async () => {
    const port = await startTls()
    expect(await failure(dial(port, { tls: { ca: makeCa({ commonName: 'other' }).cert } }))).toMatchObject({
      name: 'CertificateUntrusted',
      message: `test (127.0.0.1:${port}): the server's certificate (CN=api-server) is not trusted (signed by a CA that is not known here): the configured CA did not sign it.`,
    })
  })

  it('is not trusted without a CA unless the system trusts it', async () => {
    const error = await failure(dial(await startTls(), { tls: {} }))
    expect(error.name).toBe('CertificateUntrusted')
    expect(error.message).toContain('no CA is configured, and this machine does not trust it')
  })

  it('with a self-signed certificate is reported as such', async () => {
    const error = await failure(dial(await startTls(makeCa({ commonName: 'lonely' }))))
    expect(error.message).toContain('(CN=lonely) is not trusted (self-signed)')
  })

  it('is not trusted when the CA is unreadable, and the message distinguishes the two', async () => {
    const error = await failure(dial(await startTls(), { tls: { ca: 'certainly no PEM' } }))
    expect(error.name).toBe('CertificateUntrusted')
    expect(error.message).toContain('the configured CA cannot be read as PEM')
  })

  it('whose certificate has expired is reported with the date', async () => {
    const pair = ca.issue({ commonName: 'old', ips: ['127.0.0.1'], server: true, ...longAgo })
    const port = await startTls(pair)
    expect(await failure(dial(port))).toMatchObject({
      name: 'CertificateExpired',
      message: `test (127.0.0.1:${port}): the server's certificate (CN=old) was valid until 2021-01-01T00:00:00.000Z.`,
    })
  })

  it('whose certificate is not yet valid is reported with the date', async () => {
    const future = { notBefore: new Date('2090-01-01T00:00:00Z'), notAfter: new Date('2091-01-01T00:00:00Z') }
    const error = await failure(
      dial(await startTls(ca.issue({ commonName: 'early', ips: ['127.0.0.1'], server: true, ...future }))),
    )
    expect(error.name).toBe('CertificateExpired')
    expect(error.message).toContain("the server's certificate (CN=early) is valid from 2090-01-01T00:00:00.000Z on")
  })

  it('whose CA has expired: the CA is named', async () => {
    const old = makeCa({ commonName: 'old-ca', ...longAgo })
    const port = await startTls(old.issue({ commonName: 'young', ips: ['127.0.0.1'], server: true }))
    const error = await failure(dial(port, { tls: { ca: old.cert } }))
    expect(error.name).toBe('CertificateExpired')
    expect(error.message).toMatch(/(CA|issuer) \(CN=old-ca\) was valid until 2021-01-01T00:00:00\.000Z/)
  })

  it('of another name is reported with the names of its certificate', async () => {
    const port = await startTls(ca.issue({ commonName: 'other', dnsNames: ['api.example.com'], server: true }))
    expect(await failure(dial(port))).toMatchObject({
      name: 'CertificateNameMismatch',
      message: `test (127.0.0.1:${port}): the server's certificate (CN=other) is not for 127.0.0.1; its names: DNS:api.example.com.`,
    })
  })

  it('is verified against tls-server-name if set, a name or an address', async () => {
    const pair = ca.issue({ commonName: 'x', dnsNames: ['api.example.com'], ips: ['10.0.0.1'], server: true })
    const port = await startTls(pair)
    expect(await dial(port, { tls: { ca: ca.cert, serverName: 'api.example.com' } })).toBe('h2')
    expect(await dial(port, { tls: { ca: ca.cert, serverName: '10.0.0.1' } })).toBe('h2')
    const error = await failure(dial(port, { tls: { ca: ca.cert, serverName: '10.0.0.2' } }))
    expect(error.name).toBe('CertificateNameMismatch')
  })

  it('is always trusted when verification is disabled', async () => {
    expect(await dial(await startTls(makeCa()), { tls: { insecureSkipVerify: true } })).toBe('h2')
  })

  it.each([
    [42, 'CertificateInvalid', 'the server refuses the client certificate (bad certificate)'],
    [48, 'CertificateInvalid', 'the server refuses the client certificate (unknown ca)'],
    [45, 'CertificateExpired', 'the server says that the client certificate has expired'],
    [116, 'CertificateInvalid', 'the server asks for a client certificate, and none is configured'],
    [40, 'ProtocolError', 'the server refuses the TLS handshake (handshake failure)'],
  ])('that ends the handshake with alert %i: %s', async (alert, name, text) => {
    const port = await listen(
      createTcpServer((socket) => {
        socket.once('data', () => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, alert])))
      }),
    )
    expect(await failure(dial(port))).toMatchObject({ name, message: `test (127.0.0.1:${port}): ${text}.` })
  })

  it('that speaks plain HTTP on the port: the message explains the fix', async () => {
    const port = await listen(
      createTcpServer((socket) => {
        socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n'))
      }),
    )
    const error = await failure(dial(port))
    expect(error.name).toBe('ProtocolError')
    expect(error.message).toContain('write http:// instead of https://')
  })

  it('that disconnects during the handshake', async () => {
    const port = await listen(createTcpServer((socket) => void socket.once('data', () => socket.destroy())))
    expect((await failure(dial(port))).name).toBe('ConnectionLost')
  })

  it('that is not running', async () => {
    const server = createTcpServer()
    const port = await listen(server)
    await new Promise((resolve) => server.close(resolve))
    expect(await failure(dial(port))).toMatchObject({
      name: 'Unreachable',
      message: `test (127.0.0.1:${port}): nothing listens there (connection refused).`,
    })
  })
})

describe('a client certificate', () => {
  it('that has expired is detected before anything is sent', async () => {
    const pair = ca.issue({ commonName: 'jane', organizations: ['dev'], ...longAgo })
    let connections = 0
    const port = await listen(createTcpServer(() => connections++))
    expect(await failure(dial(port, { certificate: { id: '1', ...pair } }))).toMatchObject({
      name: 'CertificateExpired',
      message: `test (127.0.0.1:${port}): the client certificate (O=dev, CN=jane) was valid until 2021-01-01T00:00:00.000Z.`,
    })
    expect(connections).toBe(0)
  })

  it('expires by the given clock', async () => {
    const certificate = { id: '1', ...ca.issue({ commonName: 'jane' }) }
    const port = await startTls()
    expect(await dial(port, { certificate, clock: virtualClock(Date.now()) })).toBe('h2')
    const later = virtualClock(Date.now() + 48 * 3_600_000)
    expect((await failure(dial(port, { certificate, clock: later }))).name).toBe('CertificateExpired')
  })

  it.each([
    ['a mismatched key', () => ({ cert: serverPair.cert, key: ca.issue({ commonName: 'x' }).key }), 'does not belong'],
    ['an unreadable key', () => ({ cert: serverPair.cert, key: 'nothing' }), 'the client key cannot be read'],
    ['an unreadable certificate', () => ({ cert: 'nothing', key: serverPair.key }), 'certificate cannot be read'],
  ])('with %s is rejected', async (_, pair, text) => {
    const error = await failure(dial(1, { certificate: { id: '1', ...pair() } }))
    expect(error.name).toBe('CertificateInvalid')
    expect(error.message).toContain(text)
    expect(error.message).not.toContain('BEGIN')
  })
})

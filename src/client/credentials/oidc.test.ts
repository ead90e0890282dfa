import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { makeCa } from '../../../test/certificates.ts'
import { memoryMachine, type MemoryMachine } from '../../../test/memory-machine.ts'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import { describeError } from '../../kube/muster-error.ts'
import type { Credentials } from '../connection.ts'
import { type WebAnswer, type WebRequest, systemMachine } from './machine.ts'
import { oidcCredentials, type OidcOptions, type OidcProvider } from './oidc.ts'

const start = Date.UTC(2026, 0, 1)
const hour = 3_600_000
const issuerUrl = 'https://idp.example/realm/'
const endpoint = 'https://idp.example/realm/token'

/** A JWT that says when it expires, and nothing that could be checked. */
function jwt(expiresAt: number, subject = 'jane'): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode({ alg: 'none' })}.${encode({ sub: subject, exp: expiresAt / 1000 })}.sig`
}

const json = (body: object, status = 200): WebAnswer => ({ status, body: JSON.stringify(body) })

interface Issuer {
  readonly discovery?: WebAnswer
  readonly token?: (request: WebRequest) => WebAnswer
}

function setUp(
  provider: Partial<OidcProvider>,
  issuer: Issuer = {},
  onRenewed?: OidcOptions['onRenewed'],
): { readonly clock: VirtualClock; readonly machine: MemoryMachine; readonly credentials: Credentials } {
  const clock = virtualClock(start)
  let count = 0
  const fresh = (): WebAnswer =>
    json({ id_token: jwt(clock.now() + hour, `fresh-${++count}`), refresh_token: `rt-${count}` })
  const machine = memoryMachine({
    request: (request) =>
      request.method === 'GET'
        ? (issuer.discovery ?? json({ token_endpoint: endpoint }))
        : (issuer.token ?? fresh)(request),
  })
  const credentials = oidcCredentials(
    {
      issuerUrl,
      clientId: 'muster',
      refreshToken: 'rt-0',
      origin: 'users[0].user.auth-provider in config',
      ...provider,
    },
    { machine, clock, onRenewed },
  )
  return { clock, machine, credentials }
}

const subjectOf = async (credentials: Credentials): Promise<unknown> => {
  const [, payload = ''] = ((await credentials.headers())['authorization'] ?? '').split('.')
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub: unknown }).sub
}

describe('oidcCredentials', () => {
  it('uses the ID token until shortly before it expires, without a request', async () => {
    const { clock, machine, credentials } = setUp({ idToken: jwt(start + hour) })
    expect(await subjectOf(credentials)).toBe('jane')
    await clock.advance(hour - 10_001)
    expect(await subjectOf(credentials)).toBe('jane')
    expect(machine.requests).toEqual([])
    await clock.advance(1)
    expect(await subjectOf(credentials)).toBe('fresh-1')
  })

  it('finds the token endpoint through discovery and sends the refresh token there', async () => {
    const { machine, credentials } = setUp({ idToken: jwt(start - hour), ca: 'PEM' })
    await credentials.headers()
    expect(machine.requests.map(({ method, url, ca }) => [method, url, ca])).toEqual([
      ['GET', 'https://idp.example/realm/.well-known/openid-configuration', 'PEM'],
      ['POST', endpoint, 'PEM'],
    ])
    expect(machine.requests[1]?.body).toBe('grant_type=refresh_token&refresh_token=rt-0&client_id=muster')
  })

  it.each([
    ['in a header by default', {}, 'Basic bXVzdGVyOnMlMjZ0', null],
    [
      'in the form if the issuer requires it',
      { token_endpoint_auth_methods_supported: ['client_secret_post'] },
      undefined,
      's&t',
    ],
  ])('identifies the client %s', async (_name, discovery, header, secret) => {
    const { machine, credentials } = setUp(
      { clientSecret: 's&t' },
      { discovery: json({ token_endpoint: endpoint, ...discovery }) },
    )
    await credentials.headers()
    expect(machine.requests[1]?.headers?.['authorization']).toBe(header)
    expect(new URLSearchParams(machine.requests[1]?.body).get('client_secret')).toBe(secret)
  })

  it('refreshes once for concurrent callers, and uses the new refresh token', async () => {
    const renewed: string[] = []
    const { clock, machine, credentials } = setUp({}, {}, ({ refreshToken }) => void renewed.push(refreshToken))
    await Promise.all(Array.from({ length: 20 }, () => credentials.headers()))
    expect(machine.requests).toHaveLength(2)
    await clock.advance(hour)
    await credentials.headers()
    expect(machine.requests[3]?.body).toContain('refresh_token=rt-1')
    expect(renewed).toEqual(['rt-1', 'rt-2'])
  })

  it('refreshes a token that the server rejects early', async () => {
    const { credentials } = setUp({ idToken: jwt(start + hour) })
    const sent = await credentials.headers()
    expect(credentials.refused(sent)).toBe(true)
    expect(await subjectOf(credentials)).toBe('fresh-1')
  })

  it('has no credentials after a rejection without a refresh token', async () => {
    const { credentials } = setUp({ idToken: jwt(start + hour), refreshToken: undefined })
    expect(credentials.refused(await credentials.headers())).toBe(false)
    expect(await subjectOf(credentials)).toBe('jane')
  })

  it('keeps the old token while it is valid when the issuer is down', async () => {
    const { clock, credentials } = setUp({ idToken: jwt(start + hour) }, { discovery: json({}, 503) })
    await credentials.headers()
    await clock.advance(hour - 5_000)
    expect(await subjectOf(credentials)).toBe('jane')
    await clock.advance(5_000)
    await expect(credentials.headers()).rejects.toThrow('its discovery document answered 503')
  })

  const refused = json({ error: 'invalid_grant', error_description: 'rt-canary-0 is no longer active' }, 400)
  it.each<[string, Partial<OidcProvider>, Issuer, string]>([
    ['expired without refresh token', { idToken: jwt(start - 1), refreshToken: undefined }, {}, 'no refresh-token'],
    ['not a JWT, without refresh token', { idToken: 'abc', refreshToken: undefined }, {}, 'no refresh-token'],
    [
      'refresh token refused',
      { refreshToken: 'rt-canary-0' },
      { token: () => refused },
      'answered 400 (invalid_grant: [redacted] is no longer active)',
    ],
    [
      'no ID token in the response',
      {},
      { token: () => json({ access_token: 'canary' }) },
      'log in with the scope "openid"',
    ],
    ['HTML instead of discovery', {}, { discovery: { status: 200, body: '<html>' } }, 'names no token_endpoint'],
    [
      'a token endpoint over plain HTTP',
      {},
      { discovery: json({ token_endpoint: 'http://idp.example/token' }) },
      'not https',
    ],
    [
      'a token endpoint on another host',
      {},
      { discovery: json({ token_endpoint: 'file:///etc/passwd' }) },
      'not https',
    ],
  ])('says what went wrong: %s', async (_name, provider, issuer, words) => {
    const { credentials } = setUp(provider, issuer)
    const message = await credentials.headers().then(() => 'no error', describeError)
    expect(message).toContain('OidcRefreshFailed: OIDC issuer of users[0].user.auth-provider in config')
    expect(message).toContain(words)
    expect(message).not.toContain('canary')
  })

  it('reports an unreachable or silent issuer', async () => {
    const clock = virtualClock(start)
    const provider = { issuerUrl, clientId: 'muster', refreshToken: 'rt', origin: 'config' }
    await expect(oidcCredentials(provider, { machine: memoryMachine(), clock }).headers()).rejects.toThrow(
      'idp.example could not be asked (ECONNREFUSED)',
    )
    const silent = memoryMachine({
      request: ({ signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    })
    const asked = oidcCredentials(provider, { machine: silent, clock }).headers()
    asked.catch(() => undefined)
    await clock.advance(30_000)
    await expect(asked).rejects.toThrow('no answer within 30 s')
  })

  it('works with a real issuer behind its own CA', async () => {
    const ca = makeCa()
    const fresh = jwt(start + hour, 'real')
    const server = createServer(
      ca.issue({ commonName: 'idp', ips: ['127.0.0.1'], server: true }),
      (request, response) => {
        const answer = request.method === 'GET' ? { token_endpoint: `${issuer}/token` } : { id_token: fresh }
        request.resume().once('end', () => response.end(JSON.stringify(answer)))
      },
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const provider = { issuerUrl: issuer, clientId: 'muster', refreshToken: 'rt', ca: ca.cert, origin: 'config' }
      const credentials = oidcCredentials(provider, { machine: systemMachine, clock: virtualClock(start) })
      expect(await subjectOf(credentials)).toBe('real')
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  })
})

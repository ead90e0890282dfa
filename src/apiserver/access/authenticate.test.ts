import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { createStorage } from '../storage/storage.ts'
import { type Authenticator, createAuthenticator, type Strangers } from './authenticate.ts'
import { claimsOf } from './service-account-token.ts'
import { createTokenIssuer } from './token-issuer.ts'

const tokens = new Map([['secret', { username: 'alice', uid: 'u', groups: ['developers'] }]])
const bearer = (token: string): { readonly authorization: string } => ({ authorization: `Bearer ${token}` })

function open(strangers: Strangers = 'administrator'): Authenticator {
  const issuer = createTokenIssuer({ issuer: 'https://issuer.example' })
  return createAuthenticator({ storage: createStorage(), issuer, tokens, strangers, now: () => 0 })
}

describe('a request without credentials', () => {
  it("is the administrator's in-process, and rejected over a listener", () => {
    expect(open().authenticate({}).username).toBe('kubernetes-admin')
    expect(() => open().authenticate({}, {})).toThrow('Unauthorized')
  })

  it('is anonymous where that is allowed, and rejected otherwise', () => {
    for (const peer of [undefined, {}]) {
      expect(open('anonymous').authenticate({}, peer).username).toBe('system:anonymous')
      expect(() => open('refused').authenticate({}, peer)).toThrow('Unauthorized')
    }
  })
})

describe('a request with invalid credentials', () => {
  it('is rejected, in-process and over a listener', () => {
    for (const strangers of ['administrator', 'anonymous', 'refused'] as const) {
      expect(() => open(strangers).authenticate(bearer('wrong'))).toThrow('Unauthorized')
      expect(() => open(strangers).authenticate({}, { certificate: 'unverified' })).toThrow('Unauthorized')
    }
  })

  it('gets an error that does not contain the token', () => {
    const authenticator = open()
    expect(JSON.stringify(authenticator.reviewToken('hidden-token', []))).not.toContain('hidden-token')
  })
})

describe('a certificate', () => {
  it('takes precedence over a token, and provides names and fingerprint', () => {
    const certificate = { commonName: 'carol', organizations: ['one'], fingerprint: 'abc' }
    const { username, groups, extra } = open().authenticate(bearer('secret'), { certificate })
    expect([username, groups]).toEqual(['carol', ['one', 'system:authenticated']])
    expect(extra.get('authentication.kubernetes.io/credential-id')).toEqual(['X509SHA256=abc'])
  })

  it('without a common name is rejected', () => {
    const certificate = { commonName: '', organizations: ['system:masters'], fingerprint: 'abc' }
    expect(() => open().authenticate({}, { certificate })).toThrow('Unauthorized')
  })
})

describe('a service account token', () => {
  it('is valid from its first second until a minute after its expiry', async () => {
    const clock = virtualClock()
    const storage = createStorage()
    const issuer = createTokenIssuer({ issuer: 'https://issuer.example' })
    const authenticator = createAuthenticator({
      storage,
      issuer,
      tokens,
      strangers: 'refused',
      now: () => clock.now(),
    })
    const metadata = { name: 'robot', namespace: 'a', uid: 'u-1' }
    storage.put('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata })
    const subject = { namespace: 'a', serviceaccount: { name: 'robot', uid: 'u-1' } }
    const terms = { audiences: [issuer.issuer], now: clock.now(), expiresIn: 600, id: 'x' }
    const token = issuer.sign(claimsOf(subject, terms))
    expect(authenticator.reviewToken(token, [])).toMatchObject({
      identity: { username: 'system:serviceaccount:a:robot', uid: 'u-1' },
    })
    const early = issuer.sign(claimsOf(subject, { ...terms, now: clock.now() + 61_000 }))
    expect(authenticator.reviewToken(early, [])).toMatchObject({
      error: expect.stringContaining('not valid yet') as string,
    })
    await clock.advance(659_000)
    expect(authenticator.reviewToken(token, [])).toHaveProperty('identity')
    await clock.advance(2000)
    expect(authenticator.reviewToken(token, [])).toMatchObject({
      error: expect.stringContaining('has expired') as string,
    })
  })
})

/** Authentication: tokens, anonymous requests, and the responses to invalid credentials. */
import { describe, expect, it } from 'vitest'
import { at, openServer } from './server.ts'

const server = openServer()
const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

/** `created` differs from run to run only in its time, which is masked. */
async function identityFor(authorization: string): Promise<unknown> {
  return server.masked(await server.call('POST', whoAmI, { body: {}, headers: { authorization } }))
}

describe('authentication', () => {
  it.each(['admin', 'alice', 'bob'] as const)('authenticates %s by a token', async (user) => {
    expect(server.masked(await server.as(user).call('POST', whoAmI, { body: {} }))).toMatchSnapshot('who')
  })

  it('accepts the scheme in any case, and spaces around the token', async () => {
    expect(await identityFor('bearer alice-token')).toMatchSnapshot('small letters')
    expect(await identityFor('Bearer alice-token ')).toMatchSnapshot('a space behind')
  })

  it.each([
    ['an unknown token', 'Bearer nobody-knows-it'],
    ['a token with a suffix', 'Bearer alice-tokenx'],
    ['an invalid JSON web token', 'Bearer eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2t1YmVybmV0ZXMuZGVmYXVsdC5zdmMifQ.'],
  ])('rejects %s', async (_what, authorization) => {
    const answer = await server.call('GET', '/api/v1/namespaces', { headers: { authorization } })
    expect(server.masked(answer)).toMatchSnapshot('refusal')
    expect((await server.call('GET', '/healthz', { headers: { authorization } })).status).toBe(401)
    expect((await server.call('GET', '/no/such/path', { headers: { authorization } })).status).toBe(401)
  })

  it.each([
    ['another scheme', 'Basic YWxpY2U6YWxpY2U='],
    ['no token', 'Bearer'],
    ['the token after a second space', 'Bearer  alice-token'],
    ['a token without a scheme', 'alice-token'],
  ])('treats %s as anonymous', async (_what, authorization) => {
    expect(
      server.masked(await server.call('GET', '/api/v1/namespaces', { headers: { authorization } })),
    ).toMatchSnapshot('stranger')
  })

  it('allows anonymous users health and version only', async () => {
    const headers = { authorization: '' }
    expect((await server.call('GET', '/healthz', { headers })).status).toBe(200)
    expect((await server.call('GET', '/readyz', { headers })).status).toBe(200)
    expect((await server.call('GET', '/version', { headers })).status).toBe(200)
    for (const path of ['/api', '/apis', '/openapi/v2', '/.well-known/openid-configuration', '/']) {
      expect(server.masked(await server.call('GET', path, { headers }))).toMatchSnapshot('refusal')
    }
    expect(server.masked(await server.call('POST', whoAmI, { body: {}, headers }))).toMatchSnapshot('who')
  })

  it('allows every authenticated user to discover the API', async () => {
    const bob = server.as('bob')
    for (const path of ['/api', '/apis', '/api/v1', '/apis/apps/v1', '/openapi/v3', '/version']) {
      expect([path, (await bob.call('GET', path)).status]).toEqual([path, 200])
    }
  })

  it('precedes every other check', async () => {
    const authorization = 'Bearer nobody-knows-it'
    const answer = await server.call('POST', '/api/v1/namespaces/nowhere/configmaps', {
      body: '{broken',
      headers: { authorization },
    })
    expect(at(answer.body, 'reason')).toBe('Unauthorized')
  })
})

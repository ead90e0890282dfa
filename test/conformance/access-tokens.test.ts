/** Tokens of service accounts: how they are asked for, what is in them, and when they end. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { type Answer, at, openServer } from './server.ts'

const server = openServer()
const authentication = '/apis/authentication.k8s.io/v1'

async function account(): Promise<{ readonly namespace: string; readonly path: string; readonly uid: string }> {
  const namespace = await server.namespace()
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
  const created = await server.must('POST', accounts, { body: { metadata: { name: 'robot' } } })
  return { namespace, path: `${accounts}/robot`, uid: at(created, 'metadata', 'uid') as string }
}

async function tokenOf(path: string, spec: Json = {}): Promise<string> {
  return at(await server.must('POST', `${path}/token`, { body: { spec } }), 'status', 'token') as string
}

/** The token is the one thing that differs each time and is not masked. */
function shown(answer: Answer): unknown {
  const { status, body } = server.masked(answer)
  const token = at(body, 'status', 'token')
  if (token === undefined) return { status, body }
  return {
    status,
    body: { ...(body as JsonObject), status: { ...(at(body, 'status') as JsonObject), token: typeof token } },
  }
}

function claimsIn(token: string): JsonObject {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as JsonObject
}

async function whoIs(token: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}` }
  return await server.call('POST', `${authentication}/selfsubjectreviews`, { body: {}, headers })
}

/** For a token that no request has used yet: a real server caches for a while that a token is valid. */
async function untilRefused(token: string): Promise<void> {
  while ((await whoIs(token)).status !== 401) await new Promise((resolve) => setImmediate(resolve))
}

async function reviewed(token: string, audiences?: readonly string[]): Promise<unknown> {
  const spec = { token, ...(audiences && { audiences }) }
  const { status, body } = server.masked(
    await server.call('POST', `${authentication}/tokenreviews`, { body: { spec } }),
  )
  return { status, answer: at(body, 'status') }
}

describe('a token request', () => {
  it.each([
    ['an empty body', {}],
    ['its kind only', { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1' }],
    ['audiences', { spec: { audiences: ['a', 'b'] } }],
    ['a duration', { spec: { expirationSeconds: 7200 } }],
    ['too short a duration', { spec: { expirationSeconds: 599 } }],
    ['too long a duration', { spec: { expirationSeconds: 4_294_967_297 } }],
    ['another name', { metadata: { name: 'other' } }],
    ['another namespace', { metadata: { namespace: 'other' } }],
    ['another uid', { metadata: { uid: 'other' } }],
    ['a missing pod', { spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p' } } }],
    ['a missing node', { spec: { boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 'no-such-node' } } }],
    [
      'a kind that tokens cannot be bound to',
      { spec: { boundObjectRef: { kind: 'ConfigMap', apiVersion: 'v1', name: 'p' } } },
    ],
    ['a custom resource', { spec: { boundObjectRef: { kind: 'Thing', apiVersion: 'example.com/v1', name: 'p' } } }],
    ['attestations', { spec: { attestations: { a: ['b'] } } }],
  ])('with %s', async (_what, body) => {
    const { path } = await account()
    expect(shown(await server.call('POST', `${path}/token`, { body }))).toMatchSnapshot()
  })

  it('for a missing service account is rejected', async () => {
    const { namespace } = await account()
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/nobody/token`
    expect(server.masked(await server.call('POST', path, { body: {} }))).toMatchSnapshot()
  })

  it('supports create only', async () => {
    const { path } = await account()
    expect((await server.call('GET', `${path}/token`)).status).toBe(405)
    expect(server.masked(await server.as('bob').call('POST', `${path}/token`, { body: {} }))).toMatchSnapshot()
  })
})

describe('a token', () => {
  it('names its subject, audience and expiry', async () => {
    const { path } = await account()
    const { exp, iat, nbf, jti, ...claims } = claimsIn(await tokenOf(path, { expirationSeconds: 1200 }))
    expect(server.maskedJson(claims)).toMatchSnapshot()
    expect(exp).toBe(Number(iat) + 1200)
    expect(nbf).toBe(iat)
    expect(jti).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('authenticates its service account', async () => {
    const { path } = await account()
    const token = await tokenOf(path)
    expect(server.masked(await whoIs(token))).toMatchSnapshot('who')
    expect(await reviewed(token)).toMatchSnapshot('review')
    const headers = { authorization: `Bearer ${token}` }
    expect(server.masked(await server.call('GET', '/api/v1/pods', { headers }))).toMatchSnapshot('refusal')
  })

  it('for another audience is valid there only', async () => {
    const { path } = await account()
    const token = await tokenOf(path, { audiences: ['vault', 'other'] })
    expect((await whoIs(token)).status).toBe(401)
    expect(await reviewed(token)).toMatchSnapshot('here')
    expect(await reviewed(token, ['vault', 'third'])).toMatchSnapshot('there')
  })

  it('with any change is invalid', async () => {
    const { path, uid } = await account()
    const [head = '', body = '', signature = ''] = (await tokenOf(path)).split('.')
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = claimsIn(`.${body}`)
    const forged = [
      [head, encode({ ...claims, sub: 'system:serviceaccount:kube-system:robot' }), signature],
      [encode({ alg: 'none' }), body, ''],
      [encode({ alg: 'HS256' }), body, signature],
      [head, body, signature.split('').toReversed().join('')],
      [head, body, ''],
      [
        head,
        encode({ iss: claims['iss'], sub: 'x', 'kubernetes.io': { serviceaccount: { name: 'robot', uid } } }),
        signature,
      ],
    ]
    for (const parts of forged) expect((await whoIs(parts.join('.'))).status).toBe(401)
  })

  it('ends with its account, and is not valid for a new account of the same name', async () => {
    const { namespace, path } = await account()
    expect((await whoIs(await tokenOf(path))).status).toBe(201)
    const token = await tokenOf(path)
    await server.must('DELETE', path)
    await untilRefused(token)
    await server.must('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      body: { metadata: { name: 'robot' } },
    })
    expect((await whoIs(token)).status).toBe(401)
  })

  it('ends with the Secret it is bound to', async () => {
    const { namespace, path } = await account()
    const secrets = `/api/v1/namespaces/${namespace}/secrets`
    await server.must('POST', secrets, { body: { metadata: { name: 'anchor' } } })
    const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: 'anchor' }
    const wrong = await server.call('POST', `${path}/token`, {
      body: { spec: { boundObjectRef: { ...boundObjectRef, uid: 'u' } } },
    })
    expect(server.masked(wrong)).toMatchSnapshot('another uid')
    const token = await tokenOf(path, { boundObjectRef })
    expect(server.maskedJson(claimsIn(token)['kubernetes.io']!)).toMatchSnapshot('claims')
    expect(server.masked(await whoIs(await tokenOf(path, { boundObjectRef })))).toMatchSnapshot('who')
    await server.must('DELETE', `${secrets}/anchor`)
    await untilRefused(token)
    expect(await reviewed(token)).toMatchSnapshot('review')
  })

  it('bound to a pod names it, and ends with it', async () => {
    const { namespace, path } = await account()
    const pods = `/api/v1/namespaces/${namespace}/pods`
    const spec = { serviceAccountName: 'robot', containers: [{ name: 'a', image: 'a' }], nodeName: 'far-away' }
    await server.must('POST', pods, { body: { metadata: { name: 'worker' }, spec } })
    await server.must('POST', pods, {
      body: { metadata: { name: 'other' }, spec: { ...spec, serviceAccountName: 'nobody' } },
    })
    const ref = (name: string): JsonObject => ({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name } })
    expect(shown(await server.call('POST', `${path}/token`, { body: { spec: ref('other') } }))).toMatchSnapshot(
      'another account',
    )
    const token = await tokenOf(path, ref('worker'))
    expect(server.maskedJson(claimsIn(token)['kubernetes.io']!)).toMatchSnapshot('claims')
    expect(server.masked(await whoIs(await tokenOf(path, ref('worker'))))).toMatchSnapshot('who')
    await server.must('DELETE', `${pods}/worker`, { query: { gracePeriodSeconds: '0' } })
    await untilRefused(token)
  })

  it('requested by a kubelet is valid longer than it states', async () => {
    const { namespace, path } = await account()
    const spec = { serviceAccountName: 'robot', containers: [{ name: 'a', image: 'a' }] }
    await server.must('POST', `/api/v1/namespaces/${namespace}/pods`, { body: { metadata: { name: 'worker' }, spec } })
    const token = await tokenOf(path, {
      expirationSeconds: 3607,
      boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'worker' },
    })
    const { exp, iat, 'kubernetes.io': own } = claimsIn(token)
    expect(Number(exp) - Number(iat)).toBe(365 * 24 * 3600)
    expect(Number(at(own, 'warnafter')) - Number(iat)).toBe(3607)
  })
})

describe('the issuer of tokens', () => {
  it('documents its signing algorithms', async () => {
    const { body, headers } = await server.call('GET', '/.well-known/openid-configuration')
    expect({ ...(body as JsonObject), jwks_uri: new URL(at(body, 'jwks_uri') as string).pathname }).toMatchSnapshot()
    expect(headers['cache-control']).toBe('public, max-age=3600')
    expect(headers['content-type']).toBe('application/json')
  })

  it('publishes the public key that verifies them', async () => {
    expect((await server.call('GET', '/openid/v1/jwks')).headers['content-type']).toBe('application/json')
    const { headers, body } = await server.call('GET', '/openid/v1/jwks', { accept: '*/*' })
    expect(headers['content-type']).toBe('application/jwk-set+json')
    const { keys } = JSON.parse(typeof body === 'string' ? body : JSON.stringify(body)) as { keys: JsonObject[] }
    expect(keys.map(({ x: _x, y: _y, kid: _kid, ...rest }) => rest)).toMatchSnapshot()
    const { createPublicKey, verify } = await import('node:crypto')
    const { path } = await account()
    const [head = '', claims = '', signature = ''] = (await tokenOf(path)).split('.')
    const key = createPublicKey({ key: keys[0]!, format: 'jwk' })
    const isGood = verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      { key, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    )
    expect(isGood).toBe(true)
    expect((JSON.parse(Buffer.from(head, 'base64url').toString()) as JsonObject)['kid']).toBe(keys[0]!['kid'])
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { type ApiServer, createApiServer } from '../server/api-server.ts'
import { parseTarget } from './request-target.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const admin = { authorization: 'Bearer admin-token', 'content-type': 'application/json' }
const bob = { authorization: 'Bearer bob-token' }

/** Four Secrets, of which bob may read one: `mine` in the namespace `one`. He may also read every non-resource path. */
async function guarded(): Promise<ApiServer> {
  const tokens = new Map([
    ['admin-token', { username: 'admin', groups: ['system:masters'] }],
    ['bob-token', { username: 'bob' }],
  ])
  const server = createApiServer({ clock: virtualClock(), access: { tokens, strangers: 'refused' } })
  const post = async (path: string, body: object): Promise<void> => {
    const { status } = await server.handle({ method: 'POST', path, headers: admin, body: JSON.stringify(body) })
    expect(status).toBe(201)
  }
  for (const namespace of ['one', 'two']) {
    await post('/api/v1/namespaces', { metadata: { name: namespace } })
    for (const name of ['mine', 'other']) {
      const stringData = { is: `${namespace}-${name}` }
      await post(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name }, stringData })
    }
  }
  const rules = [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'] }]
  await post(`${rbac}/namespaces/one/roles`, { metadata: { name: 'reader' }, rules })
  await post(`${rbac}/namespaces/one/rolebindings`, {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ kind: 'User', name: 'bob', apiGroup: 'rbac.authorization.k8s.io' }],
  })
  const paths = [{ verbs: ['get'], nonResourceURLs: ['*'] }]
  await post(`${rbac}/clusterroles`, { metadata: { name: 'paths' }, rules: paths })
  await post(`${rbac}/clusterrolebindings`, {
    metadata: { name: 'paths' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'paths' },
    subjects: [{ kind: 'User', name: 'bob', apiGroup: 'rbac.authorization.k8s.io' }],
  })
  return server
}

async function ask(
  server: ApiServer,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string }> {
  const { status, whole } = await server.handle({ method: 'GET', path, headers })
  return { status, text: Buffer.from(whole ?? []).toString() }
}

describe('a request target', () => {
  it.each([
    '*/api/v1/secrets',
    'x/api/v1/secrets',
    'api/v1/secrets',
    '',
    '?watch=1',
    '\\api\\v1\\secrets',
    ' /api/v1/secrets',
    'http:api/v1/secrets',
    'http://x y/api/v1/secrets',
    '/api/v1/secrets/%zz',
    '/api/v1/secrets/%2',
    '/api/v1/\0secrets',
  ])('%j is rejected for every user', async (target) => {
    const server = await guarded()
    for (const headers of [{}, bob, admin]) expect(await ask(server, target, headers)).toMatchObject({ status: 400 })
    const inside = await server.cluster('').handle({ method: 'GET', path: target, headers: admin })
    expect(inside.status).toBe(400)
  })

  it.each([
    ['/api/v1/namespaces/one%2Fsecrets/mine', 'one-mine'],
    ['/api/v1/%6eamespaces/one/%73ecrets/mine?x=1', 'one-mine'],
    ['https://127.0.0.1:6443/api/v1/namespaces/one/secrets/mine', 'one-mine'],
    ['/api/v1/namespaces/one/secrets/mine/', 'one-mine'],
  ])('%j is decoded before it is routed', async (target, found) => {
    const { status, text } = await ask(await guarded(), target, bob)
    expect([status, text]).toEqual([200, expect.stringContaining(Buffer.from(found).toString('base64'))])
  })

  it('names its logical cluster, however the path is spelled', () => {
    const shown = (text: string): unknown => {
      const { cluster, path } = parseTarget(text)!
      return [cluster, path]
    }
    expect(shown('/clusters/blue/api?x')).toEqual(['blue', '/api'])
    expect(shown('/clusters/blue')).toEqual(['blue', '/'])
    expect(shown('/clusters%2Fblue%2Fapi')).toEqual(['blue', '/api'])
    expect(shown('/clusters//api')).toEqual(['', '/clusters//api'])
    expect(shown('//clusters/blue/api')).toEqual(['', '//clusters/blue/api'])
  })

  it('never leads to another object than the authorized one', async () => {
    const server = await guarded()
    const word = fc.constantFrom(
      ...'api v1 apis namespaces one two secrets mine other status finalize watch proxy . .. clusters'.split(' '),
      ...'%2e%2e one%2Fsecrets %73ecrets mine%2F %2Fother %00'.split(' '),
      '',
    )
    const mine = fc.constantFrom('mine', '%6dine')
    // Most random words name nothing, so half of the targets begin like that of a Secret.
    const path = fc.oneof(
      fc.array(word, { maxLength: 8 }).map((words) => words.join('/')),
      fc
        .tuple(fc.constantFrom('api/v1', 'api//v1', 'api/v1/watch'), fc.array(word, { maxLength: 5 }))
        .map(([start, words]) => [start, 'namespaces', ...words].join('/')),
      fc
        .tuple(fc.constantFrom('one', 'one', 'two', '', '..'), fc.constantFrom('/', '%2F', '//'), fc.oneof(word, mine))
        .map(([namespace, slash, name]) => `api/v1/namespaces/${namespace}/secrets${slash}${name}`),
    )
    const start = fc.constantFrom(
      '/',
      '/',
      '/',
      '/',
      '*/',
      'x/',
      '//',
      '',
      'http://h/',
      '/%2F',
      '/./',
      '/clusters/one/',
    )
    const query = fc.constantFrom(
      '',
      '?',
      '?watch=0',
      '?fieldSelector=metadata.name%3Dmine',
      '?name=mine',
      '/?',
      '%3Fx',
    )
    const count = { served: 0 }
    await fc.assert(
      fc.asyncProperty(start, path, query, async (before, middle, after) => {
        const { status, text } = await ask(server, before + middle + after, bob)
        if (status === 200 && text.includes('"kind":"Secret')) count.served++
        for (const secret of ['one-other', 'two-mine', 'two-other']) {
          expect(text).not.toContain(Buffer.from(secret).toString('base64'))
        }
      }),
      { numRuns: 3000, seed: 13 },
    )
    // Otherwise the test would prove nothing.
    expect(count.served).toBeGreaterThan(10)
  })
})

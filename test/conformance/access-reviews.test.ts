/** Reviews: may I, may they, what may I, whose is this token. */
import { describe, expect, it } from 'vitest'
import { at, openServer, type User } from './server.ts'

const server = openServer()
const access = '/apis/authorization.k8s.io/v1'
const authentication = '/apis/authentication.k8s.io/v1'

describe('a SelfSubjectAccessReview', () => {
  it.each([
    ['admin', { resourceAttributes: { verb: 'delete', resource: 'nodes' } }],
    ['bob', { resourceAttributes: { verb: 'list', resource: 'pods', namespace: 'default' } }],
    ['bob', { resourceAttributes: { verb: '*', group: '*', resource: '*' } }],
    ['bob', { resourceAttributes: {} }],
    ['bob', { nonResourceAttributes: { path: '/api', verb: 'get' } }],
    ['bob', { nonResourceAttributes: { path: '/api/anything/below', verb: 'get' } }],
    ['bob', { nonResourceAttributes: { path: '/metrics', verb: 'get' } }],
    [
      'bob',
      { resourceAttributes: { verb: 'create', group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' } },
    ],
    ['bob', { resourceAttributes: { verb: 'get' }, nonResourceAttributes: { path: '/x', verb: 'get' } }],
    ['bob', {}],
  ] as const)('by %s of %j', async (user, spec) => {
    const answer = await server.as(user).call('POST', `${access}/selfsubjectaccessreviews`, { body: { spec } })
    expect(server.masked(answer)).toMatchSnapshot()
  })

  it('without a spec is rejected, and so is one with a name', async () => {
    const path = `${access}/selfsubjectaccessreviews`
    expect(server.masked(await server.call('POST', path, { body: {} }))).toMatchSnapshot('nothing')
    const kind = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1' }
    expect(server.masked(await server.call('POST', path, { body: { ...kind, spec: {} } }))).toMatchSnapshot(
      'an empty spec',
    )
  })

  it('cannot be read, listed or deleted', async () => {
    const path = `${access}/selfsubjectaccessreviews`
    expect(server.masked(await server.call('GET', path))).toMatchSnapshot()
    expect((await server.call('DELETE', path)).status).toBe(405)
  })
})

describe('a SubjectAccessReview', () => {
  const pods = { verb: 'list', resource: 'pods', namespace: 'default' }
  it.each([
    ['a user', { user: 'bob', resourceAttributes: pods }],
    ['a group', { groups: ['system:masters'], resourceAttributes: pods }],
    ['an unknown user', { user: 'nobody-at-all', uid: 'u', extra: { k: ['v'] }, resourceAttributes: pods }],
    ['a path', { groups: ['system:unauthenticated'], nonResourceAttributes: { path: '/healthz', verb: 'get' } }],
    ['nobody', { resourceAttributes: pods }],
    ['nothing', { user: 'bob' }],
    ['everything', {}],
    ['an empty selector', { user: 'bob', resourceAttributes: { ...pods, fieldSelector: {}, labelSelector: {} } }],
    ['a selector', { user: 'bob', resourceAttributes: { ...pods, labelSelector: { rawSelector: 'a=b' } } }],
  ])('for %s', async (_what, spec) => {
    const answer = await server.call('POST', `${access}/subjectaccessreviews`, {
      body: { spec, status: { allowed: true } },
    })
    expect(server.masked(answer)).toMatchSnapshot('answer')
  })

  it('requires permission', async () => {
    const body = { spec: { user: 'bob', resourceAttributes: pods } }
    expect(
      server.masked(await server.as('bob').call('POST', `${access}/subjectaccessreviews`, { body })),
    ).toMatchSnapshot()
  })

  it.each([
    ['its own namespace', { user: 'bob', resourceAttributes: pods }],
    ['another namespace', { user: 'bob', resourceAttributes: { ...pods, namespace: 'kube-system' } }],
    ['all namespaces', { user: 'bob', resourceAttributes: { verb: 'list', resource: 'pods' } }],
    ['a path', { user: 'bob', nonResourceAttributes: { path: '/x', verb: 'get' } }],
  ])('in one namespace, for %s', async (_what, spec) => {
    const path = `${access}/namespaces/default/localsubjectaccessreviews`
    expect(server.masked(await server.call('POST', path, { body: { spec } }))).toMatchSnapshot('answer')
  })

  it('does not require an existing namespace', async () => {
    const path = `${access}/namespaces/nowhere-at-all/localsubjectaccessreviews`
    const spec = { user: 'bob', resourceAttributes: { ...pods, namespace: 'nowhere-at-all' } }
    expect(server.masked(await server.call('POST', path, { body: { spec } }))).toMatchSnapshot()
  })
})

describe('a SelfSubjectRulesReview', () => {
  it.each(['bob', 'admin'] as const)('lists all permissions of %s', async (user: User) => {
    const answer = await server
      .as(user)
      .call('POST', `${access}/selfsubjectrulesreviews`, { body: { spec: { namespace: 'default' } } })
    const { status, body } = server.masked(answer)
    const sorted = (name: string): unknown =>
      (at(body, 'status', name) as readonly unknown[]).map((rule) => JSON.stringify(rule)).toSorted()
    // Bindings come in the order of a map.
    expect({
      status,
      resources: sorted('resourceRules'),
      paths: sorted('nonResourceRules'),
      spec: at(body, 'spec'),
    }).toMatchSnapshot()
  })

  it('requires a namespace', async () => {
    expect(
      server.masked(await server.call('POST', `${access}/selfsubjectrulesreviews`, { body: { spec: {} } })),
    ).toMatchSnapshot()
  })
})

describe('a TokenReview', () => {
  it.each([
    ['a known token', { token: 'alice-token' }],
    ['an unknown token', { token: 'nobody-knows-it' }],
    ['a token for this server', { token: 'bob-token', audiences: ['https://kubernetes.default.svc', 'other'] }],
    ['a token for another audience', { token: 'bob-token', audiences: ['other'] }],
    ['none', {}],
  ])('of %s', async (_what, spec) => {
    expect(
      server.masked(await server.call('POST', `${authentication}/tokenreviews`, { body: { spec } })),
    ).toMatchSnapshot()
  })

  it('requires permission', async () => {
    const answer = await server
      .as('alice')
      .call('POST', `${authentication}/tokenreviews`, { body: { spec: { token: 'x' } } })
    expect(server.masked(answer)).toMatchSnapshot()
  })
})

describe('a SelfSubjectReview', () => {
  it('returns the user, whatever the request contains', async () => {
    const path = `${authentication}/selfsubjectreviews`
    const body = { metadata: { name: 'x', labels: { a: 'b' } }, status: { userInfo: { username: 'root' } } }
    expect(server.masked(await server.as('alice').call('POST', path, { body }))).toMatchSnapshot()
  })
})

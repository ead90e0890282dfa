/** Reviews: may I, may they, what may I, whose is this token. */
import { describe, expect, it } from 'vitest'
import { at, openServer, type User } from './server.ts'

const server = openServer()
const access = '/apis/authorization.k8s.io/v1'
const authentication = '/apis/authentication.k8s.io/v1'

describe('an access review of oneself', () => {
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

  it('without a spec is refused, and so is one with a name', async () => {
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

describe('an access review of somebody', () => {
  const pods = { verb: 'list', resource: 'pods', namespace: 'default' }
  it.each([
    ['a user', { user: 'bob', resourceAttributes: pods }],
    ['a group', { groups: ['system:masters'], resourceAttributes: pods }],
    ['somebody who does not exist', { user: 'nobody-at-all', uid: 'u', extra: { k: ['v'] }, resourceAttributes: pods }],
    ['a path', { groups: ['system:unauthenticated'], nonResourceAttributes: { path: '/healthz', verb: 'get' } }],
    ['nobody', { resourceAttributes: pods }],
    ['nothing', { user: 'bob' }],
    ['everything', {}],
    ['an empty selector', { user: 'bob', resourceAttributes: { ...pods, fieldSelector: {}, labelSelector: {} } }],
    ['a selector', { user: 'bob', resourceAttributes: { ...pods, labelSelector: { rawSelector: 'a=b' } } }],
  ])('about %s', async (_what, spec) => {
    const answer = await server.call('POST', `${access}/subjectaccessreviews`, {
      body: { spec, status: { allowed: true } },
    })
    expect(server.masked(answer)).toMatchSnapshot('answer')
  })

  it('is for those who may ask', async () => {
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
  ])('in one namespace, about %s', async (_what, spec) => {
    const path = `${access}/namespaces/default/localsubjectaccessreviews`
    expect(server.masked(await server.call('POST', path, { body: { spec } }))).toMatchSnapshot('answer')
  })

  it('needs no namespace to be there', async () => {
    const path = `${access}/namespaces/nowhere-at-all/localsubjectaccessreviews`
    const spec = { user: 'bob', resourceAttributes: { ...pods, namespace: 'nowhere-at-all' } }
    expect(server.masked(await server.call('POST', path, { body: { spec } }))).toMatchSnapshot()
  })
})

describe('a review of rules', () => {
  it.each(['bob', 'admin'] as const)('shows all that %s holds', async (user: User) => {
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

  it('needs a namespace', async () => {
    expect(
      server.masked(await server.call('POST', `${access}/selfsubjectrulesreviews`, { body: { spec: {} } })),
    ).toMatchSnapshot()
  })
})

describe('a review of a token', () => {
  it.each([
    ['a known one', { token: 'alice-token' }],
    ['an unknown one', { token: 'nobody-knows-it' }],
    ['one for this server', { token: 'bob-token', audiences: ['https://kubernetes.default.svc', 'other'] }],
    ['one for somebody else', { token: 'bob-token', audiences: ['other'] }],
    ['none', {}],
  ])('of %s', async (_what, spec) => {
    expect(
      server.masked(await server.call('POST', `${authentication}/tokenreviews`, { body: { spec } })),
    ).toMatchSnapshot()
  })

  it('is for those who may ask', async () => {
    const answer = await server
      .as('alice')
      .call('POST', `${authentication}/tokenreviews`, { body: { spec: { token: 'x' } } })
    expect(server.masked(answer)).toMatchSnapshot()
  })
})

describe('a review of oneself', () => {
  it('says who one is, whatever is asked', async () => {
    const path = `${authentication}/selfsubjectreviews`
    const body = { metadata: { name: 'x', labels: { a: 'b' } }, status: { userInfo: { username: 'root' } } }
    expect(server.masked(await server.as('alice').call('POST', path, { body }))).toMatchSnapshot()
  })
})

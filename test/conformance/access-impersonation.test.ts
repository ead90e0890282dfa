/** Impersonation: its headers, the permission for it, and the resulting identity. */
import { describe, expect, it } from 'vitest'
import { type Answer, openServer, type User } from './server.ts'

const server = openServer()
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

type Headers = Readonly<Record<string, string>>

async function whoIs(user: User, headers: Headers): Promise<Answer> {
  return await server.as(user).call('POST', whoAmI, { body: {}, headers })
}

async function grant(user: User, rules: readonly object[]): Promise<void> {
  const name = server.unique('impersonator')
  await server.must('POST', `${rbac}/clusterroles`, { body: { metadata: { name }, rules } })
  server.cleanUp(`${rbac}/clusterroles/${name}`)
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }]
  await server.must('POST', `${rbac}/clusterrolebindings`, { body: { metadata: { name }, roleRef, subjects } })
  server.cleanUp(`${rbac}/clusterrolebindings/${name}`)
}

/** A new role takes a moment to be known. */
async function untilAllowed(user: User, headers: Headers): Promise<Answer> {
  for (;;) {
    const answer = await whoIs(user, headers)
    if (answer.status !== 403) return answer
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('an administrator', () => {
  it.each([
    ['a user', { 'impersonate-user': 'carol' }],
    ['a user of a group', { 'impersonate-user': 'carol', 'impersonate-group': 'testers' }],
    ['a user with a uid', { 'impersonate-user': 'carol', 'impersonate-uid': 'u-carol' }],
    [
      'a user with extras',
      {
        'impersonate-user': 'carol',
        'impersonate-extra-scopes': 'view',
        'impersonate-extra-example.com%2Fteam': 'red',
      },
    ],
    ['a service account', { 'impersonate-user': 'system:serviceaccount:default:robot' }],
    [
      'a service account of another group',
      { 'impersonate-user': 'system:serviceaccount:default:robot', 'impersonate-group': 'testers' },
    ],
    ['an invalid service account', { 'impersonate-user': 'system:serviceaccount:default:robot:more' }],
    // Not a node: whether it is in group system:nodes depends on what the same requester did before.
    ['nobody', { 'impersonate-user': 'system:anonymous' }],
    ['an unauthenticated user', { 'impersonate-user': 'carol', 'impersonate-group': 'system:unauthenticated' }],
    ['an authenticated user', { 'impersonate-user': 'carol', 'impersonate-group': 'system:authenticated' }],
    ['an administrator', { 'impersonate-user': 'carol', 'impersonate-group': 'system:masters' }],
    ['a group alone', { 'impersonate-group': 'testers' }],
    ['a uid alone', { 'impersonate-uid': 'u-carol' }],
    ['an extra alone', { 'impersonate-extra-scopes': 'view' }],
  ])('may impersonate %s', async (_what, headers) => {
    expect(server.masked(await whoIs('admin', headers))).toMatchSnapshot()
  })

  it('has the permissions of the impersonated user, and no others', async () => {
    const headers = { 'impersonate-user': 'bob' }
    expect(server.masked(await server.call('GET', '/api/v1/secrets', { headers }))).toMatchSnapshot()
    expect((await server.call('GET', '/api', { headers })).status).toBe(200)
  })
})

describe('another user', () => {
  it.each([
    ['a user', { 'impersonate-user': 'carol' }],
    ['an administrator', { 'impersonate-user': 'carol', 'impersonate-group': 'system:masters' }],
    ['a service account', { 'impersonate-user': 'system:serviceaccount:default:robot' }],
    [
      'a service account of a group',
      { 'impersonate-user': 'system:serviceaccount:default:robot', 'impersonate-group': 'g' },
    ],
    ['a node', { 'impersonate-user': 'system:node:n1' }],
    ['itself', { 'impersonate-user': 'bob' }],
  ])('may not impersonate %s', async (_what, headers) => {
    expect(server.masked(await server.as('bob').call('GET', '/api/v1/pods', { headers }))).toMatchSnapshot()
  })

  it('may impersonate the users that a role names', async () => {
    const name = server.unique('carol')
    await grant('alice', [
      { apiGroups: [''], resources: ['users'], resourceNames: [name], verbs: ['impersonate'] },
      { apiGroups: [''], resources: ['groups'], resourceNames: ['testers'], verbs: ['impersonate'] },
      { apiGroups: ['authentication.k8s.io'], resources: ['uids'], resourceNames: ['u-1'], verbs: ['impersonate'] },
      {
        apiGroups: ['authentication.k8s.io'],
        resources: ['userextras/scopes'],
        resourceNames: ['view'],
        verbs: ['impersonate'],
      },
    ])
    const user = { 'impersonate-user': name }
    const all = {
      ...user,
      'impersonate-group': 'testers',
      'impersonate-uid': 'u-1',
      'impersonate-extra-scopes': 'view',
    }
    expect(server.masked(await untilAllowed('alice', all))).toMatchSnapshot()
    for (const more of [
      { 'impersonate-group': 'others' },
      { 'impersonate-uid': 'u-2' },
      { 'impersonate-extra-scopes': 'edit' },
      { 'impersonate-extra-other': 'view' },
    ]) {
      expect((await whoIs('alice', { ...user, ...more })).status).toBe(403)
    }
    expect((await whoIs('alice', { 'impersonate-user': `${name}x` })).status).toBe(403)
    expect((await whoIs('bob', user)).status).toBe(403)
  })

  it('may impersonate a service account of one namespace', async () => {
    const namespace = await server.namespace()
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'as-robot' }
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }]
    const rules = [
      { apiGroups: [''], resources: ['serviceaccounts'], resourceNames: ['robot'], verbs: ['impersonate'] },
    ]
    const path = `${rbac}/namespaces/${namespace}`
    await server.must('POST', `${path}/roles`, { body: { metadata: { name: 'as-robot' }, rules } })
    await server.must('POST', `${path}/rolebindings`, { body: { metadata: { name: 'as-robot' }, roleRef, subjects } })
    const robot = { 'impersonate-user': `system:serviceaccount:${namespace}:robot` }
    expect(server.masked(await untilAllowed('bob', robot))).toMatchSnapshot()
    expect((await whoIs('bob', { 'impersonate-user': `system:serviceaccount:${namespace}:other` })).status).toBe(403)
    expect((await whoIs('bob', { 'impersonate-user': 'system:serviceaccount:default:robot' })).status).toBe(403)
  })

  it('may impersonate a user for some requests only', async () => {
    const name = server.unique('dave')
    await grant('bob', [
      {
        apiGroups: ['authentication.k8s.io'],
        resources: ['users'],
        resourceNames: [name],
        verbs: ['impersonate:user-info'],
      },
      {
        apiGroups: ['authentication.k8s.io'],
        resources: ['selfsubjectreviews'],
        verbs: ['impersonate-on:user-info:create'],
      },
    ])
    const headers = { 'impersonate-user': name }
    expect(server.masked(await untilAllowed('bob', headers))).toMatchSnapshot('for one')
    expect(server.masked(await server.as('bob').call('GET', '/api/v1/pods', { headers }))).toMatchSnapshot(
      'for another',
    )
    const withGroup = { ...headers, 'impersonate-group': 'testers' }
    expect(server.masked(await whoIs('bob', withGroup))).toMatchSnapshot('with a group')
    const asMaster = { ...headers, 'impersonate-group': 'system:masters' }
    expect(server.masked(await whoIs('bob', asMaster))).toMatchSnapshot('as an administrator')
  })
})

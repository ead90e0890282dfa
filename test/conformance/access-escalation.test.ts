/** Privilege escalation: a user grants no permission that the user does not have. */
import { describe, expect, it } from 'vitest'
import { openServer } from './server.ts'

const server = openServer()
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const apiGroup = 'rbac.authorization.k8s.io'

const podReader = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }
const manager = { apiGroups: [apiGroup], resources: ['roles', 'rolebindings'], verbs: ['*'] }

/** A namespace in which alice may write roles and bindings, read pods, and hold whatever else is said. */
async function managed(...more: readonly object[]): Promise<string> {
  const namespace = await server.namespace()
  const name = 'manager'
  const path = `${rbac}/namespaces/${namespace}`
  const { verbs: _all, ...things } = manager
  const rules = [{ ...things, verbs: ['get', 'list', 'create', 'update', 'patch', 'delete'] }, podReader, ...more]
  await server.must('POST', `${path}/roles`, { body: { metadata: { name }, rules } })
  const subjects = [{ kind: 'User', apiGroup, name: 'alice' }]
  const roleRef = { apiGroup, kind: 'Role', name }
  await server.must('POST', `${path}/rolebindings`, { body: { metadata: { name }, roleRef, subjects } })
  await server.as('alice').until(`${path}/roles`, ({ status }) => status === 200)
  return path
}

describe('a role', () => {
  it.each([
    ['with the permissions of its author', [podReader]],
    ['with fewer permissions', [{ apiGroups: [''], resources: ['pods'], resourceNames: ['one'], verbs: ['get'] }]],
    ['with more verbs', [{ ...podReader, verbs: ['get', 'delete', 'watch'] }]],
    ['with more resources', [{ ...podReader, resources: ['pods', 'pods/log', 'secrets'] }]],
    ['with all verbs', [{ ...podReader, verbs: ['*'] }]],
    ['with all permissions', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]],
    [
      'with resource names',
      [{ apiGroups: ['', 'apps'], resources: ['secrets'], resourceNames: ['a', 'b'], verbs: ['get'] }],
    ],
  ])('%s', async (_what, rules) => {
    const path = await managed()
    const answer = await server
      .as('alice')
      .call('POST', `${path}/roles`, { body: { metadata: { name: 'new' }, rules } })
    expect(server.masked(answer)).toMatchSnapshot()
  })

  it('cannot grow beyond the permissions of its author, in any form', async () => {
    const path = await managed()
    const alice = server.as('alice')
    await alice.must('POST', `${path}/roles`, { body: { metadata: { name: 'new' }, rules: [podReader] } })
    const rules = [podReader, { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]
    expect(
      server.masked(await alice.call('PUT', `${path}/roles/new`, { body: { metadata: { name: 'new' }, rules } })),
    ).toMatchSnapshot('by an update')
    const type = 'application/merge-patch+json'
    expect(server.masked(await alice.call('PATCH', `${path}/roles/new`, { type, body: { rules } }))).toMatchSnapshot(
      'by a patch',
    )
    const apply = { apiVersion: `${apiGroup}/v1`, kind: 'Role', metadata: { name: 'new' }, rules }
    const applied = await alice.call('PATCH', `${path}/roles/new`, {
      type: 'application/apply-patch+yaml',
      body: apply,
      query: { fieldManager: 'alice', force: 'true' },
    })
    expect(applied.status).toBe(403)
    expect(
      (await alice.call('POST', `${path}/roles?dryRun=All`, { body: { metadata: { name: 'dry' }, rules } })).status,
    ).toBe(403)
  })

  it('with more permissions may lose its finalizers to a user with fewer, and nothing else', async () => {
    const path = await managed()
    const alice = server.as('alice')
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]
    await server.must('POST', `${path}/roles`, {
      body: { metadata: { name: 'big', finalizers: ['example.com/hold'] }, rules },
    })
    const type = 'application/merge-patch+json'
    expect(
      (await alice.call('PATCH', `${path}/roles/big`, { type, body: { metadata: { labels: { a: 'b' } } } })).status,
    ).toBe(403)
    expect(
      (await alice.call('PATCH', `${path}/roles/big`, { type, body: { metadata: { finalizers: null } } })).status,
    ).toBe(200)
  })

  it('may have any permissions with the verb escalate', async () => {
    const path = await managed({ apiGroups: [apiGroup], resources: ['roles'], verbs: ['escalate'] })
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
    expect(
      (await server.as('alice').call('POST', `${path}/roles`, { body: { metadata: { name: 'new' }, rules } })).status,
    ).toBe(201)
  })
})

describe('a binding', () => {
  const subjects = [{ kind: 'User', apiGroup, name: 'bob' }]

  it.each([
    ['to a role whose permissions its author has', 'Role', 'manager'],
    ['to a role with more permissions', 'Role', 'big'],
    ['to a cluster role with all permissions', 'ClusterRole', 'cluster-admin'],
    ['to a missing role', 'Role', 'nowhere'],
    ['to a missing cluster role', 'ClusterRole', 'no-such-cluster-role'],
  ])('%s', async (_what, kind, name) => {
    const path = await managed()
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]
    await server.must('POST', `${path}/roles`, { body: { metadata: { name: 'big' }, rules } })
    const body = { metadata: { name: 'new' }, roleRef: { apiGroup, kind, name }, subjects }
    // The real server must have seen the role before it can tell what it holds.
    const answer = await (async () => {
      for (;;) {
        const given = await server.as('alice').call('POST', `${path}/rolebindings`, { body })
        if (given.status !== 404 || name !== 'big') return given
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    expect(server.masked(answer)).toMatchSnapshot()
  })

  it('cannot add subjects to a role whose permissions its author lacks', async () => {
    const path = await managed()
    const body = { metadata: { name: 'theirs' }, roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' } }
    await server.must('POST', `${path}/rolebindings`, { body })
    const type = 'application/merge-patch+json'
    const answer = await server.as('alice').call('PATCH', `${path}/rolebindings/theirs`, { type, body: { subjects } })
    expect(server.masked(answer)).toMatchSnapshot()
  })

  it('may refer to any role that its author may bind', async () => {
    const path = await managed({
      apiGroups: [apiGroup],
      resources: ['clusterroles'],
      resourceNames: ['cluster-admin'],
      verbs: ['bind'],
    })
    const bind = (name: string): Promise<{ status: number }> =>
      server.as('alice').call('POST', `${path}/rolebindings`, {
        body: { metadata: { name: server.unique('b') }, roleRef: { apiGroup, kind: 'ClusterRole', name }, subjects },
      })
    expect((await bind('cluster-admin')).status).toBe(201)
    expect((await bind('system:node')).status).toBe(403)
  })
})

describe('a cluster role', () => {
  it('with aggregation is for administrators', async () => {
    const name = server.unique('gatherer')
    const rules = [{ apiGroups: [apiGroup], resources: ['clusterroles'], verbs: ['create', 'update', 'patch', 'list'] }]
    await server.must('POST', `${rbac}/clusterroles`, { body: { metadata: { name }, rules } })
    server.cleanUp(`${rbac}/clusterroles/${name}`)
    const roleRef = { apiGroup, kind: 'ClusterRole', name }
    const subjects = [{ kind: 'User', apiGroup, name: 'bob' }]
    await server.must('POST', `${rbac}/clusterrolebindings`, { body: { metadata: { name }, roleRef, subjects } })
    server.cleanUp(`${rbac}/clusterrolebindings/${name}`)
    await server.as('bob').until(`${rbac}/clusterroles`, ({ status }) => status === 200)
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }
    const body = { metadata: { name: server.unique('new') }, aggregationRule, rules: [] }
    expect(server.masked(await server.as('bob').call('POST', `${rbac}/clusterroles`, { body }))).toMatchSnapshot()
  })
})

/** Who may do what: roles, bindings, and the words of a refusal. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/kube/json.ts'
import { type Answer, at, openServer, type User } from './server.ts'

const server = openServer()
const rbac = '/apis/rbac.authorization.k8s.io/v1'

interface Rule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

async function clusterRole(rules: readonly Rule[], more: Readonly<Record<string, Json>> = {}): Promise<string> {
  const name = server.unique('role')
  await server.must('POST', `${rbac}/clusterroles`, { body: { metadata: { name }, rules, ...more } })
  server.cleanUp(`${rbac}/clusterroles/${name}`)
  return name
}

async function clusterBinding(role: string, subjects: readonly object[]): Promise<string> {
  const name = server.unique('binding')
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role }
  await server.must('POST', `${rbac}/clusterrolebindings`, { body: { metadata: { name }, roleRef, subjects } })
  server.cleanUp(`${rbac}/clusterrolebindings/${name}`)
  return name
}

async function binding(
  namespace: string,
  kind: 'Role' | 'ClusterRole',
  role: string,
  subjects: readonly object[],
): Promise<string> {
  const name = server.unique('local-binding')
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name: role }
  await server.must('POST', `${rbac}/namespaces/${namespace}/rolebindings`, {
    body: { metadata: { name }, roleRef, subjects },
  })
  return name
}

const user = (name: string): object => ({ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' })
const group = (name: string): object => ({ kind: 'Group', name, apiGroup: 'rbac.authorization.k8s.io' })
const isAllowed = ({ status }: Answer): boolean => status !== 403

async function statusFor(
  who: User,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
): Promise<number> {
  return (await server.as(who).call(method, path, method === 'GET' || method === 'DELETE' ? {} : { body: {} })).status
}

describe('without a role', () => {
  it.each([
    ['GET', '/api/v1/pods'],
    ['GET', '/api/v1/namespaces/default/pods'],
    ['GET', '/api/v1/namespaces/default/pods/web'],
    ['GET', '/api/v1/namespaces/default/pods?watch=true'],
    ['GET', '/api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dweb'],
    ['GET', '/api/v1/namespaces/default/pods/web/log'],
    ['GET', '/api/v1/namespaces/default'],
    ['GET', '/api/v1/nodes/a'],
    ['POST', '/api/v1/namespaces/default/configmaps'],
    ['PUT', '/api/v1/namespaces/default/configmaps/a'],
    ['PATCH', '/apis/apps/v1/namespaces/default/deployments/a/status'],
    ['DELETE', '/apis/apps/v1/namespaces/default/deployments/a'],
    ['DELETE', '/apis/apps/v1/namespaces/default/deployments'],
    ['GET', '/apis/no.such.group/v1/things'],
    ['POST', '/api/v1/namespaces'],
    ['PUT', '/api/v1/namespaces/default/finalize'],
    ['GET', '/metrics'],
    ['GET', '/no/such/path'],
    ['POST', '/version'],
    ['GET', '/'],
    ['GET', '/api/v1/namespaces/de%3Cb%3Efault/pods'],
  ] as const)('%s %s is forbidden', async (method, path) => {
    const answer = await server
      .as('bob')
      .call(method, path, method === 'GET' || method === 'DELETE' ? {} : { body: {} })
    expect(server.masked(answer)).toMatchSnapshot()
  })
})

describe('a role', () => {
  it('applies in the namespace of its binding', async () => {
    const [here, there] = [await server.namespace(), await server.namespace()]
    const path = `/api/v1/namespaces/${here}/configmaps`
    const role = 'reader'
    await server.must('POST', `${rbac}/namespaces/${here}/roles`, {
      body: {
        metadata: { name: role },
        rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }],
      },
    })
    expect(await statusFor('bob', 'GET', path)).toBe(403)
    const name = await binding(here, 'Role', role, [user('bob')])
    await server.as('bob').until(path, isAllowed)
    expect(await statusFor('bob', 'GET', `${path}/missing`)).toBe(404)
    expect(await statusFor('bob', 'GET', `${path}?watch=true`)).toBe(403)
    expect(await statusFor('bob', 'DELETE', `${path}/missing`)).toBe(403)
    expect(await statusFor('bob', 'GET', `/api/v1/namespaces/${there}/configmaps`)).toBe(403)
    expect(await statusFor('bob', 'GET', '/api/v1/configmaps')).toBe(403)
    expect(await statusFor('alice', 'GET', path)).toBe(403)
    await server.must('DELETE', `${rbac}/namespaces/${here}/rolebindings/${name}`)
    await server.as('bob').until(path, (answer) => answer.status === 403)
  })

  it('of the cluster applies in one namespace, or in all', async () => {
    const [here, there] = [await server.namespace(), await server.namespace()]
    const role = await clusterRole([{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['list'] }])
    await binding(here, 'ClusterRole', role, [group('developers')])
    await server.as('alice').until(`/apis/apps/v1/namespaces/${here}/deployments`, isAllowed)
    expect(await statusFor('alice', 'GET', `/apis/apps/v1/namespaces/${there}/deployments`)).toBe(403)
    expect(await statusFor('bob', 'GET', `/apis/apps/v1/namespaces/${here}/deployments`)).toBe(403)
    await clusterBinding(role, [group('developers')])
    await server.as('alice').until('/apis/apps/v1/deployments', isAllowed)
    expect(await statusFor('alice', 'GET', `/apis/apps/v1/namespaces/${there}/deployments`)).toBe(200)
  })

  it('may be restricted to resource names, including lists by name', async () => {
    const namespace = await server.namespace()
    const path = `/api/v1/namespaces/${namespace}/secrets`
    const rule = { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['get', 'list', 'create'] }
    await binding(namespace, 'ClusterRole', await clusterRole([rule]), [user('bob')])
    await server.as('bob').until(`${path}/mine`, isAllowed)
    expect(await statusFor('bob', 'GET', `${path}/other`)).toBe(403)
    expect(await statusFor('bob', 'GET', path)).toBe(403)
    expect(await statusFor('bob', 'GET', `${path}?fieldSelector=metadata.name%3Dmine`)).toBe(200)
    expect(await statusFor('bob', 'GET', `${path}?fieldSelector=metadata.name%3Dother`)).toBe(403)
    // The name of what is created is in the body, which is not read for this.
    expect(await statusFor('bob', 'POST', path)).toBe(403)
  })

  it('for a resource excludes its subresources, unless listed', async () => {
    const namespace = await server.namespace()
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/a`
    const role = await clusterRole([
      { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] },
      { apiGroups: ['*'], resources: ['*/scale', 'replicasets/status'], verbs: ['*'] },
    ])
    await binding(namespace, 'ClusterRole', role, [user('bob')])
    await server.as('bob').until(path, isAllowed)
    expect(await statusFor('bob', 'GET', `${path}/status`)).toBe(403)
    expect(await statusFor('bob', 'GET', `${path}/scale`)).toBe(404)
    expect(await statusFor('bob', 'GET', `/apis/apps/v1/namespaces/${namespace}/replicasets/a`)).toBe(403)
    expect(await statusFor('bob', 'GET', `/apis/apps/v1/namespaces/${namespace}/replicasets/a/status`)).toBe(404)
  })

  it('may allow paths', async () => {
    const word = server.unique('path')
    const role = await clusterRole([{ nonResourceURLs: [`/${word}`, `/${word}-under/*`], verbs: ['get'] }])
    await clusterBinding(role, [user('bob')])
    await server.as('bob').until(`/${word}`, isAllowed)
    expect(await statusFor('bob', 'GET', `/${word}-under/a/b`)).toBe(404)
    expect(await statusFor('bob', 'GET', `/${word}-under`)).toBe(403)
    expect(await statusFor('bob', 'GET', `/${word}/deeper`)).toBe(403)
    expect(await statusFor('bob', 'POST', `/${word}`)).toBe(403)
  })

  it('changes for all its subjects at once', async () => {
    const path = '/apis/storage.k8s.io/v1/storageclasses'
    const role = await clusterRole([])
    await clusterBinding(role, [user('alice')])
    expect(await statusFor('alice', 'GET', path)).toBe(403)
    const rules = [{ apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: ['list'] }]
    await server.must('PATCH', `${rbac}/clusterroles/${role}`, {
      type: 'application/merge-patch+json',
      body: { rules },
    })
    await server.as('alice').until(path, isAllowed)
    await server.must('DELETE', `${rbac}/clusterroles/${role}`)
    await server.as('alice').until(path, (answer) => answer.status === 403)
  })

  it('for patch does not allow create by patch', async () => {
    const namespace = await server.namespace()
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    const role = await clusterRole([{ apiGroups: [''], resources: ['configmaps'], verbs: ['patch'] }])
    await binding(namespace, 'ClusterRole', role, [user('bob')])
    const apply = async (name: string): Promise<Answer> =>
      await server.as('bob').call('PATCH', `${path}/${name}`, {
        type: 'application/apply-patch+yaml',
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
        query: { fieldManager: 'bob' },
      })
    const isKnown = ({ body }: Answer): boolean => !(at(body, 'message') as string).includes('cannot patch')
    let answer = await apply('a')
    while (!isKnown(answer)) answer = await apply('a')
    expect(server.masked(answer)).toMatchSnapshot()
    await server.must('POST', path, { body: { metadata: { name: 'b' } } })
    expect((await apply('b')).status).toBe(200)
  })

  it('that is missing is named in the error', async () => {
    const namespace = await server.namespace()
    const missing = server.unique('missing')
    await binding(namespace, 'ClusterRole', missing, [user('bob')])
    await binding(namespace, 'Role', missing, [user('bob')])
    const path = `/api/v1/namespaces/${namespace}/pods`
    const { body } = await server
      .as('bob')
      .until(path, (answer) => (at(answer.body, 'message') as string).split(missing).length > 2)
    const message = at(server.maskedJson(body), 'message') as string
    expect(message.split(': RBAC: ')[0]).toMatchSnapshot('message')
    // Which of the two is first depends on the order of a map.
    expect(
      message
        .split(': RBAC: ')[1]!
        .replaceAll(/^\[|\]$/g, '')
        .split(', ')
        .toSorted(),
    ).toMatchSnapshot('roles')
  })

  it('applies to service accounts by name and by group', async () => {
    const namespace = await server.namespace()
    const role = await clusterRole([{ apiGroups: [''], resources: ['endpoints'], verbs: ['list'] }])
    await binding(namespace, 'ClusterRole', role, [{ kind: 'ServiceAccount', name: 'builder', namespace }])
    const path = `/api/v1/namespaces/${namespace}/endpoints`
    const as = (account: string): Promise<Answer> =>
      server.call('GET', path, { headers: { 'impersonate-user': `system:serviceaccount:${namespace}:${account}` } })
    while ((await as('builder')).status === 403) await new Promise((resolve) => setImmediate(resolve))
    expect((await as('builder')).status).toBe(200)
    expect(server.masked(await as('other'))).toMatchSnapshot()
    await binding(namespace, 'ClusterRole', role, [group(`system:serviceaccounts:${namespace}`)])
    while ((await as('other')).status === 403) await new Promise((resolve) => setImmediate(resolve))
    expect((await as('other')).status).toBe(200)
  })
})

describe('the bootstrap policy', () => {
  it.each([
    'clusterroles/cluster-admin',
    'clusterroles/system:basic-user',
    'clusterroles/system:discovery',
    'clusterroles/system:aggregate-to-view',
    'clusterrolebindings/cluster-admin',
    'clusterrolebindings/system:discovery',
    'namespaces/kube-system/roles/extension-apiserver-authentication-reader',
    'namespaces/kube-system/rolebindings/system:controller:token-cleaner',
  ])('%s', async (path) => {
    expect(server.masked(await server.call('GET', `${rbac}/${path}`))).toMatchSnapshot('object')
  })

  it.each(['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'])('has these %s', async (plural) => {
    const list = await server.must('GET', `${rbac}/${plural}`, {
      query: { labelSelector: 'kubernetes.io/bootstrapping=rbac-defaults' },
    })
    const items = at(list, 'items') as readonly Json[]
    const shown = items.map(
      (item) =>
        [at(item, 'metadata', 'name'), at(item, 'roleRef', 'name') ?? null, at(item, 'subjects') ?? null] as Json,
    )
    expect(shown).toMatchSnapshot('names')
  })
})

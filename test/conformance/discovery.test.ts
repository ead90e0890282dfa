/** What a server tells of itself, in the form that is older than aggregated discovery. */
import { describe, expect, it } from 'vitest'
import { builtinResources } from '../../src/kube/builtin.ts'
import { at, openServer } from './server.ts'

const server = openServer()

describe('discovery', () => {
  it.each([
    '/api/v1',
    '/apis/apps/v1',
    '/apis/autoscaling/v1',
    '/apis/autoscaling/v2',
    '/apis/batch/v1',
    '/apis/events.k8s.io/v1',
    '/apis/authentication.k8s.io/v1',
    '/apis/authorization.k8s.io/v1',
    '/apis/rbac.authorization.k8s.io/v1',
    '/apis/apiextensions.k8s.io/v1',
    '/apis/apps',
    '/apis/autoscaling',
  ])('lists the content of %s', async (path) => {
    expect(server.masked(await server.call('GET', path))).toMatchSnapshot()
  })

  it('serves stable and custom versions only', async () => {
    const { body } = await server.call('GET', '/apis')
    const groups = at(body, 'groups') as readonly { readonly name: string; readonly versions: readonly object[] }[]
    // Other suites define kinds of their own on the same server.
    const builtin = new Set(builtinResources().map(({ group }) => group))
    const own = groups.filter(({ name }) => builtin.has(name))
    expect(own.map(({ name, versions }) => [name, versions])).toMatchSnapshot()
  })

  it('does not serve optional or unknown versions', async () => {
    for (const path of ['/apis/resource.k8s.io/v1beta1', '/apis/apps/v2', '/apis/nope', '/api/v2'])
      expect((await server.call('GET', path)).status).toBe(404)
  })
})

describe('a patch that does not result in an object of its kind', () => {
  it('is quoted as a map if it is strategic', async () => {
    const namespace = await server.namespace()
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`
    await server.must('POST', path, {
      body: {
        metadata: { name: 'web' },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      },
    })
    const type = 'application/strategic-merge-patch+json'
    const query = { fieldValidation: 'Strict' }
    const unknown = await server.call('PATCH', `${path}/web`, {
      body: { spec: { extra: { b: [1], a: null } } },
      type,
      query,
    })
    expect(server.masked(unknown)).toMatchSnapshot('an unknown field')
    const wrong = await server.call('PATCH', `${path}/web`, { body: { spec: { replicas: 'many' } }, type })
    expect(server.masked(wrong)).toMatchSnapshot('a wrong type')
  })
})

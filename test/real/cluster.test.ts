/** The harness itself: what other suites rely on. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import type { ListMeta } from '../../src/kube/object.ts'
import { makeCa } from '../certificates.ts'
import { type Api, apiOf } from './api.ts'
import { type Cluster, startCluster } from './cluster.ts'

describe('the shared server', () => {
  const access = inject('cluster')

  it('reports the version it was built from', async () => {
    const api = apiOf(access)
    expect((await api.must('GET', '/version'))['gitVersion']).toBe(access.version)
    api.close()
  })

  it('authenticates its users by token, and authorizes only the administrator', async () => {
    const whoAmI = async (token: string): Promise<unknown> => {
      const api = apiOf({ ...access, token })
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
      const { status } = await api.must('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body })
      const secrets = (await api.call('GET', '/api/v1/namespaces/default/secrets')).status
      api.close()
      const { username, groups } = (status as JsonObject)['userInfo'] as JsonObject
      return { username, groups, secrets }
    }
    const others = 'system:authenticated'
    expect(await whoAmI(access.tokens.admin)).toEqual({
      username: 'admin',
      groups: ['system:masters', others],
      secrets: 200,
    })
    expect(await whoAmI(access.tokens.alice)).toEqual({
      username: 'alice',
      groups: ['developers', others],
      secrets: 403,
    })
    expect(await whoAmI(access.tokens.bob)).toEqual({ username: 'bob', groups: [others], secrets: 403 })
  })

  it('rejects a certificate of another authority', async () => {
    const stranger = makeCa().issue({ commonName: 'admin', organizations: ['system:masters'] })
    const api = apiOf({ ...access, admin: stranger })
    const answer = await api.call('GET', '/api/v1/namespaces').then(
      ({ status }) => status,
      () => 'refused',
    )
    expect(answer).not.toBe(200)
    api.close()
  })
})

describe('a separate server', () => {
  let cluster: Cluster
  let api: Api
  beforeAll(async () => {
    cluster = await startCluster({ authorization: 'AlwaysAllow', flags: ['--goaway-chance=0.001'] })
    api = apiOf(cluster.access)
  })
  afterAll(async () => {
    api.close()
    await cluster.stop()
  })

  const configMaps = '/api/v1/namespaces/default/configmaps'
  const create = (name: string): Promise<JsonObject> =>
    api.must('POST', configMaps, { body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } } })
  const statusOf = async (name: string): Promise<number> => (await api.call('GET', `${configMaps}/${name}`)).status
  const versionOf = ({ metadata }: JsonObject): string => (metadata as ListMeta).resourceVersion ?? ''

  it('authorizes every request when configured to', async () => {
    const bob = apiOf({ ...cluster.access, token: cluster.access.tokens.bob })
    expect((await bob.call('GET', '/api/v1/secrets')).status).toBe(200)
    bob.close()
  })

  it('keeps its data over a restart, and restores older data', async () => {
    await create('before')
    const snapshot = await cluster.snapshot()
    // More writes than a start makes by itself.
    for (let i = 0; i < 50; i++) await create(`filler-${i}`)
    const after = await create('after')
    await cluster.restart('kill')
    expect([await statusOf('before'), await statusOf('after')]).toEqual([200, 200])

    await cluster.restore(snapshot)
    expect([await statusOf('before'), await statusOf('after')]).toEqual([200, 404])
    expect(Number(versionOf(await api.must('GET', configMaps)))).toBeLessThan(Number(versionOf(after)))
  })

  it('compacts its history: an old resource version is gone', async () => {
    const old = versionOf(await create('old'))
    await create('new')
    await cluster.compact()
    // Caches still remember; a restart empties them.
    await cluster.restart('kill')
    const query = { resourceVersion: old, resourceVersionMatch: 'Exact' }
    expect((await api.call('GET', configMaps, { query })).status).toBe(410)
  })

  it('stops responding and resumes', async () => {
    await cluster.pause()
    let answered = false
    const answer = api.call('GET', '/version').then(() => (answered = true))
    // What a stopped process cannot do is answer; a second server that does is the clock of this test.
    const shared = apiOf(inject('cluster'))
    for (let i = 0; i < 20; i++) await shared.must('GET', '/version')
    shared.close()
    expect(answered).toBe(false)
    cluster.resume()
    expect(await answer).toBe(true)
  })
})

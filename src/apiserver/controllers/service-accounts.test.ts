import { describe, expect, it } from 'vitest'
import { systemClock } from '../../clock/system-clock.ts'
import type { Method } from '../../transport/transport.ts'
import { type Json, parseJson, stringifyJson } from '../../kube/json.ts'
import { createApiServer } from '../server/api-server.ts'

const open = (): ((method: Method, path: string, body?: object) => Promise<{ status: number; body: Json }>) => {
  const server = createApiServer({ clock: systemClock, serviceAccounts: true, rootCa: 'PEM' })
  return async (method, path, body) => {
    const headers = { accept: 'application/json', 'content-type': 'application/json' }
    const text = body && stringifyJson(body)
    const answer = await server.handle({ method, path, headers, body: text })
    const chunks: Uint8Array[] = []
    for await (const chunk of answer.body) chunks.push(chunk)
    return { status: answer.status, body: parseJson(Buffer.concat(chunks).toString()) }
  }
}

const pod = (spec: object = {}): object => ({
  metadata: { name: 'a' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
})

const namespace = '/api/v1/namespaces/default'

describe('a cluster with service accounts', () => {
  it('has one in every namespace, and the CA ConfigMap', async () => {
    const call = open()
    await call('POST', '/api/v1/namespaces', { metadata: { name: 'new' } })
    for (const name of ['default', 'kube-system', 'new']) {
      expect((await call('GET', `/api/v1/namespaces/${name}/serviceaccounts/default`)).status).toBe(200)
      const { body } = await call('GET', `/api/v1/namespaces/${name}/configmaps/kube-root-ca.crt`)
      expect(body).toMatchObject({ data: { 'ca.crt': 'PEM' } })
    }
  })

  it('recreates and restores them when a client deletes or changes them', async () => {
    const call = open()
    await call('DELETE', `${namespace}/serviceaccounts/default`)
    expect((await call('GET', `${namespace}/serviceaccounts/default`)).status).toBe(200)
    await call('PUT', `${namespace}/configmaps/kube-root-ca.crt`, { metadata: { name: 'kube-root-ca.crt' } })
    const { body } = await call('GET', `${namespace}/configmaps/kube-root-ca.crt`)
    expect(body).toMatchObject({ data: { 'ca.crt': 'PEM' } })
  })

  it('ignores a namespace that is being deleted', async () => {
    const call = open()
    await call('POST', '/api/v1/namespaces', { metadata: { name: 'new' } })
    await call('DELETE', '/api/v1/namespaces/new')
    expect((await call('GET', '/api/v1/namespaces/new')).status).toBe(404)
    expect((await call('GET', '/api/v1/namespaces/new/serviceaccounts/default')).status).toBe(404)
  })

  it('mounts a token into every container of a pod', async () => {
    const call = open()
    const { status, body } = await call(
      'POST',
      `${namespace}/pods`,
      pod({ initContainers: [{ name: 'i', image: 'i' }] }),
    )
    expect(status).toBe(201)
    const mount = { readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }
    expect(body).toMatchObject({
      spec: {
        serviceAccountName: 'default',
        serviceAccount: 'default',
        containers: [{ volumeMounts: [mount] }],
        initContainers: [{ volumeMounts: [mount] }],
        volumes: [{ projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: 'token' } }, {}, {}] } }],
      },
    })
  })

  it('mounts nothing if the pod or the account opts out', async () => {
    const call = open()
    const unwanted = await call('POST', `${namespace}/pods?dryRun=All`, pod({ automountServiceAccountToken: false }))
    expect(unwanted.body).not.toHaveProperty('spec.volumes')
    await call('POST', `${namespace}/serviceaccounts`, {
      metadata: { name: 'shy' },
      automountServiceAccountToken: false,
      imagePullSecrets: [{ name: 'pull' }],
    })
    const shy = await call('POST', `${namespace}/pods?dryRun=All`, pod({ serviceAccountName: 'shy' }))
    expect(shy.body).not.toHaveProperty('spec.volumes')
    expect(shy.body).toMatchObject({ spec: { imagePullSecrets: [{ name: 'pull' }] } })
  })

  it('rejects a pod whose account does not exist', async () => {
    const call = open()
    const { status, body } = await call('POST', `${namespace}/pods`, pod({ serviceAccountName: 'nobody' }))
    expect(status).toBe(403)
    expect(body).toMatchObject({
      message:
        'pods "a" is forbidden: error looking up service account default/nobody: serviceaccount "nobody" not found',
    })
  })
})

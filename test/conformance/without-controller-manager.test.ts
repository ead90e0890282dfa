/**
 * A kube-apiserver alone, as envtest starts it: what the controllers of kube-controller-manager would do stays undone. The
 * embedded server behaves so on request; the real server of these suites always does.
 */
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { openServer } from './server.ts'

const server = openServer({ controllerManager: false })

interface Stored {
  readonly metadata: {
    readonly uid: string
    readonly deletionTimestamp?: string
    readonly finalizers?: readonly string[]
    readonly ownerReferences?: readonly { readonly name: string }[]
  }
  readonly spec?: JsonObject
  readonly status?: JsonObject
  readonly rules?: unknown
}

const read = async (path: string): Promise<Stored> => (await server.must('GET', path)) as unknown as Stored

/** `owner`, and `dependent`, which blocks its deletion. */
async function family(): Promise<string> {
  const collection = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  await server.must('POST', collection, { body: { metadata: { name: 'owner' } } })
  const { uid } = (await read(`${collection}/owner`)).metadata
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid, blockOwnerDeletion: true }
  await server.must('POST', collection, { body: { metadata: { name: 'dependent', ownerReferences: [owner] } } })
  return collection
}

/** A write that every controller would have acted before: they are asked in order. */
async function settle(): Promise<void> {
  await server.namespace()
}

describe('without kube-controller-manager', () => {
  it('a deleted namespace stays terminating, and takes nothing new', async () => {
    const namespace = await server.namespace()
    await server.must('POST', `/api/v1/namespaces/${namespace}/configmaps`, { body: { metadata: { name: 'a' } } })
    const deleted = (await server.must('DELETE', `/api/v1/namespaces/${namespace}`)) as unknown as Stored
    expect(deleted.status).toEqual({ phase: 'Terminating' })
    await settle()
    const live = await read(`/api/v1/namespaces/${namespace}`)
    expect(live).toMatchObject({ spec: { finalizers: ['kubernetes'] }, status: { phase: 'Terminating' } })
    expect(live.metadata.deletionTimestamp).toBeDefined()
    expect((await server.call('GET', `/api/v1/namespaces/${namespace}/configmaps/a`)).status).toBe(200)
    const refused = await server.call('POST', `/api/v1/namespaces/${namespace}/configmaps`, {
      body: { metadata: { name: 'b' } },
    })
    expect(refused.status).toBe(403)
  })

  it('dependents stay when their owner is deleted', async () => {
    const collection = await family()
    await server.must('DELETE', `${collection}/owner`, { query: { propagationPolicy: 'Background' } })
    await settle()
    expect((await server.call('GET', `${collection}/owner`)).status).toBe(404)
    expect((await read(`${collection}/dependent`)).metadata.ownerReferences).toMatchObject([{ name: 'owner' }])
  })

  it.each([
    ['Foreground', 'foregroundDeletion'],
    ['Orphan', 'orphan'],
  ])('%s deletion waits for a finalizer that no controller removes', async (propagationPolicy, finalizer) => {
    const collection = await family()
    await server.must('DELETE', `${collection}/owner`, { query: { propagationPolicy } })
    await settle()
    const { metadata } = await read(`${collection}/owner`)
    expect(metadata.finalizers).toEqual([finalizer])
    expect(metadata.deletionTimestamp).toBeDefined()
    expect((await read(`${collection}/dependent`)).metadata.ownerReferences).toHaveLength(1)
  })

  it('a new namespace has no service account and no CA bundle', async () => {
    const namespace = await server.namespace()
    await settle()
    for (const plural of ['serviceaccounts', 'configmaps'])
      expect(await server.must('GET', `/api/v1/namespaces/${namespace}/${plural}`)).toMatchObject({ items: [] })
  })

  it('aggregated roles have the rules that were written, the default ones none', async () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
    const name = server.unique('aggregated')
    server.cleanUp(`${roles}/${name}`)
    const aggregationRule = {
      clusterRoleSelectors: [{ matchLabels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } }],
    }
    await server.must('POST', roles, { body: { metadata: { name }, aggregationRule } })
    await settle()
    expect((await read(`${roles}/${name}`)).rules).toBeNull()
    for (const one of ['admin', 'edit', 'view']) expect((await read(`${roles}/${one}`)).rules).toBeNull()
  })

  it('a quota limits nothing: no controller has counted for it', async () => {
    const namespace = await server.namespace()
    const quota = { metadata: { name: 'none' }, spec: { hard: { configmaps: '0' } } }
    await server.must('POST', `/api/v1/namespaces/${namespace}/resourcequotas`, { body: quota })
    await settle()
    expect((await read(`/api/v1/namespaces/${namespace}/resourcequotas/none`)).status).toEqual({})
    await server.must('POST', `/api/v1/namespaces/${namespace}/configmaps`, { body: { metadata: { name: 'a' } } })
  })

  it('a CRD is served, and goes with its objects: that is the work of kube-apiserver itself', async () => {
    const plural = server.unique('gadget')
    const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.alone.example.com`
    server.cleanUp(crd)
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
    const kind = `K${plural.replaceAll('-', '')}`
    await server.must('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      body: {
        metadata: { name: `${plural}.alone.example.com` },
        spec: {
          group: 'alone.example.com',
          scope: 'Cluster',
          names: { plural, kind },
          versions: [{ name: 'v1', served: true, storage: true, schema }],
        },
      },
    })
    await server.until(`/apis/alone.example.com/v1/${plural}`, ({ status }) => status === 200)
    await server.must('POST', `/apis/alone.example.com/v1/${plural}`, {
      body: { apiVersion: 'alone.example.com/v1', kind, metadata: { name: 'a' } },
    })
    await server.must('DELETE', crd)
    expect((await server.until(crd, ({ status }) => status === 404)).status).toBe(404)
  })
})

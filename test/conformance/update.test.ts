/** Updating objects: what may change, what stays, what conflicts. */
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { at, openServer } from './server.ts'
import { unquoted } from './unquoted.ts'

const server = openServer()

async function made(metadata: object = {}): Promise<{ readonly path: string; readonly object: JsonObject }> {
  const collection = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  const object = await server.must('POST', collection, {
    body: { metadata: { name: 'a', ...metadata }, data: { k: 'v' } },
  })
  return { path: `${collection}/a`, object }
}

describe('update', () => {
  it('replaces the object', async () => {
    const { path, object } = await made({ labels: { x: 'y' } })
    const { metadata } = object as { metadata: JsonObject }
    const { labels: _labels, ...rest } = metadata
    const answer = await server.call('PUT', path, { body: { ...object, metadata: rest, data: { k: 'w' } } })
    expect(server.masked(answer)).toMatchSnapshot('step 1')
    expect(at(answer.body, 'metadata', 'resourceVersion')).not.toBe(metadata['resourceVersion'])
  })

  it('keeps the resourceVersion when nothing changes', async () => {
    const { path, object } = await made()
    const answer = await server.call('PUT', path, { body: object })
    expect(answer.body).toEqual(object)
  })

  it.each([
    [
      'an old version',
      (object: JsonObject) => ({ ...object, metadata: { ...(object['metadata'] as object), resourceVersion: '1' } }),
    ],
    ['another uid', (object: JsonObject) => ({ ...object, metadata: { ...(object['metadata'] as object), uid: 'u' } })],
    [
      'another name',
      (object: JsonObject) => ({ ...object, metadata: { ...(object['metadata'] as object), name: 'b' } }),
    ],
    [
      'a resourceVersion that is not a number',
      (object: JsonObject) => ({ ...object, metadata: { name: 'a', resourceVersion: 'abc' } }),
    ],
    [
      'another creation time, silently',
      (object: JsonObject) => ({
        ...object,
        metadata: { ...(object['metadata'] as object), creationTimestamp: '2020-01-01T00:00:00Z' },
      }),
    ],
    [
      'a deletion time, silently',
      (object: JsonObject) => ({
        ...object,
        metadata: { ...(object['metadata'] as object), deletionTimestamp: '2020-01-01T00:00:00Z' },
      }),
    ],
    ['no resourceVersion', () => ({ metadata: { name: 'a' }, data: { k: 'new' } })],
    ['no name', () => ({ metadata: {}, data: { k: 'new' } })],
    [
      'a generation',
      (object: JsonObject) => ({ ...object, metadata: { ...(object['metadata'] as object), generation: 7 } }),
    ],
    [
      'no managers',
      (object: JsonObject) => ({ ...object, metadata: { ...(object['metadata'] as object), managedFields: [{}] } }),
    ],
    [
      'other managers',
      (object: JsonObject) => ({
        ...object,
        metadata: {
          ...(object['metadata'] as object),
          managedFields: [
            {
              manager: 'x',
              operation: 'Update',
              apiVersion: 'v1',
              fieldsType: 'FieldsV1',
              fieldsV1: { 'f:data': { 'f:k': {} } },
            },
          ],
        },
      }),
    ],
    [
      'invalid managers',
      (object: JsonObject) => ({
        ...object,
        metadata: {
          ...(object['metadata'] as object),
          managedFields: [{ manager: 'x', operation: 'Nope', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }],
        },
      }),
    ],
  ])('handles %s as the real server does', async (_what, change) => {
    const { path, object } = await made()
    expect(server.masked(await server.call('PUT', path, { body: change(object) }))).toMatchSnapshot('step 1')
  })

  it('returns NotFound for a missing object, or creates it where the kind allows it', async () => {
    const namespace = await server.namespace()
    const missing = await server.call('PUT', `/api/v1/namespaces/${namespace}/configmaps/none`, {
      body: { metadata: { name: 'none' } },
    })
    expect(server.masked(missing)).toMatchSnapshot('step 1')
    const lease = await server.call('PUT', `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/new`, {
      body: { metadata: { name: 'new' }, spec: {} },
    })
    expect(server.masked(lease)).toMatchSnapshot('step 2')
  })

  it('counts generations of a deployment by its spec', async () => {
    const collection = `/apis/apps/v1/namespaces/${await server.namespace()}/deployments`
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } }
    const created = await server.must('POST', collection, {
      body: { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } },
    })
    const generations = [at(created, 'metadata', 'generation')]
    const patch = async (body: object, sub = ''): Promise<void> => {
      const { body: patched } = await server.call('PATCH', `${collection}/d${sub}`, {
        body,
        type: 'application/merge-patch+json',
      })
      generations.push(at(patched, 'metadata', 'generation'))
    }
    await patch({ metadata: { labels: { new: 'one' } } })
    await patch({ metadata: { annotations: { new: 'one' } } })
    await patch({ spec: { replicas: 3 } })
    await patch({ spec: { replicas: 3 } })
    await patch({ status: { replicas: 3 } })
    await patch({ status: { replicas: 3 } }, '/status')
    await patch({ spec: { replicas: 4 } }, '/status')
    expect(generations).toMatchSnapshot('step 1')
    expect(server.masked(await server.call('GET', `${collection}/d`))).toMatchSnapshot('step 2')
  })
})

describe('dry runs', () => {
  it('respond as usual, and store nothing', async () => {
    const { path } = await made()
    const collection = path.slice(0, path.lastIndexOf('/'))
    expect(
      server.masked(await server.call('POST', `${collection}?dryRun=All`, { body: { metadata: { name: 'dry' } } })),
    ).toMatchSnapshot('step 1')
    expect((await server.call('GET', `${collection}/dry`)).status).toBe(404)
    const changed = await server.call('PATCH', `${path}?dryRun=All`, {
      body: { data: { k: 'dry' } },
      type: 'application/merge-patch+json',
    })
    expect(server.masked(changed)).toMatchSnapshot('step 2')
    expect(at((await server.call('GET', path)).body, 'data', 'k')).toBe('v')
    const deleted = await server.call('DELETE', `${path}?dryRun=All`)
    expect(server.masked(deleted)).toMatchSnapshot('step 3')
    expect((await server.call('GET', path)).status).toBe(200)
    expect(
      server.masked(await server.call('POST', `${collection}?dryRun=Some`, { body: { metadata: { name: 'dry' } } })),
    ).toMatchSnapshot('step 4')
  })
})

describe('field validation', () => {
  const body = '{"metadata":{"name":"a","nonsense":1},"data":{"k":"v","k":"w"},"unknown":true}'
  it.each(['Strict', 'Warn', 'Ignore', '', 'Nope'])('%s', async (how) => {
    const collection = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    const answer = await server.call('POST', `${collection}?fieldValidation=${how}`, { body })
    expect(server.masked(answer)).toMatchSnapshot('step 1')
    expect(answer.headers['warning'] ?? '').toMatchSnapshot('step 2')
  })

  it('reports unknown fields in patches', async () => {
    const { path } = await made()
    for (const [type, patch] of [
      ['merge-patch', { data: { k: 'x' }, spec: { y: 1 } }],
      ['strategic-merge-patch', { data: { k: 'y' }, spec: { y: 1 } }],
      ['json-patch', [{ op: 'add', path: '/spec', value: {} }]],
    ] as const) {
      const answer = await server.call('PATCH', `${path}?fieldValidation=Strict`, {
        body: patch,
        type: `application/${type}+json`,
      })
      expect(unquoted(server.masked(answer))).toMatchSnapshot('step 1')
    }
  })
})

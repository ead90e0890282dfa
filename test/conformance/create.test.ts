/** Creating objects: names, what the server gives, and what it refuses. */
import { describe, expect, it } from 'vitest'
import { at, openServer } from './server.ts'

const server = openServer()

describe('create', () => {
  it('sets uid, time, version and managers', async () => {
    const namespace = await server.namespace()
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    const created = await server.call('POST', path, {
      body: { metadata: { name: 'a', labels: { x: 'y' } }, data: { k: 'v' } },
    })
    expect(server.masked(created)).toMatchSnapshot()
    const read = await server.call('GET', `${path}/a`)
    expect(read.body).toEqual(created.body)
  })

  it('rejects a second object of the same name', async () => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    const body = { metadata: { name: 'a' } }
    await server.must('POST', path, { body })
    expect(server.masked(await server.call('POST', path, { body }))).toMatchSnapshot()
  })

  it('completes a generated name', async () => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    const { body } = await server.call('POST', path, { body: { metadata: { generateName: 'gen-' } } })
    expect(at(body, 'metadata', 'name')).toMatch(/^gen-[a-z0-9]{5}$/)
    expect(at(body, 'metadata', 'generateName')).toBe('gen-')
  })

  it.each([
    ['no name', { metadata: {} }],
    ['a name with capitals', { metadata: { name: 'Big' } }],
    ['an overlong name', { metadata: { name: 'a'.repeat(254) } }],
    ['a resourceVersion', { metadata: { name: 'a', resourceVersion: '12' } }],
    ['another namespace than the URL', { metadata: { name: 'a', namespace: 'elsewhere' } }],
    ['another kind than the URL', { kind: 'Secret', apiVersion: 'v1', metadata: { name: 'a' } }],
    ['an invalid label', { metadata: { name: 'a', labels: { 'x y': 'z' } } }],
    ['an invalid annotation key', { metadata: { name: 'a', annotations: { 'x y': 'z' } } }],
    ['an unqualified finalizer', { metadata: { name: 'a', finalizers: ['nope nope'] } }],
    ['contradictory finalizers', { metadata: { name: 'a', finalizers: ['x', 'orphan', '', 'foregroundDeletion'] } }],
    [
      'an owner without uid',
      { metadata: { name: 'a', ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p' }] } },
    ],
    ['a value of the wrong type', { metadata: { name: 'a' }, data: { k: 5 } }],
    ['metadata that is not an object', { metadata: 'a' }],
    ['a list', []],
  ])('rejects %s', async (_what, body) => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    expect(server.masked(await server.call('POST', path, { body }))).toMatchSnapshot()
  })

  it('rejects objects in a missing namespace', async () => {
    const answer = await server.call('POST', '/api/v1/namespaces/nowhere/configmaps', {
      body: { metadata: { name: 'a' } },
    })
    expect(server.masked(answer)).toMatchSnapshot()
  })
})

/** Deleting: at once, later, together with others. */
import { describe, expect, it } from 'vitest'
import { at, openServer } from './server.ts'

const server = openServer()
const merge = 'application/merge-patch+json'

async function configs(...names: readonly string[]): Promise<string> {
  const collection = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  for (const name of names)
    await server.must('POST', collection, {
      body: { metadata: { name, labels: { name, even: String(names.indexOf(name) % 2 === 0) } } },
    })
  return collection
}

describe('delete', () => {
  it('returns a Status, and then NotFound', async () => {
    const collection = await configs('a')
    expect(server.masked(await server.call('DELETE', `${collection}/a`))).toMatchSnapshot('step 1')
    expect(server.masked(await server.call('GET', `${collection}/a`))).toMatchSnapshot('step 2')
    expect(server.masked(await server.call('DELETE', `${collection}/a`))).toMatchSnapshot('step 3')
  })

  it('waits for finalizers, and adds none meanwhile', async () => {
    const collection = await configs('a')
    const path = `${collection}/a`
    await server.must('PATCH', path, { body: { metadata: { finalizers: ['example.com/f'] } }, type: merge })
    expect(server.masked(await server.call('DELETE', path))).toMatchSnapshot('step 1')
    expect(server.masked(await server.call('DELETE', path))).toMatchSnapshot('step 2')
    const more = await server.call('PATCH', path, {
      body: { metadata: { finalizers: ['example.com/f', 'example.com/g'] } },
      type: merge,
    })
    expect(server.masked(more)).toMatchSnapshot('step 3')
    const changed = await server.call('PATCH', path, { body: { data: { still: 'writable' } }, type: merge })
    expect(server.masked(changed)).toMatchSnapshot('step 4')
    const last = await server.call('PATCH', path, { body: { metadata: { finalizers: null } }, type: merge })
    expect(server.masked(last)).toMatchSnapshot('step 5')
    // What is answered was never stored, so it has the version of what was there before it.
    expect(at(last.body, 'metadata', 'resourceVersion')).toBe(at(changed.body, 'metadata', 'resourceVersion'))
    expect((await server.call('GET', path)).status).toBe(404)
  })

  it.each([
    ['a wrong uid', { preconditions: { uid: 'wrong' } }],
    ['an old resourceVersion', { preconditions: { resourceVersion: '1' } }],
    ['an unknown propagation policy', { propagationPolicy: 'Sideways' }],
    ['both orphan options', { propagationPolicy: 'Orphan', orphanDependents: true }],
    ['a negative grace', { gracePeriodSeconds: -5 }],
    ['a grace period for a kind without one', { gracePeriodSeconds: 30 }],
    ['another kind', { kind: 'Pod', apiVersion: 'v1' }],
    ['an unknown field', { nonsense: 1 }],
    ['a wrong type', { gracePeriodSeconds: 'soon' }],
    ['foreground', { propagationPolicy: 'Foreground' }],
    ['orphan', { propagationPolicy: 'Orphan' }],
  ])('handles %s as the real server does', async (_what, options) => {
    const collection = await configs('a')
    const answer = await server.call('DELETE', `${collection}/a`, { body: options })
    expect(server.masked(answer)).toMatchSnapshot('step 1')
  })

  it('deletes a selected collection', async () => {
    const collection = await configs('a', 'b', 'c')
    const answer = await server.call('DELETE', `${collection}?labelSelector=even%3Dtrue`)
    expect(answer.status).toBe(200)
    expect(at(answer.body, 'kind')).toBe('ConfigMapList')
    const { body } = await server.call('GET', collection)
    const items = at(body, 'items') as readonly { readonly metadata: { readonly name: string } }[]
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['b'])
  })

  it('gives running pods their grace period', async () => {
    const collection = `/api/v1/namespaces/${await server.namespace()}/pods`
    const pod = (name: string, spec: object = {}): object => ({
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    })
    await server.must('POST', collection, { body: pod('idle') })
    await server.must('POST', collection, { body: pod('runs', { nodeName: 'n', terminationGracePeriodSeconds: 40 }) })
    await server.must('POST', collection, { body: pod('over', { nodeName: 'n' }) })
    await server.must('PATCH', `${collection}/over/status`, { body: { status: { phase: 'Succeeded' } }, type: merge })
    const gone = async (name: string, body?: object): Promise<unknown> => {
      const answer = await server.call('DELETE', `${collection}/${name}`, body ? { body } : {})
      return [
        answer.status,
        at(answer.body, 'metadata', 'deletionGracePeriodSeconds'),
        (await server.call('GET', `${collection}/${name}`)).status,
      ]
    }
    expect(await gone('idle')).toMatchSnapshot('step 1')
    expect(await gone('over')).toMatchSnapshot('step 2')
    expect(await gone('runs')).toMatchSnapshot('step 3')
    expect(await gone('runs', { gracePeriodSeconds: 50 })).toMatchSnapshot('step 4')
    expect(await gone('runs', { gracePeriodSeconds: 10 })).toMatchSnapshot('step 5')
    expect(server.masked(await server.call('GET', `${collection}/runs`))).toMatchSnapshot('step 6')
    expect(await gone('runs', { gracePeriodSeconds: 0 })).toMatchSnapshot('step 7')
  })

  it('marks a namespace as terminating', async () => {
    const namespace = await server.namespace()
    const { body } = await server.call('DELETE', `/api/v1/namespaces/${namespace}`)
    expect(at(body, 'status', 'phase')).toBe('Terminating')
    expect(at(body, 'spec', 'finalizers')).toEqual(['kubernetes'])
  })

  it.each(['default', 'kube-system', 'kube-public'])('rejects %s', async (name) => {
    expect(server.masked(await server.call('DELETE', `/api/v1/namespaces/${name}`))).toMatchSnapshot('step 1')
  })
})

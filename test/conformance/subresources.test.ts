/** Subresources: doors to a part of an object, other views of it, and actions on it. */
import { describe, expect, it } from 'vitest'
import { at, openServer } from './server.ts'

const server = openServer()
const merge = 'application/merge-patch+json'

const pod = (name: string, spec: object = {}): object => ({
  metadata: { name, labels: { app: 'x' } },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
})

async function podCollection(...pods: readonly object[]): Promise<string> {
  const collection = `/api/v1/namespaces/${await server.namespace()}/pods`
  for (const body of pods) await server.must('POST', collection, { body })
  return collection
}

describe('status', () => {
  it('updates status only', async () => {
    const path = `${await podCollection(pod('p'))}/p`
    const answer = await server.call('PATCH', `${path}/status`, {
      body: {
        metadata: { labels: { new: 'l' } },
        spec: { priority: 5, activeDeadlineSeconds: 3 },
        status: { phase: 'Running', podIP: '10.1.2.3' },
      },
      type: merge,
    })
    expect(server.masked(answer)).toMatchSnapshot('step 1')
    const put = await server.call('PUT', `${path}/status`, {
      body: { ...(answer.body as object), status: { phase: 'Failed' } },
    })
    expect(server.masked(put)).toMatchSnapshot('step 2')
    expect((await server.call('GET', `${path}/status`)).body).toEqual((await server.call('GET', path)).body)
    expect(server.masked(await server.call('DELETE', `${path}/status`))).toMatchSnapshot('step 3')
  })
})

describe('scale', () => {
  it('shows and changes replicas', async () => {
    const collection = `/apis/apps/v1/namespaces/${await server.namespace()}/deployments`
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } }
    await server.must('POST', collection, {
      body: {
        metadata: { name: 'd' },
        spec: {
          selector: {
            matchLabels: { a: 'b' },
            matchExpressions: [{ key: 'c', operator: 'NotIn', values: ['y', 'x'] }],
          },
          template,
        },
      },
    })
    const path = `${collection}/d/scale`
    const read = await server.call('GET', path)
    expect(server.masked(read)).toMatchSnapshot('step 1')
    expect(
      server.masked(await server.call('PUT', path, { body: { ...(read.body as object), spec: { replicas: 4 } } })),
    ).toMatchSnapshot('step 2')
    expect(
      server.masked(await server.call('PUT', path, { body: { ...(read.body as object), spec: { replicas: 5 } } })),
    ).toMatchSnapshot('step 3')
    expect(
      server.masked(await server.call('PATCH', path, { body: { spec: { replicas: -1 } }, type: merge })),
    ).toMatchSnapshot('step 4')
    expect(
      server.masked(
        await server.call('PATCH', path, {
          body: [{ op: 'replace', path: '/spec/replicas', value: 2 }],
          type: 'application/json-patch+json',
        }),
      ),
    ).toMatchSnapshot('step 5')
    expect(
      server.masked(await server.call('PUT', path, { body: { metadata: { name: 'other' }, spec: { replicas: 1 } } })),
    ).toMatchSnapshot('step 6')
    const table = await server.call('GET', path, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' })
    const rows = (at(table.body, 'rows') as unknown as readonly { readonly cells: readonly unknown[] }[]) ?? []
    expect([rows.map(({ cells }) => cells.slice(0, 3)), at(table.body, 'columnDefinitions')]).toMatchSnapshot('table')
    expect(server.masked(await server.call('GET', `${collection}/none/scale`))).toMatchSnapshot('step 7')
    expect(server.masked(await server.call('GET', `${collection}/d`))).toMatchSnapshot('step 8')
  })
})

describe('binding', () => {
  it('assigns a pod to a node once', async () => {
    const collection = await podCollection(pod('p'))
    const bind = async (target: object, metadata: object = { name: 'p' }): Promise<unknown> =>
      server.masked(
        await server.call('POST', `${collection}/p/binding`, {
          body: { apiVersion: 'v1', kind: 'Binding', metadata, target },
        }),
      )
    expect(await bind({})).toMatchSnapshot('step 1')
    expect(await bind({ kind: 'Pod', name: 'x' })).toMatchSnapshot('step 2')
    expect(await bind({ kind: 'Node', name: 'n' }, { name: 'p', annotations: { by: 'me' } })).toMatchSnapshot('step 3')
    expect(await bind({ kind: 'Node', name: 'm' })).toMatchSnapshot('step 4')
    expect(server.masked(await server.call('GET', `${collection}/p`))).toMatchSnapshot('step 5')
    const legacy = collection.replace(/pods$/, 'bindings')
    expect(
      server.masked(
        await server.call('POST', legacy, {
          body: { metadata: { name: 'none' }, target: { kind: 'Node', name: 'm' } },
        }),
      ),
    ).toMatchSnapshot('step 6')
  })
})

describe('eviction', () => {
  const budget = { metadata: { name: 'b' }, spec: { minAvailable: 1, selector: { matchLabels: { app: 'x' } } } }
  it('respects disruption budgets', async () => {
    const collection = await podCollection(pod('p', { nodeName: 'n' }), pod('q', { nodeName: 'n' }), pod('idle'))
    const budgets = collection.replace('/api/v1', '/apis/policy/v1').replace(/pods$/, 'poddisruptionbudgets')
    for (const name of ['p', 'q'])
      await server.must('PATCH', `${collection}/${name}/status`, {
        body: { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
        type: merge,
      })
    await server.must('POST', budgets, { body: budget })
    const evict = async (name: string, body: object = {}): Promise<unknown> => {
      const answer = await server.call('POST', `${collection}/${name}/eviction`, {
        body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, ...body },
      })
      return [answer.headers['retry-after'] ?? '', server.masked(answer)]
    }
    expect(await evict('p')).toMatchSnapshot('step 1')
    await server.must('PATCH', `${budgets}/b/status`, {
      body: {
        status: { observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 2 },
      },
      type: merge,
    })
    expect(await evict('p')).toMatchSnapshot('step 2')
    await server.must('PATCH', `${budgets}/b/status`, { body: { status: { disruptionsAllowed: 1 } }, type: merge })
    expect(await evict('p')).toMatchSnapshot('step 3')
    expect(at((await server.call('GET', `${collection}/p`)).body, 'metadata', 'deletionGracePeriodSeconds')).toBe(30)
    expect(server.maskedJson(at((await server.call('GET', `${budgets}/b`)).body, 'status')!)).toMatchSnapshot('step 4')
    expect(await evict('q')).toMatchSnapshot('step 5')
    expect(await evict('idle')).toMatchSnapshot('step 6')
    expect(await evict('none')).toMatchSnapshot('step 7')
    expect(await evict('q', { metadata: { name: 'other' } })).toMatchSnapshot('step 8')
    expect(await evict('q', { deleteOptions: { preconditions: { uid: 'wrong' } } })).toMatchSnapshot('step 9')
  })
})

describe('subresources of pods without a kubelet', () => {
  it.each(['log', 'exec?command=ls', 'attach', 'portforward', 'proxy'])('%s', async (sub) => {
    const collection = await podCollection(pod('p'))
    const answer = await server.call('GET', `${collection}/p/${sub}`)
    expect(answer.status).toMatchSnapshot('step 1')
    expect(at(answer.body, 'message') ?? answer.body).toMatchSnapshot('step 2')
  })
})

describe('other subresources', () => {
  it('update ephemeral containers', async () => {
    const collection = await podCollection(pod('p', { nodeName: 'n' }))
    const debug = { name: 'debug', image: 'busybox' }
    const answer = await server.call('PATCH', `${collection}/p/ephemeralcontainers`, {
      body: { spec: { ephemeralContainers: [debug] } },
      type: 'application/strategic-merge-patch+json',
    })
    expect(answer.status).toBe(200)
    expect(at(answer.body, 'spec', 'ephemeralContainers')).toMatchSnapshot('step 1')
  })

  it('accept an approval, and nothing else', async () => {
    const name = server.unique('csr')
    const path = `/apis/certificates.k8s.io/v1/certificatesigningrequests/${name}`
    // A whole request, signed with the key that it is about: a real server verifies it.
    const request =
      'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZk1JR0ZBZ0VBTUNNeERqQU1CZ05WQkFvTUJXZHliM1Z3TVJFd0R3WURWUVFEREFoemIyMWxZbTlrZVRCWgpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQUJNWXJPbnkwbDhmRHZydkhqWjRwSWRrOXkzNGV2OWRjCjdNUjZFNXNRTnRrVXZ3emdLSjhDYW5IOGpHUE9IUUIwS0VJU1NZYnQ3N1h2cENJRnhNQ096VjZnQURBS0JnZ3EKaGtqT1BRUURBZ05KQURCR0FpRUEraGtZeUNUcDBETzBYcmlRV1VEQWlWQ1puVE03UUkyQ1BvNWxlOHBVcXhnQwpJUUNMYlk1clFkZTVZTVYrTENZcEJKb01pK1FucHBaYmNyVmozWmh1Yi9RY0VnPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=='
    await server.must('POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests', {
      body: { metadata: { name }, spec: { request, signerName: 'example.com/x', usages: ['client auth'] } },
    })
    server.cleanUp(path)
    const condition = { type: 'Approved', status: 'True', reason: 'r', message: 'm' }
    const write = async (door: string, status: object): Promise<unknown> =>
      server.masked(await server.call('PATCH', `${path}/${door}`, { body: { status }, type: merge }))
    expect(await write('status', { conditions: [condition] })).toMatchSnapshot('not through status')
    expect(await write('approval', { conditions: [condition], certificate: 'eA==' })).toMatchSnapshot('approved')
    const both = [condition, { ...condition, type: 'Denied' }]
    expect(await write('approval', { conditions: both })).toMatchSnapshot('approved and denied')
    expect(await write('approval', { conditions: [] })).toMatchSnapshot('taken back')
    expect(await write('status', { certificate: 'eA==' })).toMatchSnapshot('no certificate')
  })

  it('finalize a namespace', async () => {
    const path = `/api/v1/namespaces/${await server.namespace()}`
    const { body } = await server.call('GET', path)
    const more = await server.call('PUT', `${path}/finalize`, {
      body: { ...(body as object), spec: { finalizers: ['kubernetes', 'example.com/f'] } },
    })
    expect(server.masked(more)).toMatchSnapshot('step 1')
    const bad = await server.call('PUT', `${path}/finalize`, {
      body: { ...(more.body as object), spec: { finalizers: ['nonsense'] } },
    })
    expect(server.masked(bad)).toMatchSnapshot('step 2')
    const back = await server.call('PUT', `${path}/finalize`, {
      body: { ...(more.body as object), spec: { finalizers: ['kubernetes'] } },
    })
    expect(back.status).toBe(200)
  })
})

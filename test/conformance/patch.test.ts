/** The four patches: what they do, and what is said of those that make no sense. */
import { describe, expect, it } from 'vitest'
import { defineKind } from './custom-kind.ts'
import { openServer } from './server.ts'
import { unquoted } from './unquoted.ts'

const server = openServer()
const types = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

async function made(): Promise<string> {
  const collection = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  await server.must('POST', collection, {
    body: {
      metadata: { name: 'a', labels: { x: 'y' }, finalizers: ['example.com/f', 'example.com/g'] },
      data: { k: 'v', l: 'w' },
    },
  })
  server.cleanUp(`${collection}/a`)
  return `${collection}/a`
}

describe('patches', () => {
  it.each([
    [
      'json',
      [
        { op: 'replace', path: '/data/k', value: 'z' },
        { op: 'remove', path: '/data/l' },
      ],
    ],
    ['json', [{ op: 'test', path: '/data/k', value: 'nope' }]],
    ['json', [{ op: 'remove', path: '/data/none' }]],
    ['json', [{ op: 'add', path: '/data/none/deep', value: 'x' }]],
    [
      'json',
      [
        { op: 'move', from: '/data/k', path: '/data/m' },
        { op: 'copy', from: '/data/l', path: '/data/n' },
      ],
    ],
    ['json', [{ op: 'jump', path: '/data' }]],
    ['json', { op: 'add' }],
    ['json', [{ op: 'replace', path: '/metadata/name', value: 'b' }]],
    ['json', [{ op: 'add', path: '/data', value: 'text' }]],
    ['json', 'not json'],
    ['json', []],
    ['merge', { data: { k: null, m: 'new' } }],
    ['merge', { data: null }],
    ['merge', { metadata: { labels: null, finalizers: ['example.com/h'] } }],
    ['merge', { metadata: { resourceVersion: '1' } }],
    ['merge', { metadata: { name: 'b' } }],
    ['merge', { metadata: { namespace: 'elsewhere' } }],
    ['merge', { data: { k: 5 } }],
    ['merge', []],
    ['merge', 'not json'],
    ['merge', {}],
    ['strategic', { metadata: { finalizers: ['example.com/h'] }, data: { k: null } }],
    ['strategic', { metadata: { $patch: 'replace', name: 'a', labels: { only: 'one' } } }],
    ['strategic', { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/f'] } }],
    ['strategic', { $patch: 'nonsense' }],
    ['strategic', []],
  ] as const)('%s %j', async (kind, body) => {
    const answer = await server.call('PATCH', await made(), { body, type: types[kind] })
    expect(unquoted(server.masked(answer))).toMatchSnapshot('step 1')
  })

  it('rejects an invalid patch', async () => {
    const path = await made()
    expect(server.masked(await server.call('PATCH', path, { body: {}, type: 'application/json' }))).toMatchSnapshot(
      'step 1',
    )
    expect(server.masked(await server.call('PATCH', path, { body: {}, type: 'text/plain' }))).toMatchSnapshot('step 2')
    expect(
      server.masked(await server.call('PATCH', `${path}?force=true`, { body: {}, type: types.merge })),
    ).toMatchSnapshot('step 3')
    expect(server.masked(await server.call('PATCH', `${path}-none`, { body: {}, type: types.merge }))).toMatchSnapshot(
      'step 4',
    )
  })
})

describe('apply', () => {
  const config = (data: object): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data })

  it('creates, shares, conflicts, forces and releases fields', async () => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps/a`
    const apply = async (manager: string, data: object, query = ''): Promise<void> => {
      const answer = await server.call('PATCH', `${path}?fieldManager=${manager}${query}`, {
        body: config(data),
        type: types.apply,
      })
      expect(server.masked(answer)).toMatchSnapshot('step 1')
    }
    await apply('one', { k: 'v', l: 'w' })
    await apply('two', { k: 'v', m: 'x' })
    await apply('two', { k: 'other' })
    await apply('two', { k: 'other' }, '&force=true')
    await apply('one', { k: 'v' })
    await apply('one', {})
    await apply('two', {})
    await apply('two', {}, '&dryRun=All')
  })

  // The client's "create only" depends on it: server-side apply has no option for that.
  it('with a resource version that no object has creates, and conflicts with any existing object', async () => {
    const namespace = await server.namespace()
    const kind = await defineKind(server, { type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
    const answers: number[][] = []
    for (const [path, object] of [
      [`/api/v1/namespaces/${namespace}/configmaps`, config({ k: 'v' })],
      [kind.path(), kind.object({ spec: { k: 'v' } })],
    ] as const) {
      const { metadata, ...rest } = object as { readonly metadata: { readonly name: string } }
      const apply = async (content: object, query: string): Promise<number> => {
        const body = { ...rest, ...content, metadata: { ...metadata, resourceVersion: '1' } }
        const options = { body, type: types.apply }
        return (await server.call('PATCH', `${path}/${metadata.name}?fieldManager=${query}`, options)).status
      }
      answers.push([
        await apply({}, 'one'),
        await apply({}, 'one'),
        await apply({}, 'one&force=true'),
        await apply({ data: { other: 'x' } }, 'two'),
      ])
    }
    expect(answers).toEqual([
      [201, 409, 409, 409],
      [201, 409, 409, 409],
    ])
  })

  it.each([
    ['no manager', '', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }],
    ['no version', '?fieldManager=m', { kind: 'ConfigMap', metadata: { name: 'a' } }],
    ['another kind', '?fieldManager=m', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }],
    ['another version', '?fieldManager=m', { apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'a' } }],
    ['another name', '?fieldManager=m', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' } }],
    [
      'managers',
      '?fieldManager=m',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', managedFields: [] } },
    ],
    [
      'managedFields',
      '?fieldManager=m',
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'a', managedFields: [{ manager: 'x', operation: 'Apply', apiVersion: 'v1' }] },
      },
    ],
    ['an unknown field', '?fieldManager=m', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, spec: {} }],
    [
      'a wrong type',
      '?fieldManager=m',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 1 } },
    ],
    [
      'the uid of a missing object',
      '?fieldManager=m',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', uid: 'u' } },
    ],
    [
      'the resourceVersion of a missing object',
      '?fieldManager=m',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', resourceVersion: '5' } },
    ],
    [
      'an overlong manager',
      `?fieldManager=${'m'.repeat(129)}`,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
    ],
    ['text', '?fieldManager=m', 'just text'],
  ] as const)('handles %s as the real server does', async (_what, query, body) => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps/a`
    expect(
      unquoted(server.masked(await server.call('PATCH', path + query, { body, type: types.apply }))),
    ).toMatchSnapshot('step 1')
  })

  it('separates status, scale and the main resource', async () => {
    const path = `/apis/apps/v1/namespaces/${await server.namespace()}/deployments/d`
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } }
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' } }
    const steps = [
      ['', 'one', { ...deployment, spec: { replicas: 2, selector: { matchLabels: { a: 'b' } }, template } }],
      [
        '/status',
        'two',
        { ...deployment, status: { replicas: 2, conditions: [{ type: 'Available', status: 'True' }] } },
      ],
      ['/status', 'two', { ...deployment, spec: { replicas: 9 }, status: { replicas: 2 } }],
      ['', 'three', { ...deployment, spec: { template: { spec: { containers: [{ name: 'side', image: 's' }] } } } }],
      ['', 'three', { ...deployment, spec: { replicas: 5 } }],
      ['', 'three', deployment],
    ] as const
    for (const [sub, manager, body] of steps) {
      const answer = await server.call('PATCH', `${path}${sub}?fieldManager=${manager}`, { body, type: types.apply })
      expect(server.masked(answer)).toMatchSnapshot('step 1')
    }
    const scaled = await server.call('PATCH', `${path}/scale?fieldManager=hpa`, {
      body: { spec: { replicas: 7 } },
      type: types.merge,
    })
    expect(server.masked(scaled)).toMatchSnapshot('step 2')
    expect(server.masked(await server.call('GET', path))).toMatchSnapshot('step 3')
    const stale = await server.call('PATCH', `${path}?fieldManager=one`, { body: steps[0][2], type: types.apply })
    expect(server.masked(stale)).toMatchSnapshot('step 4')
  })
})

/** Reading: gets, lists, selectors, pages, versions, representations. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/kube/json.ts'
import { type Answer, at, openServer } from './server.ts'

const server = openServer()

async function configs(count: number): Promise<string> {
  const collection = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  for (let index = 0; index < count; index++) {
    await server.must('POST', collection, {
      body: { metadata: { name: `c${index}`, labels: { index: String(index), parity: index % 2 ? 'odd' : 'even' } } },
    })
  }
  return collection
}

const names = (body: Json): readonly unknown[] =>
  ((at(body, 'items') as readonly Json[]) ?? []).map((item) => at(item, 'metadata', 'name'))

/** Where the words are those of a parser, and no client reads them. */
const refusal = ({ body }: Answer): unknown => [at(body, 'code'), at(body, 'reason')]

/** A server may answer from a copy that is a moment behind, unless it is asked for one that is not. */
async function caughtUp(collection: string): Promise<void> {
  const { body } = await server.call('GET', collection)
  const resourceVersion = at(body, 'metadata', 'resourceVersion') as string
  await server.call('GET', collection, { query: { resourceVersion, resourceVersionMatch: 'NotOlderThan' } })
}

describe('lists', () => {
  it('are lists of objects without their kind', async () => {
    expect(server.masked(await server.call('GET', await configs(1)))).toMatchSnapshot('step 1')
  })

  it.each([
    'parity=even',
    'parity!=even',
    'parity in (even,odd)',
    'parity notin (odd)',
    'index',
    '!index',
    'index>2',
    'index<2',
    'parity==odd,index!=1',
    'x in',
    '=,=',
    'parity in ()',
    'a b',
    'index>x',
    '-bad-',
    'parity=',
  ])('selects labels %s', async (labelSelector) => {
    const answer = await server.call('GET', await configs(4), { query: { labelSelector } })
    expect(answer.status === 200 ? names(answer.body) : refusal(answer)).toMatchSnapshot('step 1')
  })

  it.each([
    'metadata.name=c1',
    'metadata.name!=c1',
    'metadata.namespace=default',
    'metadata.labels=x',
    'spec.x=1',
    'metadata.name',
    'metadata.name=c1,metadata.name=c2',
    'metadata.name==',
  ])('selects fields %s', async (fieldSelector) => {
    const answer = await server.call('GET', await configs(3), { query: { fieldSelector } })
    expect(answer.status === 200 ? names(answer.body) : refusal(answer)).toMatchSnapshot('step 1')
  })

  it('come in pages that form one list', async () => {
    const collection = await configs(5)
    const first = await server.call('GET', `${collection}?limit=2`)
    await server.must('POST', collection, { body: { metadata: { name: 'c11' } } })
    await server.call('DELETE', `${collection}/c3`)
    const query = { limit: '2', continue: at(first.body, 'metadata', 'continue') as string }
    const second = await server.call('GET', collection, { query })
    const third = await server.call('GET', collection, {
      query: { limit: '2', continue: at(second.body, 'metadata', 'continue') as string },
    })
    expect([first, second, third].map(({ body }) => names(body))).toEqual([['c0', 'c1'], ['c2', 'c3'], ['c4']])
    expect([first, second, third].map(({ body }) => server.maskedJson(at(body, 'metadata')!))).toMatchSnapshot('step 1')
    const versions = [first, second, third].map(({ body }) => at(body, 'metadata', 'resourceVersion'))
    expect(new Set(versions).size).toBe(1)
  })

  it.each([
    { continue: 'nonsense' },
    { limit: '-1' },
    { limit: 'many' },
    { resourceVersion: 'x' },
    { resourceVersion: '5', resourceVersionMatch: 'Nope' },
    { resourceVersionMatch: 'Exact' },
    { resourceVersion: '0', resourceVersionMatch: 'Exact' },
    { resourceVersion: '0', resourceVersionMatch: 'NotOlderThan' },
    { resourceVersion: '0' },
    { sendInitialEvents: 'true' },
    { timeoutSeconds: 'x' },
    { watch: 'false' },
    { allowWatchBookmarks: 'true' },
  ])('with %j', async (query) => {
    const collection = await configs(1)
    await caughtUp(collection)
    const answer = await server.call('GET', collection, { query: query as unknown as Record<string, string> })
    const seen = 'continue' in query ? refusal(answer) : server.masked(answer)
    expect(answer.status === 200 ? names(answer.body) : seen).toMatchSnapshot('step 1')
  })

  it('can be at an exact version', async () => {
    const collection = await configs(2)
    const version = at((await server.call('GET', collection)).body, 'metadata', 'resourceVersion') as string
    await server.must('POST', collection, { body: { metadata: { name: 'later' } } })
    await caughtUp(collection)
    const exact = await server.call('GET', collection, {
      query: { resourceVersion: version, resourceVersionMatch: 'Exact' },
    })
    const newer = await server.call('GET', collection, {
      query: { resourceVersion: version, resourceVersionMatch: 'NotOlderThan' },
    })
    expect(names(exact.body)).toEqual(['c0', 'c1'])
    expect(names(newer.body)).toEqual(['c0', 'c1', 'later'])
    expect(at(exact.body, 'metadata', 'resourceVersion')).toBe(version)
  })

  it('may span all namespaces', async () => {
    const namespace = (await configs(1)).split('/')[4]!
    const { body } = await server.call('GET', '/api/v1/configmaps', {
      query: { fieldSelector: `metadata.namespace=${namespace}` },
    })
    expect(names(body)).toEqual(['c0'])
  })

  it('of a missing namespace are empty', async () => {
    expect(server.masked(await server.call('GET', '/api/v1/namespaces/nowhere/configmaps'))).toMatchSnapshot('step 1')
  })
})

describe('representations', () => {
  it.each([
    'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    'application/yaml',
    'text/html',
    '*/*',
    'application/json;as=Nonsense;g=meta.k8s.io;v=v1',
    'text/html,application/json;q=0.5',
  ])('%s', async (accept) => {
    const collection = await configs(1)
    for (const path of [collection, `${collection}/c0`]) {
      const answer = await server.call('GET', path, { accept })
      const body = accept === 'application/yaml' ? 'as YAML' : server.masked(answer)
      expect([answer.headers['content-type'], body]).toMatchSnapshot()
    }
  })
})

describe('paths', () => {
  it.each([
    ['GET', '/api/v1/nonsense'],
    ['GET', '/api/v1/namespaces/default/nonsense/x'],
    ['GET', '/apis/none.example.com/v1/things'],
    ['GET', '/nonsense'],
    ['GET', '/api/v1/namespaces/default/configmaps/a/nonsense'],
    ['POST', '/api/v1/namespaces/default/configmaps/a'],
    ['PUT', '/api/v1/namespaces/default/configmaps'],
    ['DELETE', '/api/v1/configmaps'],
    ['POST', '/api/v1/configmaps'],
    ['PATCH', '/api/v1/namespaces/default/configmaps'],
    ['GET', '/api/v1/configmaps/a'],
    ['GET', '/api/v1/namespaces/default/nodes'],
    ['GET', '/healthz'],
    ['GET', '/livez'],
    ['GET', '/readyz'],
    ['GET', '/api'],
    ['GET', '/apis/apps'],
  ] as const)('%s %s', async (method, path) => {
    const answer = await server.call(method, path, method === 'GET' || method === 'DELETE' ? {} : { body: {} })
    const { serverAddressByClientCIDRs: _addresses, ...body } = answer.body as Record<string, Json>
    expect(server.masked({ ...answer, body: typeof answer.body === 'string' ? answer.body : body })).toMatchSnapshot(
      'step 1',
    )
  })
})

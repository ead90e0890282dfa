/** The path of a request, however it is written: what is authorized, and what is served. */
import { beforeAll, describe, expect, it } from 'vitest'
import { openServer } from './server.ts'

const server = openServer()
let namespace = ''

beforeAll(async () => {
  namespace = await server.namespace()
  await server.must('POST', `/api/v1/namespaces/${namespace}/secrets`, { body: { metadata: { name: 'a' } } })
})

/** The namespace is written as `NS`: tables of cases are made before it. */
const written = (path: string): string => path.replaceAll('NS', namespace)

describe('a path', () => {
  it.each([
    '*/api/v1/namespaces/NS/secrets/a',
    'x/api/v1/namespaces/NS/secrets/a',
    'api/v1/namespaces/NS/secrets/a',
    '/api/v1/namespaces/NS/secrets/%zz',
  ])('%s is invalid as a request target, for every user', async (path) => {
    for (const who of [server, server.as('bob')]) {
      const { status, body } = await who.call('GET', written(path))
      expect([status, body]).toEqual([400, '400 Bad Request'])
    }
  })

  it.each([
    '/api/v1/namespaces/NS/secrets/a/',
    '/api/v1/namespaces/NS/secrets/a//',
    '/api/v1/namespaces/NS%2Fsecrets/a',
    '/api%2Fv1%2Fnamespaces%2FNS%2Fsecrets%2Fa',
    '/%61pi/v1/namespaces/NS/%73ecrets/%61',
    'http://another.host/api/v1/namespaces/NS/secrets/a',
    'https://somebody@another.host:1/api/v1/namespaces/NS/secrets/a',
    'http:/api/v1/namespaces/NS/secrets/a',
    '*',
    '//api/v1/namespaces/NS/secrets/a',
    '/./api/v1/namespaces/NS/secrets/a',
    '/x/../api/v1/namespaces/NS/secrets/a',
    '/api/v1/namespaces/NS/secrets//a',
    '/api/v1/namespaces/NS/secrets/..',
    '/api/v1/namespaces/NS/secrets/%2e%2e',
    '/api/v1/namespaces/NS/secrets/%25',
    '/api/v1/namespaces/NS/secrets/a%2Fb',
    '/api/v1/namespaces/NS/status/a',
    '/api/v1/namespaces/NS/status/a/b',
    '/api/v1//namespaces/NS/secrets/a',
    '/api/v1/namespaces/NS/secrets#a',
    '/healthz/',
    '//healthz',
    '/%68ealthz',
    '/openapi/v3/%2e%2e/v2',
    '/openapi/v2/',
  ])('%s is the same for the authorizer and the handler', async (path) => {
    const [admin, bob] = [await server.call('GET', written(path)), await server.as('bob').call('GET', written(path))]
    expect([server.masked(admin), server.masked(bob)]).toMatchSnapshot('administrator and stranger')
  })

  it.each(['/api/v1/namespaces//secrets', '/api/v1/secrets//', '/%61pi/v1/secrets'])(
    '%s is all secrets',
    async (path) => {
      const { status, body } = await server.call('GET', path, {
        query: { fieldSelector: `metadata.namespace=${namespace}` },
      })
      expect([status, body]).toMatchObject([200, { kind: 'SecretList', items: [{ metadata: { name: 'a' } }] }])
      expect(server.masked(await server.as('bob').call('GET', path))).toMatchSnapshot('stranger')
    },
  )
})

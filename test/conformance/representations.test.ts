/** Answers that are no objects of a resource, in every form that a client may ask for: reviews, actions, scales. */
import { describe, expect, it } from 'vitest'
import { type Answer, at, openServer } from './server.ts'

const server = openServer()

const json = 'application/json'
const table = `${json};as=Table;v=v1;g=meta.k8s.io`
const metadata = `${json};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`
const list = `${json};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io`
const forms = [
  table,
  `${table},${json}`,
  metadata,
  `${metadata},${json}`,
  list,
  'application/yaml;as=Table',
  'text/html',
]

function said({ status, body }: Answer): string {
  const [kind, apiVersion, message] = ['kind', 'apiVersion', 'message'].map((member) => at(body, member) as string)
  return [status, kind, apiVersion, message].join(' | ')
}

const pods = { verb: 'get', resource: 'pods' }

describe('a response', () => {
  it.each<readonly [string, object]>([
    ['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { spec: { resourceAttributes: pods } }],
    ['/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec: { user: 'x', resourceAttributes: pods } }],
    [
      '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews',
      { spec: { user: 'x', resourceAttributes: { ...pods, namespace: 'default' } } },
    ],
    ['/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', { spec: { namespace: 'default' } }],
    ['/apis/authentication.k8s.io/v1/selfsubjectreviews', {}],
    ['/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'x' } }],
    ['/api/v1/namespaces/default/pods/none/eviction', {}],
    ['/api/v1/namespaces/default/pods/none/eviction', { metadata: { name: 'none', namespace: 'other' } }],
    ['/api/v1/namespaces/default/pods/none/binding', { target: { name: 'n' } }],
    ['/api/v1/namespaces/default/bindings', { metadata: { name: 'none' }, target: { name: 'n' } }],
  ])('of %s has these representations', async (path, body) => {
    const answers: string[] = []
    for (const accept of forms) answers.push(said(await server.call('POST', path, { body, accept })))
    expect(answers).toMatchSnapshot()
  })

  it('of a scale has these representations', async () => {
    const path = `/apis/apps/v1/namespaces/${await server.namespace()}/deployments`
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const spec = { replicas: 0, selector: { matchLabels: { a: 'b' } }, template }
    await server.must('POST', path, { body: { metadata: { name: 'd' }, spec } })
    const answers: unknown[] = []
    for (const accept of forms) {
      const read = await server.call('GET', `${path}/d/scale`, { accept })
      const type = 'application/merge-patch+json'
      const written = await server.call('PATCH', `${path}/d/scale`, { accept, type, body: { spec: { replicas: 0 } } })
      const cells = [read, written].map(({ body }) => at(body, 'rows', 0, 'cells') as readonly unknown[] | undefined)
      answers.push([said(read), said(written), ...cells.map((row) => row?.slice(0, 3) ?? null)])
    }
    expect(answers).toMatchSnapshot()
  })
})

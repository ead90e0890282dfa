/** What random requests have found about single kinds (`test/real/differential`): checks that a change goes through, too. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { outcomeOf, tryChange, tryCreate } from './outcome.ts'
import { type Answer, at, openServer } from './server.ts'

const server = openServer()
const merge = 'application/merge-patch+json'
let namespace = ''
beforeAll(async () => {
  namespace = await server.namespace()
})

const named = (group: string, plural: string): string => `/apis/${group}/namespaces/${namespace}/${plural}`
const storage = '/apis/storage.k8s.io/v1'

/** A cluster-scoped object of one's own, changed. */
async function changed(path: string, content: object, patch: JsonObject): Promise<Json> {
  const name = server.unique('found')
  server.cleanUp(`${path}/${name}`)
  return await tryChange(server, path, { metadata: { name }, ...content }, patch)
}

describe('an update is validated like a create, for', () => {
  it.each([{ handler: 'Bad_' }, { handler: null }, { overhead: { podFixed: { cpu: '-1' } } }])(
    'runtime classes: %j',
    async (patch) => {
      expect(await changed('/apis/node.k8s.io/v1/runtimeclasses', { handler: 'runc' }, patch)).toMatchSnapshot('change')
    },
  )

  it.each([{ parameters: null }, { driverName: 'Bad Name' }])('classes of attributes: %j', async (patch) => {
    const content = { driverName: 'd.example.com', parameters: { iops: '5' } }
    expect(await changed(`${storage}/volumeattributesclasses`, content, patch)).toMatchSnapshot('change')
  })

  it('capacities', async () => {
    const first = { metadata: { name: 'c' }, storageClassName: 'c', capacity: '1Gi' }
    const path = named('storage.k8s.io/v1', 'csistoragecapacities')
    expect(await tryChange(server, path, first, { storageClassName: 'Bad_', capacity: '-1' })).toMatchSnapshot()
  })
})

describe('nodes', () => {
  it('keep their podCIDR, which an old client sends alone', async () => {
    const spec = { podCIDR: '10.9.0.0/24' }
    expect(await changed('/api/v1/nodes', { spec }, { spec: { podCIDR: '10.8.0.0/24' } })).toMatchSnapshot()
  })

  it('no longer accept a configSource', async () => {
    const name = server.unique('node')
    const body = { metadata: { name }, spec: { configSource: { configMap: { name: 'x' } } } }
    const made = await server.must('POST', '/api/v1/nodes', { body, query: { dryRun: 'All' } })
    expect(at(made, 'spec', 'configSource')).toBeUndefined()
  })
})

describe('drivers', () => {
  it('count generations from their first change on', async () => {
    const name = server.unique('driver')
    server.cleanUp(`${storage}/csidrivers/${name}`)
    const made = await server.must('POST', `${storage}/csidrivers`, { body: { metadata: { name }, spec: {} } })
    const body = { spec: { requiresRepublish: true } }
    const later = await server.must('PATCH', `${storage}/csidrivers/${name}`, { type: merge, body })
    expect([at(made, 'metadata', 'generation'), at(later, 'metadata', 'generation')]).toEqual([undefined, 1])
  })
})

describe('attachments of volumes', () => {
  it('update only status through the status subresource', async () => {
    const name = server.unique('attachment')
    const path = `${storage}/volumeattachments/${name}`
    const spec = { attacher: 'd.example.com', nodeName: 'n', source: { persistentVolumeName: 'pv' } }
    server.cleanUp(path)
    await server.must('POST', `${storage}/volumeattachments`, { body: { metadata: { name }, spec } })
    const body = { metadata: { labels: { a: 'not ok!' }, finalizers: ['example.com/x'] }, status: { attached: true } }
    const later = await server.must('PATCH', `${path}/status`, { type: merge, body })
    const entries = at(later, 'metadata', 'managedFields') as readonly JsonObject[]
    expect([at(later, 'metadata', 'labels'), at(later, 'metadata', 'finalizers'), later['status']]).toMatchSnapshot(
      'kept',
    )
    expect(entries.find(({ subresource }) => subresource === 'status')?.['fieldsV1']).toMatchSnapshot('owned')
  })
})

describe('flow control', () => {
  const flow = '/apis/flowcontrol.apiserver.k8s.io/v1'

  it('distinguishes by known fields', async () => {
    const spec = {
      priorityLevelConfiguration: { name: 'none' },
      matchingPrecedence: 9000,
      distinguisherMethod: { type: 'Odd' },
    }
    expect(await tryCreate(server, `${flow}/flowschemas`, { metadata: { name: 'f' }, spec })).toMatchSnapshot()
  })

  it.each([
    { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: { queues: 5, handSize: 9 } } } },
    { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: { queues: 512, handSize: 9 } } } },
    { type: 'Odd', limited: { limitResponse: { type: 'Odd' } } },
    { limited: { limitResponse: { type: 'Queue' } } },
  ])('assigns queues: %j', async (spec) => {
    const path = `${flow}/prioritylevelconfigurations`
    expect(await tryCreate(server, path, { metadata: { name: 'p' }, spec })).toMatchSnapshot('level')
  })
})

describe('definitions', () => {
  it('may have null where Go has an empty value', async () => {
    const versions = [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties: null } } },
    ]
    const spec = { group: 'g.example.com', scope: 'Namespaced', names: null, versions }
    const body = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'nulls', labels: { a: null } },
      spec,
    }
    const answer = await server.call('PATCH', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nulls', {
      type: 'application/apply-patch+yaml',
      query: { fieldManager: 'f', dryRun: 'All' },
      body,
    })
    expect(outcomeOf(server, answer)).toMatchSnapshot()
  })

  it('are named after what they define, including generated names', async () => {
    const spec = {
      group: 'g.example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    }
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const answer = await server.call('POST', path, { body: { metadata: { generateName: 'x-' }, spec } })
    const causes = at(answer.body, 'details', 'causes') as readonly JsonObject[]
    expect(causes.map(({ field }) => field)).toEqual(['metadata.generateName', 'metadata.name'])
  })
})

describe('endpoints', () => {
  const warningOf = ({ headers }: Answer): string => headers['warning'] ?? ''

  it('are deprecated, with a warning', async () => {
    const path = `/api/v1/namespaces/${namespace}/endpoints`
    expect(warningOf(await server.call('GET', path))).toMatchSnapshot('answered')
    expect(warningOf(await server.call('GET', `${path}/none`))).toMatchSnapshot('refused')
    expect(warningOf(await server.call('PUT', path, { body: {} }))).toBe('')
    expect(warningOf(await server.call('GET', `${path}/none/status`))).toBe('')
  })
})

describe('revisions', () => {
  it('do not support strategic merge patches', async () => {
    const path = named('apps/v1', 'controllerrevisions')
    await server.must('POST', path, { body: { metadata: { name: 'r' }, revision: 1, data: { spec: { a: 1 } } } })
    const patch = async (data: object): Promise<Json> => {
      const type = 'application/strategic-merge-patch+json'
      return outcomeOf(server, await server.call('PATCH', `${path}/r`, { type, body: { data } }))
    }
    expect(at(await patch({ spec: { b: 2 } }), 'message')).toMatchSnapshot()
  })
})

describe('replication controllers', () => {
  it('warn about fields that were already invalid', async () => {
    const labels = { app: 'a' }
    const template = (image: object): JsonObject => ({
      metadata: { labels },
      spec: { containers: [{ name: 'a', image: 'b', ...image }] },
    })
    const odd = {
      ports: [
        { containerPort: 1, hostPort: 1 },
        { containerPort: 1, hostPort: 1, protocol: 'TCP', name: 'x' },
      ],
    }
    const path = `/api/v1/namespaces/${namespace}/replicationcontrollers`
    await server.must('POST', path, { body: { metadata: { name: 'r' }, spec: { template: template({}) } } })
    const replaced = async (containers: object): Promise<string> => {
      const body = [{ op: 'replace', path: '/spec/template', value: template(containers) }]
      const answer = await server.call('PATCH', `${path}/r`, { type: 'application/json-patch+json', body })
      return `${answer.status} ${answer.headers['warning'] ?? ''}`
    }
    expect([await replaced(odd), await replaced({})]).toMatchSnapshot()
  })

  it('do not validate their generateName', async () => {
    const path = `/api/v1/namespaces/${namespace}/replicationcontrollers`
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'a', image: 'b' }] } }
    const answer = await server.call('POST', path, { body: { metadata: { generateName: 'X-' }, spec: { template } } })
    const causes = at(answer.body, 'details', 'causes') as readonly JsonObject[]
    expect(causes.map(({ field }) => field)).toEqual(['metadata.name'])
  })
})

/** What random requests have found (`test/real/differential`): small things, each of which a client once could see. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { crds, definition, type Kind, kindOf, withSpec } from './custom-kind.ts'
import { type Answer, at, openServer } from './server.ts'

const server = openServer()
const merge = 'application/merge-patch+json'
const apply = 'application/apply-patch+yaml'

/** The refusal alone. */
function refusal(answer: Answer): unknown {
  const { message, reason, details } = (server.masked(answer).body ?? {}) as JsonObject
  return { status: answer.status, message, reason, details }
}

let namespace = ''
let kind: Kind
beforeAll(async () => {
  namespace = await server.namespace()
  const group = `${server.unique('found')}.example.com`
  kind = kindOf(group)
  await server.must('POST', crds, {
    body: definition(group, withSpec({ size: { type: 'integer' } }), { version: { subresources: { status: {} } } }),
  })
  server.cleanUp(`${crds}/${kind.crd}`)
  await server.until(kind.path(), ({ status }) => status === 200)
})

const core = (plural: string, name = ''): string => `/api/v1/namespaces/${namespace}/${plural}${name && `/${name}`}`
const named = (group: string, plural: string, name = ''): string =>
  `/apis/${group}/namespaces/${namespace}/${plural}${name && `/${name}`}`

describe('an error', () => {
  it('is returned as YAML to clients that accept YAML', async () => {
    const answer = await server.call('GET', core('configmaps', 'none'), { accept: 'application/yaml' })
    expect(server.masked(answer)).toMatchSnapshot()
  })

  it.each(['a b c', 'a in (b', 'a=b c', '!', '/a=b'])(
    'explains the invalid label selector %s',
    async (labelSelector) => {
      expect(refusal(await server.call('GET', core('configmaps'), { query: { labelSelector } }))).toMatchSnapshot(
        'labels',
      )
    },
  )

  it.each(['a', 'metadata.name=a=b', 'spec.nothing=x'])(
    'explains the invalid field selector %s',
    async (fieldSelector) => {
      const jobs = named('batch/v1', 'jobs')
      const query = { fieldSelector }
      expect(refusal(await server.call('GET', core('configmaps'), { query }))).toMatchSnapshot('of config maps')
      expect(refusal(await server.call('GET', jobs, { query }))).toMatchSnapshot('of jobs')
    },
  )

  it.each([
    ['ConfigMap', 'v9'],
    ['Nothing', 'v1'],
    ['Deployment', 'apps/v1'],
    [5, 'v1'],
  ])('says that a %s of %s is not a ConfigMap', async (type, apiVersion) => {
    const body = { apiVersion, kind: type, metadata: { name: 'a' } }
    expect(refusal(await server.call('POST', core('configmaps'), { body }))).toMatchSnapshot('type')
  })

  it('of an object that is being deleted says so', async () => {
    const body = { metadata: { name: 'held', finalizers: ['example.com/hold'] } }
    await server.must('POST', core('configmaps'), { body })
    await server.must('DELETE', core('configmaps', 'held'))
    expect(refusal(await server.call('POST', core('configmaps'), { body }))).toMatchSnapshot()
  })
})

describe('a patch', () => {
  it('cannot change the identity of an object, and reports all errors', async () => {
    await server.must('POST', core('configmaps'), { body: { metadata: { name: 'identity' } } })
    const metadata = { uid: 'other', labels: { a: 'not ok!' }, deletionGracePeriodSeconds: 3 }
    const answer = await server.call('PATCH', core('configmaps', 'identity'), { body: { metadata }, type: merge })
    expect(refusal(answer)).toMatchSnapshot()
  })

  it('of a custom object reports an error for each check', async () => {
    await server.must('POST', kind.path(), { body: kind.object({ metadata: { name: 'identity' } }) })
    const body = { metadata: { uid: 'other', labels: { a: 'not ok!' } } }
    expect(refusal(await server.call('PATCH', `${kind.path()}/identity`, { body, type: merge }))).toMatchSnapshot()
  })

  it('of metadata with a wrong type is rejected as a patch, of custom objects too', async () => {
    await server.must('POST', kind.path(), { body: kind.object({ metadata: { name: 'typed' } }) })
    const body = { metadata: { annotations: { a: 5 } } }
    const { status } = await server.call('PATCH', `${kind.path()}/typed`, { body, type: merge })
    expect(status).toBe(422)
  })
})

describe('a body', () => {
  it.each(['soon', '2026-01-01T00:00:02Z', '2026-13-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000+02:00'])(
    'with the time %s is parsed as Go does',
    async (renewTime) => {
      const body = { metadata: { name: 'timed' }, spec: { renewTime } }
      const query = { dryRun: 'All' }
      const answer = await server.call('POST', named('coordination.k8s.io/v1', 'leases'), { body, query })
      expect([answer.status, at(answer.body, 'message'), at(answer.body, 'spec')]).toMatchSnapshot('time')
    },
  )

  it.each(['*', 'YQ', 'YQ==\n', 'YWI=c'])('with the bytes %j is parsed as Go does', async (value) => {
    const body = { metadata: { name: 'bytes' }, data: { value } }
    const answer = await server.call('POST', core('secrets'), { body, query: { dryRun: 'All' } })
    expect([answer.status, at(answer.body, 'message'), at(answer.body, 'data')]).toMatchSnapshot('bytes')
  })

  it('may have null where Go has an empty value', async () => {
    const body = { metadata: { name: 'nulls', labels: { a: null } }, data: { b: null } }
    const made = await server.must('POST', core('configmaps'), { body, query: { dryRun: 'All' } })
    expect([at(made, 'metadata', 'labels'), at(made, 'data')]).toMatchSnapshot()
  })

  it('with an empty list owns the list', async () => {
    const roles = named('rbac.authorization.k8s.io/v1', 'roles')
    const made = await server.must('POST', roles, { body: { metadata: { name: 'empty' }, rules: [] } })
    expect([made['rules'], at(made, 'metadata', 'managedFields', 0, 'fieldsV1')]).toMatchSnapshot()
  })

  it('in YAML is read in the order of its keys', async () => {
    const body = 'metadata: {name: y}\nspec: {renewTime: 5, leaseDurationSeconds: x, holderIdentity: 5}'
    const type = 'application/yaml'
    expect(
      refusal(await server.call('POST', named('coordination.k8s.io/v1', 'leases'), { body, type })),
    ).toMatchSnapshot()
  })

  it('of a custom kind must have its apiVersion and kind', async () => {
    for (const body of [{}, { kind: 'Thing' }, { apiVersion: `${kind.group}/v1`, kind: 'Other' }]) {
      expect(refusal(await server.call('POST', kind.path(), { body }))).toMatchSnapshot()
    }
  })
})

describe('names', () => {
  it('generated from an invalid prefix are rejected twice', async () => {
    const answer = await server.call('POST', core('configmaps'), { body: { metadata: { generateName: 'Gen-' } } })
    const causes = at(answer.body, 'details', 'causes') as readonly JsonObject[]
    expect(causes.map(({ field }) => field)).toEqual(['metadata.generateName', 'metadata.name'])
  })

  it('of finalizers need a domain in some kinds only', async () => {
    const metadata = { name: 'free', finalizers: ['nodomain'] }
    const query = { dryRun: 'All' }
    const tried = async (path: string, rest: object = {}): Promise<number> =>
      (await server.call('POST', path, { body: { metadata, ...rest }, query })).status
    expect({
      configMap: await tried(core('configmaps')),
      lease: await tried(named('coordination.k8s.io/v1', 'leases')),
      budget: await tried(named('policy/v1', 'poddisruptionbudgets')),
      event: await tried(core('events'), { involvedObject: { namespace } }),
    }).toEqual({ configMap: 422, lease: 201, budget: 201, event: 201 })
  })
})

describe('lists', () => {
  it('of custom objects always have a continue token', async () => {
    const list = await server.must('GET', kind.path(), { query: { labelSelector: 'none=such' } })
    expect(at(list, 'metadata', 'continue')).toBe('')
  })

  it('of metadata only are null when empty', async () => {
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
    const list = await server.must('GET', core('configmaps'), { accept, query: { labelSelector: 'none=such' } })
    expect(list['items']).toBeNull()
  })

  it('continue as long as objects follow, selected or not', async () => {
    for (const [name, tier] of [
      ['p1', 'x'],
      ['p2', 'y'],
    ] as const) {
      await server.must('POST', core('secrets'), { body: { metadata: { name, labels: { tier } } } })
    }
    const list = await server.must('GET', core('secrets'), { query: { limit: '1', labelSelector: 'tier=x' } })
    expect(at(list, 'metadata', 'continue')).not.toBe(undefined)
    expect((list['items'] as readonly unknown[]).length).toBe(1)
  })

  it('of deleted objects show their last state', async () => {
    await server.must('POST', core('serviceaccounts'), {
      body: { metadata: { name: 'gone', labels: { go: 'x' }, finalizers: ['example.com/hold'] } },
    })
    const list = await server.must('DELETE', core('serviceaccounts'), { query: { labelSelector: 'go=x' } })
    expect(at(list, 'items', 0, 'metadata', 'deletionTimestamp')).toBeUndefined()
  })
})

describe('generations', () => {
  it('without counting stay as sent', async () => {
    const made = await server.must('POST', core('configmaps'), {
      body: { metadata: { name: 'counted', generation: 7 } },
    })
    expect(at(made, 'metadata', 'generation')).toBe(7)
  })

  it('of endpoint slices count labels', async () => {
    const path = named('discovery.k8s.io/v1', 'endpointslices')
    await server.must('POST', path, { body: { metadata: { name: 'a' }, addressType: 'IPv4' } })
    const body = { metadata: { labels: { a: 'b' } } }
    const changed = await server.must('PATCH', `${path}/a`, { body, type: merge })
    expect(at(changed, 'metadata', 'generation')).toBe(2)
  })
})

describe('the representation', () => {
  it('as metadata only omits annotations that are fields', async () => {
    const path = named('apps/v1', 'daemonsets')
    const labels = { app: 'a' }
    const spec = {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'b' }] } },
    }
    const made = await server.must('POST', path, { body: { metadata: { name: 'a' }, spec } })
    const accept = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
    const shown = await server.must('GET', `${path}/a`, { accept })
    expect(at(made, 'metadata', 'managedFields', 0, 'fieldsV1', 'f:metadata')).toMatchSnapshot('owned')
    expect([at(made, 'metadata', 'annotations'), at(shown, 'metadata', 'annotations')]).toMatchSnapshot('shown')
  })

  it('of an empty scale is empty', async () => {
    const labels = { app: 'a' }
    const spec = {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'b' }] } },
    }
    await server.must('POST', named('apps/v1', 'replicasets'), { body: { metadata: { name: 'none' }, spec } })
    const scale = await server.must('GET', `${named('apps/v1', 'replicasets', 'none')}/scale`)
    expect(scale['spec']).toEqual({})
  })
})

describe('pods', () => {
  const pod = async (name: string): Promise<void> => {
    const spec = { containers: [{ name: 'main', image: 'nginx' }] }
    await server.must('POST', core('pods'), { body: { metadata: { name }, spec } })
  }
  const strategic = 'application/strategic-merge-patch+json'

  it('keep ephemeral containers', async () => {
    await pod('watched')
    const patch = async (container: object): Promise<Answer> =>
      await server.call('PATCH', `${core('pods', 'watched')}/ephemeralcontainers`, {
        body: { spec: { ephemeralContainers: [container] } },
        type: strategic,
      })
    expect((await patch({ name: 'debug', image: 'busybox' })).status).toBe(200)
    expect(refusal(await patch({ name: 'main', image: 'busybox' }))).toMatchSnapshot('a name that is taken')
    expect(refusal(await patch({ name: 'two', image: 'b', ports: [{ containerPort: 1 }] }))).toMatchSnapshot('a port')
    expect((await patch({ name: 'debug', image: 'other' })).status).toBe(422)
  })

  it('survive a dry-run eviction, and get a condition from a real one', async () => {
    await pod('evicted')
    const evict = async (deleteOptions: object): Promise<Answer> =>
      await server.call('POST', `${core('pods', 'evicted')}/eviction`, {
        body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'evicted' }, deleteOptions },
      })
    expect((await evict({ dryRun: ['All'] })).status).toBe(201)
    const { metadata } = await server.must('GET', core('pods', 'evicted'))
    const watching = await server.watch(core('pods'), {
      query: {
        watch: 'true',
        fieldSelector: 'metadata.name=evicted',
        resourceVersion: (metadata as JsonObject)['resourceVersion'] as string,
      },
    })
    expect((await evict({})).status).toBe(201)
    const seen = await watching.next()
    watching.stop()
    expect(server.maskedJson(at(seen!.object, 'status', 'conditions') ?? null)).toMatchSnapshot()
  })

  it('are bound by name', async () => {
    await pod('bound')
    const body = { target: { kind: 'Node', name: 'n' } }
    expect(refusal(await server.call('POST', `${core('pods', 'bound')}/binding`, { body }))).toMatchSnapshot()
  })
})

describe('an apply', () => {
  it('is rejected for its content before its conflicts', async () => {
    const path = core('configmaps', 'applied')
    await server.must('POST', core('configmaps'), { body: { metadata: { name: 'applied' }, data: { a: '1' } } })
    const answer = await server.call('PATCH', path, {
      type: apply,
      query: { fieldManager: 'other' },
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'applied', resourceVersion: '1' },
        data: { a: '2' },
      },
    })
    expect(refusal(answer)).toMatchSnapshot()
  })

  it('of an invalid enumeration value is an internal error', async () => {
    const answer = await server.call('PATCH', core('secrets', 'applied'), {
      type: apply,
      query: { fieldManager: 'other' },
      body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'applied' }, data: { a: '*' } },
    })
    expect(refusal(answer)).toMatchSnapshot()
  })
})

describe('a watch', () => {
  it('shows the previous state of an object that lost its last finalizer', async () => {
    const body = { metadata: { name: 'last', finalizers: ['example.com/hold'] }, data: { a: '1' } }
    await server.must('POST', core('configmaps'), { body })
    const marked = await server.must('DELETE', core('configmaps', 'last'))
    const watching = await server.watch(core('configmaps'), {
      query: {
        watch: 'true',
        fieldSelector: 'metadata.name=last',
        resourceVersion: at(marked, 'metadata', 'resourceVersion') as string,
      },
    })
    const released = await server.must('PATCH', core('configmaps', 'last'), {
      type: merge,
      body: { metadata: { finalizers: null }, data: { a: '2' } },
    })
    const seen = await watching.next()
    watching.stop()
    expect([seen?.type, at(seen!.object, 'data'), at(seen!.object, 'metadata', 'finalizers')]).toEqual([
      'DELETED',
      { a: '1' },
      ['example.com/hold'],
    ])
    expect(released['data']).toEqual({ a: '2' })
  })
})

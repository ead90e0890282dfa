/** Who owns what after unusual writes, as random requests have found it (`test/real/differential`). */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { defineKind, type Kind, withSpec } from './custom-kind.ts'
import { type Answer, at, openServer } from './server.ts'

const server = openServer()
const merge = 'application/merge-patch+json'
const apply = 'application/apply-patch+yaml'
let namespace = ''
let kind: Kind
beforeAll(async () => {
  namespace = await server.namespace()
  const subresources = { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } }
  kind = await defineKind(server, withSpec({ replicas: { type: 'integer' }, other: { type: 'string' } }), {
    version: { subresources },
  })
})

const named = (group: string, plural: string, name = ''): string =>
  `/apis/${group}/namespaces/${namespace}/${plural}${name && `/${name}`}`

/** Whose is what, whenever it came to be. */
function owners(object: Json): Json {
  const entries = (at(object, 'metadata', 'managedFields') ?? []) as readonly JsonObject[]
  const shown = entries.map(({ manager, operation, apiVersion, subresource = '', time, fieldsV1 }) => ({
    who: `${manager as string} ${operation as string} ${apiVersion as string} ${subresource as string}`,
    timed: time !== undefined,
    what: fieldsV1 as Json,
  }))
  return server.maskedJson(shown.toSorted((a, b) => (a.who < b.who ? -1 : 1)))
}

describe('ownership of a scaled object', () => {
  const deployment = async (name: string, query: Readonly<Record<string, string>>): Promise<string> => {
    const labels = { app: 'a' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'b' }] } }
    const path = named('apps/v1', 'deployments', name)
    const body = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: { replicas: 2, selector: { matchLabels: labels }, template },
    }
    await (query['apply']
      ? server.must('PATCH', path, { type: apply, query: { fieldManager: 'first' }, body })
      : server.must('POST', named('apps/v1', 'deployments'), { query: { fieldManager: 'first' }, body }))
    return path
  }
  const replicaOwners = (object: JsonObject): Json => {
    const entries = at(object, 'metadata', 'managedFields') as readonly JsonObject[]
    return entries
      .filter((entry) => at(entry, 'fieldsV1', 'f:spec', 'f:replicas') !== undefined)
      .map(({ manager, operation, subresource = '', time }) => [manager!, operation!, subresource, time !== undefined])
  }

  it.each([
    ['another number', 'created', '', 5],
    ['the same number', 'created', '', 2],
    ['nothing', 'created', '', 0],
    ['another number', 'applied', 'yes', 5],
    ['the same number', 'applied', 'yes', 2],
  ])('set to %s has this owner, if it was %s', async (_what, made, how, replicas) => {
    const path = await deployment(`${made}-${replicas}`, { apply: how })
    const body = { spec: { replicas } }
    await server.must('PATCH', `${path}/scale`, { type: merge, query: { fieldManager: 'second' }, body })
    const once = replicaOwners(await server.must('GET', path))
    // The record is read anew by the next write, which keeps one entry of each name.
    const later = await server.must('PATCH', path, { type: merge, body: { metadata: { labels: { a: 'b' } } } })
    expect([once, replicaOwners(later)]).toMatchSnapshot('owners')
  })

  it('reports the invalid value as Go prints it', async () => {
    for (const spec of [[{}], [{ b: 1, a: [1.5, null] }], 'x']) {
      const { body } = await server.call('POST', kind.path(), { body: kind.object({ spec }) })
      const causes = at(body, 'details', 'causes') as readonly JsonObject[]
      expect(causes.filter(({ field }) => field === '.spec.replicas')).toMatchSnapshot()
    }
  })

  it('requires an object to scale', async () => {
    await server.must('POST', kind.path(), { body: kind.object({ metadata: { name: 'unset' }, spec: {} }) })
    const patch = async (body: object): Promise<Answer> =>
      await server.call('PATCH', `${kind.path()}/unset/scale`, { type: merge, body })
    expect(server.masked(await patch({ metadata: { labels: {} } }))).toMatchSnapshot('nothing')
    expect((await patch({ spec: { replicas: 3 } })).status).toBe(200)
  })
})

describe('one object in two versions', () => {
  const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }

  it('is owned by field in one, and atomically in the other', async () => {
    const spec = { scaleTargetRef: target, maxReplicas: 5 }
    await server.must('POST', named('autoscaling/v2', 'horizontalpodautoscalers'), {
      query: { fieldManager: 'newer' },
      body: { metadata: { name: 'h' }, spec },
    })
    const later = await server.must('PATCH', named('autoscaling/v1', 'horizontalpodautoscalers', 'h'), {
      query: { fieldManager: 'older' },
      type: merge,
      body: { spec: { maxReplicas: 6, targetCPUUtilizationPercentage: 50 } },
    })
    expect(owners(later)).toMatchSnapshot()
  })

  it('keeps fields that the older version lacks in annotations, with ownership', async () => {
    const path = named('autoscaling/v1', 'horizontalpodautoscalers')
    await server.must('POST', path, {
      body: { metadata: { name: 's' }, spec: { scaleTargetRef: target, maxReplicas: 5 } },
    })
    const later = await server.must('PATCH', `${path}/s/status`, {
      query: { fieldManager: 'older' },
      type: merge,
      body: { status: { currentCPUUtilizationPercentage: 50 } },
    })
    expect(owners(later)).toMatchSnapshot('owners')
    const whole = await server.must('GET', `${path}/s`)
    await server.must('PUT', `${path}/s`, { body: whole })
    const newer = await server.must('GET', named('autoscaling/v2', 'horizontalpodautoscalers', 's'))
    expect(at(newer, 'status', 'currentMetrics')).toMatchSnapshot('what it is')
  })

  it('of two groups is not recognised', async () => {
    const involvedObject = { kind: 'Pod', name: 'p', namespace }
    const body = { metadata: { name: 'e' }, involvedObject, reason: 'R', message: 'm', type: 'Normal' }
    await server.must('POST', `/api/v1/namespaces/${namespace}/events`, { query: { fieldManager: 'older' }, body })
    const later = await server.must('PATCH', named('events.k8s.io/v1', 'events', 'e'), {
      query: { fieldManager: 'newer' },
      type: merge,
      body: { metadata: { labels: { a: 'b' } } },
    })
    expect(owners(later)).toMatchSnapshot()
  })
})

describe('empty metadata of a custom object', () => {
  it('is stored by an apply, not returned, and lost with the next write', async () => {
    const path = `${kind.path()}/hollow`
    const sent = kind.object({ metadata: { name: 'hollow', annotations: {} }, spec: { other: 'x' } })
    const applied = async (): Promise<JsonObject> =>
      await server.must('PATCH', path, { type: apply, query: { fieldManager: 'f' }, body: sent })
    const merged = async (): Promise<JsonObject> => await server.must('PATCH', path, { type: merge, body: {} })
    // Not two applies in a row: of those a real server tells the second from the first or not, as its cache was quick or slow.
    const written = [await applied(), await merged(), await applied(), await merged(), await merged()]
    const versions = written.map((object) => at(object, 'metadata', 'resourceVersion'))
    expect(versions.map((version, index) => version === versions[index - 1])).toMatchSnapshot()
    expect(at(await server.must('GET', path), 'metadata', 'annotations')).toBeUndefined()
  })
})

describe('a generated name', () => {
  const pods = (): string => `/api/v1/namespaces/${namespace}/pods`
  const spec = { containers: [{ name: 'a', image: 'b' }], priority: 5 }

  it.each([{ generateName: 'Gen-' }, { generateName: 'gen-' }, {}])('is not quoted: %j', async (metadata) => {
    expect(server.masked(await server.call('POST', pods(), { body: { metadata, spec } }))).toMatchSnapshot('refusal')
  })
})

describe('the resourceVersion of a new object', () => {
  it('is rejected only when the object is valid', async () => {
    const post = async (metadata: object, query: Readonly<Record<string, string>> = {}): Promise<Answer> =>
      await server.call('POST', `/api/v1/namespaces/${namespace}/configmaps`, { body: { metadata }, query })
    expect((await post({ name: 'v', resourceVersion: '5', labels: { a: 'not ok!' } })).status).toBe(422)
    expect(server.masked(await post({ name: 'v', resourceVersion: '5' }))).toMatchSnapshot()
    expect(at((await post({ name: 'v', resourceVersion: '5' }, { dryRun: 'All' })).body, 'metadata')).toMatchObject({
      resourceVersion: '5',
    })
  })
})

describe('a binding', () => {
  it('is rejected for its media type before its content', async () => {
    const answer = await server.call('POST', `/api/v1/namespaces/${namespace}/pods/p/binding`, {
      query: { fieldValidation: 'Odd' },
      body: { target: { name: 'n' } },
    })
    expect(answer.status).toBe(422)
  })
})

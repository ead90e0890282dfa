/** Server-side apply through `/scale`: a Scale is applied, and the object records who owns its replicas. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { defineKind, object } from './custom-kind.ts'
import { type Answer, at, openServer } from './server.ts'

const server = openServer()

const type = 'application/apply-patch+yaml'

const scale = (replicas: Json, metadata: object = {}, more: object = {}): object => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: 'd', ...metadata },
  spec: { replicas },
  ...more,
})

interface Scaled {
  readonly path: string
  readonly apply: (body: object, query?: string) => Promise<Answer>
  /** Replicas, and who owns them. */
  readonly owners: () => Promise<Json>
}

function scaled(path: string): Scaled {
  return {
    path,
    apply: (body, query = 'fieldManager=me') => server.call('PATCH', `${path}/scale?${query}`, { type, body }),
    async owners() {
      const live = await server.must('GET', path)
      const entries = (at(live, 'metadata', 'managedFields') ?? []) as readonly JsonObject[]
      const shown = entries
        .filter((entry) => JSON.stringify(entry['fieldsV1']).includes('"f:replicas"'))
        .map((entry) => [entry['manager'], entry['operation'], entry['subresource'] ?? null] as Json)
      return [at(live, 'spec', 'replicas') ?? null, ...shown]
    },
  }
}

async function deployment(): Promise<Scaled> {
  const path = `/apis/apps/v1/namespaces/${await server.namespace()}/deployments`
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const body = { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } }
  await server.must('POST', `${path}?fieldManager=creator`, { body })
  return scaled(`${path}/d`)
}

const force = 'fieldManager=me&force=true'

describe('an applied Scale', () => {
  it('conflicts with the owner of the replicas, takes them by force, and releases them', async () => {
    const { apply, owners } = await deployment()
    const steps: Json[] = []
    const step = async (body: object, query?: string): Promise<void> => {
      steps.push({ answer: server.masked(await apply(body, query)), owners: await owners() })
    }
    await step(scale(1))
    await step(scale(3))
    await step(scale(3), force)
    await step(scale(5), 'fieldManager=other')
    await step(scale(5), 'fieldManager=other&force=true')
    await step(scale(5))
    await step(scale(5, {}, { spec: {} }))
    await step(scale(0), force)
    await step(scale(2, {}, { status: { replicas: 7 } }), force)
    await step({ apiVersion: 'autoscaling/v1', kind: 'Scale' })
    expect(steps).toMatchSnapshot()
  })

  it.each<readonly [string, object]>([
    [
      'the object itself',
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' }, spec: { replicas: 3 } },
    ],
    ['another version', scale(3, {}, { apiVersion: 'autoscaling/v2' })],
    ['another name', scale(3, { name: 'x' })],
    ['another namespace', scale(3, { namespace: 'x' })],
    ['another uid', scale(3, { uid: 'x' })],
    ['an old version', scale(3, { resourceVersion: '1' })],
    ['managedFields', scale(3, { managedFields: [] })],
    ['labels', scale(3, { labels: { a: 'b' } })],
    ['a negative number', scale(-1)],
    ['a string', scale('x')],
    ['a fraction', scale(2.5)],
    ['an unknown field', scale(3, {}, { spec: { replicas: 3, unknown: 1 } })],
    ['no name', scale(3, { name: undefined })],
  ])('with %s', async (_what, body) => {
    const { apply, owners } = await deployment()
    const { status, body: answer } = server.masked(await apply(body, force))
    expect({ status, message: at(answer, 'message') ?? null, owners: await owners() }).toMatchSnapshot()
  })

  it('requires an existing object', async () => {
    const { path } = await deployment()
    const { apply } = scaled(path.replace(/d$/, 'none'))
    expect(server.masked(await apply(scale(3, { name: 'none' }), force))).toMatchSnapshot()
  })

  it('of a custom kind changes only field owners', async () => {
    const subresources = { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } }
    const schema = object({ spec: object({ replicas: { type: 'integer' } }), status: object({}) })
    const kind = await defineKind(server, schema, { version: { subresources } })
    const body = kind.object({ metadata: { name: 'd' }, spec: { replicas: 1 } })
    await server.must('POST', `${kind.path()}?fieldManager=creator`, { body })
    const { apply, owners } = scaled(`${kind.path()}/d`)
    const steps: Json[] = []
    for (const replicas of [3, 1]) {
      for (const query of [undefined, force]) {
        const { status, body: answer } = server.masked(await apply(scale(replicas), query))
        steps.push({ status, message: at(answer, 'message') ?? null, owners: await owners() })
      }
    }
    expect(steps).toMatchSnapshot()
  })
})

/** Custom objects in use: generations, status, scale, selectors, finalizers, cluster scope. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/kube/json.ts'
import { crds, defineKind, definition, type Kind, object, outcome, withSpec } from './custom-kind.ts'
import { at, openServer } from './server.ts'

const server = openServer()

const string = { type: 'string' }
const integer = { type: 'integer' }
const mergePatch = 'application/merge-patch+json'

const schema = object({
  spec: object({
    n: integer,
    color: string,
    on: { type: 'boolean' },
    free: { 'x-kubernetes-preserve-unknown-fields': true },
  }),
  status: object({ n: integer, selector: string, phase: { ...string, enum: ['Up', 'Down'] } }),
  other: string,
})

const kinds: Promise<Kind>[] = []
async function kind(): Promise<Kind> {
  kinds[0] ??= defineKind(server, schema, {
    version: {
      subresources: {
        status: {},
        scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', labelSelectorPath: '.status.selector' },
      },
      selectableFields: [{ jsonPath: '.spec.color' }, { jsonPath: '.spec.n' }, { jsonPath: '.spec.on' }],
    },
  })
  return await kinds[0]
}

let count = 0
async function create(content: object): Promise<{ readonly name: string; readonly path: string; readonly live: Json }> {
  const { path, object: make } = await kind()
  const name = `thing-${++count}`
  const live = await server.must('POST', path(), {
    body: make({ ...content, metadata: { name, ...(content as { metadata?: object }).metadata } }),
  })
  return { name, path: `${path()}/${name}`, live }
}

describe('a custom object', () => {
  it('counts generations of everything but metadata and status', async () => {
    const { path } = await create({ spec: { n: 1 }, status: { phase: 'Up' } })
    const generations: Json[] = []
    for (const body of [
      { metadata: { labels: { a: 'b' } } },
      { spec: { n: 1 } },
      { spec: { n: 2 } },
      { other: 'x' },
      { status: { phase: 'Up' } },
    ]) {
      generations.push(
        at(await server.must('PATCH', path, { type: mergePatch, body }), 'metadata', 'generation') ?? null,
      )
    }
    expect(generations).toEqual([1, 1, 2, 3, 3])
    const status = await server.must('PATCH', `${path}/status`, {
      type: mergePatch,
      body: { status: { phase: 'Up' }, spec: { n: 9 }, metadata: { labels: { c: 'd' } } },
    })
    expect(at(status, 'metadata', 'generation')).toBe(3)
    expect(at(status, 'metadata', 'labels')).toEqual({ a: 'b' })
    expect(at(status, 'spec')).toEqual({ n: 2 })
    expect(at(status, 'status')).toEqual({ phase: 'Up' })
  })

  it('has a status that is validated separately', async () => {
    const { path } = await create({})
    const wrong = await server.call('PATCH', `${path}/status`, {
      type: mergePatch,
      body: { status: { phase: 'Sideways' } },
    })
    expect(outcome(server, wrong)).toMatchSnapshot('wrong')
    const type = await server.call('PATCH', `${path}/status`, { type: mergePatch, body: { status: { n: 'many' } } })
    expect(outcome(server, type)).toMatchSnapshot('type')
    const text = await server.call('PATCH', `${path}/status`, { type: mergePatch, body: { status: 'text' } })
    expect(outcome(server, text)).toMatchSnapshot('text')
    const unknown = await server.call('PATCH', `${path}/status`, {
      type: mergePatch,
      body: { status: { phase: 'Up', x: 1 } },
    })
    expect(outcome(server, unknown)).toMatchSnapshot('unknown')
  })

  it('can be scaled', async () => {
    const { path } = await create({ spec: { n: 2 } })
    await server.must('PATCH', `${path}/status`, { type: mergePatch, body: { status: { n: 1, selector: 'a=b' } } })
    const scale = await server.call('GET', `${path}/scale`)
    expect(server.masked(scale)).toMatchSnapshot('scale')
    const scaled = await server.call('PUT', `${path}/scale`, {
      body: { ...(scale.body as object), spec: { replicas: 5 } },
    })
    expect(server.masked(scaled)).toMatchSnapshot('scaled')
    const patched = await server.call('PATCH', `${path}/scale`, { type: mergePatch, body: { spec: { replicas: 7 } } })
    expect(at(patched.body, 'spec', 'replicas')).toBe(7)
    const read = await server.must('GET', path)
    expect(at(read, 'spec', 'n')).toBe(7)
    expect(at(read, 'metadata', 'generation')).toBe(3)
  })

  it.each([
    ['a negative number', -1],
    ['a large number', 3_000_000_000],
  ])('may not be scaled to %s', async (_what, n) => {
    const { path } = await create({ spec: { n: 1 } })
    const answer = await server.call('PATCH', path, { type: mergePatch, body: { spec: { n } } })
    expect(outcome(server, answer)).toMatchSnapshot('answer')
  })

  it('has no replicas where the path is missing', async () => {
    const { path } = await create({})
    expect(server.masked(await server.call('GET', `${path}/scale`))).toMatchSnapshot()
  })

  it.each([
    ['text', 'spec.color=red', ['red']],
    ['a missing field', 'spec.color=', ['none']],
    ['a number', 'spec.n=3', ['red']],
    ['a boolean', 'spec.on=true', ['blue']],
    ['two fields', 'spec.color=blue,spec.on!=false', ['blue']],
    ['a value that does not match', 'spec.color!=red', ['blue', 'none']],
  ])('is selected by %s', async (_what, fieldSelector, expected) => {
    const { path, object: make } = await kind()
    for (const [name, spec] of [
      ['red', { color: 'red', n: 3 }],
      ['blue', { color: 'blue', on: true }],
      ['none', {}],
    ] as const) {
      await server.call('POST', path(), { body: make({ metadata: { name, labels: { selected: 'yes' } }, spec }) })
    }
    const list = await server.must('GET', path(), { query: { fieldSelector, labelSelector: 'selected=yes' } })
    const names = (at(list, 'items') as unknown as readonly Json[]).map((one) => at(one, 'metadata', 'name') as string)
    expect(names.toSorted()).toEqual(expected)
  })

  it.each(['spec.size=1', 'metadata.uid=x', 'status.phase=Up'])('is not selected by %s', async (fieldSelector) => {
    const { path } = await kind()
    expect(outcome(server, await server.call('GET', path(), { query: { fieldSelector } }))).toMatchSnapshot('outcome')
  })

  it('warns about finalizers without a domain', async () => {
    const { path, object: make } = await kind()
    const finalizers = ['plain', 'with.dots', 'example.com/fine', 'orphan']
    const created = await server.call('POST', path(), {
      query: { dryRun: 'All' },
      body: make({ metadata: { name: 'warned', finalizers } }),
    })
    expect(outcome(server, created)).toMatchSnapshot()
  })

  it('must be updated with a resourceVersion', async () => {
    const { path, name } = await create({})
    const { object: make } = await kind()
    expect(outcome(server, await server.call('PUT', path, { body: make({ metadata: { name } }) }))).toMatchSnapshot()
  })

  it('is not created by an update', async () => {
    const { path, object: make } = await kind()
    const body = make({ metadata: { name: 'absent', resourceVersion: '1' } })
    expect(outcome(server, await server.call('PUT', `${path()}/absent`, { body }))).toMatchSnapshot()
  })

  it('does not support strategic merge patches', async () => {
    const { path } = await create({})
    const answer = await server.call('PATCH', path, { type: 'application/strategic-merge-patch+json', body: {} })
    expect(outcome(server, answer)).toMatchSnapshot()
  })

  it('has no spec outside its owned fields', async () => {
    const { live } = await create({ spec: { color: 'red', free: { a: [1, { b: 2 }] } } })
    expect(server.maskedJson(at(live, 'metadata', 'managedFields') ?? null)).toMatchSnapshot()
  })

  it('may be cluster-scoped', async () => {
    const group = `${server.unique('group')}.example.com`
    server.cleanUp(`${crds}/things.${group}`)
    await server.must('POST', crds, {
      body: definition(group, withSpec({ a: string }), { spec: { scope: 'Cluster' } }),
    })
    const path = `/apis/${group}/v1/things`
    await server.until(path, ({ status }) => status === 200)
    const body = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'wide' }, spec: { a: 'x' } }
    const created = await server.must('POST', path, { body })
    expect(at(created, 'metadata', 'namespace')).toBeUndefined()
    expect((await server.call('GET', `/apis/${group}/v1/namespaces/default/things`)).status).toBe(404)
    const refused = await server.call('POST', path, {
      body: { ...body, metadata: { name: 'other', namespace: 'default' } },
    })
    expect(outcome(server, refused)).toMatchSnapshot()
  })
})

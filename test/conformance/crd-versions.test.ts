/** Several versions of one kind: objects are stored at one of them, and shown at any. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/kube/json.ts'
import { crds, defineKind, type Kind, object, outcome, withSpec } from './custom-kind.ts'
import { at, openServer } from './server.ts'

const server = openServer()

const string = { type: 'string' }
const mergePatch = 'application/merge-patch+json'
const versions = [
  {
    name: 'v1',
    served: true,
    storage: true,
    schema: {
      openAPIV3Schema: withSpec({
        both: string,
        one: { ...string, default: 'one' },
        limited: { ...string, maxLength: 3 },
      }),
    },
  },
  {
    name: 'v2',
    served: true,
    storage: false,
    schema: {
      openAPIV3Schema: object({
        spec: object({ both: string, two: { ...string, default: 'two' }, limited: string }),
        status: object({ phase: string }),
      }),
    },
    subresources: { status: {} },
  },
  {
    name: 'v3alpha1',
    served: true,
    storage: false,
    schema: { openAPIV3Schema: object({ spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }) },
  },
]

const kinds: Promise<Kind>[] = []
async function kind(): Promise<Kind> {
  kinds[0] ??= defineKind(server, object({}), { versions })
  return await kinds[0]
}

const specOf = (body: Json): Json | undefined => at(body, 'spec')

describe('versions of a kind', () => {
  it('show the common fields of an object written at another version', async () => {
    const { path, object: make } = await kind()
    const written = await server.must('POST', path('v1'), {
      body: make({ metadata: { name: 'first' }, spec: { both: 'x' } }),
    })
    expect(specOf(written)).toEqual({ both: 'x', one: 'one' })
    const seen = await Promise.all(
      ['v1', 'v2', 'v3alpha1'].map(async (version) => await server.must('GET', `${path(version)}/first`)),
    )
    expect(
      seen.map((one) => [at(one, 'apiVersion'), specOf(one)]).map((one) => server.maskedJson(one as Json)),
    ).toMatchSnapshot()
    expect(new Set(seen.map((one) => at(one, 'metadata', 'resourceVersion'))).size).toBe(1)
    expect(new Set(seen.map((one) => at(one, 'metadata', 'uid'))).size).toBe(1)
  })

  it('lose fields that the stored version does not have', async () => {
    const { path, object: make } = await kind()
    const written = await server.must('POST', path('v2'), {
      body: make({ metadata: { name: 'second' }, spec: { both: 'x', two: 'mine' } }, 'v2'),
    })
    expect(server.maskedJson(specOf(written) ?? null)).toMatchSnapshot('written')
    const seen = await Promise.all(
      ['v1', 'v2', 'v3alpha1'].map(async (version) => await server.must('GET', `${path(version)}/second`)),
    )
    expect(seen.map((one) => specOf(one) ?? null)).toMatchSnapshot('seen')
  })

  it('have their own rules', async () => {
    const { path, object: make } = await kind()
    const spec = { limited: 'long text' }
    const refused = await server.call('POST', path('v1'), { body: make({ metadata: { name: 'third' }, spec }) })
    expect(outcome(server, refused)).toMatchSnapshot('refused')
    const taken = await server.call('POST', path('v2'), { body: make({ metadata: { name: 'third' }, spec }, 'v2') })
    expect(outcome(server, taken)).toMatchSnapshot('taken')
    const changed = await server.call('PATCH', `${path('v1')}/third`, {
      type: mergePatch,
      body: { spec: { both: 'y' } },
    })
    expect(outcome(server, changed)).toMatchSnapshot('changed')
    const worse = await server.call('PATCH', `${path('v1')}/third`, {
      type: mergePatch,
      body: { spec: { limited: 'other' } },
    })
    expect(outcome(server, worse)).toMatchSnapshot('worse')
  })

  it('have their own endpoints', async () => {
    const { path, object: make } = await kind()
    const body = make({ metadata: { name: 'fourth' }, spec: {}, status: { phase: 'x' } }, 'v2')
    const written = await server.must('POST', path('v2'), { body })
    expect(at(written, 'status')).toBeUndefined()
    expect((await server.call('GET', `${path('v2')}/fourth/status`)).status).toBe(200)
    expect((await server.call('GET', `${path('v1')}/fourth/status`)).status).toBe(404)
  })

  it('are listed and watched at the requested version', async () => {
    const { path, object: make } = await kind()
    const watching = await server.watch(`${path('v2')}?watch=1&fieldSelector=metadata.name=fifth`)
    await server.must('POST', path('v1'), { body: make({ metadata: { name: 'fifth' }, spec: { both: 'x' } }) })
    const event = await watching.next()
    watching.stop()
    expect(
      server.maskedJson([event!.type, at(event!.object, 'apiVersion') ?? null, specOf(event!.object) ?? null]),
    ).toMatchSnapshot('event')
    const list = await server.must('GET', `${path('v2')}?fieldSelector=metadata.name=fifth`)
    expect(
      server.maskedJson([
        at(list, 'apiVersion') ?? null,
        at(list, 'kind') ?? null,
        at(list, 'items', 0, 'apiVersion') ?? null,
        at(list, 'items', 0, 'spec') ?? null,
      ]),
    ).toMatchSnapshot('list')
  })

  it('are patched and applied at the requested version', async () => {
    const { path, object: make } = await kind()
    await server.must('POST', path('v1'), { body: make({ metadata: { name: 'sixth' }, spec: { both: 'x' } }) })
    const patched = await server.call('PATCH', `${path('v2')}/sixth`, {
      type: mergePatch,
      body: { spec: { both: 'y' } },
    })
    expect(outcome(server, patched)).toMatchSnapshot('patched')
    const applied = await server.call('PATCH', `${path('v2')}/sixth?fieldManager=me&force=true`, {
      type: 'application/apply-patch+yaml',
      body: make({ metadata: { name: 'sixth' }, spec: { both: 'z' } }, 'v2'),
    })
    expect(outcome(server, applied)).toMatchSnapshot('applied')
    const read = await server.must('GET', `${path('v1')}/sixth`)
    expect(specOf(read)).toEqual({ both: 'z', one: 'one' })
  })

  it('reject an object of another version', async () => {
    const { path, object: make } = await kind()
    const answer = await server.call('POST', path('v2'), { body: make({ metadata: { name: 'wrong' } }, 'v1') })
    expect(outcome(server, answer)).toMatchSnapshot()
  })

  it('are ordered by priority', async () => {
    const { group } = await kind()
    const { body } = await server.until(`/apis/${group}`, ({ status }) => status === 200)
    expect(server.maskedJson(at(body, 'versions') ?? null)).toMatchSnapshot('versions')
    expect(server.maskedJson(at(body, 'preferredVersion') ?? null)).toMatchSnapshot('preferred')
  })

  it('can change the storage version: stored objects are kept', async () => {
    const own = await defineKind(server, object({}), { versions: versions.slice(0, 2) })
    await server.must('POST', own.path('v1'), { body: own.object({ metadata: { name: 'old' }, spec: { both: 'x' } }) })
    const [first, second] = versions
    const swapped = [
      { ...first, storage: false },
      { ...second, storage: true },
    ]
    await server.must('PATCH', `${crds}/${own.crd}`, { type: mergePatch, body: { spec: { versions: swapped } } })
    const probe = { metadata: { name: 'new' }, spec: { both: 'x', two: 'kept' } }
    for (;;) {
      const made = await server.call('POST', own.path('v2'), { body: own.object(probe, 'v2') })
      if (made.status === 429) continue
      const read = await server.until(`${own.path('v2')}/new`, ({ status }) => status === 200)
      await server.until(`${own.path('v2')}/new`, ({ status }) => status !== 429)
      if (at(read.body, 'spec', 'two') === 'kept') break
      await server.must('DELETE', `${own.path('v2')}/new`)
    }
    const old = await server.until(`${own.path('v2')}/old`, ({ status }) => status === 200)
    expect(specOf(old.body)).toEqual({ both: 'x' })
    const touched = await server.must('PATCH', `${own.path('v2')}/old`, {
      type: mergePatch,
      body: { metadata: { labels: { a: 'b' } } },
    })
    expect(server.maskedJson(specOf(touched) ?? null)).toMatchSnapshot('touched')
    const after = await server.must('GET', `${own.path('v2')}/old`)
    expect(server.maskedJson(specOf(after) ?? null)).toMatchSnapshot('after')
  })
})

/** What becomes of a custom object on its way in: unknown fields go, defaults come, nulls are taken as absent. */
import { describe, expect, it } from 'vitest'
import { defineKind, type Kind, object, outcome, redefineKind } from './custom-kind.ts'
import { at, openServer } from './server.ts'

const server = openServer()

const string = { type: 'string' }
const integer = { type: 'integer' }
const open = { 'x-kubernetes-preserve-unknown-fields': true }

const schema = object({
  spec: object({
    name: string,
    list: { type: 'array', items: object({ a: string }) },
    map: { type: 'object', additionalProperties: object({ a: string }) },
    anyMap: { type: 'object', additionalProperties: true },
    open: object({ known: object({ a: string }) }, open),
    openList: { type: 'array', items: object({ known: object({ a: string }) }), ...open },
    any: open,
    embedded: { type: 'object', 'x-kubernetes-embedded-resource': true, ...open },
    embeddedClosed: object({ spec: object({ a: string }) }, { 'x-kubernetes-embedded-resource': true }),
    embeddedList: { type: 'array', items: { type: 'object', 'x-kubernetes-embedded-resource': true, ...open } },
    embeddedMap: {
      type: 'object',
      additionalProperties: { type: 'object', 'x-kubernetes-embedded-resource': true, ...open },
    },
    nullable: { ...string, nullable: true },
    defaulted: { ...string, default: 'd' },
    nullableDefaulted: { ...string, nullable: true, default: 'd' },
    deep: { ...object({ a: { ...integer, default: 1 }, b: object({ c: { ...string, default: 'c' } }) }), default: {} },
    deepAbsent: object({ a: { ...integer, default: 1 } }),
    deepList: { type: 'array', items: object({ a: { ...integer, default: 1 }, b: string }) },
    deepMap: { type: 'object', additionalProperties: object({ a: { ...integer, default: 1 } }) },
    listDefault: { type: 'array', items: string, default: ['x', 'y'] },
    nullItems: { type: 'array', items: { ...string, nullable: true } },
    numbers: { type: 'array', items: { type: 'number' } },
    proto: { type: 'object', additionalProperties: string },
  }),
  status: object({ phase: { ...string, default: 'New' } }),
})

const kinds: Promise<Kind>[] = []
async function kind(): Promise<Kind> {
  kinds[0] ??= defineKind(server, schema)
  return await kinds[0]
}

const cases: readonly (readonly [string, object])[] = [
  ['nothing', {}],
  ['an empty spec', { spec: {} }],
  ['a null spec', { spec: null }],
  ['an unknown field of the root', { other: 1, spec: {} }],
  ['an unknown field of the spec', { spec: { nme: 'x' } }],
  ['unknown fields in lists', { spec: { list: [{ a: 'x', b: 1 }, { c: { d: 1 } }] } }],
  ['unknown fields in maps', { spec: { map: { 'k.l': { a: 'x', b: 1 } } } }],
  ['a map of anything', { spec: { anyMap: { a: 1, b: { c: 1 }, d: [{ e: 1 }] } } }],
  ['a field that preserves unknown fields', { spec: { open: { x: { y: 1 }, known: { a: 'x', b: 1 } } } }],
  ['a list that preserves unknown fields', { spec: { openList: [{ x: 1, known: { a: 'x', b: 1 } }] } }],
  ['a field of any type', { spec: { any: { x: { y: [1, { z: null }] } } } }],
  [
    'an embedded object',
    {
      spec: {
        embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', nme: 'x', labels: { a: 'b' } }, x: 1 },
      },
    },
  ],
  [
    'an embedded object without unknown fields',
    {
      spec: { embeddedClosed: { apiVersion: 'v1', kind: 'Pod', metadata: { nme: 'x' }, spec: { a: 'x', b: 1 }, y: 1 } },
    },
  ],
  [
    'embedded objects in a list',
    { spec: { embeddedList: [{ apiVersion: 'v1', kind: 'Pod', metadata: { nme: 'x', creationTimestamp: null } }] } },
  ],
  [
    'embedded objects in a map',
    { spec: { embeddedMap: { k: { apiVersion: 'v1', kind: 'Pod', metadata: { nme: 'x' } } } } },
  ],
  ['nulls', { spec: { name: null, nullable: null, defaulted: null, nullableDefaulted: null } }],
  [
    'nested nulls',
    {
      spec: {
        deep: { a: null, b: null },
        deepList: [{ a: null, b: null }],
        deepMap: { k: { a: null } },
        list: [{ a: null }],
      },
    },
  ],
  ['null items', { spec: { list: [null], nullItems: [null, 'a'], deepMap: { k: null }, deepList: [null] } }],
  ['nested defaults', { spec: { deepAbsent: {}, deepList: [{}, { a: 2 }], deepMap: { k: {}, l: { a: 3 } } } }],
  ['part of a default', { spec: { deep: { b: {} } } }],
  ['explicit values', { spec: { defaulted: '', deep: { a: 5, b: { c: 'z' } }, listDefault: [] } }],
  ['numbers', { spec: { numbers: [1, 1.5, 1e3, 0.1, -0, 12345678901234567n] } }],
  [
    'CEL keywords',
    JSON.parse(
      '{"spec":{"proto":{"__proto__":"a","constructor":"b"},"constructor":1,"any":{"__proto__":{"x":1}}}}',
    ) as object,
  ],
  ['a status', { status: {} }],
  ['unknown metadata', { metadata: { nme: 'x', labls: {} } }],
  ['metadata of a wrong type', { metadata: { labels: 5 } }],
  ['a label of a wrong type', { metadata: { labels: { a: 5 } } }],
  ['annotations with null', { metadata: { annotations: { a: null } } }],
  [
    'an owner with an unknown field',
    { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', nme: 'x' }] } },
  ],
  ['finalizers of a wrong type', { metadata: { finalizers: 'a' } }],
  ['a generation that is text', { metadata: { generation: 'a' } }],
]

describe('a custom object', () => {
  it.each(cases)('with %s', async (_name, content) => {
    const { path, object: make } = await kind()
    const answer = await server.call('POST', path(), { query: { dryRun: 'All' }, body: make(content) })
    expect(outcome(server, answer)).toMatchSnapshot('answer')
  })

  it.each(cases.filter(([name]) => /unknown|open|embedded|metadata|map/.test(name)))(
    'strictly: %s',
    async (_name, content) => {
      const { path, object: make } = await kind()
      const query = { dryRun: 'All', fieldValidation: 'Strict' }
      expect(outcome(server, await server.call('POST', path(), { query, body: make(content) }))).toMatchSnapshot(
        'outcome',
      )
    },
  )

  it('reports no unknown fields with fieldValidation Ignore', async () => {
    const { path, object: make } = await kind()
    const query = { dryRun: 'All', fieldValidation: 'Ignore' }
    expect(
      outcome(server, await server.call('POST', path(), { query, body: make({ spec: { x: 1 } }) })),
    ).toMatchSnapshot()
  })

  it('loses unknown fields in updates and patches too', async () => {
    const { path, object: make } = await kind()
    const live = await server.must('POST', path(), {
      body: make({ metadata: { name: 'patched' }, spec: { name: 'a' } }),
    })
    const updated = await server.call('PUT', `${path()}/patched`, { body: { ...live, spec: { name: 'b', x: 1 } } })
    expect(outcome(server, updated)).toMatchSnapshot('updated')
    const patched = await server.call('PATCH', `${path()}/patched`, {
      type: 'application/merge-patch+json',
      body: { spec: { y: 1, defaulted: null, list: [{ z: 1 }] } },
    })
    expect(outcome(server, patched)).toMatchSnapshot('patched')
    const jsonPatched = await server.call('PATCH', `${path()}/patched`, {
      type: 'application/json-patch+json',
      body: [{ op: 'add', path: '/spec/deep/q', value: 1 }],
    })
    expect(outcome(server, jsonPatched)).toMatchSnapshot('jsonPatched')
    const applied = await server.call('PATCH', `${path()}/patched?fieldManager=me`, {
      type: 'application/apply-patch+yaml',
      body: make({ metadata: { name: 'patched' }, spec: { listDefault: ['z'] } }),
    })
    expect(outcome(server, applied)).toMatchSnapshot('applied')
  })

  it('is read with the current schema: new defaults are set, old fields are pruned', async () => {
    const own = await defineKind(server, object({ spec: object({ old: string, kept: string }) }))
    await server.must('POST', own.path(), {
      body: own.object({ metadata: { name: 'a' }, spec: { old: 'x', kept: 'y' } }),
    })
    await redefineKind(server, own, object({ spec: object({ kept: string, fresh: { ...string, default: 'z' } }) }))
    const read = await server.until(`${own.path()}/a`, ({ body }) => at(body, 'spec', 'fresh') === 'z')
    expect(at(read.body, 'spec')).toEqual({ kept: 'y', fresh: 'z' })
    const list = await server.must('GET', own.path())
    expect(at(list, 'items', 0, 'spec')).toEqual({ kept: 'y', fresh: 'z' })
  })
})

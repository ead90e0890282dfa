/** A schema grows stricter, and objects that were stored before it did can still be changed where they are fine. */
import { describe, expect, it } from 'vitest'
import { defineKind, type Kind, object, outcome, redefineKind, withSpec } from './custom-kind.ts'
import { openServer } from './server.ts'

const server = openServer()

const string = { type: 'string' }
const any = { 'x-kubernetes-preserve-unknown-fields': true }
const item = object({ name: string, size: { type: 'integer' } }, { required: ['name'] })
const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }

const before = withSpec({
  a: string,
  b: string,
  nested: object({ a: string, b: string }),
  open: object({ a: string }, any),
  list: { type: 'array', items: string },
  set: { type: 'array', items: string },
  keyed: { type: 'array', items: item, ...keyed },
  map: { type: 'object', additionalProperties: string },
  ruled: string,
  ruledObject: object({ a: string, b: string }),
  changing: string,
  one: object({ a: string, b: string }),
})

const strict = { ...string, pattern: '^good' }
const strictItem = object({ name: string, size: { type: 'integer', maximum: 5 } }, { required: ['name'] })
const after = withSpec({
  a: strict,
  b: string,
  nested: { ...object({ a: strict, b: string }), required: ['b'] },
  open: object({ a: strict }, any),
  list: { type: 'array', items: strict },
  set: { type: 'array', items: string, 'x-kubernetes-list-type': 'set' },
  keyed: { type: 'array', items: strictItem, ...keyed },
  map: { type: 'object', additionalProperties: strict },
  ruled: { ...string, maxLength: 20, 'x-kubernetes-validations': [{ rule: "self.startsWith('good')" }] },
  ruledObject: {
    ...object({ a: string, b: string }),
    'x-kubernetes-validations': [{ rule: 'has(self.b)', message: 'b is missing' }],
  },
  changing: { ...string, maxLength: 20, 'x-kubernetes-validations': [{ rule: "self != oldSelf || self == 'x'" }] },
  one: { ...object({ a: string, b: string }), oneOf: [{ required: ['a'] }, { required: ['b'] }] },
})

const bad = {
  a: 'bad',
  b: 'x',
  nested: { a: 'bad' },
  open: { a: 'bad', more: 1 },
  list: ['bad', 'good'],
  set: ['x', 'x'],
  keyed: [
    { name: 'p', size: 9 },
    { name: 'q', size: 1 },
  ],
  map: { k: 'bad', l: 'good' },
  ruled: 'bad',
  ruledObject: { a: 'x' },
  one: {},
}

const changes: readonly (readonly [string, object])[] = [
  ['no field', {}],
  ['another field', { b: 'y' }],
  ['the invalid field, to a valid value', { a: 'good' }],
  ['the invalid field, to another invalid value', { a: 'worse' }],
  ['a field beside an invalid one', { nested: { a: 'bad', b: 'y' } }],
  ['an invalid field in an object', { nested: { a: 'worse', b: 'y' } }],
  ['an object without a required field', { nested: { a: 'good' } }],
  ['an unknown field beside an invalid one', { open: { a: 'bad', more: 2 } }],
  ['an item of a list with an invalid one', { list: ['bad', 'good', 'good2'] }],
  ['the order of a list with an invalid item', { list: ['good', 'bad'] }],
  ['a set with duplicates', { set: ['x', 'x', 'y', 'y'] }],
  [
    'an item of a map list beside an invalid one',
    {
      keyed: [
        { name: 'p', size: 9 },
        { name: 'q', size: 2 },
      ],
    },
  ],
  [
    'the order of a map list',
    {
      keyed: [
        { name: 'q', size: 1 },
        { name: 'p', size: 9 },
      ],
    },
  ],
  [
    'an invalid item of a map list',
    {
      keyed: [
        { name: 'p', size: 10 },
        { name: 'q', size: 1 },
      ],
    },
  ],
  ['a map beside an invalid value', { map: { k: 'bad', l: 'good', m: 'good' } }],
  ['a map, with another invalid value', { map: { k: 'bad', l: 'worse' } }],
  ['a value that violates a rule', { ruled: 'worse' }],
  ['an object that violates a rule', { ruledObject: { a: 'y' } }],
  ['a value with a transition rule', { changing: 'a' }],
  ['an object that matches no alternative', { one: {}, b: 'z' }],
  ['an object that matches no alternative, to one that matches both', { one: { a: 'x', b: 'y' } }],
]

const kinds: Promise<Kind>[] = []
async function kind(): Promise<Kind> {
  kinds[0] ??= (async () => {
    const own = await defineKind(server, before)
    await server.must('POST', own.path(), { body: own.object({ spec: bad }) })
    await redefineKind(server, own, after)
    return own
  })()
  return await kinds[0]
}

describe('an object that was stored with a less strict schema', () => {
  it.each(changes)('may change %s', async (_name, change) => {
    const { path } = await kind()
    const live = await server.must('GET', `${path()}/thing`)
    const body = { ...live, spec: { ...bad, ...change } }
    expect(
      outcome(server, await server.call('PUT', `${path()}/thing`, { query: { dryRun: 'All' }, body })),
    ).toMatchSnapshot()
  })

  it('could not be created now', async () => {
    const { path, object: make } = await kind()
    const body = make({ metadata: { name: 'new' }, spec: bad })
    expect(outcome(server, await server.call('POST', path(), { body }))).toMatchSnapshot()
  })

  it('may be labelled', async () => {
    const { path } = await kind()
    const answer = await server.call('PATCH', `${path()}/thing?dryRun=All`, {
      type: 'application/merge-patch+json',
      body: { metadata: { labels: { a: 'b' } } },
    })
    expect(answer.status).toBe(200)
  })
})

/** Rules of schemas (`x-kubernetes-validations`): what they refuse, and how they say it. */
import { describe, expect, it } from 'vitest'
import { defineKind, type Kind, object, outcome, withSpec } from './custom-kind.ts'
import { type Answer, openServer } from './server.ts'

const server = openServer()

const string = { type: 'string' }
const integer = { type: 'integer' }
const strings = { type: 'array', items: string, maxItems: 10 }

function rule(text: string, more: object = {}): object {
  return { rule: text, ...more }
}
function rules(schema: object, ...all: readonly object[]): object {
  return { ...schema, 'x-kubernetes-validations': all }
}

/** A field with its schema, and values for it; a pair of values is a change. */
type Case = readonly [
  name: string,
  schema: object,
  ...values: readonly (readonly [unknown] | readonly [unknown, unknown])[],
]

const range = object({ min: integer, max: integer, name: { ...string, maxLength: 20 } })
const named = object({ name: { ...string, maxLength: 20 }, size: integer }, { required: ['name'] })
const mapList = {
  type: 'array',
  maxItems: 10,
  items: named,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
}

const cases: readonly Case[] = [
  [
    'compare fields',
    rules(range, rule('self.min <= self.max')),
    [{ min: 1, max: 2 }],
    [{ min: 3, max: 2 }],
    [{ max: 2 }],
  ],
  [
    'message',
    rules(range, rule('self.min <= self.max', { message: ' min may not exceed max ' })),
    [{ min: 3, max: 2 }],
    [{ min: 3 }],
  ],
  [
    'messageExpression',
    rules(range, rule('self.min <= self.max', { messageExpression: "'not so, ' + self.name" })),
    [{ min: 3, max: 2, name: 'x' }],
  ],
  [
    'messageExpression that fails',
    rules(range, rule('self.min <= self.max', { message: 'as it is', messageExpression: "'n ' + self.name" })),
    [{ min: 3, max: 2 }],
  ],
  [
    'messageExpression that is empty',
    rules(range, rule('self.min <= self.max', { messageExpression: "' '" })),
    [{ min: 3, max: 2 }],
  ],
  [
    'messageExpression of two lines',
    rules(range, rule('self.min <= self.max', { messageExpression: "'a\\nb'" })),
    [{ min: 3, max: 2 }],
  ],
  [
    'reason required',
    rules(range, rule('has(self.name)', { reason: 'FieldValueRequired', message: 'give a name' })),
    [{}],
  ],
  ['reason forbidden', rules(range, rule('!has(self.name)', { reason: 'FieldValueForbidden' })), [{ name: 'x' }]],
  [
    'reason duplicate',
    rules(range, rule('self.min != self.max', { reason: 'FieldValueDuplicate' })),
    [{ min: 1, max: 1 }],
  ],
  ['reason duplicate of text', rules(string, rule("self != 'a'", { reason: 'FieldValueDuplicate' })), ['a']],
  [
    'fieldPath',
    rules(range, rule('self.min <= self.max', { fieldPath: '.min', reason: 'FieldValueInvalid' })),
    [{ min: 3, max: 2 }],
  ],
  [
    'fieldPath with brackets',
    rules(
      object({ labels: { type: 'object', additionalProperties: string, maxProperties: 5 } }),
      rule("!('a.b' in self.labels)", { fieldPath: ".labels['a.b']" }),
    ),
    [{ labels: { 'a.b': 'x' } }],
  ],
  ['on text', rules({ ...string, maxLength: 20 }, rule("self.startsWith('a')")), ['abc'], ['bcd']],
  ['on integers', rules(integer, rule('self % 2 == 0')), [2], [3]],
  ['on numbers', rules({ type: 'number' }, rule('self > 1.5')), [2], [1], [1.25]],
  ['on booleans', rules({ type: 'boolean' }, rule('self')), [true], [false]],
  ['on lists', rules(strings, rule('self.all(x, x.size() > 1)')), [['ab']], [['ab', 'c']]],
  ['on items', { ...strings, items: rules({ ...string, maxLength: 5 }, rule("self != 'x'")) }, [['a', 'x', 'x']]],
  [
    'on map values',
    { type: 'object', maxProperties: 5, additionalProperties: rules(integer, rule('self > 0')) },
    [{ a: 1 }],
    [{ 'a.b': 0 }],
  ],
  [
    'on int or string',
    rules({ 'x-kubernetes-int-or-string': true }, rule("type(self) == int ? self > 0 : self != ''")),
    [1],
    ['a'],
    [0],
    [''],
  ],
  [
    'several rules',
    rules(range, rule('self.min > 0'), rule('self.max > 0'), rule('self.min < self.max')),
    [{ min: 0, max: 0 }],
  ],
  ['missing field', rules(range, rule('self.min > 0'), rule("self.name == 'a'")), [{ min: 1 }]],
  ['division by zero', rules(range, rule('self.min / self.max > 0')), [{ min: 1, max: 0 }]],
  ['index out of bounds', rules(strings, rule("self[3] == 'a'")), [['a']]],
  ['optional fields', rules(range, rule("self.?name.orValue('x') == 'x'")), [{}], [{ name: 'y' }]],
  [
    'quantity',
    rules({ ...string, maxLength: 20 }, rule("isQuantity(self) && quantity(self).isLessThan(quantity('1Gi'))")),
    ['1Mi'],
    ['2Gi'],
    ['x'],
  ],
  ['regex', rules({ ...string, maxLength: 20 }, rule("self.matches('^[a-z]+$')")), ['abc'], ['ABC']],
  [
    'dates',
    rules({ ...string, format: 'date-time' }, rule("self > timestamp('2020-01-01T00:00:00Z')")),
    ['2024-01-01T00:00:00Z'],
    ['2019-01-01T00:00:00Z'],
  ],
  ['durations', rules({ ...string, format: 'duration' }, rule("self < duration('1h')")), ['30m'], ['2h']],
  [
    'reserved names',
    rules(
      object({ namespace: string, 'a-b': string, 'x.y': string }),
      rule("self.__namespace__ != 'a' && self.a__dash__b != 'b' && self.x__dot__y != 'c'"),
    ),
    [{ namespace: 'n', 'a-b': 'm', 'x.y': 'o' }],
    [{ namespace: 'a', 'a-b': 'm', 'x.y': 'o' }],
  ],
  [
    'sets',
    rules(
      { ...strings, items: { ...string, maxLength: 9 }, 'x-kubernetes-list-type': 'set' },
      rule("self == ['a', 'b']"),
    ),
    [['b', 'a']],
    [['b']],
  ],
  [
    'immutable',
    rules({ ...string, maxLength: 20 }, rule('self == oldSelf', { message: 'is immutable' })),
    ['a'],
    ['a', 'b'],
    ['a', 'a'],
  ],
  ['immutable object', rules(range, rule('self == oldSelf')), [{ min: 1 }, { min: 2 }], [{ min: 1 }, { min: 1 }]],
  ['only grows', rules(integer, rule('self >= oldSelf')), [1, 2], [2, 1]],
  [
    'optional oldSelf',
    rules(integer, rule('oldSelf.hasValue() ? self >= oldSelf.value() : self == 0', { optionalOldSelf: true })),
    [0],
    [1],
    [0, 5],
    [undefined, 3],
  ],
  [
    'set once',
    rules(range, rule('!has(oldSelf.name) || has(self.name)', { message: 'name may not be removed' })),
    [{ name: 'a' }, {}],
    [{}, { name: 'a' }],
  ],
  [
    'transition in map list',
    { ...mapList, items: rules(named, rule('!has(oldSelf.size) || self.size >= oldSelf.size')) },
    [
      [{ name: 'a', size: 2 }],
      [
        { name: 'b', size: 1 },
        { name: 'a', size: 3 },
      ],
    ],
    [
      [{ name: 'a', size: 2 }],
      [
        { name: 'b', size: 1 },
        { name: 'a', size: 1 },
      ],
    ],
  ],
  [
    'transition in map',
    { type: 'object', maxProperties: 5, additionalProperties: rules(integer, rule('self >= oldSelf')) },
    [{ a: 1 }, { a: 2, b: 0 }],
    [{ a: 1 }, { a: 0 }],
  ],
  ['with type mistake', rules(range, rule('self.min > 0')), [{ min: 'a' }], [{ min: 0, max: 'b' }]],
  ['with other mistake', rules(object({ a: { ...integer, minimum: 5 } }), rule('self.a > 10')), [{ a: 1 }]],
  ['null', rules({ ...range, nullable: true }, rule('self.min > 0')), [null]],
  [
    'embedded',
    rules(
      { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      rule("self.kind == 'Pod' && self.metadata.name.startsWith('a')"),
    ),
    [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'ab' } }],
    [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'b' } }],
  ],
]

const property = (name: string): string => name.replaceAll(/[^a-z0-9]+(.)/gi, (_, next: string) => next.toUpperCase())

const schema = {
  ...withSpec(Object.fromEntries(cases.map(([name, own]) => [property(name), own]))),
  'x-kubernetes-validations': [
    rule("!self.metadata.name.endsWith('-wrong')", { message: 'that is no name' }),
    rule("!has(self.status) || self.status != 'bad'"),
  ],
}
;(schema as unknown as { properties: Record<string, unknown> }).properties['status'] = { type: 'string' }

const kinds: Promise<Kind>[] = []
async function kind(): Promise<Kind> {
  kinds[0] ??= defineKind(server, schema, { version: { subresources: { status: {} } } })
  return await kinds[0]
}

describe('rules', () => {
  it.each(cases.flatMap(([name, , ...values]) => values.map((pair, index) => [name, index, pair] as const)))(
    'are enforced: %s (%i)',
    async (name, index, pair) => {
      const { path, object: make } = await kind()
      const wrapped = Array.isArray(pair) ? (pair as readonly unknown[]) : [pair]
      const spec = (value: unknown): object => ({ spec: { [property(name)]: value } })
      const own = `${property(name).toLowerCase()}-${index}`
      const metadata = { name: own }
      const first = { body: make({ ...spec(wrapped[0]), metadata }) }
      const attempt = async (): Promise<Answer> => {
        if (wrapped.length === 1) return await server.call('POST', path(), { query: { dryRun: 'All' }, ...first })
        const live = await server.must('POST', path(), first)
        return await server.call('PUT', `${path()}/${own}`, { body: { ...live, ...spec(wrapped[1]) } })
      }
      expect(outcome(server, await attempt())).toMatchSnapshot('outcome')
    },
  )

  it('see the metadata of the root', async () => {
    const { path, object: make } = await kind()
    const body = make({ metadata: { name: 'it-is-wrong' } })
    expect(outcome(server, await server.call('POST', path(), { body }))).toMatchSnapshot()
  })

  it('are enforced for the status subresource too', async () => {
    const { path, object: make } = await kind()
    const live = await server.must('POST', path(), { body: make({ metadata: { name: 'with-status' } }) })
    const bad = await server.call('PUT', `${path()}/with-status/status`, { body: { ...live, status: 'bad' } })
    expect(outcome(server, bad)).toMatchSnapshot('bad')
    const wrong = await server.call('PUT', `${path()}/with-status/status`, { body: { ...live, status: 5 } })
    expect(outcome(server, wrong)).toMatchSnapshot('wrong')
    const good = await server.call('PUT', `${path()}/with-status/status`, { body: { ...live, status: 'good' } })
    expect(outcome(server, good)).toMatchSnapshot('good')
  })
})

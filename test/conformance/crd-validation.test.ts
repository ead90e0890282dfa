/** What a structural schema refuses in objects of its kind, in the real server's words. */
import { describe, expect, it } from 'vitest'
import { defineKind, type Kind, object, outcome, withSpec } from './custom-kind.ts'
import { openServer } from './server.ts'

const server = openServer()

type Case = readonly [name: string, schema: object, ...values: readonly unknown[]]

const string = { type: 'string' }
const integer = { type: 'integer' }
const number = { type: 'number' }
const boolean = { type: 'boolean' }
const strings = { type: 'array', items: string }

/** Each case is a field of one kind, with the values that are tried. */
const cases: readonly Case[] = [
  ['type string', string, 5, true, ['a'], { a: 1 }, null],
  ['type integer', integer, 'a', 1.5, true, {}, 9223372036854775807n],
  ['type number', number, 'a', 1.5, 2, true],
  ['type boolean', boolean, 'true', 1],
  ['type object', object({ a: string }), 'a', 1, [], { a: 1 }],
  ['type array', strings, 'a', {}, ['a', 1]],
  ['nullable', { ...string, nullable: true }, null, 1],
  ['enum of strings', { ...string, enum: ['a', 'b<c'] }, 'a', 'c', ''],
  ['enum of integers', { ...integer, enum: [1, 2] }, 2, 3],
  ['enum of numbers', { ...number, enum: [1, 2.5] }, 2.5, 1, 3.5],
  ['enum with null', { ...string, nullable: true, enum: ['a', null] }, null],
  ['pattern', { ...string, pattern: '^[a-z]+$' }, 'abc', 'ABC', 'abc\n', ''],
  ['pattern with flags', { ...string, pattern: '(?i)^abc$' }, 'ABC', 'x'],
  ['pattern with classes', { ...string, pattern: '^[[:alpha:]]\\pL\\z' }, 'aé', '1é'],
  ['pattern with dots', { ...string, pattern: '^a.b$' }, 'a\rb', 'a\nb', 'a😀b'],
  ['pattern not anchored', { ...string, pattern: 'b+' }, 'abc', 'ac'],
  [
    'pattern of a name',
    { ...string, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$' },
    'a.b',
    'a..b',
  ],
  ['maxLength', { ...string, maxLength: 2 }, 'ab', 'abc', '😀😀', '😀😀😀'],
  ['maxLength one', { ...string, maxLength: 1 }, 'ab'],
  ['minLength', { ...string, minLength: 2 }, 'ab', 'a', '😀'],
  ['maximum', { ...integer, maximum: 10 }, 10, 11],
  ['maximum exclusive', { ...integer, maximum: 10, exclusiveMaximum: true }, 9, 10],
  ['minimum', { ...integer, minimum: 1 }, 1, 0, -5],
  ['minimum exclusive', { ...integer, minimum: 1, exclusiveMinimum: true }, 2, 1],
  ['maximum of numbers', { ...number, maximum: 1.5 }, 1.5, 1.75, 2, 1234567.5, 1e21],
  ['minimum of numbers', { ...number, minimum: 0.5 }, 0.5, 0.25, 0, 0.00001, -1234567],
  ['maximum of large numbers', { ...number, maximum: 1000000 }, 1000001, 1000000.5],
  ['maximum and fraction', { ...integer, maximum: 10 }, 11.5],
  ['fractional maximum', { ...integer, maximum: 1.5 }, 1, 2, 3],
  ['multipleOf', { ...integer, multipleOf: 3 }, 9, 10],
  ['multipleOf numbers', { ...number, multipleOf: 0.5 }, 1.5, 1.25, 3],
  ['format int32', { ...integer, format: 'int32' }, 2147483647, 2147483648, -2147483649],
  ['format int64', { ...integer, format: 'int64' }, 2147483648],
  ['format float', { ...number, format: 'float' }, 1.5, 1e39],
  ['format double', { ...number, format: 'double' }, 1e39],
  ['format unknown', { ...string, format: 'nonsense' }, 'a'],
  ['format date', { ...string, format: 'date' }, '2024-02-29', '2023-02-29', '2024-1-1', 5],
  [
    'format date-time',
    { ...string, format: 'date-time' },
    '2024-02-29T12:00:00Z',
    '2024-02-29T12:00:00.123+01:00',
    '2024-02-29 12:00:00Z',
    '2024-02-29T24:00:00Z',
    '2024-02-29T12:00:00',
    5,
    ['a'],
    {},
  ],
  ['format duration', { ...string, format: 'duration' }, '1h30m', '22 ns', '3 days', 'x', ''],
  ['format ipv4', { ...string, format: 'ipv4' }, '10.0.0.1', '010.0.0.1', '::1', '::ffff:1.2.3.4', '256.0.0.1'],
  ['format ipv6', { ...string, format: 'ipv6' }, '::1', 'fe80::1', '10.0.0.1', '::g', 'fe80::1%eth0'],
  ['format cidr', { ...string, format: 'cidr' }, '10.0.0.0/8', 'fd00::/8', '10.0.0.0', '10.0.0.0/33'],
  ['format mac', { ...string, format: 'mac' }, '01:23:45:67:89:ab', '0123.4567.89ab', '01-23-45-67-89-ab', '01:23'],
  [
    'format uri',
    { ...string, format: 'uri' },
    'https://example.com/a?b=c',
    '/a',
    'a',
    'http://[::1',
    '',
    'https://a b',
    '%zz',
  ],
  ['format email', { ...string, format: 'email' }, 'a@example.com', 'A <a@b.c>', 'a', 'a@', '@b'],
  ['format hostname', { ...string, format: 'hostname' }, 'example.com', 'a', '-a', 'a_b', 'a'.repeat(64)],
  [
    'format uuid',
    { ...string, format: 'uuid' },
    '12345678-1234-1234-1234-123456789abc',
    '12345678123412341234123456789ABC',
    'x',
  ],
  [
    'format uuid4',
    { ...string, format: 'uuid4' },
    '12345678-1234-4234-9234-123456789abc',
    '12345678-1234-1234-1234-123456789abc',
  ],
  ['format byte', { ...string, format: 'byte' }, 'aGVsbG8=', 'a', '', 'aGVsbG8'],
  ['format hexcolor', { ...string, format: 'hexcolor' }, '#fff', 'ffffff', '#ff'],
  ['format rgbcolor', { ...string, format: 'rgbcolor' }, 'rgb(1, 2, 3)', 'rgb(256,0,0)'],
  ['format creditcard', { ...string, format: 'creditcard' }, '4111 1111 1111 1111', '4111 1111 1111 1112'],
  ['format isbn', { ...string, format: 'isbn' }, '0321751043', '978-0321751041', '123'],
  ['format ssn', { ...string, format: 'ssn' }, '111-11-1111', '1'],
  ['format bsonobjectid', { ...string, format: 'bsonobjectid' }, '507f1f77bcf86cd799439011', 'x'],
  ['format password', { ...string, format: 'password' }, 'any'],
  ['format k8s-short-name', { ...string, format: 'k8s-short-name' }, 'a-b', 'A', 'a.b'],
  ['format k8s-long-name', { ...string, format: 'k8s-long-name' }, 'a.b', 'A.b'],
  ['maxItems', { ...strings, maxItems: 1 }, ['a'], ['a', 'b']],
  ['minItems', { ...strings, minItems: 1 }, ['a'], []],
  ['maxProperties', { type: 'object', additionalProperties: string, maxProperties: 1 }, { a: 'b' }, { a: 'b', c: 'd' }],
  ['minProperties', { type: 'object', additionalProperties: string, minProperties: 1 }, { a: 'b' }, {}],
  ['additionalProperties', { type: 'object', additionalProperties: integer }, { a: 1 }, { a: 'b' }],
  [
    'required',
    object({ a: string, b: string }, { required: ['a', 'b'] }),
    { a: 'x', b: 'y' },
    { a: 'x' },
    {},
    { a: null, b: 'y' },
  ],
  ['required in items', { type: 'array', items: object({ a: string }, { required: ['a'] }) }, [{ a: 'x' }, {}]],
  ['int or string', { 'x-kubernetes-int-or-string': true }, 1, 'a', true, 1.5, {}],
  ['int or string, spelled out', { 'x-kubernetes-int-or-string': true, anyOf: [integer, string] }, 1, 'a', true],
  [
    'int or string with pattern',
    { 'x-kubernetes-int-or-string': true, anyOf: [integer, string], pattern: '^[0-9]+%?$' },
    1,
    '5%',
    'x',
  ],
  ['any type', { 'x-kubernetes-preserve-unknown-fields': true }, 1, 'a', { a: { b: 1 } }, [1]],
  [
    'anyOf',
    { ...object({ a: string, b: integer }), anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    { a: 'x' },
    {},
  ],
  ['anyOf of limits', { ...integer, anyOf: [{ maximum: 1 }, { minimum: 10 }] }, 1, 10, 5],
  [
    'oneOf',
    { ...object({ a: string, b: integer }), oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    { a: 'x' },
    {},
    { a: 'x', b: 1 },
  ],
  [
    'oneOf, best failure',
    {
      ...object({ a: string, b: string }),
      oneOf: [
        { properties: { a: { maxLength: 1 }, b: { maxLength: 1 } } },
        { properties: { a: { enum: ['zz'] }, b: { maxLength: 3 } } },
      ],
    },
    { a: 'xx', b: 'yy' },
  ],
  ['allOf', { ...string, allOf: [{ minLength: 3 }, { pattern: '^a' }] }, 'abc', 'b', 'bcd'],
  ['not', { ...string, not: { pattern: '^a' } }, 'b', 'a'],
  ['not required', { ...object({ a: string }), not: { required: ['a'] } }, {}, { a: 'x' }],
  ['list set', { ...strings, 'x-kubernetes-list-type': 'set' }, ['a', 'b'], ['a', 'b', 'a', 'a']],
  ['list set of integers', { type: 'array', items: integer, 'x-kubernetes-list-type': 'set' }, [1, 2, 1]],
  [
    'list map',
    {
      type: 'array',
      items: object({ k: string, v: string }, { required: ['k'] }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    },
    [{ k: 'a' }, { k: 'b' }],
    [
      { k: 'a', v: '1' },
      { k: 'a', v: '2' },
    ],
    [{}, {}],
  ],
  [
    'list map of two keys',
    {
      type: 'array',
      items: object({ k: string, p: { ...integer, default: 1 }, v: string }, { required: ['k'] }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k', 'p'],
    },
    [{ k: 'a' }, { k: 'a', p: 2 }],
    [{ k: 'a' }, { k: 'a', p: 1 }],
  ],
  [
    'list map in a map',
    { type: 'object', additionalProperties: { ...strings, 'x-kubernetes-list-type': 'set' } },
    { x: ['a', 'a'] },
  ],
  [
    'embedded',
    { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    { apiVersion: 'v1', kind: 'Pod', spec: { a: 1 } },
    {},
    { apiVersion: '', kind: '' },
    { apiVersion: 'a/b/c', kind: 'Not-Ok!' },
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', labels: { 'x y': 'z' } } },
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a/b' } },
    { apiVersion: 5, kind: 'Pod' },
    { apiVersion: 'v1', kind: 'Pod', metadata: 5 },
    { apiVersion: 'v1', kind: 'Pod', metadata: { labels: { a: 5 } } },
  ],
  ['several mistakes in one string', { ...string, maxLength: 2, pattern: '^a', enum: ['ab'] }, 'bcd'],
  ['strange characters', { ...string, enum: ['ok'] }, 'é"\\\u0007\t\u007f\u200b😀'],
  ['object in enum', { ...string, enum: ['a'] }, { '<k>': 1, b: [1.5, 'x'] }],
]

const property = (name: string): string => name.replaceAll(/[^a-z0-9]+(.)/gi, (_, next: string) => next.toUpperCase())

const kinds: Promise<Kind>[] = []
async function kind(): Promise<Kind> {
  kinds[0] ??= defineKind(server, withSpec(Object.fromEntries(cases.map(([name, schema]) => [property(name), schema]))))
  return await kinds[0]
}

describe('a structural schema', () => {
  it.each(cases.flatMap(([name, , ...values]) => values.map((value, index) => [name, index, value] as const)))(
    'validates %s (%i)',
    async (name, _index, value) => {
      const { path, object: make } = await kind()
      const answer = await server.call('POST', path(), {
        query: { dryRun: 'All' },
        body: make({ spec: { [property(name)]: value } }),
      })
      expect(outcome(server, answer)).toMatchSnapshot()
    },
  )
})

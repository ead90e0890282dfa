import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import { equalJson, type Json } from '../json.ts'
import { readYaml, readYamlDocuments, writeYaml } from './yaml.ts'

const invalidYaml: unknown = expect.toSatisfy((error) => isMusterError(error, kubeErrors.InvalidYaml))

describe('scalars as in kubectl', () => {
  it.each(['y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON', 'true', 'True', 'TRUE'])('%s is true', (text) => {
    expect(readYaml(text)).toBe(true)
    expect(readYaml(`${text}: 1`)).toEqual({ true: 1 })
  })

  it.each(['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'false', 'False', 'FALSE'])('%s is false', (text) => {
    expect(readYaml(text)).toBe(false)
    expect(readYaml(`${text}: 1`)).toEqual({ false: 1 })
  })

  it.each(['', '~', 'null', 'Null', 'NULL', '# nothing'])('%o is null', (text) => {
    expect(readYaml(text)).toBeNull()
  })

  it.each([
    ['0', 0],
    ['-0', 0],
    ['+12', 12],
    ['0777', 511],
    ['0o17', 15],
    ['-0o17', -15],
    ['0x1F', 31],
    ['0X1f', 31],
    ['0b101', 5],
    ['-0b101', -5],
    ['1_000', 1000],
    ['0x_1F', 31],
    ['08', 8],
    ['0800', 800],
    ['1.5', 1.5],
    ['1.', 1],
    ['.5', 0.5],
    ['+.5', 0.5],
    ['1e3', 1000],
    ['1.5E-3', 0.0015],
    ['1_000.5', 1000.5],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['18446744073709551615', 18446744073709551615n],
    ['0x7fffffffffffffff', 9223372036854775807n],
    ['100000000000000000000', 1e20],
  ])('%s is the number %o', (text, value) => {
    expect(readYaml(`a: ${text}`)).toEqual({ a: value })
  })

  it.each([
    '190:20:30',
    '1:30',
    '2001-12-14',
    '2001-12-14t21:59:43.10-05:00',
    '0b102',
    '0x',
    '0o8',
    '_1',
    '1e',
    '1e400',
    '.',
    '+',
    '._5',
    '1.2.3',
    'nUll',
    'yEs',
    '=',
    '<<',
    '+.nan',
  ])('%s is a string', (text) => {
    expect(readYaml(`a: ${text}`)).toEqual({ a: text })
  })

  it('quoted ones are strings', () => {
    expect(readYaml('a: "yes"\nb: \'1\'\n"n": "null"')).toEqual({ a: 'yes', b: '1', n: 'null' })
  })

  it.each([
    ['!!str 123', '123'],
    ['!!int "12"', 12],
    ['!!float 1', 1],
    ['!!bool "yes"', true],
    ['!!null ""', null],
    ['! 123', '123'],
    ['!!binary aGVsbG8=', 'hello'],
    ['!!binary |\n  aGVs\n  bG8=', 'hello'],
    ['!!timestamp 2001-12-14', '2001-12-14'],
    ['!Ref x', 'x'],
    ['!Sub {a: 1}', { a: 1 }],
    ['!!set [1]', [1]],
  ])('%o follows its tag, if it is known', (text, value) => {
    expect(readYaml(text)).toEqual(value)
  })

  it.each(['!!int abc', '!!int 1.5', '!!bool x', '!!null x', '!!binary "not base64!"'])('%s is rejected', (text) => {
    expect(() => readYaml(text)).toThrow(invalidYaml)
  })

  it.each(['.inf', '-.Inf', 'a: .nan', '[.inf]'])('%s has no JSON form and is rejected', (text) => {
    expect(() => readYaml(text)).toThrow('infinity and NaN are no JSON values')
  })
})

describe('mappings as in kubectl', () => {
  it.each([
    ['1: x', '1'],
    ['0x10: x', '16'],
    ['9007199254740993: x', '9007199254740993'],
    ['1.30: x', '1.3'],
    ['0.1: x', '0.1'],
    ['1e3: x', '1000'],
    ['1e6: x', '1e+06'],
    ['123456789.125: x', '1.2345679e+08'],
    ['1e-5: x', '1e-05'],
    ['.inf: x', '.inf'],
    ['-.inf: x', '-.inf'],
    ['.nan: x', '.nan'],
    ['1e99: x', '.inf'],
    ['2001-12-14: x', '2001-12-14'],
    ['!!binary aGk=: x', 'hi'],
  ])('the key of %s is %o', (text, key) => {
    expect(readYaml(text)).toEqual({ [key]: 'x' })
  })

  it.each(['~: x', '? [a]\n: b', '? {a: 1}\n: b'])('%o is rejected, because it has no string form', (text) => {
    expect(() => readYaml(text)).toThrow('a key must be a string, a number or a boolean')
  })

  it('uses the last of two equal keys, as kubectl does', () => {
    expect(readYaml('a: 1\na: 2')).toEqual({ a: 2 })
    expect(readYaml('true: 1\nyes: 2')).toEqual({ true: 2 })
  })

  it('rejects duplicate keys when strict', () => {
    expect(() => readYaml('a: 1\nb:\n  c: 1\n  c: 2', { strict: true, source: 'x.yaml' })).toThrow(/^x\.yaml:4:3: dupl/)
    expect(() => readYaml('{"a": 1, "a": 2}', { strict: true })).toThrow(invalidYaml)
    expect(readYaml('<<: {a: 1}\na: 2', { strict: true })).toEqual({ a: 2 })
  })

  it.each([
    ['<<: {a: 1, b: 2}\nb: 3', { a: 1, b: 3 }],
    ['b: 3\n<<: {a: 1, b: 2}', { a: 1, b: 2 }],
    ['<<: [{a: 1}, {a: 2, b: 2}]', { a: 1, b: 2 }],
    ['x: &x {a: 1}\nz: {<<: *x, b: 2}', { x: { a: 1 }, z: { a: 1, b: 2 } }],
    ['"<<": {a: 1}', { '<<': { a: 1 } }],
  ])('merges %o', (text, value) => {
    expect(readYaml(text)).toEqual(value)
  })

  it.each(['<<: 1', '<<: 1e3', '<<: [1]', '<<: ~'])('rejects to merge %s', (text) => {
    expect(() => readYaml(text)).toThrow('needs a mapping')
  })

  it('has no special key', () => {
    const value = readYaml('__proto__: {polluted: true}\na: 1') as Record<string, Json>
    expect(Object.keys(value)).toEqual(['__proto__', 'a'])
    expect(value['polluted']).toBeUndefined()
    expect(readYaml('__proto__: 1\n__proto__: 2')).toHaveProperty(['__proto__'], 2)
    expect(readYaml('<<: {__proto__: 1}')).toHaveProperty(['__proto__'], 1)
  })
})

describe('aliases', () => {
  it('stand for their anchors', () => {
    expect(readYaml('a: &x [1]\nb: *x')).toEqual({ a: [1], b: [1] })
    expect(() => readYaml('a: *x')).toThrow(invalidYaml)
  })

  it('cannot contain themselves', () => {
    expect(() => readYaml('a: &x [*x]')).toThrow('contains itself')
    expect(() => readYaml('a: &x {b: {c: *x}}')).toThrow('contains itself')
  })

  it('cannot expand beyond memory', () => {
    const levels = ['a: &a [1,1,1,1,1,1,1,1,1,1]']
    for (const [here, below] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg', 'ih', 'ji', 'kj']) {
      levels.push(`${here}: &${here} [${Array.from({ length: 10 }, () => `*${below}`).join(',')}]`)
    }
    expect(() => readYaml(levels.join('\n'))).toThrow('too many values')
  })
})

describe('flow style with less indentation than its key', () => {
  it('is parsed as in kubectl', () => {
    const text = 'spec:\n  args: [\n    "a",\n  ]\n  env: {\n"b": 1,\n"c": "x\ny"\n  }\n  last: |\n    ]\nend: [\n]\n'
    expect(readYaml(text)).toEqual({ spec: { args: ['a'], env: { b: 1, c: 'x y' }, last: ']\n' }, end: [] })
  })

  it('is rejected when unclosed', () => {
    expect(() => readYamlDocuments('a: "x\n---\nb: "y"\n')).toThrow(invalidYaml)
    expect(() => readYamlDocuments('a: [x\n---\nb]\n')).toThrow(invalidYaml)
  })

  it('keeps the position of later errors', () => {
    expect(() => readYaml('a: [\n]\nb: [\n1 ] ]', { source: 'x.yaml' })).toThrow(/^x\.yaml:4:5: /)
  })
})

describe('the end of a text', () => {
  it.each([
    ['a: |\n  x', 'x\n', 'x'],
    ['a: |+\n  x', 'x\n', 'x'],
    ['a: >-\n  x', 'x', 'x'],
    ['a: |\n  x\n', 'x\n', 'x\n'],
    ['a: |\n  x\n  ', 'x\n', 'x\n'],
    ['a: "|"', '|', '|'],
  ])('%j has a line break for kubectl, and not for others', (text, added, kept) => {
    expect(readYaml(text)).toEqual({ a: added })
    expect(readYaml(text, { keepsEnd: true })).toEqual({ a: kept })
  })
})

describe('tabs between tokens', () => {
  it.each([
    ['a: [1,\t2]', [1, 2]],
    ['a:\t[1]', [1]],
    ['a:\t{ b:\tc,\t\td: e }', { b: 'c', d: 'e' }],
    ['a: ["x\ty",\t"z"]', ['x\ty', 'z']],
    ['a: b\t# c', 'b'],
  ])('%j is read', (text, value) => {
    expect(readYaml(text)).toEqual({ a: value })
  })

  it('are no indentation', () => {
    for (const text of ['a:\n\tb: 1', '-\t{a: 1}', '-\t[1]', '\t[1]: a']) expect(() => readYaml(text)).toThrow('line')
  })

  it('end in an error, not in a long wait, where there are very many', () => {
    expect(() => readYaml(`a: [${'1,\t'.repeat(100_000)}`)).toThrow(invalidYaml)
  })
})

describe('documents', () => {
  it('are separated by ---, and empty ones are skipped', () => {
    expect(readYamlDocuments('---\n# only a comment\n---\na: 1\n---\n---\nb: 2\n...\n---\nnull\n')).toEqual([
      { a: 1 },
      { b: 2 },
    ])
    expect(readYamlDocuments('')).toEqual([])
    expect(readYaml('---\na: 1\n---\n')).toEqual({ a: 1 })
  })

  it('may be JSON, alone or in a sequence', () => {
    expect(readYamlDocuments('{"a": 9007199254740993}')).toEqual([{ a: 9007199254740993n }])
    expect(readYamlDocuments(' {"a":"}{\\""}\n{"b":[{}]}{"c":1}\n')).toEqual([{ a: '}{"' }, { b: [{}] }, { c: 1 }])
    expect(readYamlDocuments('{"a":1}\n---\nb: 2')).toEqual([{ a: 1 }, { b: 2 }])
    expect(readYaml('{"a": yes, b: 1,}')).toEqual({ a: true, b: 1 })
  })

  it('are rejected where one is expected', () => {
    expect(() => readYaml('a: 1\n---\nb: 2')).toThrow(invalidYaml)
  })

  it('are not silently truncated', () => {
    expect(() => readYaml('  a: 1\nb: 2')).toThrow(invalidYaml)
  })
})

describe('errors', () => {
  it('name file, line and column', () => {
    expect(() => readYaml('a:\n  b: c: d', { source: 'deploy/web.yaml' })).toThrow(/^deploy\/web\.yaml:2:7: .*\.$/)
    expect(() => readYaml('a: @b')).toThrow(/^line 1, column 4: /)
  })

  it('never contain the input', () => {
    const raise = (): unknown => readYaml('password: hunter2\nuser: [', { source: 's.yaml' })
    expect(raise).toThrow(invalidYaml)
    expect(raise).not.toThrow(/hunter2/)
    expect(raise).toThrow(expect.toSatisfy((error: Error) => error.cause === undefined))
  })

  it('limit the nesting', () => {
    expect(readYaml(`${'['.repeat(500)}${']'.repeat(500)}`)).toBeInstanceOf(Array)
    expect(() => readYaml('['.repeat(100_000))).toThrow(invalidYaml)
  })
})

describe('formatting', () => {
  it('equals kubectl', () => {
    const value = {
      metadata: { name: 'web', labels: {}, creationTimestamp: '2026-01-01T00:00:00Z' },
      apiVersion: 'v1',
      spec: {
        ports: [{ port: 80, name: 'http' }],
        args: ['-v', '--x: y', 'yes', '0777', '1:30', ''],
        none: [],
        big: 9007199254740993n,
      },
      kind: 'Service',
      data: { script: 'echo a\necho b\n', tail: 'x\ny', half: 0.5, off: false, gone: undefined, nil: null },
    }
    expect(writeYaml(value)).toBe(`apiVersion: v1
data:
  half: 0.5
  nil: null
  "off": false
  script: |
    echo a
    echo b
  tail: |-
    x
    y
kind: Service
metadata:
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels: {}
  name: web
spec:
  args:
  - -v
  - '--x: y'
  - "yes"
  - "0777"
  - "1:30"
  - ""
  big: 9007199254740993
  none: []
  ports:
  - name: http
    port: 80
`)
  })

  it('sorts keys as kubectl does: letters last, numbers by value', () => {
    const keys = ['b', 'a10', 'a9', 'a', 'B', '_x', '10', '9', 'a.b', 'ab', 'a09', 'x100', 'x1', 'a3', 'a02']
    const text = writeYaml(Object.fromEntries(keys.map((key) => [key, 0])))
    const written = text
      .replaceAll(/[":]| 0/g, '')
      .trim()
      .split('\n')
    expect(written).toEqual([
      '_x',
      '9',
      '10',
      'B',
      'a',
      'a.b',
      'a02',
      'a3',
      'a9',
      'a09',
      'a10',
      'ab',
      'b',
      'x1',
      'x100',
    ])
  })

  it.each([
    ['a\tb', '"a\\tb"\n'],
    ['a\u{a0}b', '"a\\_b"\n'],
    ['a\u{2028}b\nc', '"a\\Lb\\nc"\n'],
    [' a\nb', '" a\\nb"\n'],
    ['a\n\tb', '|-\n  a\n  \tb\n'],
    [[' a\nb'], '- |2-\n   a\n  b\n'],
    [{ 'a\nb': 1 }, '? "a\\nb"\n: 1\n'],
    ['a: b', "'a: b'\n"],
    ["it's: b", "'it''s: b'\n"],
    ['123', '"123"\n'],
    ['---', "'---'\n"],
    [1e21, '1.e+21\n'],
    [2 ** 60, '1152921504606846976\n'],
    [null, 'null\n'],
  ])('formats %o as %o', (value, text) => {
    expect(writeYaml(value)).toBe(text)
  })

  it('keeps its input, and uses no anchors', () => {
    const shared = Object.freeze({ b: 1, a: 2 })
    expect(writeYaml(Object.freeze({ y: shared, x: shared }))).toBe('x:\n  a: 2\n  b: 1\n"y":\n  a: 2\n  b: 1\n')
  })

  it.each([
    'y',
    'n',
    'no',
    'null',
    '~',
    '0o17',
    '0b1',
    '1_0',
    '1e3',
    '.5',
    '2001-12-14',
    '<<',
    '=',
    '---',
    '... x',
    '- a',
    '#a',
    'a: b',
    'a #b',
    ' a',
    '!a',
    '&a',
    '*a',
    '@a',
    '%a',
    '\t',
    '"',
    "'",
    '{',
    '[a',
    '',
  ])('keeps %o a string, as a value and as a key', (text) => {
    expect(readYaml(writeYaml({ a: text }))).toEqual({ a: text })
    expect(readYaml(writeYaml({ [text]: 'x' }))).toEqual({ [text]: 'x' })
    expect(readYaml(writeYaml([text, [text]]))).toEqual([text, [text]])
  })

  it.each([
    'a\n',
    'a\n\n',
    '\n',
    '\na',
    ' a\nb',
    'a \nb',
    'a\n b\n',
    '#!/bin/sh\n\techo\n',
    'a\r\nb',
    'a\u{2028}b\n',
    '---\na',
  ])('keeps the lines of %o', (text) => {
    expect(readYaml(writeYaml(text))).toBe(text)
    expect(readYaml(writeYaml({ a: { b: [text] } }))).toEqual({ a: { b: [text] } })
  })

  it('round-trips', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({
        unit: fc.constantFrom(
          'a',
          ' ',
          '\n',
          '\t',
          ':',
          '#',
          '-',
          '"',
          "'",
          '1',
          '_',
          '.',
          '\\',
          ',',
          '[',
          '{',
          'e',
          'x',
        ),
      }),
      fc.constantFrom('yes', 'N', '0777', '1e3', '.inf', '<<', '~'),
    )
    const values = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        text,
        fc.constantFrom(null, true, false),
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(text, tie('value'), { maxKeys: 4 }),
      ),
    })).value
    fc.assert(
      fc.property(values, (value) => {
        expect(equalJson(readYaml(writeYaml(value)), value)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})

describe('a line that cannot be indented', () => {
  it.each(['-\t{a: 1}', '- [\t', '  : &a\t[: ---? ]'])('is rejected, in linear time: %j', (text) => {
    expect(() => readYaml(text)).toThrow(invalidYaml)
  })
})

import { describe, expect, it } from 'vitest'
import { YamlScalar } from '../../../kube/yaml/yaml-value.ts'
import { jsonOf } from './value.ts'
import { quotedIfNeeded, quotedLike, readScalar, rewritten, untypedScalar, withText } from './written-scalar.ts'

const quoted = readScalar(new YamlScalar('x', 'x'))

describe('a scalar without a type', () => {
  it.each([
    ['', null],
    ['null', null],
    ['~', null],
    ['true', true],
    ['0', 0],
    ['0x10', 16],
    ['1.10', 1.1],
    ['.5', 0.5],
    ['2020-01-02', '2020-01-02T00:00:00Z'],
    ['2020-01-02 03:04:05', '2020-01-02T03:04:05Z'],
    ['yes', 'yes'],
    ['- 1', '- 1'],
    ['1: 2', '1: 2'],
    ['web', 'web'],
  ])('%o has the type of its text', (text, value) => {
    expect(jsonOf(untypedScalar(text))).toBe(value)
  })

  it('gets another type with another text', () => {
    expect(jsonOf(withText(withText(untypedScalar('5'), 'x'), 'true'))).toBe(true)
  })

  it('is put in quotes by a merge, if it needs them', () => {
    expect(quotedIfNeeded(untypedScalar('5'))).toBe('5')
    expect(jsonOf(quotedIfNeeded(untypedScalar('x')))).toBe('x')
  })

  it('has no value if JSON has none', () => {
    expect(() => jsonOf(untypedScalar('.inf'))).toThrow('no value of JSON')
  })
})

describe('a scalar with another text', () => {
  it('keeps its type', () => {
    expect(withText('x', '5')).toBeInstanceOf(YamlScalar)
    expect(jsonOf(withText('x', '5'))).toBe('5')
    expect(withText(1, '5')).toBe(5)
    expect(jsonOf(withText(1.5, '5'))).toBe(5)
    expect(jsonOf(withText(true, 'False'))).toBe(false)
  })

  it.each([
    [1, 'x'],
    [1, '1.5'],
    [1, ''],
    [true, '1'],
    [null, 'x'],
  ])('of the type of %o is an error as %o, unless it changes again', (old, text) => {
    const scalar = withText(old, text)
    expect(() => jsonOf(scalar)).toThrow('cannot stand')
    expect(jsonOf(withText(scalar, String(old)))).toBe(old)
  })
})

describe('quotes', () => {
  it('make everything that is written into a field a text', () => {
    expect(rewritten(quoted, '5')).toBe('5')
    expect(quotedLike(quoted, 5)).toBe('5')
    expect(quotedLike('1', true)).toBe('true')
  })

  it('are not there: the text that is written anew has the type that it looks like', () => {
    expect(jsonOf(rewritten('x', '5'))).toBe(5)
    expect(quotedLike('x', 5)).toBe(5)
  })
})

/** `readYamlValues`: documents as kustomize reads them. */
import { describe, expect, it } from 'vitest'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import { YamlScalar } from './yaml-value.ts'
import { readYamlValues } from './yaml.ts'

describe('values with their texts', () => {
  it.each(['yes', 'on', 'off', 'n', 'text', 'a b'])('%s is a text', (text) => {
    expect(readYamlValues(text)).toEqual([text])
  })

  it.each([
    ['1', 1],
    ['1.5', 1.5],
    ['true', true],
    ['null', null],
    ['9007199254740993', 9007199254740993n],
  ])('%s is its value', (text, value) => {
    expect(readYamlValues(text)).toEqual([value])
  })

  it.each([
    ['1.10', 1.1],
    ['0777', 511],
    ['0x10', 16],
    ['1e3', 1000],
    ['True', true],
    ['~', null],
    ['2020-01-02', '2020-01-02T00:00:00Z'],
  ])('%s keeps its text beside its value', (text, value) => {
    expect(readYamlValues(text)).toEqual([new YamlScalar(text, value)])
  })

  it.each([`'1'`, '"1"', '|-\n  1', '!!str 1'])('%o is a text in quotes', (text) => {
    expect(readYamlValues(text)).toEqual([new YamlScalar('1', '1')])
  })

  it('reads all documents; a field without a value is a null without a text', () => {
    expect(readYamlValues('a:\n---\n- b\n')).toEqual([{ a: new YamlScalar('', null) }, ['b']])
  })

  it('has texts as keys, whatever their quotes', () => {
    expect(readYamlValues('"a": 1\n1.10: 2\n')).toEqual([{ a: 1, '1.10': 2 }])
  })

  it('an alias is the same value', () => {
    const [document] = readYamlValues('a: &x [1]\nb: *x\n') as readonly [{ readonly a: unknown; readonly b: unknown }]
    expect(document.b).toBe(document.a)
  })

  it.each(['a: 1\na: 2', 'a: 1\n"a": 2', 'a: .inf', 'a: [', 'a: &x [*x]'])('refuses %o', (text) => {
    expect(() => readYamlValues(text, { source: 'a.yaml' })).toThrow(
      expect.toSatisfy((error) => isMusterError(error, kubeErrors.InvalidYaml)) as Error,
    )
  })
})

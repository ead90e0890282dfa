import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileCel } from '../compile.ts'
import { CelCompileError, CelRuntimeError } from '../value/error.ts'

const run = (text: string): unknown => compileCel(text, { variables: {} }).evaluate({})

describe('the parser', () => {
  it('binds operators as CEL does', () => {
    expect(run('1 + 2 * 3 - 4 / 2 % 3')).toBe(5)
    expect(run('1 < 2 == true && !false || false')).toBe(true)
    expect(run('false ? 1 : true ? 2 : 3')).toBe(2)
    expect(run('-[1][0] + 1')).toBe(0)
  })

  it('parses chains of any length, but limits nesting', () => {
    expect(run(Array.from({ length: 5000 }, () => 'true').join(' && '))).toBe(true)
    expect(() => run(`${'('.repeat(300)}1${')'.repeat(300)}`)).toThrow('expression recursion limit exceeded: 250')
    expect(() => run(`"${'a'.repeat(100_001)}"`)).toThrow('expression code point size exceeds limit')
  })

  it('returns a value or its own error for any text', () => {
    const pieces = fc.constantFrom(
      '1',
      '-',
      '+',
      '(',
      ')',
      '[',
      ']',
      '{',
      '}',
      '.',
      ',',
      ':',
      '?',
      '!',
      '"a"',
      "'",
      '"',
      '\\',
      'a',
      'has',
      'x.all',
      '==',
      '&&',
      '||',
      'in',
      '`a`',
      '%s',
      '.format',
      '0x',
      '1e',
      '//',
      '\n',
      'é',
      'null',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (words) => {
        try {
          run(words.join(''))
        } catch (error) {
          if (!(error instanceof CelCompileError || error instanceof CelRuntimeError)) throw error
        }
      }),
      { numRuns: 500 },
    )
  })
})

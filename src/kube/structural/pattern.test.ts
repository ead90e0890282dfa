import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePattern } from '../cel/library/regex.ts'
import { equivalentExpression, patternOf, patternProblem } from './pattern.ts'

const fast = [
  '^[a-z]+$',
  '^a.b$',
  'b+',
  '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
  String.raw`^\d{1,3}(\.\d+)?$`,
  '^(?:a|b)c?$',
  '[^/]+/x',
  String.raw`^\w+\-x$`,
  '^[a-zA-Z_.-]+$',
]

describe('patterns', () => {
  it.each(fast)('%s is matched by JavaScript, with the result of RE2', (pattern) => {
    expect(equivalentExpression(pattern)).toBeDefined()
    const re2 = compilePattern(pattern)
    const text = fc.string({ unit: fc.constantFrom(...Array.from('abcxz019-._/ \n\r\u2028é😀')), maxLength: 12 })
    fc.assert(
      fc.property(text, (one) => {
        expect(patternOf(pattern)(one)).toBe(re2.matcher(one).find())
      }),
    )
  })

  it.each([
    '(?i)a',
    '(?=a)',
    '[[:alpha:]]',
    String.raw`\pL`,
    String.raw`\s`,
    String.raw`a\z`,
    '(a+)+',
    'a*b*c*',
    '(?P<n>a)',
    'é',
    '[a-\\d]',
  ])('%s is matched by RE2', (pattern) => expect(equivalentExpression(pattern)).toBeUndefined())

  it('with exponential backtracking in JavaScript take linear time', () => {
    expect(patternOf('^(a+)+$')(`${'a'.repeat(40)}!`)).toBe(false)
    expect(patternOf('^a*a*$')(`${'a'.repeat(100_000)}!`)).toBe(false)
  })

  it('that are invalid have an error message', () => {
    expect(patternProblem('(')).toBe('error parsing regexp: missing closing ): `(`')
    expect(patternProblem('(?=a)')).toContain('invalid or unsupported Perl syntax')
    expect(patternProblem('^a$')).toBeUndefined()
  })

  it.each(['^(a|a)*$', '^(a?a?)*$', `^${'a?'.repeat(30)}${'a'.repeat(30)}b$`, `^${'(a|a)'.repeat(30)}b$`, 'a*a*a*b'])(
    'uses RE2 for patterns that could backtrack: %s',
    (pattern) => {
      expect(equivalentExpression(pattern)).toBeUndefined()
      expect(patternOf(pattern)(`${'a'.repeat(200)}!`)).toBe(false)
    },
  )

  it.each(['^[a-z]+-[0-9]+$', '^(red|green|blue)$', '^v[0-9]+(-rc)?$', '[a-z]+'])(
    'uses JavaScript for safe patterns: %s',
    (pattern) => {
      expect(equivalentExpression(pattern)).toBeDefined()
    },
  )
})

import { describe, expect, it } from 'vitest'
import { fieldSelectorProblem, labelSelectorProblem } from './selector-error.ts'

/** The messages of kube-apiserver. */
const labels: readonly (readonly [selector: string, problem: string])[] = [
  ['a b c', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  ['a in', "unable to parse requirement: found '' expected: '('"],
  ['a in x', "unable to parse requirement: found 'x' expected: '('"],
  ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
  ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
  ['a=b c', "found 'c', expected: ',' or 'end of string'"],
  ['a=,', "found '', expected: identifier after ','"],
  ['!', "unable to parse requirement: found '', expected: identifier"],
  ['a==b==c', "found '==', expected: ',' or 'end of string'"],
  [
    'a>x',
    `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`,
  ],
  ['(a)', "found '(', expected: !, identifier, or 'end of string'"],
  ['a,,b', "found ',', expected: identifier after ','"],
  ['!a=b', "found '=', expected: ',' or 'end of string'"],
  ['/a=b', 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'],
]

describe('an invalid label selector', () => {
  it.each(labels)('%s', (selector, problem) => {
    expect(labelSelectorProblem(selector)).toBe(problem)
  })
})

describe('an invalid field selector', () => {
  it.each([
    ['a', "invalid selector: 'a'; can't understand 'a'"],
    ['metadata.name=a=b', 'invalid field selector: unescaped character in value: 61'],
    ['!metadata.name', "invalid selector: '!metadata.name'; can't understand '!metadata.name'"],
  ])('%s', (selector, problem) => {
    expect(fieldSelectorProblem(selector)).toBe(problem)
  })
})

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../clock/random.ts'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import {
  assertName,
  checkDns1035Label,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkPathSegment,
  checkQualifiedName,
  generateName,
  type NameCheck,
} from './name.ts'

const x = (length: number): string => 'x'.repeat(length)

/** For each shape: names that are fine, and names that are not with the number of things wrong. */
const table: readonly (readonly [string, NameCheck, readonly string[], Readonly<Record<string, number>>])[] = [
  [
    'DNS label',
    checkDnsLabel,
    ['a', '0', 'a-b', 'a--b', '123', x(63)],
    { '': 1, A: 1, '-a': 1, 'a-': 1, 'a.b': 1, a_b: 1, é: 1, 'a\n': 1, [x(64)]: 1, [`${x(64)}-`]: 2 },
  ],
  [
    'DNS-1035 label',
    checkDns1035Label,
    ['a', 'a0', 'a-b', x(63)],
    { '': 1, '0a': 1, 'a.b': 1, 'a-': 1, [x(64)]: 1, [`0${x(63)}`]: 2 },
  ],
  [
    'DNS subdomain',
    checkDnsSubdomain,
    ['a', 'a.b', '1.2.3', 'a-b.c', x(253)],
    { '': 1, 'a.': 1, '.a': 1, 'a..b': 1, 'a.-b': 1, 'A.b': 1, [x(254)]: 1 },
  ],
  [
    'qualified name',
    checkQualifiedName,
    ['a', 'A', 'a_b.c-d', 'example.com/A', `${x(253)}/${x(63)}`],
    {
      '': 2,
      '/a': 1,
      'a/': 2,
      'a/b/c': 1,
      'Ex.com/a': 1,
      '-a': 1,
      'a-': 1,
      [x(64)]: 1,
      [`${x(254)}/a`]: 1,
      [`A/${x(63)}-`]: 3,
    },
  ],
  ['label value', checkLabelValue, ['', 'a', 'A.b_c-1', x(63)], { '-a': 1, 'a ': 1, 'a/b': 1, [x(64)]: 1, ü: 1 }],
  ['path segment', checkPathSegment, ['', 'system:node', 'A B', '...'], { '.': 1, '..': 1, 'a/b': 1, 'a/%': 2 }],
]

describe('names', () => {
  it.each(table)('a %s is accepted as on the server', (_shape, check, fine, wrong) => {
    const problems = (name: string): readonly [string, number] => [name, check(name).length]
    expect(fine.map(problems)).toEqual(fine.map((name) => [name, 0]))
    expect(Object.keys(wrong).map(problems)).toEqual(Object.entries(wrong))
  })

  it('are limited in bytes, as on the server, not characters', () => {
    expect(checkDnsLabel('é'.repeat(31))).toHaveLength(1)
    expect(checkDnsLabel('é'.repeat(32))).toHaveLength(2)
  })

  it('a label with dots: the error names the dots', () => {
    expect(checkDnsLabel('a.b')).toEqual(['must not contain dots'])
  })

  it('raises InvalidName with every problem', () => {
    expect(() => assertName(checkDnsLabel, 'fine', 'namespace')).not.toThrow()
    const raise = (): void => assertName(checkDns1035Label, `0${x(63)}`, 'service')
    expect(raise).toThrow(/^service "0x+" must be at most 63 bytes and must be lower-case/)
    expect(raise).toThrow(expect.toSatisfy((error) => isMusterError(error, kubeErrors.InvalidName)))
  })
})

describe('generated names', () => {
  it('are labels of at most 63 characters that begin with their base', () => {
    const bases = fc.stringMatching(/^[a-z][a-z0-9-]{0,80}$/)
    fc.assert(
      fc.property(bases, fc.nat(), (base, seed) => {
        const name = generateName(base, seededRandom(seed))
        expect(checkDnsLabel(name)).toEqual([])
        expect(name.startsWith(base.slice(0, 58))).toBe(true)
        expect(name).toMatch(/[bcdfghjklmnpqrstvwxz2456789]{5}$/)
        expect(name).toHaveLength(Math.min(base.length, 58) + 5)
      }),
    )
  })

  it('use every character of the alphabet, and are deterministic for a seed', () => {
    const random = seededRandom(7)
    const seen = new Set(Array.from({ length: 200 }, () => generateName('', random)).join(''))
    expect([...seen].toSorted().join('')).toBe('2456789bcdfghjklmnpqrstvwxz')
    expect(generateName('a-', seededRandom(1))).toBe(generateName('a-', seededRandom(1)))
  })
})

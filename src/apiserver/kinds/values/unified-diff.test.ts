import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unifiedDiff } from './unified-diff.ts'

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index + 1))
const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 30 })

/** What `before` becomes when a diff is applied to it. */
function patched(before: readonly string[], diff: string): readonly string[] {
  const out: string[] = []
  let at = 0
  for (const line of diff.split('\n').slice(0, -1)) {
    const [, from = '0', length = '1'] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? []
    if (line.startsWith('@@')) {
      const start = length === '0' ? Number(from) : Number(from) - 1
      while (at < start) out.push(before[at++]!)
    } else if (line.startsWith('+')) out.push(line.slice(1))
    else {
      if (before[at++] !== line.slice(1)) throw new Error(`line ${at} is not "${line.slice(1)}"`)
      if (line.startsWith(' ')) out.push(line.slice(1))
    }
  }
  return [...out, ...before.slice(at)]
}

describe('a unified diff', () => {
  it('shows a change with three lines of context', () => {
    const after = numbers(9).with(4, 'five')
    expect(unifiedDiff(numbers(9).join('\n'), after.join('\n'))).toBe(
      '@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n',
    )
  })

  it('puts distant changes into separate hunks', () => {
    const after = numbers(20).with(0, 'first').with(19, 'last')
    expect(unifiedDiff(numbers(20).join('\n'), after.join('\n')).match(/^@@/gm)).toHaveLength(2)
  })

  it('is empty for equal texts, and otherwise turns one text into the other', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = unifiedDiff(before.join('\n'), after.join('\n'))
        expect(diff === '').toBe(before.join('\n') === after.join('\n'))
        expect(patched(before, diff)).toEqual(after)
      }),
    )
  })

  it('handles long texts with few distinct lines', () => {
    const before = Array.from({ length: 500 }, (_, index) => `${index % 3}`)
    const after = before.toSpliced(250, 1, 'x')
    expect(patched(before, unifiedDiff(before.join('\n'), after.join('\n')))).toEqual(after)
  })

  it('matches only both ends of very long texts', () => {
    const many = (word: string): string[] => Array.from({ length: 30_000 }, (_, index) => `${word} ${index}`)
    const before = ['head', ...many('old'), 'tail'].join('\n')
    const after = ['head', ...many('new'), 'tail'].join('\n')
    const diff = unifiedDiff(before, after).split('\n')
    expect(diff.filter((line) => line.startsWith('-old'))).toHaveLength(30_000)
    expect(diff.filter((line) => line.startsWith('+new'))).toHaveLength(30_000)
    expect(diff.filter((line) => /^ (?:head|tail)$/.test(line))).toHaveLength(2)
  })
})

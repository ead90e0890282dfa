import { describe, expect, it } from 'vitest'
import { openProgressBar, progressLine } from './progress-bar.ts'

describe('a progress bar', () => {
  it('shows progress, failures, and the remaining time at the same pace', () => {
    const half = `${'█'.repeat(15)}${'░'.repeat(15)}`
    // 90 in 9 s, so the other 100 in 10 s.
    expect(progressLine(100, 200, 3, 9000)).toBe(`${half} 100/200 plans, 3 failed, about 10 s left`)
    expect(progressLine(200, 200, 0, 9000)).toBe(`${'█'.repeat(30)} 200/200 plans, 0 failed, about 0 s left`)
  })

  it('makes no estimate from the first items, which take longer than the others', () => {
    expect(progressLine(10, 1000, 0, 60_000)).toBe(`${'░'.repeat(30)} 10/1000 plans, 0 failed`)
    const written: string[] = []
    let now = 0
    const bar = openProgressBar(
      (text) => void written.push(text),
      () => now,
    )
    now = 60_000
    bar.show(10, 110, 0)
    now = 61_000
    bar.show(20, 110, 0)
    expect(written.at(-1)).toContain('20/110 plans, 0 failed, about 9 s left')
  })

  it('is redrawn in place at a readable rate, and leaves nothing', () => {
    const written: string[] = []
    let now = 0
    const bar = openProgressBar(
      (text) => void written.push(text),
      () => now,
    )
    for (let done = 1; done <= 1000; done++) {
      now += 1
      bar.show(done, 1000, 0)
    }
    bar.end()
    const lines = written.filter((text) => text.includes(' plans, '))
    expect(lines).toHaveLength(11)
    // The last one is shown, however soon it comes.
    expect(lines.at(-1)).toContain('1000/1000 plans')
    // Back to the front of the line, and what is left of the last one wiped out.
    expect(lines.every((line) => line.lastIndexOf('\r') === 0 && line.endsWith('\u001B[K'))).toBe(true)
    expect(written.at(-1)).toBe('\r\u001B[K')
  })
})

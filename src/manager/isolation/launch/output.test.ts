import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../../clock/virtual-clock.ts'
import { hidingValues } from '../../../kube/text/hidden-text.ts'
import type { PrintedSecrets } from './guest-handle.ts'
import { relayOutput } from './output.ts'

const none: PrintedSecrets = { hide: (text) => text, ofSeveralLines: () => [] }

/** All that is relayed of these pieces. */
async function relayed(values: readonly string[], pieces: Iterable<string>): Promise<string> {
  const stream = new PassThrough()
  const heard: string[] = []
  const secrets = {
    hide: hidingValues(values, '***'),
    ofSeveralLines: () => values.filter((each) => each.includes('\n')),
  }
  relayOutput(stream, { clock: virtualClock(), secrets, onPrinted: (text) => void heard.push(text) })
  for (const piece of pieces) {
    stream.write(piece)
    // Each is heard of alone.
    await setImmediate()
  }
  stream.end()
  await setImmediate()
  return heard.join('')
}

describe('the output of a guest', () => {
  it.each([
    ['in small chunks', 'x\n', 40_000, 256],
    ['in large chunks', `${'x'.repeat(9999)}\n`, 100, 7],
  ])('without an end, %s, is rate-limited', async (_how, piece, times, most) => {
    const clock = virtualClock()
    const stream = new PassThrough()
    const heard: string[] = []
    relayOutput(stream, { clock, secrets: none, onPrinted: (text) => void heard.push(text) })
    for (let index = 0; index < times; index++) stream.write(piece)
    await setImmediate()
    await setImmediate()
    expect(heard.length).toBeLessThanOrEqual(most)
    expect(heard.join('').length).toBeLessThanOrEqual(64 * 1024)
    const before = heard.length
    await clock.advance(1000)
    await setImmediate()
    expect(heard.length).toBeGreaterThan(before)
    expect(heard.length).toBeLessThanOrEqual(2 * most)
    stream.destroy()
  })

  it('is passed on unchanged, if it is small', async () => {
    const stream = new PassThrough()
    const heard: string[] = []
    relayOutput(stream, { clock: virtualClock(), secrets: none, onPrinted: (text) => void heard.push(text) })
    stream.end('grün\n')
    await setImmediate()
    expect(heard.join('')).toBe('grün\n')
  })

  it('is masked across chunk boundaries', async () => {
    const [secret, key] = [
      'correct horse battery staple',
      '-----BEGIN KEY-----\nc2VjcmV0\nc2VjcmV0\n-----END KEY-----\n',
    ]
    for (const value of [secret, key]) {
      const text = `it was ${value}\nand more\n`
      for (let at = 1; at < text.length; at++) {
        const shown = await relayed([secret, key], [text.slice(0, at), text.slice(at)])
        expect(shown).toMatch(/^it was \*\*\*\n*and more\n$/)
      }
      expect(await relayed([secret, key], text)).toMatch(/^it was \*\*\*\n*and more\n$/)
    }
  })

  it('is not delayed for long: a line that only begins like a value is printed with the next', async () => {
    expect(await relayed(['one\ntwo\nthree'], ['one\n', 'two\n', 'four\n'])).toBe('one\ntwo\nfour\n')
    expect(await relayed(['one\ntwo\nthree'], ['zero\none\n'])).toBe('zero\none\n')
  })

  it('is masked before a long line is truncated, and the rest is dropped', async () => {
    const value = 's3cr3t-'.repeat(20_000)
    const shown = await relayed([value], [`it was ${value} and more`, ` and more ${value}`, ' still\nnext\n'])
    expect(shown).not.toContain('s3cr3t')
    expect(shown).toContain('it was ***')
  })
})

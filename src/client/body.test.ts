import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { abortable, type Body, leave, readHead, readJson, readLineBatches, readLines, readText } from './body.ts'

async function* chunks(...parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array, void, void> {
  for (const part of parts) yield typeof part === 'string' ? Buffer.from(part) : part
}

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of source) items.push(item)
  return items
}

/** `text` in chunks cut at these byte offsets, wherever they fall. */
function cutAt(text: string, offsets: readonly number[]): Body {
  const bytes = Buffer.from(text)
  const places = [...offsets.map((offset) => offset % (bytes.length + 1)), 0, bytes.length].toSorted((a, b) => a - b)
  return chunks(...places.slice(1).map((place, index) => bytes.subarray(places[index], place)))
}

const line = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll('\n', '€'))
const offsets = fc.array(fc.nat(400), { maxLength: 12 })

describe('text', () => {
  it('is independent of chunk boundaries, also within a character', async () => {
    await fc.assert(
      fc.asyncProperty(line, offsets, async (text, cuts) => {
        expect(await readText(cutAt(text, cuts))).toBe(Buffer.from(text).toString())
      }),
    )
  })

  it('that is not JSON fails without being quoted', async () => {
    const error: unknown = await readJson(chunks('{"token":"hunter2"'), 'GET /x').catch((failure: unknown) => failure)
    expect(error).toMatchObject({ name: 'UnexpectedAnswer', message: 'GET /x: the body is no JSON (18 characters).' })
    expect(inspect(error)).not.toContain('hunter2')
    await expect(readJson(chunks(''), 'GET /x')).rejects.toThrow('GET /x: the body is empty.')
    await expect(readJson(chunks('<html>'), 'GET /x')).rejects.toThrow('GET /x: the body is HTML.')
  })

  it('keeps integers beyond 2^53 as JSON', async () => {
    expect(await readJson(chunks('{"n":9007199254740993}'))).toEqual({ n: 9007199254740993n })
  })
})

describe('lines', () => {
  it('are independent of chunk boundaries', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), offsets, async (lines, cuts) => {
        const text = lines.map((one) => `${one}\n`).join('')
        const wanted = lines.filter((one) => one !== '').map((one) => Buffer.from(one).toString())
        expect(await collect(readLines(cutAt(text, cuts)))).toEqual(wanted)
      }),
    )
  })

  it('of one chunk arrive as one batch', async () => {
    expect(await collect(readLineBatches(chunks('a\nb\nc\nd', 'e\n')))).toEqual([['a', 'b', 'c'], ['de']])
  })

  it('truncated before their newline raise ConnectionLost, even when they are complete JSON', async () => {
    const seen: string[] = []
    const reading = (async () => {
      for await (const one of readLines(chunks('{"a":1}\n', '{"a":2}'), { what: 'watch of pods/v1' })) seen.push(one)
    })()
    await expect(reading).rejects.toMatchObject({
      name: 'ConnectionLost',
      message: 'watch of pods/v1: the stream ended within a line, after 7 bytes of it.',
    })
    expect(seen).toEqual(['{"a":1}'])
  })

  it('longer than the limit raise ProtocolError before they are buffered', async () => {
    let left = false
    async function* endless(): AsyncGenerator<Uint8Array, void, void> {
      try {
        for (;;) yield Buffer.alloc(100, 'x')
      } finally {
        left = true
      }
    }
    await expect(collect(readLines(endless(), { maxLineBytes: 1_000 }))).rejects.toMatchObject({
      name: 'ProtocolError',
    })
    expect(left).toBe(true)
    await expect(collect(readLines(chunks(`${'x'.repeat(11)}\n`), { maxLineBytes: 10 }))).rejects.toMatchObject({
      name: 'ProtocolError',
    })
    expect(await collect(readLines(chunks(`${'x'.repeat(10)}\n`), { maxLineBytes: 10 }))).toHaveLength(1)
  })

  it('release the body when their reader stops', async () => {
    let left = false
    async function* source(): AsyncGenerator<Uint8Array, void, void> {
      try {
        for (;;) yield Buffer.from('a\nb\n')
      } finally {
        left = true
      }
    }
    for await (const one of readLines(source())) {
      expect(one).toBe('a')
      break
    }
    expect(left).toBe(true)
  })
})

describe('the head of a body', () => {
  it('is what arrived before it was truncated, up to a limit', async () => {
    async function* cutOff(): AsyncGenerator<Uint8Array, void, void> {
      yield Buffer.from('abc')
      throw new Error('connection reset')
    }
    expect(await readHead(cutOff(), 100)).toBe('abc')
    expect(await readHead(chunks('abc', 'def', 'ghi'), 5)).toBe('abcde')
  })
})

describe('an abortable body', () => {
  /** A source that gives one chunk and then keeps silent, whatever happens. */
  const silent = (): { readonly body: Body; readonly state: { left: boolean } } => {
    const state = { left: false }
    let first = true
    const iterator: AsyncIterator<Uint8Array> = {
      next: () => {
        if (!first) return new Promise(() => undefined)
        first = false
        return Promise.resolve({ done: false, value: Buffer.from('a') })
      },
      return: () => {
        state.left = true
        return Promise.resolve({ done: true, value: undefined })
      },
    }
    return { body: { [Symbol.asyncIterator]: () => iterator }, state }
  }

  it('fails at once when aborted, even if its source is silent, and releases the source', async () => {
    const { body, state } = silent()
    const abort = new AbortController()
    let ends = 0
    const iterator = abortable(body, abort.signal, () => void ends++)[Symbol.asyncIterator]()
    expect(await iterator.next()).toMatchObject({ done: false })
    const next = iterator.next()
    abort.abort(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    await expect(iterator.next()).rejects.toThrow('enough')
    expect({ ends, left: state.left }).toEqual({ ends: 1, left: true })
  })

  it('fails when it was aborted before the first read', async () => {
    const { body, state } = silent()
    const iterator = abortable(body, AbortSignal.abort(new Error('early')), () => undefined)[Symbol.asyncIterator]()
    await expect(iterator.next()).rejects.toThrow('early')
    expect(state.left).toBe(true)
  })

  it('ends once: at its end, at its failure, and when its reader stops', async () => {
    async function* failing(): AsyncGenerator<Uint8Array, void, void> {
      yield Buffer.from('a')
      throw new Error('cut')
    }
    let ends = 0
    const wrap = (body: Body): Body => abortable(body, new AbortController().signal, () => void ends++)
    expect(await readText(wrap(chunks('a', 'b')))).toBe('ab')
    expect(ends).toBe(1)
    await expect(readText(wrap(failing()))).rejects.toThrow('cut')
    expect(ends).toBe(2)
    leave(wrap(silent().body))
    expect(ends).toBe(3)
  })
})

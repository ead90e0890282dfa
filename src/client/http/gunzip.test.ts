import { randomBytes } from 'node:crypto'
import { createGzip, gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textOf } from '../../../test/loopback.ts'
import { transportErrors } from '../../transport/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { gunzip } from './gunzip.ts'

/** A body cut into pieces; knows whether it was left. */
function body(content: Uint8Array, pieces: number, failure?: Error): AsyncIterable<Uint8Array> & { left: boolean } {
  const size = Math.max(Math.ceil(content.length / pieces), 1)
  let at = 0
  const made = {
    left: false,
    [Symbol.asyncIterator]: (): AsyncIterator<Uint8Array, undefined> => ({
      next() {
        if (at >= content.length) {
          return failure ? Promise.reject(failure) : Promise.resolve({ done: true, value: undefined })
        }
        at += size
        return Promise.resolve({ done: false, value: content.subarray(at - size, at) })
      },
      return() {
        made.left = true
        return Promise.resolve({ done: true, value: undefined })
      },
    }),
  }
  return made
}

describe('gunzip', () => {
  it('decompresses, independently of chunk boundaries', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 5_000 }), fc.integer({ min: 1, max: 50 }), async (text, pieces) => {
        expect(await textOf(gunzip(body(gzipSync(text), pieces), 'GET /x'))).toBe(text)
      }),
      { numRuns: 30 },
    )
  })

  it('reports invalid gzip data', async () => {
    const error = textOf(gunzip(body(Buffer.from('{"kind":"Pod"}'), 1), 'GET /x'))
    await expect(error).rejects.toMatchObject({ name: 'ProtocolError', message: expect.stringContaining('GET /x') })
  })

  it('reports a truncated stream as invalid', async () => {
    const half = gzipSync('x'.repeat(1000)).subarray(0, 20)
    await expect(textOf(gunzip(body(half, 1), 'GET /x'))).rejects.toMatchObject({ name: 'ProtocolError' })
  })

  it('passes on the failure of the connection', async () => {
    const lost = new MusterError(transportErrors.ConnectionLost, 'cut.')
    const half = gzipSync('x'.repeat(1000)).subarray(0, 20)
    await expect(textOf(gunzip(body(half, 1, lost), 'GET /x'))).rejects.toBe(lost)
  })

  it('releases its source when abandoned, whether it was read or not', async () => {
    const unread = body(gzipSync('abc'), 1)
    await gunzip(unread, 'GET /x')[Symbol.asyncIterator]().return?.()
    expect(unread.left).toBe(true)

    const begun = body(gzipSync(randomBytes(1_000_000)), 100)
    for await (const chunk of gunzip(begun, 'GET /x')) {
      expect(chunk.length).toBeGreaterThan(0)
      break
    }
    expect(begun.left).toBe(true)
  })

  it('releases a silent source, even while a reader waits', async () => {
    const line = createGzip()
    line.write('first\n')
    await new Promise<void>((resolve) => line.flush(() => resolve()))
    const chunks: Uint8Array[] = []
    for (let chunk = line.read() as Uint8Array | null; chunk; chunk = line.read() as Uint8Array | null)
      chunks.push(chunk)
    const silence = Promise.withResolvers<IteratorResult<Uint8Array, undefined>>()
    const silent: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          const value = chunks.shift()
          return value ? Promise.resolve({ done: false, value }) : silence.promise
        },
        return() {
          const result = { done: true, value: undefined } as const
          silence.resolve(result)
          return Promise.resolve(result)
        },
      }),
    }
    const reader = gunzip(silent, 'GET /x')[Symbol.asyncIterator]()
    expect(Buffer.from((await reader.next()).value as Uint8Array).toString()).toBe('first\n')
    const waiting = reader.next()
    await reader.return?.()
    expect((await waiting).done).toBe(true)
  })
})

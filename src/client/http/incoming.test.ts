import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Incoming } from './incoming.ts'

/** A stream that delivers the chunks the test pushes; while it is paused, it holds them back. */
function fakeStream(): {
  readonly stream: ConstructorParameters<typeof Incoming>[0]
  push(chunk: Uint8Array): void
  readonly held: number
  readonly flowing: boolean
} {
  let take: ((chunk: Uint8Array) => void) | undefined
  let paused = false
  const held: Uint8Array[] = []
  const flow = (): void => {
    for (;;) {
      const chunk = take && !paused ? held.shift() : undefined
      if (!chunk) break
      take?.(chunk)
    }
  }
  return {
    stream: {
      on(_, listener) {
        take = listener
        flow()
      },
      pause() {
        paused = true
      },
      resume() {
        paused = false
        flow()
      },
    },
    push(chunk) {
      held.push(chunk)
      flow()
    },
    get held() {
      return held.length
    },
    get flowing() {
      return take !== undefined && !paused
    },
  }
}

const bytes = (size: number, fill = 0): Uint8Array => new Uint8Array(size).fill(fill)

describe('Incoming', () => {
  it('delivers every chunk, in order, however reads and arrivals interleave', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { maxLength: 60 }),
        fc.integer({ min: 1, max: 100_000 }),
        async (turns, size) => {
          const fake = fakeStream()
          const incoming = new Incoming(fake.stream, () => {})
          const read: number[] = []
          let pushed = 0
          for (const arrive of turns) {
            if (arrive) fake.push(bytes(size, pushed++))
            else if (read.length < pushed) read.push((await incoming.next()).value![0]!)
          }
          while (read.length < pushed) read.push((await incoming.next()).value![0]!)
          incoming.end()
          expect(read).toEqual(Array.from({ length: pushed }, (_, index) => index))
          expect(await incoming.next()).toEqual({ done: true, value: undefined })
        },
      ),
    )
  })

  it('reads nothing from the stream before there is a reader', () => {
    const fake = fakeStream()
    const incoming = new Incoming(fake.stream, () => {})
    fake.push(bytes(10))
    expect(fake.held).toBe(1)
    void incoming.next()
    expect(fake.held).toBe(0)
  })

  it('pauses the stream of a slow reader, and resumes it when the reader has caught up', async () => {
    const fake = fakeStream()
    const incoming = new Incoming(fake.stream, () => {})
    const first = incoming.next()
    for (let count = 0; count < 100; count++) fake.push(bytes(16_384))
    await first
    expect(fake.flowing).toBe(false)
    expect(fake.held).toBeGreaterThan(80)
    for (let count = 1; count < 100; count++) await incoming.next()
    expect(fake.held).toBe(0)
    expect(fake.flowing).toBe(true)
  })

  it('delivers received chunks before the failure', async () => {
    const fake = fakeStream()
    const incoming = new Incoming(fake.stream, () => {})
    const first = incoming.next()
    fake.push(bytes(1, 1))
    fake.push(bytes(1, 2))
    incoming.fail(new Error('cut off'))
    expect((await first).value).toEqual(bytes(1, 1))
    expect((await incoming.next()).value).toEqual(bytes(1, 2))
    await expect(incoming.next()).rejects.toThrow('cut off')
    expect((await incoming.next()).done).toBe(true)
  })

  it('fails a waiting reader at once', async () => {
    const incoming = new Incoming(fakeStream().stream, () => {})
    const waiting = incoming.next()
    incoming.fail(new Error('cut off'))
    await expect(waiting).rejects.toThrow('cut off')
  })

  it('drops queued chunks when it is aborted', async () => {
    const fake = fakeStream()
    const incoming = new Incoming(fake.stream, () => {})
    const first = incoming.next()
    fake.push(bytes(1))
    fake.push(bytes(1))
    await first
    incoming.abort(new Error('given up'))
    await expect(incoming.next()).rejects.toThrow('given up')
  })

  it('cancels once when abandoned, and not at all after its end', async () => {
    let cancelled = 0
    const left = new Incoming(fakeStream().stream, () => void cancelled++)
    await left.return()
    await left.return()
    expect(cancelled).toBe(1)
    expect((await left.next()).done).toBe(true)

    const ended = new Incoming(fakeStream().stream, () => void cancelled++)
    ended.end()
    await ended.return()
    expect(cancelled).toBe(1)
  })

  it('rejects a concurrent second read', async () => {
    const incoming = new Incoming(fakeStream().stream, () => {})
    void incoming.next()
    await expect(incoming.next()).rejects.toThrow(TypeError)
    incoming.end()
  })
})

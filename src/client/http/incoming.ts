/**
 * The body of an answer as it arrives on a Node stream: pulled by its reader, one chunk at a time.
 *
 * A reader that is slow pauses its own stream, and flow control of HTTP/2 then holds back that stream of the server
 * alone. The stream is listened to directly: Node's own async iterator, or a pipeline, would cost every idle watch
 * several times the memory.
 */

/** What is needed of a stream of either version of HTTP. */
export interface IncomingStream {
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
  pause(): unknown
  resume(): unknown
}

/** Bytes that may wait for the reader before the stream is paused. */
const highWater = 128 * 1024

type Result = IteratorResult<Uint8Array, undefined>

export class Incoming implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #stream: IncomingStream
  readonly #cancel: () => void
  #state: 'unread' | 'open' | 'over' = 'unread'
  #chunks: Uint8Array[] = []
  #waiting = 0
  #paused = false
  #failure: { readonly error: unknown } | undefined
  #reader: { readonly resolve: (result: Result) => void; readonly reject: (error: unknown) => void } | undefined

  /** `cancel` tells the server that nobody reads any more, and frees the stream. */
  constructor(stream: IncomingStream, cancel: () => void) {
    this.#stream = stream
    this.#cancel = cancel
  }

  /** There is one reader: what one iterator has taken, no other gets. */
  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    const chunk = this.#chunks.shift()
    if (chunk) {
      this.#waiting -= chunk.byteLength
      if (this.#paused && this.#waiting < highWater / 2) this.#resume()
      return Promise.resolve({ done: false, value: chunk })
    }
    if (this.#failure) {
      const { error } = this.#failure
      this.#failure = undefined
      return Promise.reject(error)
    }
    if (this.#state === 'over') return Promise.resolve({ done: true, value: undefined })
    if (this.#reader) return Promise.reject(new TypeError('the last next() has not been answered yet'))
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
      if (this.#state === 'unread') this.#open()
    })
  }

  return(): Promise<Result> {
    this.#chunks = []
    if (this.#state !== 'over') {
      this.end()
      this.#cancel()
    }
    return Promise.resolve({ done: true, value: undefined })
  }

  /** Everything has arrived. The reader still gets what waits for it. */
  end(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#reader?.resolve({ done: true, value: undefined })
    this.#reader = undefined
  }

  /** The stream broke off. The reader gets what had arrived before, then the error. */
  fail(error: unknown): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    if (this.#reader) this.#reader.reject(error)
    else this.#failure = { error }
    this.#reader = undefined
  }

  /** As {@link fail}, but what waits is dropped: whoever aborts wants no more of it. */
  abort(error: unknown): void {
    this.#chunks = []
    this.fail(error)
  }

  #open(): void {
    this.#state = 'open'
    this.#stream.on('data', (chunk) => this.#take(chunk))
  }

  #take(chunk: Uint8Array): void {
    if (this.#state === 'over') return
    if (this.#reader) {
      this.#reader.resolve({ done: false, value: chunk })
      this.#reader = undefined
      return
    }
    this.#chunks.push(chunk)
    this.#waiting += chunk.byteLength
    if (this.#waiting >= highWater && !this.#paused) {
      this.#paused = true
      this.#stream.pause()
    }
  }

  #resume(): void {
    this.#paused = false
    this.#stream.resume()
  }
}

/**
 * A response body as it arrives on a Node stream: pulled by its reader, one chunk at a time.
 *
 * A slow reader pauses its own stream, and HTTP/2 flow control then holds back only that stream. The events of the stream are
 * used directly: Node's async iterator, or a pipeline, would cost every idle watch several times the memory.
 */

/** The part of a stream that both versions of HTTP have. */
interface IncomingStream {
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
  pause(): unknown
  resume(): unknown
}

/** Bytes to buffer before the stream is paused. */
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

  /** `cancel` tells the server that the body is no longer read, and frees the stream. */
  constructor(stream: IncomingStream, cancel: () => void) {
    this.#stream = stream
    this.#cancel = cancel
  }

  /** There is one reader: iterators share what arrives. */
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

  /** The body is complete. The reader still gets buffered chunks. */
  end(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#reader?.resolve({ done: true, value: undefined })
    this.#reader = undefined
  }

  /** The stream broke. The reader gets buffered chunks, then the error. */
  fail(error: unknown): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    if (this.#reader) this.#reader.reject(error)
    else this.#failure = { error }
    this.#reader = undefined
  }

  /** As {@link fail}, but buffered chunks are dropped: the caller aborted. */
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

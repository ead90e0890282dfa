/**
 * Response bodies: bytes that arrive in arbitrary chunks, read as one text or as frames, one per line.
 *
 * A frame counts only once its newline has arrived. The rest that a broken connection leaves is never taken for a frame, not
 * even if it is valid JSON.
 */
import { clientErrors } from './errors.ts'
import { transportErrors } from '../transport/errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { type Json, parseJson } from '../kube/json.ts'

export type Body = AsyncIterable<Uint8Array>

interface LineOptions {
  /** A longer line is considered an attack or a mistake. @default 64 MiB */
  readonly maxLineBytes?: number | undefined
  /** What the stream is, for messages. @default "the stream" */
  readonly what?: string | undefined
}

const defaultMaxLineBytes = 64 * 2 ** 20

/** Close to the longest string that V8 supports. */
const maxTextBytes = 500_000_000

const newline = 10

export async function readText(body: Body): Promise<string> {
  return decode(await readBytes(body, maxTextBytes))
}

/** The body as JSON; `what` names the request in the error message. */
export async function readJson(body: Body, what = 'the answer'): Promise<Json> {
  return jsonIn(await readBytes(body, maxTextBytes), what)
}

/** The same for a body that is already read. */
export function jsonIn(bytes: Uint8Array, what = 'the answer'): Json {
  const text = decode(bytes)
  try {
    return parseJson(text)
  } catch {
    // The parser's own message quotes the text, which may be a Secret.
    const looks = text === '' ? 'is empty' : /^\s*</.test(text) ? 'is HTML' : `is no JSON (${text.length} characters)`
    throw new MusterError(clientErrors.UnexpectedAnswer, `${what}: the body ${looks}.`)
  }
}

export async function* readLines(body: Body, options: LineOptions = {}): AsyncGenerator<string, void, void> {
  for await (const lines of readLineBatches(body, options)) yield* lines
}

/**
 * The lines of a stream, as many at a time as have arrived: one promise per batch, however small the lines.
 * Empty lines are skipped. A stream that ends within a line fails with `ConnectionLost`.
 */
export function readLineBatches(body: Body, options: LineOptions = {}): AsyncIterableIterator<readonly string[]> {
  const { maxLineBytes = defaultMaxLineBytes, what = 'the stream' } = options
  const chunks = body[Symbol.asyncIterator]()
  /** The beginning of a line whose end has not arrived. */
  let begun: Uint8Array[] = []
  let begunBytes = 0
  const checkLength = (bytes: number): void => {
    if (bytes <= maxLineBytes) return
    void chunks.return?.().then(undefined, () => undefined)
    throw new MusterError(clientErrors.ProtocolError, `${what}: a line is longer than ${maxLineBytes} bytes.`)
  }

  const split = (chunk: Uint8Array): readonly string[] => {
    const lines: string[] = []
    let start = 0
    // In UTF-8 a newline byte is never part of another character: splitting there is safe.
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      checkLength(begunBytes + end - start)
      if (begunBytes > 0) {
        begun.push(chunk.subarray(start, end))
        lines.push(decode(joined(begun, begunBytes + end - start)))
        begun = []
        begunBytes = 0
      } else if (end > start) {
        lines.push(decode(chunk, start, end))
      }
      start = end + 1
    }
    if (start < chunk.length) {
      begun.push(chunk.subarray(start))
      begunBytes += chunk.length - start
      checkLength(begunBytes)
    }
    return lines
  }
  const take = ({
    done,
    value,
  }: IteratorResult<Uint8Array>): IteratorResult<readonly string[]> | Promise<IteratorResult<readonly string[]>> => {
    if (!done) {
      const lines = split(value)
      return lines.length > 0 ? { done: false, value: lines } : batches.next()
    }
    if (begunBytes === 0) return over
    throw new MusterError(
      transportErrors.ConnectionLost,
      `${what}: the stream ended within a line, after ${begunBytes} bytes of it.`,
    )
  }
  // Not a generator: each step of one costs four promises, and every watch waits in one.
  const batches: AsyncIterableIterator<readonly string[]> = {
    [Symbol.asyncIterator]: () => batches,
    next: () => chunks.next().then(take),
    async return() {
      await chunks.return?.()
      return over
    },
  }
  return batches
}

/** All bytes of a body. */
export async function readBytes(body: Body, limit: number = maxTextBytes): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > limit)
      throw new MusterError(clientErrors.UnexpectedAnswer, `the response is longer than ${limit} bytes.`)
    chunks.push(chunk)
  }
  return joined(chunks, bytes)
}

/** The first bytes of a body, at most `limit`; the rest is not read. A truncated body returns the bytes that arrived. */
export async function readHead(body: Body, limit: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= limit) break
    }
  } catch {
    // The caller wants the beginning of the response; how it ended matters less.
  }
  return decode(joined(chunks, bytes).subarray(0, limit))
}

export async function* bodyOf(content: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  if (content.length > 0) yield content
}

/** Cancels a body that is not read, so that its connection is released. */
export function leave(body: Body): void {
  const iterator = body[Symbol.asyncIterator]()
  void iterator.return?.().then(undefined, () => undefined)
}

/**
 * A body that fails with the reason of the signal as soon as it is aborted, even while its source is silent, and calls
 * `ended` once, however it ends.
 */
export function abortable(body: Body, signal: AbortSignal, ended: () => void): Body {
  return new AbortableBody(body[Symbol.asyncIterator](), signal, ended)
}

/** A class, because every idle watch holds one. */
class AbortableBody implements AsyncIterableIterator<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>
  readonly #signal: AbortSignal
  readonly #ended: () => void
  #isOver = false
  #giveUp: ((reason: unknown) => void) | undefined
  /** Called by the signal. */
  readonly #abort = (): void => {
    this.#end()
    void this.#source.return?.().then(undefined, () => undefined)
    this.#giveUp?.(this.#signal.reason)
  }

  constructor(source: AsyncIterator<Uint8Array>, signal: AbortSignal, ended: () => void) {
    this.#source = source
    this.#signal = signal
    this.#ended = ended
    if (signal.aborted) this.#abort()
    else signal.addEventListener('abort', this.#abort, { once: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#isOver) {
      return this.#signal.aborted ? Promise.reject(this.#signal.reason as Error) : Promise.resolve(over)
    }
    return new Promise((resolve, reject) => {
      this.#giveUp = reject
      const give = (result: IteratorResult<Uint8Array>): void => {
        if (result.done) this.#end()
        resolve(result)
      }
      const fail = (error: unknown): void => {
        this.#end()
        reject(error)
      }
      this.#source.next().then(give, fail)
    })
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#isOver) {
      this.#end()
      await this.#source.return?.()
    }
    return over
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#signal.removeEventListener('abort', this.#abort)
    this.#ended()
  }
}

const over: IteratorReturnResult<undefined> = { done: true, value: undefined }

function joined(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)
}

function decode(bytes: Uint8Array, start = 0, end: number = bytes.byteLength): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return buffer.toString('utf8', start, end)
}

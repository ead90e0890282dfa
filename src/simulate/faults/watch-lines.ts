/** The lines of a watch, as bytes. */
import type { Recall } from './recall.ts'
import type { UntypedObject } from '../../kube/object.ts'

export interface RawEvent {
  readonly type: string
  readonly object: UntypedObject
}

/** The lines of a watch, each with its newline, as bytes: most are only passed on. */
export interface Lines {
  isReady(): boolean
  /** Waits for a line or the end. */
  wait(): Promise<void>
  /** Takes an available line. */
  take(): Uint8Array | undefined
  leave(): void
}

export function readWatchLines(body: AsyncIterable<Uint8Array>): Lines {
  const chunks = body[Symbol.asyncIterator]()
  const there: Uint8Array[] = []
  let rest: Uint8Array | undefined
  /** A caller that stopped waiting may wait again. */
  let waiting: Promise<void> | undefined
  const split = (chunk: Uint8Array): void => {
    const bytes = rest ? Buffer.concat([rest, chunk]) : chunk
    let start = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      there.push(bytes.subarray(start, end + 1))
      start = end + 1
    }
    rest = start < bytes.length ? bytes.subarray(start) : undefined
  }
  const fill = async (): Promise<void> => {
    while (there.length === 0) {
      const { done, value } = await chunks.next()
      if (done) break
      split(value)
    }
    waiting = undefined
  }
  return {
    isReady: () => there.length > 0,
    wait: () => (waiting ??= fill()),
    take: () => there.shift(),
    leave: () => void chunks.return?.(),
  }
}

const newline = 10

export function eventIn(line: Uint8Array, recall: Recall): RawEvent {
  const text = textIn(line, line.length)
  return recall(
    () => text,
    () => JSON.parse(text) as RawEvent,
    'event',
  )
}

const bookmarkStart = '{"type":"BOOKMARK"'

export function isBookmark(line: Uint8Array): boolean {
  return textIn(line, Math.min(line.length, bookmarkStart.length)) === bookmarkStart
}

function textIn(line: Uint8Array, length: number): string {
  const buffer = Buffer.isBuffer(line) ? line : Buffer.from(line.buffer, line.byteOffset, line.byteLength)
  return buffer.toString('utf8', 0, length)
}

/** The event that a watcher gets if it misses the events in between. */
export function mergedLine(first: RawEvent, last: RawEvent): Uint8Array {
  // A deletion is always delivered: a cache may know the object from the answer to a write.
  if (last.type === 'DELETED') return bytesOf(last)
  return bytesOf({ type: first.type === 'DELETED' ? 'MODIFIED' : first.type, object: last.object })
}

export function bytesOf(event: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(event)}\n`)
}

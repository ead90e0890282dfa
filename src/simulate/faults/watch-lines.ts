/** What a watch brings, as bytes: line by line, since most of it is only passed on. */
import type { Recall } from '../../kube/recall.ts'
import type { UntypedObject } from '../../kube/object.ts'

export interface RawEvent {
  readonly type: string
  readonly object: UntypedObject
}

/** The lines of a watch, each with its newline, as bytes: most are only passed on. */
export interface Lines {
  isReady(): boolean
  /** Until there is one, or no more will come. */
  wait(): Promise<void>
  /** One that is there. */
  take(): Uint8Array | undefined
  leave(): void
}

export function readWatchLines(body: AsyncIterable<Uint8Array>): Lines {
  const chunks = body[Symbol.asyncIterator]()
  const there: Uint8Array[] = []
  let rest: Uint8Array | undefined
  /** Somebody who gave up waiting may wait again. */
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

/** What somebody sees who was not looking in between. */
export function mergedLine(first: RawEvent, last: RawEvent): Uint8Array {
  // An end is always told: a cache may know by an answer what it never saw by an event.
  if (last.type === 'DELETED') return bytesOf(last)
  return bytesOf({ type: first.type === 'DELETED' ? 'MODIFIED' : first.type, object: last.object })
}

export function bytesOf(event: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(event)}\n`)
}

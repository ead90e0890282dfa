/**
 * The last lines of the log, for `muster logs`: whatever collects standard error may be far away. Bounded in lines and
 * characters; a line that is too long is kept without its longest members.
 */
import type { LogLine } from './log-line.ts'

export interface BufferedLine {
  /** Ascending from 1: a reader asks for those after the last one that it has. */
  readonly sequence: number
  readonly time: number
  readonly line: LogLine
}

interface LogBuffer {
  add(line: LogLine, time: number): void
  /** Those after a sequence number, oldest first. */
  after(sequence: number): readonly BufferedLine[]
}

interface LogBufferOptions {
  /** @default 2000 */
  readonly mostLines?: number
  /** Of all lines as JSON. @default 1_000_000 */
  readonly mostCharacters?: number
}

export function createLogBuffer({ mostLines = 2000, mostCharacters = 1_000_000 }: LogBufferOptions = {}): LogBuffer {
  /** Oldest first; those before `first` are dropped from time to time. */
  let lines: (BufferedLine & { readonly size: number })[] = []
  let first = 0
  let size = 0
  let sequence = 0
  return {
    add(line, time) {
      const kept = shortened(line, mostCharacters / 4)
      const characters = JSON.stringify(kept).length
      lines.push({ sequence: ++sequence, time, line: kept, size: characters })
      size += characters
      while (lines.length - first > mostLines || size > mostCharacters) size -= lines[first++]!.size
      if (first > mostLines) {
        lines = lines.slice(first)
        first = 0
      }
    },
    after(last) {
      const begin = Math.max(first, lines.length - Math.max(sequence - last, 0))
      return lines.slice(begin).map(({ sequence: number, time, line }) => ({ sequence: number, time, line }))
    },
  }
}

/** Larger than any line is meant to be: keeps what identifies it. */
function shortened(line: LogLine, longest: number): LogLine {
  if (JSON.stringify(line).length <= longest) return line
  // In JSON a character takes six at most.
  const msg = line.msg.slice(0, Math.floor(longest / 12))
  return { msg, ...(line.level && { level: line.level }) }
}

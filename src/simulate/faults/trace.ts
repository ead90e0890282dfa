/**
 * A trace: what happened in a run, line by line. It is what a run is compared by: two runs of one seed have the same
 * trace, byte for byte. Uids and versions are in it, for they follow from the seed, too.
 */
import type { SimulatedTime } from './time.ts'

export interface Trace {
  readonly lines: readonly TraceLine[]
  note(text: string, detail?: Omit<TraceLine, 'at' | 'text'>): void
}

export interface TraceLine {
  /** Milliseconds since the scene began. */
  readonly at: number
  readonly text: string
  /** Part of a story: what people care for. */
  readonly isTold: boolean
}

/** The detail of a line that is part of a story. */
export const told = { isTold: true } as const

export function openTrace(time: SimulatedTime): Trace {
  const begun = time.now()
  const lines: TraceLine[] = []
  return {
    lines,
    note: (text, { isTold } = { isTold: false }) => void lines.push({ at: time.now() - begun, text, isTold }),
  }
}

export function formatTrace(lines: readonly TraceLine[]): string {
  return lines.map(formatTraceLine).join('\n')
}

export function formatTraceLine({ at, text }: TraceLine): string {
  return `${(at / 1000).toFixed(3).padStart(9)} s  ${text}`
}

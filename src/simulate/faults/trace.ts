/**
 * The trace of a run, line by line. Runs are compared by it: two runs of one seed have the same trace, byte for byte.
 * Uids and versions are in it, since they follow from the seed, too.
 */
import type { SimulatedTime } from './time.ts'

export interface Trace {
  readonly lines: readonly TraceLine[]
  note(text: string, detail?: Omit<TraceLine, 'at' | 'text'>): void
}

export interface TraceLine {
  /** Milliseconds since the scenario began. */
  readonly at: number
  readonly text: string
  /** Whether it is part of a failure's trace. */
  readonly inReport: boolean
}

/** Marks a line for the report. */
export const inReport = { inReport: true } as const

export function openTrace(time: SimulatedTime): Trace {
  const begun = time.now()
  const lines: TraceLine[] = []
  return {
    lines,
    note: (text, { inReport: isShown } = { inReport: false }) =>
      void lines.push({ at: time.now() - begun, text, inReport: isShown }),
  }
}

export function formatTrace(lines: readonly TraceLine[]): string {
  return lines.map(formatTraceLine).join('\n')
}

export function formatTraceLine({ at, text }: TraceLine): string {
  return `${(at / 1000).toFixed(3).padStart(9)} s  ${text}`
}

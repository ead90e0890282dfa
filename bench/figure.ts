/** One measured figure: ours beside a peer's or a limit, from the same run. */
export interface Figure {
  readonly bench: string
  readonly figure: string
  readonly ours: number
  readonly peer: number
  readonly peerName: string
  /** ours / peer. */
  readonly ratio: number
  /** The target of the ratio: `<= 0.25`, `>= 1.5`. */
  readonly target: string
  readonly holds: boolean
}

export interface Target {
  readonly relation: '<=' | '>=' | '<'
  readonly limit: number
}

export function figure(
  bench: string,
  name: string,
  ours: number,
  peer: number,
  peerName: string,
  target: Target,
): Figure {
  const ratio = ours / peer
  const { relation, limit } = target
  const holds = relation === '>=' ? ratio >= limit : relation === '<=' ? ratio <= limit : ratio < limit
  return { bench, figure: name, ours, peer, peerName, ratio, target: `${relation} ${Number(limit.toFixed(3))}`, holds }
}

/** A figure that could not be measured here, and what is missing. */
export interface Missing {
  readonly bench: string
  readonly what: string
  readonly cure: string
}

export interface BenchReport {
  readonly figures: readonly Figure[]
  readonly missing: readonly Missing[]
}

export function formatTable(figures: readonly Figure[]): string {
  const head = ['figure', 'ours', 'peer', 'against', 'ratio', 'target', 'holds']
  const rows = figures.map(({ figure: name, ours, peer, peerName, ratio, target, holds }) => [
    name,
    round(ours),
    round(peer),
    peerName,
    ratio.toFixed(3),
    target,
    holds ? 'yes' : 'NO',
  ])
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map((row) => line(row))].join('\n')
}

function round(value: number): string {
  return Number.isInteger(value) ? String(value) : value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}

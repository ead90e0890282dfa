/** The cost of processes, as Linux counts it. */
import { readFileSync } from 'node:fs'

/**
 * One process: its resident memory (RSS), as if no other process used the libraries and the program. Several processes
 * of one program: shared pages count once (PSS).
 */
export function memory(pids: readonly number[]): number {
  const field = pids.length === 1 ? 'Rss' : 'Pss'
  const of = (pid: number): number => {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    return 1024 * Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
  }
  return pids.reduce((sum, pid) => sum + of(pid), 0)
}

export function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const [user = 0, system = 0] = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  const ticksPerSecond = 100
  return (user + system) / ticksPerSecond
}

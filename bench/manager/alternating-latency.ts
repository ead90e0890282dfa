/**
 * Latency from event to write with more changes than a machine can follow, measured in turns, because concurrent sides
 * would compete for the CPU. The machine is a third faster in one minute than in another, so each side has several
 * turns, far apart, and all its samples are evaluated together. A turn begins with the state that the same side left.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Snapshot } from '../../test/real/cluster.ts'
import { configMaps, type BenchmarkCluster, widgetName, widgetsOf } from './benchmark-cluster.ts'
import { openChanges } from './observer.ts'
import { numbersTo, type Side } from './sides.ts'
import { type Percentiles, percentilesOf, percentilesText } from './percentiles.ts'

/** One side of the comparison. */
export interface Contender {
  readonly side: Side
  readonly operators: number
  /** With all of its objects in place. */
  readonly kept: Snapshot
}

export interface AlternatingSizes {
  readonly crsOfEach: number
  readonly turns: number
  /** Changes for the warm-up, which do not count. */
  readonly warmUp: number
  readonly steady: number
  readonly perSecond: number
}

export interface Latency {
  readonly steady: Percentiles
  readonly requestsPerChange: number
}

interface Turn {
  readonly steady: readonly number[]
  readonly requests: number
  readonly made: number
}

const settleMs = 5000

/** In the order of the sides. */
export async function alternatingLatencies(
  contenders: readonly Contender[],
  cluster: BenchmarkCluster,
  sizes: AlternatingSizes,
  log: (line: string) => void,
): Promise<readonly Latency[]> {
  const taken = contenders.map((): Turn[] => [])
  for (let number = 1; number <= sizes.turns; number++) {
    for (const [index, contender] of contenders.entries()) {
      const tell = (line: string): void => log(`${contender.side.name}, turn ${number}: ${line}`)
      taken[index]!.push(await takeTurn(contender, cluster, sizes, tell))
    }
  }
  return taken.map((turns) => ({
    steady: percentilesOf(turns.flatMap(({ steady }) => steady)),
    requestsPerChange: sumOf(turns, ({ requests }) => requests) / sumOf(turns, ({ made }) => made),
  }))
}

async function takeTurn(
  { side, operators, kept }: Contender,
  cluster: BenchmarkCluster,
  sizes: AlternatingSizes,
  tell: (line: string) => void,
): Promise<Turn> {
  await cluster.reset(kept)
  const fleet = side.start(numbersTo(operators), cluster.kubeconfig, () => sizes.crsOfEach)
  try {
    await fleet.reconciled
    await sleep(settleMs)
    const names = Array.from({ length: sizes.crsOfEach }, (_, index) => widgetName(0, index))
    const opened = await openChanges(cluster.observer, configMaps, [{ widgets: widgetsOf(0), names }])
    const changes = opened.of[0]!
    try {
      const [own, server] = [fleet.cpuSeconds(), cluster.cpuSeconds()]
      const listening = cluster.listen()
      for (let made = 0; made < sizes.warmUp; made++) await changes.one()
      const { requests } = await listening.requestCounts()
      const steady = await changes.steadily(sizes.steady, sizes.perSecond)
      tell(`${sizes.perSecond} changes a second: ${percentilesText(percentilesOf(steady))}`)
      tell(cpuText(fleet.cpuSeconds() - own, cluster.cpuSeconds() - server))
      return { steady, requests, made: sizes.warmUp }
    } finally {
      opened.close()
    }
  } finally {
    await fleet.stop()
  }
}

function sumOf(turns: readonly Turn[], part: (turn: Turn) => number): number {
  return turns.reduce((sum, turn) => sum + part(turn), 0)
}

export function cpuText(own: number, server: number): string {
  return `${own.toFixed(1)} s of processor time (the server ${server.toFixed(1)} s)`
}

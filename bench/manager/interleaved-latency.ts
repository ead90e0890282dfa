/**
 * Latency from event to write, one change at a time, with all sides at work on one server: each has its own kinds, and
 * a change of one side is followed by a change of the next. The machine is a third faster in one minute than in
 * another; within a tenth of a second it is the same for all sides.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { configMaps, type BenchmarkCluster, widgetName, widgetsOf } from './benchmark-cluster.ts'
import { openChanges } from './observer.ts'
import type { Fleet, Side } from './sides.ts'
import { type Percentiles, percentilesOf, percentilesText } from './percentiles.ts'

export interface Neighbour {
  readonly side: Side
  /** Numbers of its operators; the CRs of the first are changed. */
  readonly operators: readonly number[]
}

export interface InterleavedSizes {
  readonly crsOfEach: number
  /** Changes of each side for the warm-up, which do not count. */
  readonly warmUp: number
  readonly oneByOne: number
}

const settleMs = 5000
/** The pause after a reported change. */
const pauseMs = 15

/** In the order of the sides. */
export async function interleavedLatencies(
  neighbours: readonly Neighbour[],
  cluster: BenchmarkCluster,
  { crsOfEach, warmUp, oneByOne }: InterleavedSizes,
  log: (line: string) => void,
): Promise<readonly Percentiles[]> {
  const fleets: Fleet[] = []
  try {
    for (const { side, operators } of neighbours) {
      const fleet = side.start(operators, cluster.kubeconfig, () => crsOfEach)
      fleets.push(fleet)
      await fleet.reconciled
    }
    await sleep(settleMs)
    const kinds = neighbours.map(({ operators: [kind = 0] }) => ({
      widgets: widgetsOf(kind),
      names: Array.from({ length: crsOfEach }, (_, index) => widgetName(kind, index)),
    }))
    const changes = await openChanges(cluster.observer, configMaps, kinds)
    const found = neighbours.map((): number[] => [])
    try {
      for (let round = 0; round < warmUp + oneByOne; round++) {
        for (let turn = 0; turn < neighbours.length; turn++) {
          // Each side goes first equally often.
          const index = (round + turn) % neighbours.length
          const ms = await changes.of[index]!.one()
          if (round >= warmUp) found[index]!.push(ms)
          await sleep(pauseMs)
        }
      }
    } finally {
      changes.close()
    }
    const spreads = found.map(percentilesOf)
    for (const [index, { side }] of neighbours.entries())
      log(`${side.name}, one change at a time: ${percentilesText(spreads[index]!)}`)
    return spreads
  } finally {
    for (const fleet of fleets) await fleet.stop()
  }
}

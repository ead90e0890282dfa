/**
 * From event to write, one change at a time, with all sides at work on one server: each has kinds of its own, and a change of
 * one is followed by a change of the next. The same machine is a third quicker in one minute than in another; what is
 * measured within a tenth of a second of each other is measured on the same machine.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { configMaps, type Ground, widgetName, widgetsOf } from './ground.ts'
import { openChanges } from './observer.ts'
import type { Fleet, Side } from './sides.ts'
import { type Spread, spreadOf, spreadText } from './spread.ts'

export interface Neighbour {
  readonly side: Side
  /** Numbers of its operators; the CRs of the first are changed. */
  readonly operators: readonly number[]
}

export interface SideBySideSizes {
  readonly crsOfEach: number
  /** Changes of each side before those that count: what runs for months has been compiled long ago. */
  readonly warmUp: number
  readonly oneByOne: number
}

const settleMs = 5000
/** After a change is reported, until the next one. */
const pauseMs = 15

/** In the order of the neighbours. */
export async function latenciesSideBySide(
  neighbours: readonly Neighbour[],
  ground: Ground,
  { crsOfEach, warmUp, oneByOne }: SideBySideSizes,
  log: (line: string) => void,
): Promise<readonly Spread[]> {
  const fleets: Fleet[] = []
  try {
    for (const { side, operators } of neighbours) {
      const fleet = side.start(operators, ground.kubeconfig, () => crsOfEach)
      fleets.push(fleet)
      await fleet.reconciled
    }
    await sleep(settleMs)
    const kinds = neighbours.map(({ operators: [kind = 0] }) => ({
      widgets: widgetsOf(kind),
      names: Array.from({ length: crsOfEach }, (_, index) => widgetName(kind, index)),
    }))
    const changes = await openChanges(ground.observer, configMaps, kinds)
    const found = neighbours.map((): number[] => [])
    try {
      for (let round = 0; round < warmUp + oneByOne; round++) {
        for (let turn = 0; turn < neighbours.length; turn++) {
          // Each goes first as often as any other.
          const index = (round + turn) % neighbours.length
          const ms = await changes.of[index]!.one()
          if (round >= warmUp) found[index]!.push(ms)
          await sleep(pauseMs)
        }
      }
    } finally {
      changes.close()
    }
    const spreads = found.map(spreadOf)
    for (const [index, { side }] of neighbours.entries())
      log(`${side.name}, one change at a time: ${spreadText(spreads[index]!)}`)
    return spreads
  } finally {
    for (const fleet of fleets) await fleet.stop()
  }
}

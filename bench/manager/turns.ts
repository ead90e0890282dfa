/**
 * From event to write with more changes than a machine can follow, measured in turns: sides that were at work at once would
 * be in each other's way. The same machine is a third quicker in one minute than in the next, so each side has several turns,
 * far apart, and what it needed in all of them is looked at together. A turn begins with the state that the side itself left: what
 * another one wrote is not its own.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Snapshot } from '../../test/real/cluster.ts'
import { configMaps, type Ground, widgetName, widgetsOf } from './ground.ts'
import { openChanges } from './observer.ts'
import { numbersTo, type Side } from './sides.ts'
import { type Spread, spreadOf, spreadText } from './spread.ts'

/** One who takes turns. */
export interface Contender {
  readonly side: Side
  readonly operators: number
  /** With all of its objects in place. */
  readonly kept: Snapshot
}

export interface TurnSizes {
  readonly crsOfEach: number
  readonly turns: number
  /** Changes before those that count: what runs for months has been compiled long ago. */
  readonly warmUp: number
  readonly steady: number
  readonly perSecond: number
}

export interface Latency {
  readonly steady: Spread
  readonly requestsPerChange: number
}

interface Turn {
  readonly steady: readonly number[]
  readonly requests: number
  readonly made: number
}

const settleMs = 5000

/** In the order of the contenders. */
export async function latenciesInTurns(
  contenders: readonly Contender[],
  ground: Ground,
  sizes: TurnSizes,
  log: (line: string) => void,
): Promise<readonly Latency[]> {
  const taken = contenders.map((): Turn[] => [])
  for (let number = 1; number <= sizes.turns; number++) {
    for (const [index, contender] of contenders.entries()) {
      const tell = (line: string): void => log(`${contender.side.name}, turn ${number}: ${line}`)
      taken[index]!.push(await takeTurn(contender, ground, sizes, tell))
    }
  }
  return taken.map((turns) => ({
    steady: spreadOf(turns.flatMap(({ steady }) => steady)),
    requestsPerChange: sumOf(turns, ({ requests }) => requests) / sumOf(turns, ({ made }) => made),
  }))
}

async function takeTurn(
  { side, operators, kept }: Contender,
  ground: Ground,
  sizes: TurnSizes,
  tell: (line: string) => void,
): Promise<Turn> {
  await ground.reset(kept)
  const fleet = side.start(numbersTo(operators), ground.kubeconfig, () => sizes.crsOfEach)
  try {
    await fleet.reconciled
    await sleep(settleMs)
    const names = Array.from({ length: sizes.crsOfEach }, (_, index) => widgetName(0, index))
    const opened = await openChanges(ground.observer, configMaps, [{ widgets: widgetsOf(0), names }])
    const changes = opened.of[0]!
    try {
      const [own, server] = [fleet.cpuSeconds(), ground.cpuSeconds()]
      const listening = ground.listen()
      for (let made = 0; made < sizes.warmUp; made++) await changes.one()
      const { requests } = await listening.heard()
      const steady = await changes.steadily(sizes.steady, sizes.perSecond)
      tell(`${sizes.perSecond} changes a second: ${spreadText(spreadOf(steady))}`)
      tell(cpuText(fleet.cpuSeconds() - own, ground.cpuSeconds() - server))
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

/**
 * `npm run bench -- manager`: ten small operators in one Muster beside ten controller-runtime processes, on one real
 * kube-apiserver. README.md beside this file says what is measured, and how.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describeError, isMusterError } from '../../src/kube/errors.ts'
import type { Snapshot } from '../../test/real/cluster.ts'
import { type BenchReport, type Figure, figure, type Missing, type Target } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { operatorPeer } from '../peers/peers.ts'
import { dayOf, profile } from './day.ts'
import { configMaps, deployments, type Ground, type Heard, openGround, widgetName, widgetsOf } from './ground.ts'
import { latenciesSideBySide, type SideBySideSizes } from './side-by-side.ts'
import { controllerRuntimeSide, type Fleet, installMuster, numbersTo, type Side } from './sides.ts'
import type { Spread } from './spread.ts'
import { cpuText, latenciesInTurns, type Latency, type TurnSizes } from './turns.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const name = 'manager'
const parts = ['start', 'rest', 'latency', 'many'] as const
type Part = (typeof parts)[number]

interface Sizes extends TurnSizes, SideBySideSizes {
  readonly secrets: number
  readonly nodes: number
  readonly operators: number
  /** How many operators there are where there are many, and how many CRs each of those has that had none before. */
  readonly many: number
  readonly crsOfFurther: number
  readonly restMs: number
}

const full: Sizes = {
  secrets: 5000,
  nodes: 20,
  operators: 10,
  crsOfEach: 100,
  many: 50,
  crsOfFurther: 20,
  restMs: 60_000,
  turns: 3,
  warmUp: 400,
  oneByOne: 4000,
  steady: 2000,
  perSecond: 200,
}
const quick: Sizes = {
  ...full,
  secrets: 500,
  crsOfEach: 20,
  many: 15,
  crsOfFurther: 5,
  restMs: 10_000,
  turns: 1,
  warmUp: 20,
  oneByOne: 60,
  steady: 400,
}

export async function run({ quick: isQuick, only, log }: BenchOptions): Promise<BenchReport> {
  if (only !== undefined && !parts.some((part) => part === only)) {
    throw new Error(`no part "${only}"; there are: ${parts.join(', ')}`)
  }
  const sizes = isQuick ? quick : full
  log('building what a user would install')
  const build = spawnSync(process.execPath, [path.join(root, 'scripts', 'build.ts')], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (build.status !== 0) throw new Error('the build failed')
  const binary = operatorPeer(log)
  if (binary === undefined) {
    const missing: Missing = {
      bench: name,
      what: 'the controller-runtime operators of bench/peers/ten-operators',
      cure: 'Install Go to build them from the module proxy.',
    }
    return { figures: [], missing: [missing] }
  }
  const muster = installMuster()
  let ground: Ground | undefined
  try {
    log(`a real server with ${sizes.secrets} Secrets and ${sizes.operators * sizes.crsOfEach} CRs`)
    ground = await openGround(muster.crds(sizes.many), sizes, log)
    const wanted = (part: Part): boolean => only === undefined || only === part
    const measuring = { ground, sizes, wanted, log }
    const ours = await measure(muster, measuring)
    await ground.reset()
    const peer = controllerRuntimeSide(binary)
    const theirs = await measure(peer, measuring)
    const latencies = wanted('latency')
      ? await measureLatencies({ muster, peer, binary }, ours, theirs, measuring)
      : undefined
    return { figures: figuresOf(ours, theirs, latencies, sizes, log), missing: [] }
  } catch (error) {
    if (!isMusterError(error, 'BinaryMissing')) throw error
    return { figures: [], missing: [{ bench: name, what: 'kube-apiserver and etcd', cure: describeError(error) }] }
  } finally {
    await ground?.stop()
    muster.remove()
  }
}

interface Rest {
  readonly memoryBytes: number
  readonly watches: number
  /** In the window. */
  readonly heard: Heard
}

interface Measured {
  readonly coldMs: number
  readonly restartMs: number | undefined
  readonly rest: Rest | undefined
  /** How long the client lets each of its watches last, in seconds. */
  readonly watchSeconds: readonly number[]
  /** With everything in place, for the turns. */
  readonly kept: Snapshot | undefined
  readonly many: { readonly memoryBytes: number; readonly watches: number } | undefined
}

interface Measuring {
  readonly ground: Ground
  readonly sizes: Sizes
  readonly wanted: (part: Part) => boolean
  readonly log: (line: string) => void
}

/** As many as Muster's default for one operator. */
const workers = 8
/** How long nothing may move before it counts as rest. */
const quietMs = 3000
const settleMs = 20_000

async function measure(side: Side, measuring: Measuring): Promise<Measured> {
  const { ground, sizes, wanted, log } = measuring
  const { operators, crsOfEach } = sizes
  const crs = (operator: number): number => (operator < operators ? crsOfEach : sizes.crsOfFurther)
  const tell = (line: string): void => log(`${side.name}: ${line}`)
  const started: Fleet[] = []
  const start = (count: number): Fleet => {
    const fleet = side.start(numbersTo(count), ground.kubeconfig, crs)
    started.push(fleet)
    return fleet
  }
  try {
    const watchesAtStart = await ground.openWatches()
    const listening = ground.listen()
    const writes = await countWrites(measuring)
    const serverAtStart = ground.cpuSeconds()
    const fleet = start(operators)
    await fleet.reconciled
    const coldMs = await writes.rest()
    const cpu = cpuText(fleet.cpuSeconds(), ground.cpuSeconds() - serverAtStart)
    tell(`all at rest after ${coldMs.toFixed(0)} ms and ${cpu}`)
    const heardAtStart = await listening.heard()
    tell(`asked for: ${summaryOf(heardAtStart)}`)
    await check(measuring)

    let rest: Rest | undefined
    if (wanted('rest')) {
      const atRest = ground.listen()
      await sleep(sizes.restMs)
      const [memoryBytes, watches] = [fleet.memoryBytes(), (await ground.openWatches()) - watchesAtStart]
      rest = { memoryBytes, watches, heard: await atRest.heard() }
      tell(`${megabytes(memoryBytes)} MB, ${watches} watches; at rest asked for: ${summaryOf(rest.heard)}`)
    }

    await fleet.stop()
    const kept = wanted('latency') ? await ground.keep() : undefined

    let restartMs: number | undefined
    if (wanted('start')) {
      const again = start(operators)
      restartMs = await again.reconciled
      tell(
        `restart: all looked at after ${restartMs.toFixed(0)} ms and ${again.cpuSeconds().toFixed(1)} s of processor time`,
      )
      await again.stop()
    }

    let many: Measured['many']
    if (wanted('many')) {
      for (let kind = operators; kind < sizes.many; kind++) await ground.addWidgets(kind, sizes.crsOfFurther)
      const watchesBefore = await ground.openWatches()
      const fleetOfMany = start(sizes.many)
      const ms = await fleetOfMany.reconciled
      await sleep(settleMs)
      many = { memoryBytes: fleetOfMany.memoryBytes(), watches: (await ground.openWatches()) - watchesBefore }
      tell(
        `${sizes.many} operators: ${megabytes(many.memoryBytes)} MB, ${many.watches} watches, after ${ms.toFixed(0)} ms`,
      )
      await fleetOfMany.stop()
    }
    return { coldMs, restartMs, rest, kept, many, watchSeconds: heardAtStart.watches }
  } finally {
    for (const fleet of started) await fleet.stop()
  }
}

/** Of each side, in their order. */
interface Latencies {
  readonly inTurns: readonly Latency[]
  readonly oneByOne: readonly Spread[]
}

/**
 * Beside Muster: the peer as it is, with as many workers as Muster lets an operator have, and one that applies, as Muster
 * does. What a server needs more for an apply than for an update shows between the first and the last of them.
 */
async function measureLatencies(
  { muster, peer, binary }: { readonly muster: Side; readonly peer: Side; readonly binary: string },
  ours: Measured,
  theirs: Measured,
  { ground, sizes, log }: Measuring,
): Promise<Latencies> {
  const peers = [peer, controllerRuntimeSide(binary, { workers })]
  const contenders = [
    { side: muster, operators: sizes.operators, kept: ours.kept! },
    ...peers.map((side) => ({ side, operators: 1, kept: theirs.kept! })),
  ]
  const inTurns = await latenciesInTurns(contenders, ground, sizes, log)
  await ground.reset(ours.kept)
  const neighbours = [
    { side: muster, operators: numbersTo(sizes.operators) },
    ...[...peers, controllerRuntimeSide(binary, { applies: true })].map((side, index) => ({
      side,
      operators: [sizes.operators + index],
    })),
  ]
  for (const { operators } of neighbours.slice(1)) await ground.addWidgets(operators[0]!, sizes.crsOfEach)
  return { inTurns, oneByOne: await latenciesSideBySide(neighbours, ground, sizes, log) }
}

/** Looks on while everything is made; `rest` resolves with the milliseconds until the last write, when nothing moves any more. */
async function countWrites({ ground, sizes }: Measuring): Promise<{ rest(): Promise<number> }> {
  const { operators, crsOfEach } = sizes
  const begun = performance.now()
  let last = begun
  let seen = 0
  const note = (): void => {
    last = performance.now()
    seen++
  }
  const kinds = Array.from({ length: operators }, (_, kind) => widgetsOf(kind))
  const paths = [configMaps, deployments, ...kinds]
  const closings = await Promise.all(paths.map((followed) => ground.observer.follow(`${followed}?watch=true`, note)))
  // Each watch begins with what is there.
  await sleep(1000)
  const start = performance.now()
  seen = 0
  return {
    async rest() {
      const least = operators * crsOfEach * 3
      for (;;) {
        await sleep(100)
        if (seen >= least && performance.now() - last > quietMs) break
        if (performance.now() - start > 240_000) throw new Error(`only ${seen} of ${least} writes were seen`)
      }
      for (const close of closings) close()
      return last - start
    },
  }
}

/** What was made is what was asked for: on both sides the same. */
async function check({ ground, sizes }: Measuring): Promise<void> {
  const { operators, crsOfEach } = sizes
  const count = async (listed: string): Promise<number> => {
    const { items } = JSON.parse(await ground.observer.send('GET', listed)) as { readonly items: readonly unknown[] }
    return items.length
  }
  const expected = operators * crsOfEach
  for (const listed of [configMaps, deployments]) {
    const found = await count(listed)
    // The server itself makes a ConfigMap with its certificates in no namespace of ours: no controllers run.
    if (found !== expected) throw new Error(`${listed}: ${found} objects instead of ${expected}`)
  }
  const made = JSON.parse(await ground.observer.send('GET', `${configMaps}/${widgetName(0, 0)}`)) as {
    readonly data: Readonly<Record<string, string>>
  }
  const { value, token, nodes } = made.data
  if (value !== '0' || token?.length !== 16 || nodes !== String(sizes.nodes)) {
    throw new Error(`a ConfigMap is not as it should be: ${JSON.stringify(made.data)}`)
  }
}

function figuresOf(
  ours: Measured,
  theirs: Measured,
  latencies: Latencies | undefined,
  sizes: Sizes,
  log: (line: string) => void,
): readonly Figure[] {
  const figures: Figure[] = []
  const { operators, many, perSecond, crsOfEach } = sizes
  const ten = `${operators} controller-runtime processes`
  const one = 'one controller-runtime process'
  const add = (what: string, our: number, peer: number, against: string, target: Target): void => {
    figures.push(figure(name, what, our, peer, against, target))
  }
  const atMost = (limit: number): Target => ({ relation: '<=', limit })
  if (ours.rest && theirs.rest) {
    const memories = [ours.rest.memoryBytes, theirs.rest.memoryBytes].map(toMegabytes) as [number, number]
    add(`memory of ${operators} operators: MB`, ...memories, ten, atMost(1 / 5))
  }
  if (ours.many && theirs.many) {
    const memories = [ours.many.memoryBytes, theirs.many.memoryBytes].map(toMegabytes) as [number, number]
    add(`memory of ${many} operators: MB`, ...memories, `${many} controller-runtime processes`, atMost(1 / 15))
  }
  if (ours.rest && theirs.rest) {
    add(`watches of ${operators} operators`, ours.rest.watches, theirs.rest.watches, ten, atMost(1 / 5))
  }
  if (ours.many && theirs.many) {
    add(`watches of ${many} operators`, ours.many.watches, theirs.many.watches, `${many} of them`, atMost(1 / 5))
  }
  if (ours.rest && theirs.rest) {
    const perMinute = ({ heard }: Rest): number => (heard.requests * 60_000) / sizes.restMs
    log(`requests a minute at rest, leases aside: ${perMinute(ours.rest)}; ${ten}: ${perMinute(theirs.rest)}`)
    add('requests a minute at rest', perMinute(ours.rest), 1, 'none', { relation: '<', limit: 1 })
  }
  const compare = (what: string, [our, ...peers]: readonly Spread[]): void => {
    for (const [index, peer] of peers.entries()) {
      const against = [one, `${one}, ${workers} workers`, `${one} that applies`][index]!
      add(`${what}: p50 ms`, our!.p50, peer.p50, against, atMost(1.25))
      add(`${what}: p99 ms`, our!.p99, peer.p99, against, atMost(1))
    }
  }
  if (latencies) {
    compare('event to write', latencies.oneByOne)
    compare(
      `at ${perSecond} changes/s`,
      latencies.inTurns.map(({ steady }) => steady),
    )
  }
  add(`cold start of ${operators * crsOfEach} CRs: ms`, ours.coldMs, theirs.coldMs, ten, atMost(1))
  if (ours.restartMs !== undefined && theirs.restartMs !== undefined) {
    add('restart with all in place: ms', ours.restartMs, theirs.restartMs, ten, atMost(1))
  }
  if (ours.rest && theirs.rest && latencies) {
    const [ourDay, theirDay] = ([ours, theirs] as const).map(({ rest, watchSeconds }, index) =>
      dayOf({
        memoryBytes: rest!.memoryBytes,
        requestsAtRest: rest!.heard.requests,
        leasesAtRest: rest!.heard.leases,
        restMs: sizes.restMs,
        watchSeconds,
        requestsPerChange: latencies.inTurns[index]!.requestsPerChange,
        crs: operators * crsOfEach,
      }),
    )
    log(`a day: ${profile}`)
    add('a day: GB-seconds', ourDay!.gigabyteSeconds, theirDay!.gigabyteSeconds, ten, atMost(1 / 5))
    add('a day: server requests', ourDay!.requests, theirDay!.requests, ten, atMost(1 / 5))
  }
  return figures
}

function summaryOf({ by }: Heard): string {
  const entries = [...by].toSorted(([, a], [, b]) => b - a)
  return entries.map(([what, count]) => `${count} ${what}`).join(', ') || 'nothing'
}

function toMegabytes(bytes: number): number {
  return bytes / 1e6
}

function megabytes(bytes: number): string {
  return toMegabytes(bytes).toFixed(0)
}

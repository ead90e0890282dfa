/**
 * `npm run bench -- manager`: ten small operators in one Muster process beside ten controller-runtime processes, on one
 * real kube-apiserver. README.md in this folder describes the method.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cliErrors } from '../../src/cli/errors.ts'
import { describeError, isMusterError } from '../../src/kube/muster-error.ts'
import type { Snapshot } from '../../test/real/cluster.ts'
import { type BenchReport, type Figure, figure, type Missing, type Target } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { operatorPeer } from '../peers/peers.ts'
import { dailyCostOf, profile } from './daily-cost.ts'
import {
  configMaps,
  deployments,
  type BenchmarkCluster,
  type RequestCounts,
  openBenchmarkCluster,
  widgetName,
  widgetsOf,
} from './benchmark-cluster.ts'
import { interleavedLatencies, type InterleavedSizes } from './interleaved-latency.ts'
import { controllerRuntimeSide, type Fleet, installMuster, numbersTo, type Side } from './sides.ts'
import type { Percentiles } from './percentiles.ts'
import { cpuText, alternatingLatencies, type Latency, type AlternatingSizes } from './alternating-latency.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const name = 'manager'
const parts = ['start', 'rest', 'latency', 'many'] as const
type Part = (typeof parts)[number]

interface Sizes extends AlternatingSizes, InterleavedSizes {
  readonly secrets: number
  readonly nodes: number
  readonly operators: number
  /** The number of operators for the figures of many, and of CRs of each additional operator. */
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
  let cluster: BenchmarkCluster | undefined
  try {
    log(`a real server with ${sizes.secrets} Secrets and ${sizes.operators * sizes.crsOfEach} CRs`)
    cluster = await openBenchmarkCluster(muster.crds(sizes.many), sizes, log)
    const wanted = (part: Part): boolean => only === undefined || only === part
    const measuring = { cluster, sizes, wanted, log }
    const ours = await measure(muster, measuring)
    await cluster.reset()
    const peer = controllerRuntimeSide(binary)
    const theirs = await measure(peer, measuring)
    const latencies = wanted('latency')
      ? await measureLatencies({ muster, peer, binary }, ours, theirs, measuring)
      : undefined
    return { figures: figuresOf(ours, theirs, latencies, sizes, log), missing: [] }
  } catch (error) {
    if (!isMusterError(error, cliErrors.BinaryMissing)) throw error
    return { figures: [], missing: [{ bench: name, what: 'kube-apiserver and etcd', cure: describeError(error) }] }
  } finally {
    await cluster?.stop()
    muster.remove()
  }
}

interface Rest {
  readonly memoryBytes: number
  readonly watches: number
  /** During the measurement. */
  readonly requestCounts: RequestCounts
}

interface Measured {
  readonly coldMs: number
  readonly restartMs: number | undefined
  readonly rest: Rest | undefined
  /** The timeout that the client sets for each of its watches, in seconds. */
  readonly watchSeconds: readonly number[]
  /** With all objects in place, for the turns. */
  readonly kept: Snapshot | undefined
  readonly many: { readonly memoryBytes: number; readonly watches: number } | undefined
}

interface Measuring {
  readonly cluster: BenchmarkCluster
  readonly sizes: Sizes
  readonly wanted: (part: Part) => boolean
  readonly log: (line: string) => void
}

/** Muster's default concurrency of one operator. */
const workers = 8
/** How long no write may happen before it counts as rest. */
const quietMs = 3000
const settleMs = 20_000

async function measure(side: Side, measuring: Measuring): Promise<Measured> {
  const { cluster, sizes, wanted, log } = measuring
  const { operators, crsOfEach } = sizes
  const crs = (operator: number): number => (operator < operators ? crsOfEach : sizes.crsOfFurther)
  const tell = (line: string): void => log(`${side.name}: ${line}`)
  const started: Fleet[] = []
  const start = (count: number): Fleet => {
    const fleet = side.start(numbersTo(count), cluster.kubeconfig, crs)
    started.push(fleet)
    return fleet
  }
  try {
    const watchesAtStart = await cluster.openWatches()
    const listening = cluster.listen()
    const writes = await countWrites(measuring)
    const serverAtStart = cluster.cpuSeconds()
    const fleet = start(operators)
    await fleet.reconciled
    const coldMs = await writes.rest()
    const cpu = cpuText(fleet.cpuSeconds(), cluster.cpuSeconds() - serverAtStart)
    tell(`all at rest after ${coldMs.toFixed(0)} ms and ${cpu}`)
    const heardAtStart = await listening.requestCounts()
    tell(`asked for: ${summaryOf(heardAtStart)}`)
    await check(measuring)

    let rest: Rest | undefined
    if (wanted('rest')) {
      const atRest = cluster.listen()
      await sleep(sizes.restMs)
      const [memoryBytes, watches] = [fleet.memoryBytes(), (await cluster.openWatches()) - watchesAtStart]
      rest = { memoryBytes, watches, requestCounts: await atRest.requestCounts() }
      tell(`${megabytes(memoryBytes)} MB, ${watches} watches; at rest asked for: ${summaryOf(rest.requestCounts)}`)
    }

    await fleet.stop()
    const kept = wanted('latency') ? await cluster.keep() : undefined

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
      for (let kind = operators; kind < sizes.many; kind++) await cluster.addWidgets(kind, sizes.crsOfFurther)
      const watchesBefore = await cluster.openWatches()
      const fleetOfMany = start(sizes.many)
      const ms = await fleetOfMany.reconciled
      await sleep(settleMs)
      many = { memoryBytes: fleetOfMany.memoryBytes(), watches: (await cluster.openWatches()) - watchesBefore }
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

/** Of each side, in the same order. */
interface Latencies {
  readonly inTurns: readonly Latency[]
  readonly oneByOne: readonly Percentiles[]
}

/**
 * The peers: controller-runtime with its defaults, with Muster's concurrency, and with server-side apply, as Muster
 * uses it. The difference between the first and the last is the cost of apply on the server.
 */
async function measureLatencies(
  { muster, peer, binary }: { readonly muster: Side; readonly peer: Side; readonly binary: string },
  ours: Measured,
  theirs: Measured,
  { cluster, sizes, log }: Measuring,
): Promise<Latencies> {
  const peers = [peer, controllerRuntimeSide(binary, { workers })]
  const contenders = [
    { side: muster, operators: sizes.operators, kept: ours.kept! },
    ...peers.map((side) => ({ side, operators: 1, kept: theirs.kept! })),
  ]
  const inTurns = await alternatingLatencies(contenders, cluster, sizes, log)
  await cluster.reset(ours.kept)
  const neighbours = [
    { side: muster, operators: numbersTo(sizes.operators) },
    ...[...peers, controllerRuntimeSide(binary, { applies: true })].map((side, index) => ({
      side,
      operators: [sizes.operators + index],
    })),
  ]
  for (const { operators } of neighbours.slice(1)) await cluster.addWidgets(operators[0]!, sizes.crsOfEach)
  return { inTurns, oneByOne: await interleavedLatencies(neighbours, cluster, sizes, log) }
}

/** Observes the start; `rest` resolves with the milliseconds until the last write, once there are no more writes. */
async function countWrites({ cluster, sizes }: Measuring): Promise<{ rest(): Promise<number> }> {
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
  const closings = await Promise.all(paths.map((followed) => cluster.observer.follow(`${followed}?watch=true`, note)))
  // Each watch begins with the existing objects.
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

/** The created objects are the desired ones: the same on both sides. */
async function check({ cluster, sizes }: Measuring): Promise<void> {
  const { operators, crsOfEach } = sizes
  const count = async (listed: string): Promise<number> => {
    const { items } = JSON.parse(await cluster.observer.send('GET', listed)) as { readonly items: readonly unknown[] }
    return items.length
  }
  const expected = operators * crsOfEach
  for (const listed of [configMaps, deployments]) {
    const found = await count(listed)
    // The server creates no ConfigMap with its certificates in our namespaces: no controllers run.
    if (found !== expected) throw new Error(`${listed}: ${found} objects instead of ${expected}`)
  }
  const made = JSON.parse(await cluster.observer.send('GET', `${configMaps}/${widgetName(0, 0)}`)) as {
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
    const perMinute = ({ requestCounts }: Rest): number => (requestCounts.requests * 60_000) / sizes.restMs
    log(`requests a minute at rest, leases aside: ${perMinute(ours.rest)}; ${ten}: ${perMinute(theirs.rest)}`)
    add('requests a minute at rest', perMinute(ours.rest), 1, 'none', { relation: '<', limit: 1 })
  }
  const compare = (what: string, [our, ...peers]: readonly Percentiles[]): void => {
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
      dailyCostOf({
        memoryBytes: rest!.memoryBytes,
        requestsAtRest: rest!.requestCounts.requests,
        leasesAtRest: rest!.requestCounts.leases,
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

function summaryOf({ by }: RequestCounts): string {
  const entries = [...by].toSorted(([, a], [, b]) => b - a)
  return entries.map(([what, count]) => `${count} ${what}`).join(', ') || 'nothing'
}

function toMegabytes(bytes: number): number {
  return bytes / 1e6
}

function megabytes(bytes: number): string {
  return toMegabytes(bytes).toFixed(0)
}

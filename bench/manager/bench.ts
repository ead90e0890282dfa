/**
 * `npm run bench -- manager`: ten small operators in one Muster beside ten controller-runtime processes, on one real
 * kube-apiserver. README.md beside this file says what is measured, and how.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describeError, isMusterError } from '../../src/kube/errors.ts'
import { type BenchReport, type Figure, figure, type Missing, type Target } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { operatorPeer } from '../peers/peers.ts'
import { dayOf, profile } from './day.ts'
import { configMaps, deployments, type Ground, type Heard, openGround, widgetName, widgetsOf } from './ground.ts'
import { type Latencies, openChanges } from './observer.ts'
import { controllerRuntimeSide, type Fleet, installMuster, type Side } from './sides.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const name = 'manager'
const parts = ['start', 'rest', 'latency', 'many'] as const
type Part = (typeof parts)[number]

interface Sizes {
  readonly secrets: number
  readonly nodes: number
  readonly operators: number
  readonly crsOfEach: number
  /** How many operators there are where there are many, and how many CRs each of those has that had none before. */
  readonly many: number
  readonly crsOfFurther: number
  readonly restMs: number
  readonly oneByOne: number
  readonly steady: number
  readonly perSecond: number
}

const full: Sizes = {
  secrets: 5000,
  nodes: 20,
  operators: 10,
  crsOfEach: 100,
  many: 50,
  crsOfFurther: 20,
  restMs: 60_000,
  oneByOne: 300,
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
    const theirs = await measure(controllerRuntimeSide(binary, undefined), measuring)
    const wide = wanted('latency') ? await widened(controllerRuntimeSide(binary, workers), measuring) : undefined
    return { figures: figuresOf(ours, theirs, wide, sizes, log), missing: [] }
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

interface Latency {
  readonly oneByOne: Latencies
  readonly steady: Latencies
  readonly requestsPerChange: number
}

interface Measured {
  readonly coldMs: number
  readonly restartMs: number | undefined
  readonly rest: Rest | undefined
  /** How long the client lets each of its watches last, in seconds. */
  readonly watchSeconds: readonly number[]
  readonly latency: Latency | undefined
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
    const fleet = side.start(count, ground.kubeconfig, crs)
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

    let latency: Latency | undefined
    if (wanted('latency')) {
      await fleet.keepOnly(1)
      const [before, serverBefore] = [fleet.cpuSeconds(), ground.cpuSeconds()]
      latency = await changes(measuring, crsOfEach)
      tell(`changes took ${cpuText(fleet.cpuSeconds() - before, ground.cpuSeconds() - serverBefore)}`)
      tell(`event to write, one at a time: ${textOf(latency.oneByOne)}; steadily: ${textOf(latency.steady)}`)
      tell(`${latency.requestsPerChange.toFixed(2)} requests a change`)
    }
    await fleet.stop()

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
    return { coldMs, restartMs, rest, latency, many, watchSeconds: heardAtStart.watches }
  } finally {
    for (const fleet of started) await fleet.stop()
  }
}

/** The same operator with as many reconciles at once as Muster lets one have. */
async function widened(side: Side, measuring: Measuring): Promise<Latency> {
  const { ground, sizes, log } = measuring
  const fleet = side.start(1, ground.kubeconfig, () => sizes.crsOfEach)
  try {
    await fleet.reconciled
    const latency = await changes(measuring, sizes.crsOfEach)
    log(`${side.name}: one at a time: ${textOf(latency.oneByOne)}; steadily: ${textOf(latency.steady)}`)
    return latency
  } finally {
    await fleet.stop()
  }
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

async function changes({ ground, sizes }: Measuring, crsOfEach: number): Promise<Latency> {
  const names = Array.from({ length: crsOfEach }, (_, index) => widgetName(0, index))
  const opened = await openChanges(ground.observer, { widgets: widgetsOf(0), configMaps }, names)
  try {
    const listening = ground.listen()
    const oneByOne = await opened.oneByOne(sizes.oneByOne)
    const { requests } = await listening.heard()
    const steady = await opened.steadily(sizes.steady, sizes.perSecond)
    await sleep(1000)
    return { oneByOne, steady, requestsPerChange: requests / oneByOne.made }
  } finally {
    opened.close()
  }
}

function figuresOf(
  ours: Measured,
  theirs: Measured,
  wide: Latency | undefined,
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
  if (ours.latency && theirs.latency) {
    const our = ours.latency
    for (const [peer, against] of [
      [theirs.latency, one],
      [wide, `${one}, ${workers} workers`],
    ] as const) {
      if (!peer) continue
      add('event to write: p50 ms', our.oneByOne.p50, peer.oneByOne.p50, against, atMost(1.25))
      add('event to write: p99 ms', our.oneByOne.p99, peer.oneByOne.p99, against, atMost(1))
      add(`at ${perSecond} changes/s: p50 ms`, our.steady.p50, peer.steady.p50, against, atMost(1.25))
      add(`at ${perSecond} changes/s: p99 ms`, our.steady.p99, peer.steady.p99, against, atMost(1))
    }
  }
  add(`cold start of ${operators * crsOfEach} CRs: ms`, ours.coldMs, theirs.coldMs, ten, atMost(1))
  if (ours.restartMs !== undefined && theirs.restartMs !== undefined) {
    add('restart with all in place: ms', ours.restartMs, theirs.restartMs, ten, atMost(1))
  }
  if (ours.rest && theirs.rest && ours.latency && theirs.latency) {
    const [our, peer] = ([ours, theirs] as const).map(({ rest, latency, watchSeconds }) =>
      dayOf({
        memoryBytes: rest!.memoryBytes,
        requestsAtRest: rest!.heard.requests,
        leasesAtRest: rest!.heard.leases,
        restMs: sizes.restMs,
        watchSeconds,
        requestsPerChange: latency!.requestsPerChange,
        crs: operators * crsOfEach,
      }),
    )
    log(`a day: ${profile}`)
    add('a day: GB-seconds', our!.gigabyteSeconds, peer!.gigabyteSeconds, ten, atMost(1 / 5))
    add('a day: server requests', our!.requests, peer!.requests, ten, atMost(1 / 5))
  }
  return figures
}

function summaryOf({ by }: Heard): string {
  const entries = [...by].toSorted(([, a], [, b]) => b - a)
  return entries.map(([what, count]) => `${count} ${what}`).join(', ') || 'nothing'
}

function textOf({ p50, p99, made }: Latencies): string {
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms of ${made}`
}

function cpuText(own: number, server: number): string {
  return `${own.toFixed(1)} s of processor time (the server ${server.toFixed(1)} s)`
}

function toMegabytes(bytes: number): number {
  return bytes / 1e6
}

function megabytes(bytes: number): string {
  return toMegabytes(bytes).toFixed(0)
}

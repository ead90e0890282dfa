/**
 * `npm run bench -- apiserver`: the embedded API server beside a real kube-apiserver with etcd, on one machine, in one
 * run, with the same client. The rules, the same for both:
 *
 * - Both are durable: every write waits for the disk. Both start with an empty folder.
 * - A start ends with the first `/readyz` response of 200, over HTTPS. The line that the embedded server prints earlier
 *   does not count: the server loads most of its code with the first request.
 * - Preparation before the first process starts (certificates for the real server) does not count; the sequential start
 *   of its two processes does. Node uses its compile cache, as from the second start on.
 * - Memory at rest is the resident memory of the processes (sum of VmRSS), and measured twice: three seconds after that
 *   response, and ten. In between an idle embedded server loads the code for writes, and keeps it.
 * - The servers alternate in every round, so that other load on the machine affects both. The first round of each does
 *   not count, because programs warm up; a figure is the median of the others.
 * - The embedded server is the published package, started through `bin/muster`. Variables that change the behaviour of
 *   Node (NODE_OPTIONS, NODE_EXTRA_CA_CERTS) are not passed on.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/clock/system-clock.ts'
import { createApiServer } from '../../src/apiserver/server/api-server.ts'
import { warmAfterMs } from '../../src/apiserver/server/lazy-server.ts'
import { cliErrors } from '../../src/cli/errors.ts'
import { describeError, isMusterError } from '../../src/kube/muster-error.ts'
import { type BenchReport, type Figure, figure, median, type Missing, type Target as Mark } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { type Load, openLoad } from './load.ts'
import { type Contender, embedded, real, type Running } from './servers.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const name = 'apiserver'
const clients = 16
/** How long both have been idle when memory is measured: before ours loads the code for writes, and after. */
const restMs = 3000
const loadedMs = warmAfterMs + 5000

interface Measured {
  readonly readyMs: number
  readonly restBytes: number
  readonly loadedBytes: number
  readonly creates: number
  readonly updates: number
  readonly applies: number
  readonly listMs: number
  readonly watchMs: number
}

interface Sizes {
  /** Objects of each kind in each round. */
  readonly writes: number
  readonly listed: number
  readonly watchers: number
  readonly events: number
  readonly starts: number
  /** Besides the first, which does not count: programs warm up. */
  readonly rounds: number
}

export async function run({ quick, log }: BenchOptions): Promise<BenchReport> {
  const sizes: Sizes = quick
    ? { writes: 300, listed: 1000, watchers: 20, events: 100, starts: 1, rounds: 1 }
    : { writes: 1500, listed: 10_000, watchers: 100, events: 1000, starts: 3, rounds: 3 }
  log('building what a user would install')
  const build = spawnSync(process.execPath, [path.join(root, 'scripts', 'build.ts')], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (build.status !== 0) throw new Error('the build failed')

  const inProcess = await inProcessGet()
  const limit = figure(name, 'get in process: microseconds', inProcess, 50, 'the limit', { relation: '<', limit: 1 })
  let measured: readonly Measured[]
  try {
    measured = await measure([embedded, real], sizes, log)
  } catch (error) {
    if (!isMusterError(error, cliErrors.BinaryMissing)) throw error
    const missing: Missing = { bench: name, what: 'kube-apiserver and etcd', cure: describeError(error) }
    return { figures: [limit], missing: [missing] }
  }
  const [ours, peer] = measured as readonly [Measured, Measured]
  const compare = (what: string, key: keyof Measured, mark: Mark): Figure =>
    figure(name, what, ours[key], peer[key], 'kube-apiserver + etcd', mark)
  return {
    figures: [
      compare('start to ready: milliseconds', 'readyMs', { relation: '<=', limit: 1 / 20 }),
      compare('memory at rest before loading: bytes', 'restBytes', { relation: '<=', limit: 1 / 5 }),
      compare('memory at rest after loading: bytes', 'loadedBytes', { relation: '<=', limit: 1 / 5 }),
      compare('creates per second', 'creates', { relation: '>=', limit: 2 }),
      compare('updates per second', 'updates', { relation: '>=', limit: 2 }),
      compare('applies per second', 'applies', { relation: '>=', limit: 2 }),
      compare(`list of ${sizes.listed} objects: milliseconds`, 'listMs', { relation: '<=', limit: 1 }),
      compare(`${sizes.watchers} watchers of ${sizes.events} events: milliseconds`, 'watchMs', {
        relation: '<=',
        limit: 1,
      }),
      limit,
    ],
    missing: [],
  }
}

/** A get of one object through the whole handler, without a socket. */
async function inProcessGet(): Promise<number> {
  const server = createApiServer({ clock: systemClock })
  const headers = { accept: 'application/json', 'content-type': 'application/json' }
  const collection = '/api/v1/namespaces/default/configmaps'
  await server.handle({ method: 'POST', path: collection, headers, body: JSON.stringify(configMap('one', 0)) })
  let read = 0
  const get = async (): Promise<void> => {
    const { body } = await server.handle({ method: 'GET', path: `${collection}/one`, headers })
    for await (const chunk of body) read += chunk.length
  }
  const rounds: number[] = []
  for (let round = 0; round < 20; round++) {
    const start = performance.now()
    for (let index = 0; index < 1000; index++) await get()
    rounds.push(performance.now() - start)
  }
  if (read === 0) throw new Error('nothing was read')
  return median(rounds)
}

async function measure(
  contenders: readonly Contender[],
  sizes: Sizes,
  log: (line: string) => void,
): Promise<readonly Measured[]> {
  const starts: Start[][] = contenders.map(() => [])
  const running: Running[] = []
  try {
    for (let again = 1; again <= sizes.starts; again++) {
      log(`start ${again} of ${sizes.starts}`)
      for (const [index, contender] of contenders.entries()) {
        const one = await contender.start()
        await sleep(restMs)
        const restBytes = one.residentBytes()
        await sleep(loadedMs - restMs)
        starts[index]!.push({ readyMs: one.readyMs, restBytes, loadedBytes: one.residentBytes() })
        if (again === sizes.starts) running.push(one)
        else await one.stop()
      }
    }
    const rates = await inTurns(running, sizes, log)
    return rates.map((rate, index) =>
      Object.assign(rate, {
        readyMs: median(starts[index]!.map(({ readyMs }) => readyMs)),
        restBytes: median(starts[index]!.map(({ restBytes }) => restBytes)),
        loadedBytes: median(starts[index]!.map(({ loadedBytes }) => loadedBytes)),
      }),
    )
  } finally {
    for (const one of running) await one.stop()
  }
}

type Start = Pick<Measured, 'readyMs' | 'restBytes' | 'loadedBytes'>

type Rates = Omit<Measured, keyof Start>

async function inTurns(
  running: readonly Running[],
  sizes: Sizes,
  log: (line: string) => void,
): Promise<readonly Rates[]> {
  const loads = running.map(({ target }) => openLoad(target))
  const found = loads.map(() => Object.fromEntries(phases.map(({ key }) => [key, [] as number[]])))
  try {
    for (const load of loads) await fillList(load, sizes.listed)
    for (let round = 0; round <= sizes.rounds; round++) {
      log(round === 0 ? 'warming up' : `round ${round} of ${sizes.rounds}`)
      for (const load of loads)
        for (const kind of ['writes', 'watch']) await makeNamespace(load, `bench-${kind}-${round}`)
      for (const { key, run: measureOne } of phases) {
        for (const [index, load] of loads.entries()) {
          const value = await measureOne(load, sizes, round)
          if (round > 0) found[index]![key]!.push(value)
        }
      }
    }
  } finally {
    for (const load of loads) load.close()
  }
  return found.map((one) => Object.fromEntries(phases.map(({ key }) => [key, median(one[key]!)])) as unknown as Rates)
}

const configMapsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`

async function makeNamespace(load: Load, called: string): Promise<void> {
  await load.send('POST', '/api/v1/namespaces', JSON.stringify({ metadata: { name: called } }))
}

async function fillList(load: Load, count: number): Promise<void> {
  await makeNamespace(load, 'bench-list')
  await createAll(load, 'bench-list', count)
}

async function createAll(load: Load, namespace: string, count: number): Promise<number> {
  const objects = configMapsOf(namespace)
  return await load.rate(count, clients, (at) => load.send('POST', objects, JSON.stringify(configMap(`c${at}`, at))))
}

interface Phase {
  readonly key: keyof Rates
  readonly run: (load: Load, sizes: Sizes, round: number) => Promise<number>
}

/** In this order: each step uses the objects of the previous one. */
const phases: readonly Phase[] = [
  { key: 'creates', run: (load, { writes }, round) => createAll(load, `bench-writes-${round}`, writes) },
  {
    key: 'updates',
    run: (load, { writes }, round) => {
      const objects = configMapsOf(`bench-writes-${round}`)
      return load.rate(writes, clients, (at) =>
        load.send('PUT', `${objects}/c${at}`, JSON.stringify(configMap(`c${at}`, at + 1))),
      )
    },
  },
  {
    key: 'applies',
    run: (load, { writes }, round) => {
      const objects = configMapsOf(`bench-writes-${round}`)
      return load.rate(writes, clients, (at) => {
        const applied = { apiVersion: 'v1', kind: 'ConfigMap', ...configMap(`c${at}`, at + 2) }
        const query = '?fieldManager=bench&force=true'
        return load.send('PATCH', `${objects}/c${at}${query}`, JSON.stringify(applied), 'application/apply-patch+yaml')
      })
    },
  },
  {
    key: 'listMs',
    async run(load) {
      const times: number[] = []
      for (let again = 0; again < 5; again++) {
        const start = performance.now()
        await load.send('GET', configMapsOf('bench-list'))
        times.push(performance.now() - start)
      }
      return median(times)
    },
  },
  {
    key: 'watchMs',
    async run(load, { watchers, events }, round) {
      const namespace = `bench-watch-${round}`
      const start = performance.now()
      const watching = await load.watch(`${configMapsOf(namespace)}?watch=true&resourceVersion=0`, watchers, events)
      await createAll(load, namespace, events)
      await watching.done
      return performance.now() - start
    },
  },
]

/** About a kilobyte, like most objects that operators write. */
function configMap(called: string, version: number): object {
  const data = Object.fromEntries(
    Array.from({ length: 8 }, (_, at) => [`key-${at}`, `${version} ${'value '.repeat(16)}`]),
  )
  return { metadata: { name: called, labels: { app: 'bench', version: String(version) } }, data }
}

/**
 * `npm run bench -- apiserver`: the embedded API server beside a real kube-apiserver with etcd, on one machine, in one
 * run, with the same client. Both keep what they acknowledge.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/clock/system-clock.ts'
import { createApiServer } from '../../src/apiserver/api-server.ts'
import { describeError, isMusterError } from '../../src/kube/errors.ts'
import { readYaml } from '../../src/kube/yaml.ts'
import { startCluster } from '../../test/real/cluster.ts'
import { type BenchReport, type Figure, figure, median, type Missing, type Target as Mark } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { type Load, openLoad, type Target } from './load.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const name = 'apiserver'
const clients = 16

/** A server that runs: how to reach it, which processes it is, how long it took. */
interface Running {
  readonly target: Target
  readonly startMs: number
  residentBytes(): number
  stop(): Promise<void>
}

interface Measured {
  readonly startMs: number
  readonly restBytes: number
  readonly creates: number
  readonly updates: number
  readonly applies: number
  readonly listMs: number
  readonly watchMs: number
}

interface Sizes {
  readonly writes: number
  readonly listed: number
  readonly watchers: number
  readonly events: number
  readonly starts: number
}

export async function run({ quick, log }: BenchOptions): Promise<BenchReport> {
  const sizes: Sizes = quick
    ? { writes: 300, listed: 1000, watchers: 20, events: 100, starts: 1 }
    : { writes: 3000, listed: 10_000, watchers: 100, events: 1000, starts: 3 }
  log('building what a user would install')
  const build = spawnSync(process.execPath, [path.join(root, 'scripts', 'build.ts')], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (build.status !== 0) throw new Error('the build failed')

  const inProcess = await inProcessGet()
  const limit = figure(name, 'get in process: microseconds', inProcess, 50, 'the limit', { relation: '<', limit: 1 })
  log('measuring the embedded server')
  const ours = await measure(startEmbedded, sizes, log)
  let peer: Measured
  try {
    log('measuring kube-apiserver and etcd')
    peer = await measure(startReal, sizes, log)
  } catch (error) {
    if (!isMusterError(error, 'BinaryMissing')) throw error
    const missing: Missing = { bench: name, what: 'kube-apiserver and etcd', cure: describeError(error) }
    return { figures: [limit], missing: [missing] }
  }
  const compare = (what: string, key: keyof Measured, mark: Mark): Figure =>
    figure(name, what, ours[key], peer[key], 'kube-apiserver + etcd', mark)
  return {
    figures: [
      compare('start to ready: milliseconds', 'startMs', { relation: '<=', limit: 1 / 20 }),
      compare('memory at rest: bytes', 'restBytes', { relation: '<=', limit: 1 / 5 }),
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

/** A get of one object through the handler, all its way, without a socket. */
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

async function measure(start: () => Promise<Running>, sizes: Sizes, log: (line: string) => void): Promise<Measured> {
  const starts: number[] = []
  for (let again = 1; again < sizes.starts; again++) {
    const first = await start()
    starts.push(first.startMs)
    await first.stop()
  }
  const running = await start()
  starts.push(running.startMs)
  // At rest: started, and nobody has asked for anything, or even connected.
  await sleep(3000)
  const restBytes = running.residentBytes()
  const load = openLoad(running.target)
  try {
    log('  writes')
    const rates = await writeRates(load, sizes.writes)
    log('  list')
    const listMs = await listTime(load, sizes.listed)
    log('  watches')
    const watchMs = await watchTime(load, sizes)
    return { startMs: median(starts), restBytes, ...rates, listMs, watchMs }
  } finally {
    load.close()
    await running.stop()
  }
}

const base = '/api/v1/namespaces'

async function namespace(load: Load, called: string): Promise<string> {
  await load.send('POST', base, JSON.stringify({ metadata: { name: called } }))
  return `${base}/${called}/configmaps`
}

async function writeRates(load: Load, count: number): Promise<Pick<Measured, 'creates' | 'updates' | 'applies'>> {
  const configs = await namespace(load, 'bench-writes')
  const warm = await namespace(load, 'bench-warm')
  await load.rate(count / 3, clients, (at) => load.send('POST', warm, JSON.stringify(configMap(`w${at}`, at))))
  const creates = await load.rate(count, clients, (at) =>
    load.send('POST', configs, JSON.stringify(configMap(`c${at}`, at))),
  )
  const updates = await load.rate(count, clients, (at) =>
    load.send('PUT', `${configs}/c${at}`, JSON.stringify(configMap(`c${at}`, at + 1))),
  )
  const applies = await load.rate(count, clients, (at) => {
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', ...configMap(`c${at}`, at + 2) }
    const query = '?fieldManager=bench&force=true'
    return load.send('PATCH', `${configs}/c${at}${query}`, JSON.stringify(applied), 'application/apply-patch+yaml')
  })
  return { creates, updates, applies }
}

async function listTime(load: Load, count: number): Promise<number> {
  const configs = await namespace(load, 'bench-list')
  await load.rate(count, clients, (at) => load.send('POST', configs, JSON.stringify(configMap(`c${at}`, at))))
  const times: number[] = []
  for (let again = 0; again < 5; again++) {
    const start = performance.now()
    await load.send('GET', configs)
    times.push(performance.now() - start)
  }
  return median(times)
}

async function watchTime(load: Load, { watchers, events }: Sizes): Promise<number> {
  const configs = await namespace(load, 'bench-watch')
  const start = performance.now()
  const watching = await load.watch(`${configs}?watch=true&resourceVersion=0`, watchers, events)
  await load.rate(events, clients, (at) => load.send('POST', configs, JSON.stringify(configMap(`c${at}`, at))))
  await watching.done
  return performance.now() - start
}

/** About a kilobyte, like most objects that operators write. */
function configMap(called: string, version: number): object {
  const data = Object.fromEntries(
    Array.from({ length: 8 }, (_, at) => [`key-${at}`, `${version} ${'value '.repeat(16)}`]),
  )
  return { metadata: { name: called, labels: { app: 'bench', version: String(version) } }, data }
}

async function startEmbedded(): Promise<Running> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-'))
  const kubeconfig = path.join(folder, 'kubeconfig')
  const main = path.join(root, 'dist', 'cli', 'main.js')
  const start = performance.now()
  const args = [main, 'apiserver', '--data', path.join(folder, 'data'), '--kubeconfig-out', kubeconfig]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(createInterface({ input: child.stdout }), 'line')
  const startMs = performance.now() - start
  const { clusters, users } = readYaml(readFileSync(kubeconfig, 'utf8')) as unknown as {
    readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[]
    readonly users: readonly { readonly user: { readonly token: string } }[]
  }
  const { server = '', 'certificate-authority-data': ca = '' } = clusters[0]!.cluster
  return {
    target: { url: server, ca: Buffer.from(ca, 'base64').toString(), token: users[0]!.user.token },
    startMs,
    residentBytes: () => residentBytes(child.pid!),
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startReal(): Promise<Running> {
  const start = performance.now()
  const cluster = await startCluster({ durable: true })
  const startMs = performance.now() - start
  const { server, ca, tokens } = cluster.access
  return {
    target: { url: server, ca, token: tokens.admin },
    startMs,
    residentBytes: () => cluster.processes().reduce((sum, pid) => sum + residentBytes(pid), 0),
    stop: () => cluster.stop(),
  }
}

function residentBytes(pid: number): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

/**
 * A Redis server and a sidecar beside it, both real processes: what a Pod would hold. Everything ends with
 * {@link Life.end}, and if the test process is killed, with its guard.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { realRedis } from '../../../scripts/real-redis.ts'
import { systemRandom } from '../../../src/clock/random.ts'
import { systemClock } from '../../../src/clock/system-clock.ts'
import type { ActionRecord } from '../../../src/sidecar/action.ts'
import { sidecarClient, type SidecarClient } from '../../../src/sidecar/client.ts'
import type { SidecarState } from '../../../src/sidecar/state.ts'
import { freePort } from '../../free-port.ts'

export interface Life {
  readonly folder: string
  /** Where Redis keeps its data. */
  readonly data: string
  /** Keys of the backups that began, in order. */
  beginnings(): Promise<readonly string[]>
  /** Where the sidecar answers; another one after each start. */
  url(): string
  client(): SidecarClient
  startSidecar(): Promise<void>
  /** SIGKILL. */
  killSidecar(): Promise<void>
  /** SIGTERM; resolves to the exit code. */
  stopSidecar(): Promise<number | null>
  redis(...words: readonly string[]): Promise<string>
  /** Further lines for its configuration, from the next start on. */
  configureRedis(...lines: readonly string[]): Promise<void>
  redisPid(): Promise<number>
  /** Every state that was seen, from the moment of the call. */
  watchStates(): StateWatch
  end(): Promise<void>
}

export interface StateWatch {
  readonly seen: readonly string[]
  /** Resolves when such a state comes, or if it is there. */
  until(state: string, reachable?: boolean): Promise<SidecarState>
  stop(): Promise<void>
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
export const token = 'a-token-for-the-real-suite'

export async function makeLife(): Promise<Life> {
  const redis = await realRedis()
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-sidecar-'))
  const [at, data] = [(name: string): string => path.join(folder, name), path.join(folder, 'data')]
  const guard = spawn(process.execPath, [here('../guard.ts')], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  guard.stdin.write(`dir ${folder}\n`)
  const port = await freePort()
  await mkdir(data)
  await writeFile(at('token'), token)
  await writeFile(at('beginnings'), '')
  const configureRedis = async (...more: readonly string[]): Promise<void> => {
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${data}`,
      `pidfile ${at('redis.pid')}`,
      `logfile ${at('redis.log')}`,
      'daemonize yes',
      'save ""',
      'enable-debug-command local',
      'repl-diskless-sync-delay 0',
      // Loading takes as long as the suite wants it to, and the server answers meanwhile.
      'loading-process-events-interval-bytes 1024',
      ...more,
    ]
    await writeFile(at('redis.conf'), lines.join('\n'))
  }
  await configureRedis()
  const environment = {
    set: { ...redis.environment, REDIS_CLI: redis.cli, REDIS_PORT: `${port}`, BEGINNINGS: at('beginnings') },
  }
  const cli = [redis.cli, '-p', `${port}`]
  const config = {
    listen: '127.0.0.1:0',
    tokenFile: 'token',
    stateDirectory: 'state',
    interval: '50ms',
    probes: {
      port: { tcp: `127.0.0.1:${port}`, timeout: '2s' },
      ping: { command: [...cli, 'ping'], timeout: '2s', environment },
    },
    states: [
      { state: 'stopping', action: 'stop' },
      { state: 'servicing', action: 'backup', probe: 'ping', word: 'PONG' },
      { state: 'running', probe: 'ping', word: 'PONG' },
      { state: 'start', probe: 'ping', word: 'LOADING Redis is loading the dataset in memory' },
      { state: 'start', action: 'start' },
      { state: 'ended', probe: 'ping', code: 1 },
      { state: 'unresponsive' },
    ],
    actions: {
      start: { command: [redis.server, at('redis.conf')], environment, timeout: '30s' },
      backup: { command: [process.execPath, here('backup.ts')], environment, timeout: '2m' },
      restore: { command: [process.execPath, here('restore.ts')], environment, timeout: '30s' },
      stop: { command: [...cli, 'shutdown', 'save'], environment, timeout: '30s' },
    },
  }
  await writeFile(at('sidecar.json'), JSON.stringify(config))

  let sidecar: ChildProcess | undefined
  let url = ''
  const endSidecar = async (name: NodeJS.Signals): Promise<number | null> => {
    if (!sidecar || sidecar.exitCode !== null || sidecar.signalCode !== null) return sidecar?.exitCode ?? null
    const ended = once(sidecar, 'exit')
    sidecar.kill(name)
    const [code] = (await ended) as [number | null]
    guard.stdin.write(`-${sidecar.pid}\n`)
    return code
  }
  const redisPid = async (): Promise<number> => {
    const pid = Number(await readFile(at('redis.pid'), 'utf8'))
    guard.stdin.write(`+${pid}\n`)
    return pid
  }
  const clientOf = (): SidecarClient =>
    sidecarClient({ url, token, clock: systemClock, random: systemRandom, timeoutMs: 20_000 })

  return {
    folder,
    data,
    async beginnings() {
      return (await readFile(at('beginnings'), 'utf8')).split('\n').filter(Boolean)
    },
    url: () => url,
    client: clientOf,
    async startSidecar() {
      const args = [here('../../../src/cli/main.ts'), 'sidecar', '--config', at('sidecar.json')]
      sidecar = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
      guard.stdin.write(`+${sidecar.pid}\n`)
      let complaints = ''
      sidecar.stderr!.setEncoding('utf8').on('data', (text: string) => (complaints += text))
      const line = once(createInterface({ input: sidecar.stdout! }), 'line') as Promise<[string]>
      const died = once(sidecar, 'exit').then(() => Promise.reject(new Error(`the sidecar ended: ${complaints}`)))
      const [ready] = await Promise.race([line, died])
      died.catch(() => undefined)
      url = ready.split(' ').at(-1) ?? ''
    },
    async killSidecar() {
      await endSidecar('SIGKILL')
    },
    stopSidecar: () => endSidecar('SIGTERM'),
    async redis(...words) {
      const options = { env: { ...process.env, ...redis.environment } }
      return (await promisify(execFile)(redis.cli, ['-p', `${port}`, ...words], options)).stdout.trim()
    },
    configureRedis,
    redisPid,
    watchStates: () => watchStates(clientOf()),
    async end() {
      await endSidecar('SIGKILL')
      const pid = await redisPid().catch(() => 0)
      if (pid > 0) signal(pid, 'SIGKILL')
      guard.stdin.end()
      await once(guard, 'exit')
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

function watchStates(client: SidecarClient): StateWatch {
  const seen: string[] = []
  const stop = new AbortController()
  const waiters = new Set<(state: SidecarState) => void>()
  let last: SidecarState | undefined
  const watch = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      last = await client.state({ since: last?.since, waitMs: 30_000, signal: stop.signal })
      if (seen.at(-1) !== last.state) seen.push(last.state)
      for (const waiter of waiters) waiter(last)
    }
  }
  // A sidecar that is killed ends its watch; the next one gets a new one.
  const watching = watch().catch(() => undefined)
  return {
    seen,
    async until(state, reachable) {
      const isIt = (one: SidecarState): boolean => one.state === state && (reachable ?? one.reachable) === one.reachable
      if (last && isIt(last)) return last
      const { promise, resolve } = Promise.withResolvers<SidecarState>()
      const waiter = (next: SidecarState): void => {
        if (isIt(next)) resolve(next)
      }
      waiters.add(waiter)
      const found = await promise
      waiters.delete(waiter)
      return found
    },
    async stop() {
      stop.abort()
      await watching
    },
  }
}

/** Follows an action until this holds of it. */
export async function followAction(
  client: SidecarClient,
  key: string,
  holds: (record: ActionRecord) => boolean,
): Promise<ActionRecord> {
  for (let since: string | undefined; ;) {
    const record = await client.action(key, { since, waitMs: 30_000 })
    if (!record) throw new Error(`there is no action ${key}`)
    if (holds(record)) return record
    if (record.state !== 'running') throw new Error(`action ${key} ended: ${JSON.stringify(record)}`)
    since = record.updatedAt
  }
}

export function signal(pid: number, name: NodeJS.Signals): void {
  process.kill(pid, name)
}

/** Waits for something outside, which sends no event. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(20)
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../clock/random.ts'
import { systemClock } from '../clock/system-clock.ts'
import type { ActionRecord } from '../sidecar/action.ts'
import { sidecarClient, type SidecarClient } from '../sidecar/client.ts'

const main = fileURLToPath(new URL('main.ts', import.meta.url))
const token = 'a-token-for-the-command'
const random = seededRandom(7)

let folder = ''
let child: ChildProcess | undefined

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-sidecar-'))
  await writeFile(path.join(folder, 'token'), `${token}\n`)
  await writeFile(path.join(folder, 'beginnings'), '')
  const script = `
    require('node:fs').appendFileSync('beginnings', process.env.MUSTER_ACTION_KEY + '\\n')
    console.log('{"result":"done"}')`
  await writeFile(
    path.join(folder, 'sidecar.yaml'),
    `listen: 127.0.0.1:0
tokenFile: token
stateDirectory: state
interval: 10ms
probes: { phase: { file: beginnings } }
states: [{ state: up, probe: phase }]
concurrency: 10
actions:
  once: { command: ${JSON.stringify([process.execPath, '-e', script])}, directory: . }
`,
  )
})
afterEach(async () => {
  await kill()
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
})

async function start(): Promise<SidecarClient> {
  child = spawn(process.execPath, [main, 'sidecar', '--config', path.join(folder, 'sidecar.yaml')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string]
  expect(line).toMatch(/^sidecar ready on http:\/\/127\.0\.0\.1:\d+$/)
  return sidecarClient({ url: line.split(' ').at(-1)!, token, clock: systemClock, random, timeoutMs: 20_000 })
}

async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return null
  const ended = once(child, 'exit') as Promise<[number | null]>
  child.kill(signal)
  return (await ended)[0]
}

async function end(client: SidecarClient, key: string, signal?: AbortSignal): Promise<ActionRecord | undefined> {
  let record = await client.action(key, { signal })
  while (record?.state === 'running')
    record = await client.action(key, { since: record.updatedAt, waitMs: 10_000, signal })
  return record
}

/** Resolves when so many changes were seen in the state directory. */
async function afterWrites(count: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let seen = 0
  const watcher = watch(path.join(folder, 'state'), { recursive: true, signal }, () => {
    if (++seen >= count) resolve()
  })
  watcher.on('error', () => undefined)
  if (count === 0) resolve()
  await promise
}

describe('muster sidecar', () => {
  it(
    'killed after any write, starts accepted actions once, and others when requested again',
    { timeout: 60_000 },
    async () => {
      const rounds = [0, 2, 5, 9, 14].map((writes, round) => ({ writes, key: `action-${round}` }))
      for (const { writes, key } of rounds) {
        const client = await start()
        const stop = new AbortController()
        const written = afterWrites(writes, stop.signal)
        const asked = client
          .start({ key, name: 'once', input: { key } }, { signal: stop.signal })
          .then(() => end(client, key, stop.signal))
          .catch(() => undefined)
        await Promise.race([written, asked])
        await kill()
        stop.abort()
        await asked
      }
      const client = await start()
      for (const { key } of rounds) {
        await client.start({ key, name: 'once', input: { key } })
        expect(await end(client, key)).toMatchObject({ state: 'succeeded', result: 'done' })
      }
      const beginnings = (await readFile(path.join(folder, 'beginnings'), 'utf8')).trim().split('\n')
      expect(beginnings.toSorted()).toEqual(rounds.map(({ key }) => key))
    },
  )

  it('reports the state, and shuts down on request', { timeout: 60_000 }, async () => {
    const client = await start()
    let state = await client.state()
    while (state.state !== 'up') state = await client.state({ since: state.since, waitMs: 10_000 })
    expect(state).toMatchObject({ state: 'up', reachable: true })
    expect(await kill('SIGTERM')).toBe(0)
  })
})

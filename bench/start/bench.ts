/**
 * How long `muster up` takes until it is usable: from the start of its first process, including launcher and set-up
 * check, to the line that says it is ready, and to the line that says that everything is at rest. The time in the line
 * itself counts from the start of the second process, and so is always a little less.
 *
 * Once with a new folder, then several times with the kept data. `npm start` is measured as well, because users also
 * wait for npm.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type BenchReport, figure, median, type Missing } from '../figure.ts'
import type { BenchOptions } from '../main.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The promise of docs/running.md for later starts. */
const limitSeconds = 2

interface Start {
  readonly readySeconds: number
  readonly restSeconds: number
  /** The time that it prints itself. */
  readonly saidSeconds: number
  readonly writes: string
}

export async function run({ quick, only, log }: BenchOptions): Promise<BenchReport> {
  const rounds = quick ? 1 : 7
  const target = { relation: '<=', limit: 1 } as const
  const figures: BenchReport['figures'][number][] = []
  const missing: Missing[] = []
  const ways = {
    'muster up': (folder: string) => ({
      program: process.execPath,
      words: [path.join(root, 'bin', 'muster'), 'up', '--data', path.join(folder, 'data')],
      cwd: folder,
    }),
    // In the checkout; its data is elsewhere.
    'npm start': (folder: string) => ({
      program: 'npm',
      words: ['start', '--', '--data', path.join(folder, 'data'), '--kubeconfig-out', path.join(folder, 'kubeconfig')],
      cwd: root,
    }),
  }
  for (const [name, way] of Object.entries(ways)) {
    if (only !== undefined && only !== name) continue
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-start-'))
    try {
      const first = await start(way(folder))
      log(`${name}, a new folder: ${told(first)}`)
      const later: Start[] = []
      for (let round = 0; round < rounds; round++) {
        later.push(await start(way(folder)))
        log(`${name}, again: ${told(later.at(-1)!)}`)
      }
      const [ready, rest] = [later.map((one) => one.readySeconds), later.map((one) => one.restSeconds)]
      figures.push(
        figure('start', `${name}: ready, s (median)`, median(ready), limitSeconds, 'limit', target),
        figure('start', `${name}: ready, s (slowest)`, Math.max(...ready), limitSeconds, 'limit', target),
        figure('start', `${name}: at rest, s (median)`, median(rest), limitSeconds, 'limit', target),
      )
    } catch (error) {
      missing.push({ bench: 'start', what: `${name} (${String(error)})`, cure: 'End what runs in this checkout.' })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  return { figures, missing }
}

async function start(how: {
  readonly program: string
  readonly words: readonly string[]
  readonly cwd: string
}): Promise<Start> {
  const begun = performance.now()
  const child = spawn(how.program, how.words, { cwd: how.cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const seconds = (): number => (performance.now() - begun) / 1000
  const said: string[] = []
  let ready: { readonly at: number; readonly line: string } | undefined
  const { promise: rested, resolve, reject } = Promise.withResolvers<Start>()
  child.on('error', reject)
  child.once('close', () => reject(new Error(said.slice(-3).join(' ') || 'it ended and said nothing')))
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      said.push(line)
      if (line.includes(' is ready on ')) ready = { at: seconds(), line }
      if (!line.startsWith('at rest') || !ready) return
      resolve({
        readySeconds: ready.at,
        restSeconds: seconds(),
        saidSeconds: Number(/ after ([\d.]+) s/.exec(ready.line)?.[1]),
        writes: /(\d+) writes?/.exec(line)?.[1] ?? '?',
      })
    })
  }
  try {
    return await rested
  } finally {
    await end(child)
  }
}

/** As Ctrl-C does: all processes of the group. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null) return
  const closed = once(child, 'close')
  process.kill(-child.pid, 'SIGINT')
  await closed
}

function told({ readySeconds, restSeconds, saidSeconds, writes }: Start): string {
  return `ready after ${readySeconds.toFixed(2)} s (by its own word ${saidSeconds.toFixed(1)} s), at rest after ${restSeconds.toFixed(2)} s, ${writes} writes`
}

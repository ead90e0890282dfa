/** The two sides: how each starts its operators, reports that all is reconciled, is measured and is stopped. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { kindOf, namespace } from './benchmark-cluster.ts'
import { cpuSeconds, memory } from './process-cost.ts'

export interface Side {
  readonly name: string
  /** Operators with these numbers; `crs` says how many CRs each has. */
  start(operators: readonly number[], kubeconfig: string, crs: (operator: number) => number): Fleet
}

export function numbersTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, number) => number)
}

/** Running operators. */
export interface Fleet {
  /** Milliseconds from the first process until every CR has been reconciled once. */
  readonly reconciled: Promise<number>
  /** See `memory`. */
  memoryBytes(): number
  /** CPU time so far, of the processes still running. */
  cpuSeconds(): number
  stop(): Promise<void>
}

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface InstalledMuster extends Side {
  /** The CRDs of so many operators, as JSON. */
  crds(count: number): readonly string[]
  remove(): void
}

/** The build, laid out as an installed package: a concurrent build does not interfere. */
export function installMuster(): InstalledMuster {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-'))
  const modules = path.join(folder, 'node_modules')
  const own = path.join(modules, '@muster-dev', 'muster')
  mkdirSync(own, { recursive: true })
  copyFileSync(path.join(root, 'package.json'), path.join(own, 'package.json'))
  for (const part of ['bin', 'dist']) cpSync(path.join(root, part), path.join(own, part), { recursive: true })
  const { dependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  for (const name of Object.keys(dependencies)) {
    symlinkSync(path.join(root, 'node_modules', name), path.join(modules, name))
  }
  const program = path.join(folder, 'widgets.mjs')
  copyFileSync(path.join(root, 'bench', 'manager', 'programs', 'widgets.mjs'), program)
  const settings = path.join(folder, 'muster.yaml')
  return {
    name: 'Muster',
    start(operators, kubeconfig, crs) {
      const names = operators.map((operator) => kindOf(operator).toLowerCase())
      writeFileSync(settings, settingsFor(names))
      const hosted = names.map((one) => `${program}#${one}`)
      const words = [...nodeFlags(), path.join(own, 'bin', 'muster'), 'run', '--file', settings, ...hosted]
      return fleetOf({ KUBECONFIG: kubeconfig, BENCH_EXPECT: String(totalOf(operators, crs)) }, [
        { command: process.execPath, words },
      ])
    },
    crds(count) {
      const { stdout, status } = spawnSync(process.execPath, [program, String(count)], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
        maxBuffer: 1 << 26,
      })
      if (status !== 0) throw new Error('the CRDs could not be made')
      return stdout.trim().split('\n')
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/**
 * JSON is valid YAML. The default allowance is lower than the load here; the default ports of this machine may be in
 * use.
 */
function settingsFor(names: readonly string[]): string {
  const gates = { changesPerMinute: 60_000 }
  return JSON.stringify({
    leaderElection: { leaderElect: true, resourceNamespace: namespace },
    logging: { level: 'error' },
    metrics: { port: 0 },
    health: { port: 0 },
    operators: Object.fromEntries(names.map((one) => [one, { gates }])),
  })
}

/** For profiling: `BENCH_NODE_FLAGS=--cpu-prof`. */
function nodeFlags(): readonly string[] {
  return process.env['BENCH_NODE_FLAGS']?.split(' ') ?? []
}

export interface PeerOptions {
  /** Concurrent reconciles in each process. @default controller-runtime's, one */
  readonly workers?: number
  /** Writes by server-side apply, as Muster does, instead of updates. @default false */
  readonly applies?: boolean
}

/** One process for each operator. */
export function controllerRuntimeSide(binary: string, { workers, applies = false }: PeerOptions = {}): Side {
  const flags = [...(workers === undefined ? [] : [`--workers=${workers}`]), ...(applies ? ['--apply'] : [])]
  const traits = [...(workers === undefined ? [] : [`${workers} workers`]), ...(applies ? ['applying'] : [])]
  return {
    name: ['controller-runtime', ...traits].join(', '),
    start: (operators, kubeconfig, crs) =>
      fleetOf(
        { KUBECONFIG: kubeconfig },
        operators.map((operator) => ({
          command: binary,
          words: [`--kind=${kindOf(operator)}`, `--expect=${crs(operator)}`, '--leader-elect', ...flags],
        })),
      ),
  }
}

function totalOf(operators: readonly number[], crs: (operator: number) => number): number {
  return operators.reduce((sum, operator) => sum + crs(operator), 0)
}

interface Program {
  readonly command: string
  readonly words: readonly string[]
}

const longestMs = 240_000
/**
 * Processes that start at once: fifty would wait for each other longer than the cache sync timeout of
 * controller-runtime.
 */
const startedAtOnce = 10

function fleetOf(variables: Readonly<Record<string, string>>, programs: readonly Program[]): Fleet {
  const begun = performance.now()
  const { NODE_OPTIONS: _options, NODE_EXTRA_CA_CERTS: _authorities, ...inherited } = process.env
  const env = { ...inherited, ...variables }
  const running: ChildProcess[] = []
  // If this process ends unexpectedly.
  const leave = (): void => running.forEach((child) => child.kill('SIGKILL'))
  process.once('exit', leave)
  const stopping = new AbortController()
  const startAll = async (): Promise<number> => {
    for (let first = 0; first < programs.length; first += startedAtOnce) {
      stopping.signal.throwIfAborted()
      const children = programs
        .slice(first, first + startedAtOnce)
        .map(({ command, words }) => spawn(command, words, { env, stdio: ['ignore', 'pipe', 'inherit'] }))
      running.push(...children)
      await Promise.all(children.map(said))
    }
    return performance.now() - begun
  }
  const reconciled = startAll()
  // Awaited only when needed; stopping before that is not a failure.
  reconciled.catch(() => undefined)
  const end = async (ended: readonly ChildProcess[]): Promise<void> => {
    await Promise.all(ended.map(endOf))
  }
  return {
    reconciled,
    memoryBytes: () => memory(running.map(({ pid }) => pid!)),
    cpuSeconds: () => running.reduce((sum, { pid }) => sum + cpuSeconds(pid!), 0),
    stop() {
      stopping.abort()
      process.off('exit', leave)
      return end(running.splice(0))
    },
  }
}

/** The line that reports that all of its CRs have been reconciled. */
async function said(child: ChildProcess): Promise<void> {
  const lines = createInterface({ input: child.stdout! })
  const what = await Promise.race([
    reconciledLine(lines).then(() => 'said'),
    once(child, 'exit').then(() => 'gone'),
    sleep(longestMs, 'late', { ref: false }),
  ])
  if (what !== 'said') throw new Error(what === 'gone' ? 'an operator ended' : 'an operator takes too long')
}

async function reconciledLine(lines: Interface): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  lines.on('line', (line) => {
    if (line.includes('"reconciled"')) resolve()
  })
  await promise
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const patience = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await gone
  clearTimeout(patience)
}

/** `npm run bench -- cache`: the cost of the client and the shared cache, beside the informers in common use. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BenchReport, type Figure, figure, median, type Missing, type Target } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { controllerRuntime, installPeers } from '../peers/peers.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const program = (name: string): string => path.join(root, 'bench', 'cache', 'programs', `${name}.mjs`)
const peers = ['client-node', 'fluent-client'] as const
const parts = ['memory', 'fields', 'start', 'rate', 'idle'] as const

interface Sizes {
  readonly pods: number
  readonly fieldPods: number
  readonly ratePods: number
  readonly rateEvents: number
  readonly startPods: readonly number[]
  readonly startRuns: number
  readonly idleWatches: number
  readonly consumers: number
}

const full: Sizes = {
  pods: 100_000,
  fieldPods: 5000,
  ratePods: 2000,
  rateEvents: 30_000,
  startPods: [100, 400, 2000],
  startRuns: 15,
  idleWatches: 980,
  consumers: 50,
}
const quick: Sizes = {
  pods: 10_000,
  fieldPods: 5000,
  ratePods: 1000,
  rateEvents: 5000,
  startPods: [100, 400, 2000],
  startRuns: 3,
  idleWatches: 180,
  consumers: 50,
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
  const figures: Figure[] = []
  const missing: Missing[] = []
  const isPeered = installPeers(log)
  if (!isPeered) missing.push({ bench: 'cache', what: 'the peers of bench/peers', cure: 'Run npm ci in bench/peers.' })
  const measured = isPeered ? peers : []

  const add = (name: string, ours: number, peer: number, peerName: string, target: Target): void => {
    const made = figure('cache', name, ours, peer, peerName, target)
    log(
      `  ${name}: ${made.ratio.toFixed(3)} of ${peerName} (${made.target}: ${made.holds ? 'holds' : 'does not hold'})`,
    )
    figures.push(made)
  }

  const on = async (
    part: (typeof parts)[number],
    options: ServerOptions,
    work: (server: BenchServer) => Promise<void>,
  ): Promise<void> => {
    if (only === undefined || only === part) await onServer(options, work)
  }

  await on('memory', { pods: sizes.pods, listed: false }, async (server) => {
    log(`memory of ${sizes.pods} Pods`)
    const ours = await server.measure<Memory>('muster', ['memory', String(sizes.pods)])
    for (const peer of measured) {
      const theirs = await server.measure<Memory>(peer, ['memory', String(sizes.pods)])
      add('memory per Pod: heap', ours.held, theirs.held, peer, { relation: '<=', limit: 1 / 6 })
      add('memory per Pod: RSS', ours.rss, theirs.rss, peer, { relation: '<=', limit: 1 / 6 })
    }
    const go = controllerRuntime(log)
    if (go === undefined) {
      missing.push({
        bench: 'cache',
        what: 'controller-runtime',
        cure: 'Install Go to build it from the module proxy.',
      })
    } else {
      for (const [name, flags] of [
        ['controller-runtime', []],
        ['controller-runtime, managedFields stripped', ['strip']],
      ] as const) {
        const theirs = await server.run<Memory>(go, [String(sizes.pods), ...flags])
        add('memory per Pod: heap', ours.held, theirs.held, name, { relation: '<', limit: 1 })
        add('memory per Pod: RSS', ours.rss, theirs.rss, name, { relation: '<', limit: 1 })
      }
    }

    log(`consumers of ${sizes.pods} Pods: 1, then ${sizes.consumers}`)
    const shared = await server.measure<{ one: number; many: number; watches: number }>('muster', [
      'consumers',
      String(sizes.pods),
      String(sizes.consumers),
    ])
    add(`memory with ${sizes.consumers} consumers`, shared.many, shared.one, 'one consumer', {
      relation: '<',
      limit: 1.05,
    })
    add(`watches of ${sizes.consumers} consumers`, shared.watches, 1, 'one consumer', { relation: '<=', limit: 1 })
  })

  await on('fields', { pods: sizes.fieldPods, listed: false }, async (server) => {
    log(`memory of ${sizes.fieldPods} Pods: whole, and with two fields`)
    const words = ['memory', String(sizes.fieldPods)]
    const whole = await server.measure<Memory>('muster', words)
    const projected = await server.measure<Memory>('muster', [...words, 'spec.nodeName,status.phase'])
    add('memory per Pod with two fields: heap', projected.held, whole.held, 'whole Pods', {
      relation: '<=',
      limit: 0.5,
    })
  })

  for (const pods of sizes.startPods) {
    await on('start', { pods, listed: true }, async (server) => {
      log(`start of a process that lists and watches ${pods} Pods`)
      const [ours, ...others] = await server.start(['muster', ...measured], pods, sizes.startRuns)
      if (!ours) return
      for (const [index, peer] of measured.entries()) {
        const theirs = others[index]!
        const at = `start with ${pods} Pods`
        add(`${at}: milliseconds`, ours.ms, theirs.ms, peer, { relation: '<=', limit: 1 / 4 })
        add(`${at}: RSS`, ours.rss, theirs.rss, peer, { relation: '<=', limit: 1 / 2 })
        // Most of a small process's RSS is the program text of Node. This is the rest.
        if (ours.own > 0) add(`${at}: RSS without files`, ours.own, theirs.own, peer, { relation: '<=', limit: 1 / 2 })
      }
    })
  }

  await on('rate', { pods: sizes.ratePods, listed: false }, async (server) => {
    log(`${sizes.rateEvents} changes of ${sizes.ratePods} Pods`)
    const words = ['rate', String(sizes.ratePods), String(sizes.rateEvents)]
    const ours = await server.measure<Rate>('muster', words)
    for (const peer of measured) {
      const theirs = await server.measure<Rate>(peer, words)
      const rate = ({ events, cpuSeconds }: Rate): number => events / cpuSeconds
      add('events per CPU second', rate(ours), rate(theirs), peer, { relation: '>=', limit: 1.5 })
    }
  })

  await on('idle', { pods: 1, listed: false }, async (server) => {
    log(`${sizes.idleWatches} idle watches`)
    const ours = await server.measure<Idle>('muster', ['idle', String(sizes.idleWatches)])
    for (const peer of measured) {
      const theirs = await server.measure<Idle>(peer, ['idle', String(sizes.idleWatches)])
      add('idle watch: RSS', ours.rss, theirs.rss, peer, { relation: '<=', limit: 1 / 4 })
    }
    add(
      `connections of ${ours.watches} watches`,
      ours.connections,
      Math.ceil(ours.watches / 100),
      'one for 100 watches',
      { relation: '<=', limit: 1 },
    )
  })
  return { figures, missing }
}

interface Memory {
  readonly held: number
  readonly rss: number
}

interface Rate {
  readonly events: number
  readonly cpuSeconds: number
}

interface Idle {
  readonly rss: number
  readonly connections: number
  readonly watches: number
}

interface Start {
  readonly ms: number
  readonly rss: number
  /** Anonymous RSS; 0 where the system does not report it. */
  readonly own: number
}

interface BenchServer {
  /** Runs one of the programs and parses its output. */
  measure<T>(name: string, words: readonly string[]): Promise<T>
  run<T>(command: string, words: readonly string[]): Promise<T>
  /**
   * Wall time from the start of a process to its output, and its RSS then: medians. The programs alternate, so that
   * other load on the machine affects all of them.
   */
  start(names: readonly string[], pods: number, runs: number): Promise<readonly Start[]>
}

interface ServerOptions {
  readonly pods: number
  readonly listed: boolean
}

async function onServer(options: ServerOptions, work: (server: BenchServer) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-'))
  const script = path.join(root, 'bench', 'cache', 'server.ts')
  const child = spawn(process.execPath, [script, String(options.pods), options.listed ? 'yes' : 'no'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    const { port, ca } = JSON.parse(await firstLine(child.stdout)) as { readonly port: number; readonly ca: string }
    const kubeconfig = path.join(folder, 'kubeconfig')
    writeFileSync(kubeconfig, kubeconfigFor(port, ca))
    const env = { ...process.env, KUBECONFIG: kubeconfig, BENCH_SERVER: `https://127.0.0.1:${port}` }
    const runProgram = async <T>(command: string, words: readonly string[], onAnswer?: () => void): Promise<T> => {
      const running = spawn(command, words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
      const exited = new Promise<void>((resolve) => running.once('exit', () => resolve()))
      const answer = JSON.parse(await firstLine(running.stdout)) as T
      onAnswer?.()
      await exited
      return answer
    }
    await work({
      run: (command, words) => runProgram(command, words),
      measure: (name, words) => runProgram(process.execPath, [...heapFlags, program(name), ...words]),
      async start(names, pods, runs) {
        const measurements = names.map((name) => ({ name, times: [] as number[], sizes: [] as number[] }))
        for (let round = 0; round < runs; round++) {
          for (const { name, times, sizes } of measurements) {
            const begun = performance.now()
            const words = [program(name), 'start', String(pods)]
            const { rss } = await runProgram<Pick<Start, 'rss'>>(process.execPath, words, () => {
              times.push(performance.now() - begun)
            })
            sizes.push(rss)
          }
        }
        const starts: Start[] = []
        for (const { name, times, sizes } of measurements) {
          const words = [program(name), 'footprint', String(pods)]
          const { own } = await runProgram<Pick<Start, 'own'>>(process.execPath, words)
          starts.push({ ms: median(times), rss: median(sizes), own })
        }
        return starts
      },
    })
  } finally {
    child.stdin.end()
    child.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The same flags for all. The small young generation keeps memory that V8 reserves out of the comparison. */
const heapFlags = ['--expose-gc', '--max-old-space-size=12000', '--max-semi-space-size=4']

async function firstLine(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += chunk.toString()
    const end = text.indexOf('\n')
    if (end >= 0) return text.slice(0, end)
  }
  throw new Error(`the process ended before it answered: ${text}`)
}

/** YAML, like most kubeconfigs: parsing it is part of the start. */
function kubeconfigFor(port: number, ca: string): string {
  return `apiVersion: v1
kind: Config
clusters:
- name: bench
  cluster:
    server: https://127.0.0.1:${port}
    certificate-authority-data: ${Buffer.from(ca).toString('base64')}
users:
- name: bench
  user:
    token: bench
contexts:
- name: bench
  context:
    cluster: bench
    user: bench
current-context: bench
`
}

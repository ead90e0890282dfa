/**
 * `npm run bench -- envtest`: the test control plane of `muster envtest` beside the real kube-apiserver and etcd, both started by
 * controller-runtime's own envtest on one machine, in turns, so that other load on the machine affects both.
 *
 * - From start to ready: what `Environment.Start` takes. It asks both programs for their help, starts etcd, waits until it is
 *   healthy, starts kube-apiserver, waits until that is healthy and until the namespace `default` exists. It asks for the health every
 *   100 ms, so a start that is faster than that is not seen: both programs take at least 200 ms.
 * - A whole suite: the tests of a package of controller-runtime, from the start of the process to its end.
 * - Muster is what a user would install: the build, with the compiled code in Node's cache, as from the second start on.
 */
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { controllerRuntimeSuites, type GoSuite } from '../../scripts/real-controller-runtime.ts'
import { realBinaries } from '../../scripts/real-binaries.ts'
import { cliErrors } from '../../src/cli/errors.ts'
import { describeError, isMusterError } from '../../src/kube/muster-error.ts'
import { type BenchReport, type Figure, figure, median, type Missing } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { envtestPeer } from '../peers/peers.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const name = 'envtest'
const peerName = 'kube-apiserver + etcd'
/** Suites that mostly work; those that mostly wait for time to pass take as long on every server. */
const measuredSuites = ['pkg/client', 'pkg/builder', 'pkg/controller/controllerutil']

interface Started {
  readonly readyMs: number
  readonly stopMs: number
}

export async function run({ quick, only, log }: BenchOptions): Promise<BenchReport> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-envtest-'))
  try {
    const peer = envtestPeer(log)
    if (peer === undefined) return lacking('Go', 'Install Go (https://go.dev/dl).')
    // Ours first, in every turn.
    const assets = [makeAssets(folder, log), path.dirname((await realBinaries()).apiserver)] as const
    const figures: Figure[] = []
    if (only === undefined || only === 'start')
      figures.push(...(await measureStarts(peer, assets, quick ? 3 : 15, log)))
    if (only === undefined || only === 'suite') figures.push(...(await measureSuites(assets, quick ? 1 : 3, log)))
    return { figures, missing: [] }
  } catch (error) {
    if (isMusterError(error, cliErrors.BinaryMissing)) return lacking('kube-apiserver and etcd', describeError(error))
    throw error
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function lacking(what: string, cure: string): BenchReport {
  const missing: Missing = { bench: name, what, cure }
  return { figures: [], missing: [missing] }
}

/** The folder that `muster envtest` of the build makes. */
function makeAssets(folder: string, log: (line: string) => void): string {
  log('building what a user would install')
  const build = spawnSync(process.execPath, [path.join(root, 'scripts', 'build.ts')], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (build.status !== 0) throw new Error('the build failed')
  cpSync(path.join(root, 'bin'), path.join(folder, 'bin'), { recursive: true })
  symlinkSync(path.join(root, 'dist'), path.join(folder, 'dist'))
  const words = [path.join(folder, 'bin', 'muster'), 'envtest', '--dir', path.join(folder, 'assets')]
  const { stdout, status } = spawnSync(process.execPath, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 2] })
  if (status !== 0) throw new Error('muster envtest failed')
  return stdout.trim()
}

async function measureStarts(
  peer: string,
  assets: readonly string[],
  rounds: number,
  log: (line: string) => void,
): Promise<readonly Figure[]> {
  const found: Started[][] = assets.map(() => [])
  // The first round fills caches, those of the disk and of Node, and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const [index, folder] of assets.entries()) {
      const started = JSON.parse(await runProgram(peer, [], folder, root)) as Started
      if (round > 0) found[index]!.push(started)
    }
    log(`start ${round} of ${rounds}: ${found.map((all) => all.at(-1)?.readyMs.toFixed(0) ?? '-').join(' and ')} ms`)
  }
  const medians = (key: keyof Started): readonly [number, number] =>
    found.map((all) => median(all.map((one) => one[key]))) as unknown as readonly [number, number]
  return [
    figure(name, 'start to ready: milliseconds', ...medians('readyMs'), peerName, { relation: '<=', limit: 1 / 10 }),
    figure(name, 'stop: milliseconds', ...medians('stopMs'), peerName, { relation: '<=', limit: 1 }),
  ]
}

async function measureSuites(
  assets: readonly string[],
  rounds: number,
  log: (line: string) => void,
): Promise<readonly Figure[]> {
  const suites = await controllerRuntimeSuites()
  const figures: Figure[] = []
  for (const suite of measuredSuites.map((wanted) => suites.find((one) => one.name === wanted)!)) {
    const found: number[][] = assets.map(() => [])
    for (let round = 0; round < rounds; round++) {
      for (const [index, folder] of assets.entries()) found[index]!.push(await secondsOf(suite, folder))
      log(`${suite.name}, ${round + 1} of ${rounds}: ${found.map((all) => all.at(-1)!.toFixed(1)).join(' and ')} s`)
    }
    const [ours = 0, peer = 0] = found.map((all) => median(all))
    figures.push(
      figure(name, `tests of controller-runtime's ${suite.name}: seconds`, ours, peer, peerName, {
        relation: '<',
        limit: 1,
      }),
    )
  }
  return figures
}

async function secondsOf({ program, words, folder }: GoSuite, assets: string): Promise<number> {
  const began = performance.now()
  await runProgram(program, words, assets, folder)
  return (performance.now() - began) / 1000
}

/** What it prints. Variables that change what Node does are not handed on. */
async function runProgram(program: string, words: readonly string[], assets: string, cwd: string): Promise<string> {
  const { NODE_OPTIONS: _options, NODE_EXTRA_CA_CERTS: _authorities, KUBECONFIG: _cluster, ...env } = process.env
  const child = spawn(program, words, {
    cwd,
    env: { ...env, KUBEBUILDER_ASSETS: assets },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let complaint = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(-2000)))
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.on('error', reject)
  child.on('close', resolve)
  const code = await promise
  if (code !== 0) throw new Error(`${path.basename(program)} ended with ${code}: ${complaint || output.slice(-2000)}`)
  return output
}

/**
 * `npm run bench -- render`: one large chart by the command and by `helm template`, as processes; and a hundred renders of a
 * middling chart in one warm process, by Muster and by Helm's library in Go. Both sides read the same files, and their objects
 * are counted.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { realHelm } from '../../scripts/real-binaries.ts'
import { renderRequest } from '../../src/render/worker/chart-request.ts'
import { type BenchReport, type Figure, figure, median, type Missing } from '../figure.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { createRenderThread } from '../../src/render/worker/render-thread.ts'
import type { BenchOptions } from '../main.ts'
import { helmLibrary } from '../peers/peers.ts'
import { benchmarkChart } from './charts.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const large = { name: 'large', services: 60 }
const middling = { name: 'middling', services: 4 }
/** Renders a second that a warm process must reach. */
const leastRate = 20

export async function run({ quick, only, log }: BenchOptions): Promise<BenchReport> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-'))
  const figures: Figure[] = []
  const missing: Missing[] = []
  try {
    if (only === undefined || only === 'process') await compareProcesses(folder, quick ? 3 : 11, figures, log)
    if (only === undefined || only === 'hold') figures.push(await measureHold(quick ? 3 : 10, log))
    if (only === undefined || only === 'library') compareLibraries(folder, quick ? 20 : 100, figures, missing, log)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return { figures, missing }
}

function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [name, text] of files) {
    const file = path.join(folder, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}

/** As installed: the bundle, not the sources. */
async function compareProcesses(
  folder: string,
  rounds: number,
  figures: Figure[],
  log: (line: string) => void,
): Promise<void> {
  const bundle = path.join(root, 'dist', 'cli', 'main.cjs')
  if (!existsSync(bundle)) {
    log('building the command (once)')
    spawnSync(process.execPath, [path.join(root, 'scripts', 'build.ts')], { cwd: root, stdio: ['ignore', 2, 2] })
  }
  const chart = path.join(folder, 'large')
  writeFiles(chart, benchmarkChart(large))
  const helm = await realHelm()
  const sides: readonly Side[] = [
    { name: 'muster', program: process.execPath, words: [bundle, 'render', chart, '--name', 'bench'], times: [] },
    { name: 'helm', program: helm, words: ['template', 'bench', chart], times: [] },
  ]
  // In turns, so that both meet the same load of the machine.
  for (let round = 0; round <= rounds; round++) for (const side of sides) measure(side, round > 0)
  const [ours = 0, peer = 0] = sides.map(({ times }) => median(times))
  const [output, expected] = sides.map(({ output: text }) => text)
  if (output !== expected) throw new Error('the outputs differ')
  log(`one chart of ${large.services * 7} templates: ${ours.toFixed(0)} ms, helm template ${peer.toFixed(0)} ms`)
  const target = { relation: '<=', limit: 1 } as const
  figures.push(figure('render', 'a large chart, ms of the process', ours, peer, 'helm template', target))
}

/** In a manager the chart is rendered in a thread of its own: how long its shared thread is held by that at most. */
async function measureHold(rounds: number, log: (line: string) => void): Promise<Figure> {
  const texts = benchmarkChart(large)
  const files = new Map([...texts].map(([name, text]) => [name, Buffer.from(text)]))
  const request = { files, values: new Map(), release: { name: 'bench', namespace: 'default' } }
  const thread = createRenderThread({ clock: systemClock })
  const holds: number[] = []
  try {
    // The first render starts the thread.
    await thread.render(request)
    for (let round = 0; round < rounds; round++) {
      let [isOver, longest, last] = [false, 0, performance.now()]
      const look = (): void => {
        const now = performance.now()
        longest = Math.max(longest, now - last)
        last = now
        if (!isOver) setImmediate(look)
      }
      setImmediate(look)
      await thread.render(request)
      isOver = true
      await new Promise((resolve) => setImmediate(resolve))
      holds.push(Math.max(longest, performance.now() - last))
    }
  } finally {
    await thread.close()
  }
  const most = median(holds)
  log(`the shared thread is held for ${holds.map((ms) => ms.toFixed(1)).join(', ')} ms`)
  const target = { relation: '<=', limit: 1 } as const
  return figure('render', 'longest hold of the shared thread, ms', most, 10, 'limit', target)
}

interface Side {
  readonly name: string
  readonly program: string
  readonly words: readonly string[]
  readonly times: number[]
  output?: string
}

function measure(side: Side, counts: boolean): void {
  const started = performance.now()
  const { stdout, status, stderr } = spawnSync(side.program, side.words, { encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (status !== 0) throw new Error(`${side.name}: ${stderr}`)
  side.output = stdout
  if (counts) side.times.push(performance.now() - started)
}

function compareLibraries(
  folder: string,
  count: number,
  figures: Figure[],
  missing: Missing[],
  log: (line: string) => void,
): void {
  const texts = benchmarkChart(middling)
  const files = new Map([...texts].map(([name, text]) => [name, Buffer.from(text)]))
  const render = (): number => {
    const { manifests } = renderRequest(
      { files, values: new Map(), release: { name: 'bench', namespace: 'default' } },
      { randomBytes, clock: { now: () => 0 } },
    )
    return manifests.length
  }
  // As in the peer: before the clock starts, it has run.
  for (let at = 0; at < 10; at++) render()
  const started = performance.now()
  let manifests = 0
  for (let at = 0; at < count; at++) manifests = render()
  const ours = count / ((performance.now() - started) / 1000)
  log(`${count} renders of ${middling.services * 7} templates: ${ours.toFixed(0)} a second`)
  const least = { relation: '>=', limit: 1 } as const
  figures.push(figure('render', 'middling renders a second, warm', ours, leastRate, 'limit', least))

  const peer = helmLibrary(log)
  if (peer === undefined) {
    missing.push({ bench: 'render', what: "Helm's library", cure: 'Install Go (https://go.dev/dl).' })
    return
  }
  const chart = path.join(folder, 'middling')
  writeFiles(chart, texts)
  const { stdout, status, stderr } = spawnSync(peer, ['-chart', chart, '-count', String(count)], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const measured = JSON.parse(stdout) as { readonly ms: number; readonly manifests: number }
  if (measured.manifests !== manifests) throw new Error(`the peer has ${measured.manifests} objects, not ${manifests}`)
  const rate = count / (measured.ms / 1000)
  log(`Helm's library: ${rate.toFixed(0)} a second`)
  const half = { relation: '>=', limit: 0.5 } as const
  figures.push(figure('render', 'middling renders a second, warm', ours, rate, "Helm's library", half))
}

/**
 * The cost of isolation: `node bench/isolation/cost.ts`. One reconcile with an empty plan, with and without reads, at
 * each level; the time until an operator is ready; the memory of one additional operator. Medians of ten rounds, in one
 * run.
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/clock/system-clock.ts'
import { freezeDeep } from '../../src/cache/decode/intern.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { openRunner } from '../../src/manager/isolation/open-runner.ts'
import type { IsolationLevel, Runner } from '../../src/manager/isolation/runner.ts'
import { offline } from '../../src/operator/live.ts'
import type { MutationOutcome } from '../../src/operator/plan.ts'
import { noMemory, type Situation } from '../../src/operator/reconcile.ts'
import { openView } from '../../src/operator/view/view.ts'

const module = fileURLToPath(new URL('./reader.ts', import.meta.url))
const rounds = 10
const reconciles = 100
const reads = 100

/** A kilobyte, in the form of the cache. */
const object = freezeDeep({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'n', namespace: 'default', uid: 'u', resourceVersion: '1' },
  data: { text: 'x'.repeat(900) },
}) as KubeObject

function situationOf({ operator }: Runner, count: number): Situation<KubeObject> {
  const [controller] = operator.controllers
  if (!controller) throw new Error('no controller')
  const source = { get: () => object, list: () => [object], byOwner: () => [], serves: () => true }
  return {
    operator: operator.name,
    controller,
    cr: {
      apiVersion: 'bench.example.com/v1',
      kind: 'Reader',
      metadata: { name: 'one', namespace: 'default', uid: 'u', resourceVersion: '1', generation: 1 },
      spec: { reads: count },
    } as unknown as KubeObject,
    view: openView({ source, reader: 'bench', inputs: controller.inputs }),
    clock: systemClock,
    config: {},
    live: offline,
    memory: noMemory,
  }
}

/** Each mutation succeeds at once: the figure is the round trip. */
const execute = (wave: readonly unknown[]): Promise<readonly MutationOutcome[]> =>
  Promise.resolve(wave.map(() => ({ result: 'done' })))

/** Microseconds for one reconcile. */
async function measure(runner: Runner, count: number): Promise<number> {
  const times: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const began = performance.now()
    for (let i = 0; i < reconciles; i++) {
      const { ledger } = await runner.run(situationOf(runner, count), execute)
      if (ledger.failure) throw new Error(ledger.failure.message)
    }
    // The first round is the warm-up.
    if (round > 0) times.push(((performance.now() - began) * 1000) / reconciles)
  }
  return median(times)
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}

/** Resident megabytes of this process and its descendants. */
function resident(): number {
  const all = execFileSync('ps', ['-eo', 'pid=,ppid=,rss='], { encoding: 'utf8' })
  const rows = all
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const own = new Set([process.pid])
  for (let grew = true; grew;) {
    grew = false
    for (const [pid = 0, parent = 0] of rows) {
      if (own.has(parent) && !own.has(pid)) {
        own.add(pid)
        grew = true
      }
    }
  }
  return rows.reduce((sum, [pid = 0, , kilobytes = 0]) => sum + (own.has(pid) ? kilobytes : 0), 0) / 1024
}

console.log(`Node ${process.versions.node}, ${rounds} rounds of ${reconciles} reconciles, objects of 1 KB`)
for (const level of ['inline', 'worker', 'process'] as const satisfies readonly IsolationLevel[]) {
  const starts: number[] = []
  const more: Runner[] = []
  const before = resident()
  for (let i = 0; i < 4; i++) {
    const began = performance.now()
    more.push(await openRunner(level, { module }))
    starts.push(performance.now() - began)
  }
  const [runner] = more
  if (!runner) throw new Error('no runner')
  const weight = (resident() - before) / more.length
  const bare = await measure(runner, 0)
  const reading = await measure(runner, reads)
  console.log(
    [
      level.padEnd(8),
      `ready after ${median(starts).toFixed(0)} ms`,
      `${weight.toFixed(1)} MB each`,
      `reconcile ${bare.toFixed(0)} us`,
      `read ${((reading - bare) / reads).toFixed(2)} us`,
    ].join('   '),
  )
  for (const each of more) await each.close()
}

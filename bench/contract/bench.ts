/**
 * `npm run bench -- contract`: the time of a thousand offline runs of the memcached example in one process. A run is
 * one `apply-configuration`: read the input directory, fill an embedded cluster, reconcile, write the output directory.
 * A second figure leaves out the files: the cost of each test in a suite of declarative tests. Runs in one process may
 * share memoized results, and these share all of them; a third figure therefore uses a CR with another name in each
 * run. The last figure is about a gather of gigabytes (`gather.ts`).
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { memcached as operator } from '../../test/examples.ts'
import { readInputs } from '../../src/contract/directory/input-directory.ts'
import { writeOutput } from '../../src/contract/directory/output-directory.ts'
import { openOfflineWorld } from '../../src/contract/offline/offline-world.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { type BenchReport, figure } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { measureGather } from './gather.ts'

const input = fileURLToPath(new URL('../../examples/memcached/tests/creates/input-dir', import.meta.url))
const now = Date.UTC(2026, 0, 31, 12)
/** The target for a thousand runs. */
const limitSeconds = 10

export async function run({ quick, only, log }: BenchOptions): Promise<BenchReport> {
  const gather = only === undefined || only === 'gather' ? await measureGather(quick, log) : []
  if (only === 'gather') return { figures: gather, missing: [] }
  const runs = quick ? 100 : 1000
  // In memory where possible: the figure is about a run, not the disk.
  const folder = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'muster-bench-'))
  try {
    const example = await readInputs(input, operator, { strict: true })
    const measured = async (what: string, inputs: Inputs, output?: string): Promise<number> => {
      const { ms, cpuMs } = await repeat(runs, inputs, output)
      log(`${what}: ${(ms / runs).toFixed(2)} ms a run, ${(cpuMs / runs).toFixed(2)} ms of processor time`)
      return ms
    }
    await repeat(10, () => example)
    const bare = await measured('without files', () => example)
    const varied = await measured('without files, each of another CR', (at) => example.map((each) => renamed(each, at)))
    const whole = await measured('with files', () => readInputs(input, operator, { strict: true }), folder)
    const seconds = (ms: number): number => (ms / 1000) * (1000 / runs)
    const target = { relation: '<=', limit: 1 } as const
    return {
      missing: [],
      figures: [
        figure('contract', '1000 offline runs, s', seconds(whole), limitSeconds, 'limit', target),
        figure('contract', '1000 offline runs in memory, s', seconds(bare), limitSeconds, 'limit', target),
        figure('contract', '1000 different ones in memory, s', seconds(varied), limitSeconds, 'limit', target),
        ...gather,
      ],
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type Inputs = (at: number) => readonly UntypedObject[] | Promise<readonly UntypedObject[]>

/** The time of `count` runs. */
async function repeat(
  runs: number,
  inputs: Inputs,
  folder?: string,
): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const startedAt = performance.now()
  const used = process.cpuUsage()
  for (let at = 0; at < runs; at++) {
    const world = await openOfflineWorld({ operator, objects: await inputs(at), now })
    const done = await world.run()
    if (done.results[0]?.status !== 'Succeeded') throw new Error('the example failed')
    if (folder !== undefined) writeOutput(path.join(folder, String(at)), done)
  }
  const { user, system } = process.cpuUsage(used)
  return { ms: performance.now() - startedAt, cpuMs: (user + system) / 1000 }
}

function renamed(object: UntypedObject, at: number): UntypedObject {
  if (object.kind !== 'Memcached') return object
  return { ...object, metadata: { ...object.metadata, name: `${object.metadata.name}-${at}` } }
}

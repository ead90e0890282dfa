/**
 * `npm run bench -- contract`: how long a thousand offline runs of the memcached example take, in one process. A run is what
 * `apply-configuration` does: read the input directory, fill an embedded cluster, reconcile, write the output directory.
 * A second figure leaves the files out: that is what a suite of declarative tests pays for each test.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { memcached as operator } from '../../test/examples.ts'
import { readInputs } from '../../src/contract/input-directory.ts'
import { writeOutput } from '../../src/contract/output-directory.ts'
import { openWorld } from '../../src/contract/world.ts'
import { type BenchReport, figure } from '../figure.ts'
import type { BenchOptions } from '../main.ts'

const input = fileURLToPath(new URL('../../examples/memcached/tests/creates/input-dir', import.meta.url))
const now = Date.UTC(2026, 0, 31, 12)
/** What issue 6 allows for a thousand. */
const limitSeconds = 10

export async function run({ quick, log }: BenchOptions): Promise<BenchReport> {
  const runs = quick ? 100 : 1000
  // In memory where there is such a place: what is measured is a run, not the disk.
  const folder = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'muster-bench-'))
  try {
    await repeat(10, undefined)
    const bare = await repeat(runs, undefined)
    log(`without files: ${(bare / runs).toFixed(2)} ms a run`)
    const whole = await repeat(runs, folder)
    log(`with files: ${(whole / runs).toFixed(2)} ms a run`)
    const seconds = (ms: number): number => (ms / 1000) * (1000 / runs)
    const target = { relation: '<=', limit: 1 } as const
    return {
      missing: [],
      figures: [
        figure('contract', '1000 offline runs, s', seconds(whole), limitSeconds, 'limit', target),
        figure('contract', '1000 offline runs in memory, s', seconds(bare), limitSeconds, 'limit', target),
      ],
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Milliseconds for so many runs. */
async function repeat(runs: number, folder: string | undefined): Promise<number> {
  const startedAt = performance.now()
  const kept = folder === undefined ? await readInputs(input, operator, { strict: true }) : undefined
  for (let at = 0; at < runs; at++) {
    const objects = kept ?? (await readInputs(input, operator, { strict: true }))
    const world = await openWorld({ operator, objects, now })
    const done = await world.run()
    if (done.results[0]?.status !== 'Succeeded') throw new Error('the example failed')
    if (folder !== undefined) writeOutput(path.join(folder, String(at)), done)
  }
  return performance.now() - startedAt
}

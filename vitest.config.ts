import { spawnSync } from 'node:child_process'
import { type ViteUserConfig, defineConfig } from 'vitest/config'

/** Unit tests stand beside what they test; `test/real` needs a real API server and has its own command. */
const real = Boolean(process.env['MUSTER_TEST_REAL'])

/**
 * Where the cases of properties come from. It follows from what is committed: each version is tried with other cases, and one
 * version with the same ones wherever it is tried, so that who looks for a failure finds it. `MUSTER_TEST_SEED=7` takes another.
 */
function seedOfVersion(): number {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD^{tree}'], { cwd: import.meta.dirname, encoding: 'utf8' })
  return Number.parseInt((stdout ?? '').slice(0, 7), 16) || 1
}

const seed = Number(process.env['MUSTER_TEST_SEED'] ?? seedOfVersion())

const config: ViteUserConfig = defineConfig({
  // Examples import the package by its name, and find the sources.
  ssr: { resolve: { conditions: ['muster-source', 'module', 'node', 'development|production'] } },
  test: {
    include: [
      ...(real
        ? ['test/real/**/*.test.ts', 'examples/**/{servers,real}.test.ts']
        : ['src/**/*.test.ts', 'web/*.test.ts', 'examples/**/!(real).test.ts', 'test/offline/**/*.test.ts']),
      // The same cases, with another server behind them.
      'test/conformance/**/*.test.ts',
      'test/manager/**/*.test.ts',
    ],
    // One server for all real suites; starting another one takes seconds, hence the longer time-outs.
    ...(real
      ? { globalSetup: ['test/real/setup.ts'], testTimeout: 60_000, hookTimeout: 120_000 }
      : // Every core: by itself it leaves one idle. Whoever is slow on a busy machine is not wrong.
        { maxWorkers: '100%', testTimeout: 30_000, hookTimeout: 60_000 }),
    setupFiles: ['test/seed.ts'],
    provide: { seed },
    pool: 'threads',
    isolate: false,
    reporters: ['default'],
  },
})

export default config

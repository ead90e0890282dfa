import { spawnSync } from 'node:child_process'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { type ViteUserConfig, defineConfig } from 'vitest/config'

/** Unit tests are beside the code they test; `test/real` needs a real API server and has its own command. */
const real = Boolean(process.env['MUSTER_TEST_REAL'])

/**
 * The seed of property-based tests. It derives from the committed tree: each version runs other cases, and one version
 * the same cases everywhere, so that a failure can be reproduced. `MUSTER_TEST_SEED=7` overrides it.
 */
function seedOfVersion(): number {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD^{tree}'], { cwd: import.meta.dirname, encoding: 'utf8' })
  return Number.parseInt((stdout ?? '').slice(0, 7), 16) || 1
}

const seed = Number(process.env['MUSTER_TEST_SEED'] ?? seedOfVersion())

const config: ViteUserConfig = defineConfig({
  test: {
    include: [
      ...(real
        ? ['test/real/**/*.test.ts', 'examples/**/{servers,real}.test.ts']
        : ['src/**/*.test.ts', 'web/*.test.ts', 'examples/**/!(real).test.ts', 'test/offline/**/*.test.ts']),
      // The same cases, against the other server.
      'test/conformance/**/*.test.ts',
      'test/manager/**/*.test.ts',
    ],
    // One server for all real suites; starting another one takes seconds, hence the longer timeouts.
    ...(real
      ? { globalSetup: ['test/real/setup.ts'], testTimeout: 60_000, hookTimeout: 120_000 }
      : // One more than there are cores, because some tests wait. The timeouts allow for a busy machine.
        { maxWorkers: availableParallelism() + 1, testTimeout: 30_000, hookTimeout: 60_000 }),
    setupFiles: ['test/seed.ts'],
    env: {
      // Programs that tests start find compiled code where the command line keeps it, whatever their temporary folder.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? path.join(tmpdir(), 'node-compile-cache'),
      // The compiler of projects is a Go program that ends before memory is short.
      GOGC: process.env['GOGC'] ?? '400',
    },
    provide: { seed },
    pool: 'threads',
    isolate: false,
    // Node itself loads the modules, as it does for users; calls between modules that Vite has rewritten are slower.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Examples import the package by its name, which resolves to the sources.
    execArgv: ['--conditions=muster-source'],
    reporters: ['default'],
  },
})

export default config

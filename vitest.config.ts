import { type ViteUserConfig, defineConfig } from 'vitest/config'

/** Unit tests stand beside what they test; `test/real` needs a real API server and has its own command. */
const real = Boolean(process.env['MUSTER_TEST_REAL'])

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
    pool: 'threads',
    isolate: false,
    reporters: ['default'],
  },
})

export default config

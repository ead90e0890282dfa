import { type ViteUserConfig, defineConfig } from 'vitest/config'

/** Unit tests stand beside what they test; `test/real` needs a real API server and has its own command. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: process.env['MUSTER_TEST_REAL']
      ? ['test/real/**/*.test.ts']
      : ['src/**/*.test.ts', 'test/offline/**/*.test.ts'],
    pool: 'threads',
    isolate: false,
    reporters: ['default'],
  },
})

export default config

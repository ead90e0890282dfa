/** What every test file starts from: the seed of property-based tests, computed in `vitest.config.ts`. */
import { configureGlobal } from 'fast-check'
import { inject } from 'vitest'

configureGlobal({ seed: inject('seed') })

// Test files share their modules, and modules keep a reference to the environment: a test that replaces it instead of
// using `vi.stubEnv` would change what later tests see.
Object.defineProperty(process, 'env', { writable: false })

declare module 'vitest' {
  export interface ProvidedContext {
    seed: number
  }
}

/** What properties are tried with is drawn from one seed, which `vitest.config.ts` finds: see there. */
import { configureGlobal } from 'fast-check'
import { inject } from 'vitest'

configureGlobal({ seed: inject('seed') })

declare module 'vitest' {
  export interface ProvidedContext {
    seed: number
  }
}

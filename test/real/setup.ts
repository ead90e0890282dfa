/** One API server for the whole run of `npm run test:real`, started before the first suite and stopped after the last. */
import type { TestProject } from 'vitest/node'
import { type Access, startCluster } from './cluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The shared server: `apiOf(inject('cluster'))`. Suites keep apart by namespaces (and kinds) of their own. */
    readonly cluster: Access
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startCluster()
  project.provide('cluster', cluster.access)
  return () => cluster.stop()
}

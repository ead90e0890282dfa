/**
 * One API server for the whole run of `npm run test:real`, started before the first suite and stopped after the last.
 * MUSTER_REAL_ACCESS names a file with the access to one that runs already.
 */
import { readFile } from 'node:fs/promises'
import type { TestProject } from 'vitest/node'
import { readyVariable } from '../../scripts/real-binaries.ts'
import { prepareRealPrograms } from '../../scripts/real-programs.ts'
import { type Access, startCluster } from './cluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The shared server: `apiOf(inject('cluster'))`. Suites keep apart by namespaces (and kinds) of their own. */
    readonly cluster: Access
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // `npm run test:real` has done that; vitest may also have been started by hand.
  if (!process.env[readyVariable]) {
    const { testFiles } = await project.globTestFiles()
    // The words that choose suites, and not the values of flags.
    const names = process.argv.slice(2).filter((word) => testFiles.some((file) => file.includes(word)))
    await prepareRealPrograms(names)
    process.env[readyVariable] = '1'
  }
  const running = process.env['MUSTER_REAL_ACCESS']
  if (running) {
    project.provide('cluster', JSON.parse(await readFile(running, 'utf8')) as Access)
    return async () => undefined
  }
  const cluster = await startCluster()
  project.provide('cluster', cluster.access)
  return () => cluster.stop()
}

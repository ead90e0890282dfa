/** Runs many declarative tests concurrently, and reports them in the order of their folders. */
import path from 'node:path'
import { simulateErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { runTest, type TestOptions, type TestResult } from './run-test.ts'
import { withSeeds } from '../environment/seeded-crypto.ts'
import { findTests } from './test-file.ts'

interface SuiteOptions extends TestOptions {
  /** The concurrency. @default 4 */
  readonly jobs?: number
  /** Called after each test. */
  readonly onResult?: (result: TestResult) => void
}

/** @throws InvalidTest when there are no tests */
export async function runSuite(folder: string, options: SuiteOptions): Promise<readonly TestResult[]> {
  const { jobs = 4, onResult, outputFolder } = options
  const folders = findTests(folder)
  if (folders.length === 0)
    throw new MusterError(simulateErrors.InvalidTest, `there is no test.yaml in ${folder} or below it.`)
  const results = new Map<string, TestResult>()
  const left = folders.values()
  const work = async (): Promise<void> => {
    for (const each of left) {
      const kept =
        outputFolder === undefined ? {} : { outputFolder: path.join(outputFolder, path.relative(folder, each)) }
      const result = await runTest(each, { ...options, ...kept })
      results.set(each, result)
      onResult?.(result)
    }
  }
  await withSeeds(() => Promise.all(Array.from({ length: Math.min(jobs, folders.length) }, work)))
  return folders.map((each) => results.get(each)!)
}

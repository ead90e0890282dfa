/** Runs vitest and counts. A run that fails without a failed test (a crash, an unhandled error) counts as one. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

export interface TestCounts {
  readonly passed: number
  readonly failed: number
}

export async function runVitest(
  root: string,
  names: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<TestCounts> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-test-'))
  const report = path.join(folder, 'report.json')
  // Tests must neither reach the cluster of the developer's KUBECONFIG nor read its credentials.
  const { KUBECONFIG: _cluster, ...inherited } = process.env
  try {
    const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs')
    const child = spawn(
      process.execPath,
      [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...names],
      { cwd: root, env: { ...inherited, ...env }, stdio: ['ignore', 'inherit', 'inherit'] },
    )
    const [status] = (await once(child, 'close')) as [number | null]
    const counts = readCounts(report)
    return status !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readCounts(report: string): TestCounts {
  try {
    const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(readFileSync(report, 'utf8')) as {
      readonly numPassedTests: number
      readonly numFailedTests: number
      readonly numFailedTestSuites: number
    }
    return { passed: numPassedTests, failed: Math.max(numFailedTests, numFailedTestSuites > 0 ? 1 : 0) }
  } catch {
    return { passed: 0, failed: 1 }
  }
}

/**
 * `node scripts/run.mjs test:plans`: the fault simulator with all its plans, for every correct operator of this
 * repository; also checks that plans have the same result together and alone, and that shared memos do not change
 * results. `npm test` runs a sample of them. The last line has the counts.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { runVitest } from './vitest-run.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const names = ['broken-operators', 'bundle', 'database', 'operators', 'baseline']
const suites = [
  ...names.map((name) => `src/simulate/faults/${name}.test.ts`),
  'src/platform/components/plans.test.ts',
  'src/platform/installation/plans.test.ts',
  'src/platform/facade/plans.test.ts',
  'src/workloads/appwrapper/plans.test.ts',
  'src/workloads/scaler/crash.laws.test.ts',
  'test/offline/writing-operators.test.ts',
]
// The test runner ignores a name that matches no file.
for (const suite of suites) if (!existsSync(path.join(root, suite))) throw new Error(`${suite} does not exist`)
const { passed, failed } = await runVitest(root, suites, {
  MUSTER_ALL_PLANS: '1',
})
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0

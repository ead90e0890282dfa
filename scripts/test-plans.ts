/**
 * `node scripts/run.mjs test:plans`: the fault simulator with all its plans, for every operator of this repository that is
 * meant to be good; that plans which are played together go as each does alone, and that nothing shows of what runs share. `npm test`
 * plays a sample of them. The last line counts.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { runVitest } from './vitest-run.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const names = ['broken-operators', 'bundle', 'database', 'operators', 'baseline']
const suites = [...names.map((name) => `src/simulate/faults/${name}.test.ts`), 'test/offline/writing-operators.test.ts']
// The test runner passes over a name that matches no file.
for (const suite of suites) if (!existsSync(path.join(root, suite))) throw new Error(`${suite} does not exist`)
const { passed, failed } = runVitest(root, suites, {
  MUSTER_ALL_PLANS: '1',
})
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0

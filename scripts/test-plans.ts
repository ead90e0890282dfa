/**
 * `node scripts/run.mjs test:plans`: the fault simulator with all its plans, for every operator of this repository that is
 * meant to be good; that plans which are played together go as each does alone, and that nothing shows of what runs share. `npm test`
 * plays a sample of them. The last line counts.
 */
import { fileURLToPath } from 'node:url'
import { runVitest } from './vitest-run.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const names = ['broken-operators', 'bundle', 'database', 'operators', 'stage']
const suites = names.map((name) => `src/simulate/${name}.test.ts`)
const { passed, failed } = runVitest(root, [...suites, 'test/offline/writing-operators.test.ts'], {
  MUSTER_ALL_PLANS: '1',
})
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0

/**
 * `npm run test:real`: the suites of `test/real` against a real kube-apiserver and etcd. Arguments choose suites by
 * name; MUSTER_RECORD=1 accepts the responses of the server as the new vectors. Programs that suites need are built or
 * fetched before the first test. The last line has the counts.
 */
import { fileURLToPath } from 'node:url'
import { describeError } from '../src/kube/muster-error.ts'
import { readyVariable, realBinaries } from './real-binaries.ts'
import { prepareRealPrograms } from './real-programs.ts'
import { runVitest } from './vitest-run.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
let counts = { passed: 0, failed: 1 }
try {
  const names = process.argv.slice(2).filter((argument) => argument !== '--')
  await prepareRealPrograms(names)
  const { apiserver, version } = await realBinaries()
  console.log(`kube-apiserver ${version} at ${apiserver}`)
  counts = await runVitest(root, names, { MUSTER_TEST_REAL: '1', [readyVariable]: '1' })
} catch (error) {
  console.error(describeError(error))
}
console.log(`${counts.passed} passed, ${counts.failed} failed`)
process.exitCode = counts.failed > 0 ? 1 : 0

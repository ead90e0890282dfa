/**
 * `npm test`: types, lint, layers, formatting, then every test that needs no further program.
 * All of them run even when one fails; the last line counts.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { runVitest } from './vitest-run.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = (name: string): string => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))

const checks: readonly (readonly [name: string, command: readonly string[]])[] = [
  ['types', [bin('tsc'), '-p', '.']],
  ['types of examples', [bin('tsc'), '-p', 'examples']],
  ['types of the page', [bin('tsc'), '-p', 'web']],
  ['lint', [bin('oxlint'), '--type-aware', '--deny-warnings', '--quiet']],
  ['layers', [process.execPath, 'scripts/check-layers.ts']],
  ['format', [bin('oxfmt'), '--check', '.']],
]

let passed = 0
let failed = 0
for (const [name, [command = '', ...words]] of checks) {
  const { status, stdout, stderr } = spawnSync(command, words, { cwd: root, encoding: 'utf8' })
  const holds = status === 0
  if (holds) passed++
  else failed++
  console.log(`${holds ? 'ok' : 'FAILED'}  ${name}`)
  if (!holds) console.log(`${stdout}${stderr}`)
}

const names = process.argv.slice(2).filter((argument) => argument !== '--checks-only')
if (!process.argv.includes('--checks-only')) {
  const tests = runVitest(root, names)
  passed += tests.passed
  failed += tests.failed
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0

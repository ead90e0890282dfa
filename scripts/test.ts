/**
 * `npm test`: types, lint, layers, formatting, and concurrently every test that needs no further program. All of them run
 * even when one fails; the last line has the counts.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { text as readText } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { runVitest } from './vitest-run.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = (name: string): string => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))

const names = process.argv.slice(2).filter((argument) => argument !== '--checks-only' && argument !== '--')
const isChecking = process.argv.includes('--checks-only')

/** Beside tests the checks have time. Several threads check some types more than once, which costs a quarter more. */
const frugal = (...words: readonly string[]): readonly string[] => (isChecking ? [] : words)

const checks: readonly (readonly [name: string, command: readonly string[]])[] = [
  ['types', [bin('tsc'), '-p', '.', ...frugal('--singleThreaded')]],
  ['types of examples', [bin('tsc'), '-p', 'examples', ...frugal('--singleThreaded')]],
  ['types of the page', [bin('tsc'), '-p', 'web', ...frugal('--singleThreaded')]],
  ['lint', [bin('oxlint'), '--type-aware', '--deny-warnings', '--quiet', ...frugal('--threads=1')]],
  ['layers', [process.execPath, 'scripts/check-layers.ts']],
  ['format', [bin('oxfmt'), '--check', '.']],
]

/**
 * Types and lint are Go programs that end before memory is short: collecting less garbage saves a fifth of their processor time.
 * The soft limit keeps them small on small machines.
 */
const goSettings = { GOGC: '400', GOMEMLIMIT: '2GiB', ...(!isChecking && { GOMAXPROCS: '1' }) }

/** A third of the processor time of a test. */
const lowPriority = 5

interface Outcome {
  readonly holds: boolean
  readonly text: string
}

/** One check after the other, with low priority: they take what the tests leave while they wait. */
async function runChecks(told: (text: string) => void): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  for (const [name, [command = '', ...words]] of checks) {
    const child = spawn(command, words, {
      cwd: root,
      env: { ...goSettings, ...process.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (child.pid !== undefined) setPriority(child.pid, lowPriority)
    const closed = once(child, 'close') as Promise<[number | null]>
    const [output, errors, [status]] = await Promise.all([readText(child.stdout), readText(child.stderr), closed])
    const holds = status === 0
    outcomes.push({ holds, text: `${holds ? 'ok' : 'FAILED'}  ${name}${holds ? '' : `\n${output}${errors}`}` })
    told(outcomes.at(-1)!.text)
  }
  return outcomes
}

// Beside the tests, results of checks would be lost between theirs.
const checked = runChecks((text) => {
  if (isChecking) console.log(text)
})
const tests = isChecking ? { passed: 0, failed: 0 } : await runVitest(root, names)
const outcomes = await checked
if (!isChecking) for (const { text } of outcomes) console.log(text)
const passed = tests.passed + outcomes.filter(({ holds }) => holds).length
const failed = tests.failed + outcomes.filter(({ holds }) => !holds).length
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0

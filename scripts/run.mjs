/**
 * The entry point of `npm start`, `npm test` and the other scripts of package.json: sets the checkout up, then starts
 * the pinned Node. Runs on Node 20, hence plain JavaScript.
 */
import { spawn } from 'node:child_process'
import path from 'node:path'
import setup from './setup.cjs'

const tasks = {
  start: ['src/cli/main.ts', 'up'],
  test: ['scripts/test.ts'],
  'test:real': ['scripts/test-real.ts'],
  'test:conformance': ['scripts/test-conformance.ts'],
  'test:plans': ['scripts/test-plans.ts'],
  bench: ['bench/main.ts'],
  build: ['scripts/build.ts'],
  check: ['scripts/test.ts', '--checks-only'],
  format: ['scripts/format.ts'],
  generate: ['scripts/generate.ts'],
  release: ['scripts/release.ts'],
}

const [task = '', ...rest] = process.argv.slice(2)
const program = tasks[task]
if (!program) {
  console.error(`unknown task "${task}"; there are: ${Object.keys(tasks).join(', ')}`)
  process.exit(2)
}

let node
try {
  node = setup.setUp()
} catch (error) {
  console.error(`muster: ${error.message}`)
  process.exit(1)
}

const [script, ...fixed] = program
// As in bin/muster: a small young generation, and imports of the package name resolve to the sources.
const flags = [
  ...(task === 'start' ? ['--max-semi-space-size=4'] : []),
  // Examples import the package by its name, which resolves to the sources.
  ...(task === 'start' || task === 'bench' ? ['--conditions=muster-source'] : []),
]
const env = { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH ?? ''}` }
const child = spawn(node, [...flags, path.join(setup.root, script), ...fixed, ...rest], {
  cwd: setup.root,
  env,
  stdio: 'inherit',
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  console.error(`muster: ${node} does not start: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))

/**
 * `npm run test:conformance`: the [Conformance] tests of Kubernetes' own end-to-end suite against the embedded API
 * server with simulated workloads. Prints a table: passed, failed, and not applicable with the reason.
 *
 * Arguments choose tests by a part of their file or name. `--all` also runs the tests that do not apply, `--jobs N`
 * runs N tests at a time (default: 4), each with its own API server, `--report FILE` writes the results as JSON.
 *
 * Tests and servers run in a network namespace with loopback only: some tests dial the addresses of pods and nodes,
 * which are simulated here and may belong to other machines.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cliErrors } from '../src/cli/errors.ts'
import { describeError, MusterError } from '../src/kube/muster-error.ts'
import { exemptionOf } from './conformance-exemptions.ts'
import { type ConformanceTest, listTests, runTest } from './conformance-suite.ts'
import { summarize, table } from './conformance-table.ts'
import { type Result } from './conformance-table.ts'
import { endToEndSuite, realKubectl } from './real-binaries.ts'
import { startServer, type TestedServer } from './conformance-server.ts'

const inside = 'MUSTER_CONFORMANCE_SUITE'
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '4' },
    report: { type: 'string' },
  },
})

try {
  process.exitCode = process.env[inside] === undefined ? await enterNamespace() : await runAll()
} catch (error) {
  console.error(describeError(error))
  process.exitCode = 1
}

/** Builds the programs, and runs this script again in a network namespace with loopback only. */
async function enterNamespace(): Promise<number> {
  const env = { ...process.env, [inside]: await endToEndSuite(), MUSTER_CONFORMANCE_KUBECTL: await realKubectl() }
  const apart = ['--user', '--map-root-user', '--net', '--']
  if (spawnSync('unshare', [...apart, 'ip', 'link', 'set', 'lo', 'up']).status !== 0)
    throw new MusterError(
      cliErrors.BinaryMissing,
      'The conformance tests run in a network namespace of their own: unshare (util-linux) and ip (iproute2) are needed, and user namespaces must be allowed.',
    )
  const self = [process.execPath, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const child = spawn('unshare', [...apart, 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', ...self], {
    env,
    stdio: 'inherit',
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  child.on('error', reject)
  child.on('exit', (code) => resolve(code ?? 1))
  return await promise
}

async function runAll(): Promise<number> {
  const suite = process.env[inside] ?? ''
  const folder = await mkdtemp(join(tmpdir(), 'muster-conformance-'))
  const servers = new Set<TestedServer>()
  const stopping = new AbortController()
  const stop = (): void => {
    stopping.abort()
    for (const server of servers) server.stop()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop)
  try {
    const all = await listTests(suite, folder, stopping.signal)
    const chosen = all.filter(
      ({ file, name }) =>
        positionals.length === 0 || positionals.some((part) => file.includes(part) || name.includes(part)),
    )
    const results: Result[] = []
    const due: ConformanceTest[] = []
    for (const test of chosen) {
      const reason = exemptionOf(test)
      if (reason !== undefined && !values.all) results.push({ test, outcome: 'not applicable', reason, seconds: 0 })
      else due.push(test)
    }
    console.log(`${chosen.length} of ${all.length} conformance tests chosen, ${due.length} to run`)
    const work = async (index: number): Promise<void> => {
      const place = join(folder, `server-${index}`)
      let server = await startServer(place)
      servers.add(server)
      for (let test = due.shift(); test && !stopping.signal.aborted; test = due.shift()) {
        const { passed, seconds, message } = await runTest(suite, test, server.kubeconfig, place, stopping.signal)
        results.push({ test, outcome: passed ? 'passed' : 'failed', seconds, reason: message })
        console.log(
          `${passed ? 'passed' : 'FAILED'} ${Math.round(seconds)} s  ${test.file}: ${test.name}${passed ? '' : `\n  ${message}`}`,
        )
        // Objects left by a failed test must not affect the next one.
        if (!passed) {
          server.stop()
          servers.delete(server)
          server = await startServer(place)
          servers.add(server)
        }
      }
    }
    await Promise.all(Array.from({ length: Math.max(1, Number(values.jobs)) }, (_, index) => work(index)))
    if (values.report) await writeFile(values.report, JSON.stringify(results, undefined, 1))
    console.log(table(results))
    const counts = summarize(results)
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts['not applicable']} not applicable`)
    return counts.failed > 0 || stopping.signal.aborted ? 1 : 0
  } finally {
    stop()
    await rm(folder, { recursive: true, force: true })
  }
}

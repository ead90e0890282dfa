/** Runs declarative tests: folders with a test.yaml. */
import { spawn } from 'node:child_process'
import path from 'node:path'
import { styleText } from 'node:util'
import { systemClock } from '../../clock/system-clock.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { junitReport } from '../../simulate/declarative/junit.ts'
import type { TestResult } from '../../simulate/declarative/run-test.ts'
import { runSuite } from '../../simulate/declarative/suite.ts'
import { findTests } from '../../simulate/declarative/test-file.ts'
import { isWatched } from '../../simulate/declarative/watched.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { loadOperator } from '../module/module.ts'
import { emptyFolder, openNamedFile } from '../command/named-file.ts'

const command: Command = defineCommand({
  usage: 'DIR …',
  details: `Each folder below DIR with a test.yaml is a test: the operator runs once on its input-dir, without a network, and its output is
compared with expected-output. docs/declarative-tests.md lists all keys of test.yaml.
Exit code: 0 all passed, 1 some failed, 2 some could not be run.`,
  flags: {
    update: { type: 'boolean', help: 'accept the actual output as the expected one' },
    'output-dir': {
      type: 'string',
      value: 'DIR',
      help: 'folder for the actual output and junit.xml; it is emptied first',
    },
    junit: { type: 'string', value: 'FILE', help: 'write results as JUnit XML' },
    jobs: { type: 'string', short: 'j', value: 'N', help: 'tests at once (default: 4)' },
    watch: { type: 'boolean', short: 'w', help: 'run again whenever a file changes' },
    'allow-network': { type: 'boolean', help: 'do not cut the network off' },
  },
  async run({ flags, positionals, out, err, signal }) {
    if (positionals.length === 0) throw new MusterError(flagErrors.InvalidFlag, 'test takes a DIR with tests.')
    if (flags.watch) {
      const written = [flags['output-dir'], flags.junit].filter((each) => each !== undefined)
      return await watch(positionals, written, out, signal)
    }
    const jobs = Number(flags.jobs ?? 4)
    if (!Number.isInteger(jobs) || jobs < 1)
      throw new MusterError(flagErrors.InvalidFlag, '--jobs must be a number above 0.')
    if (!flags['allow-network']) {
      const { cutOff } = await import('../../contract/network-isolation.ts')
      await cutOff(err)
    }
    const outputDir = flags['output-dir']
    if (outputDir !== undefined) {
      const holds = ['.', ...positionals].find((each) => !path.relative(outputDir, each).startsWith('..'))
      if (holds !== undefined) {
        throw new MusterError(
          flagErrors.InvalidFlag,
          `--output-dir ${outputDir} is emptied first, and ${holds} lies in it.`,
        )
      }
      emptyFolder('output-dir', outputDir)
    }
    const report = flags.junit ?? (outputDir === undefined ? undefined : path.join(outputDir, 'junit.xml'))
    const writeReport = report === undefined ? undefined : openNamedFile('junit', report)
    const startedAt = performance.now()
    const results: TestResult[] = []
    for (const folder of positionals) {
      const run = await runSuite(folder, {
        load: loadOperator,
        clock: systemClock,
        update: flags.update ?? false,
        jobs,
        ...(outputDir !== undefined && { outputFolder: outputDir }),
        onResult: (result) => tell(result, out),
      })
      results.push(...run)
    }
    writeReport?.(junitReport(results))
    const count = (outcome: TestResult['outcome']): number => results.filter((each) => each.outcome === outcome).length
    const updated = count('updated')
    const failed = count('failed') + count('broken')
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    out(
      `${results.length - failed} passed, ${failed} failed${updated > 0 ? ` (${updated} updated)` : ''} in ${seconds} s`,
    )
    return count('broken') > 0 ? 2 : failed > 0 ? 1 : 0
  },
})

const marks = { passed: ['green', '✓'], updated: ['cyan', '↻'], failed: ['red', '✗'], broken: ['red', '!'] } as const

function tell({ name, folder, outcome, discrepancies, durationMs }: TestResult, out: (line: string) => void): void {
  const [colour, mark] = marks[outcome]
  const painted = (text: string, as: 'green' | 'cyan' | 'red' | 'gray'): string =>
    styleText(as, text, { stream: process.stdout })
  out(`${painted(mark, colour)} ${name} ${painted(`(${folder}, ${durationMs} ms)`, 'gray')}`)
  for (const { title, lines } of discrepancies) {
    out(`    ${title}`)
    for (const line of lines) {
      const as = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : undefined
      out(`      ${as ? painted(line, as) : line}`)
    }
  }
}

/** A process for each round: what an operator imports is loaded once in a process, and it has just changed. */
async function watch(
  folders: readonly string[],
  written: readonly string[],
  out: (line: string) => void,
  signal: AbortSignal,
): Promise<number> {
  const { watch: watchFiles } = await import('node:fs')
  const args = [...process.execArgv, ...process.argv.slice(1)].filter((word) => word !== '--watch' && word !== '-w')
  let changed = Promise.withResolvers<void>()
  // A path that is no folder fails now; an empty folder may get tests later.
  for (const folder of folders) findTests(folder)
  const watchers = [...new Set(['.', ...folders])].map((folder) =>
    watchFiles(folder, { recursive: true }, (_event, file) => {
      if (isWatched(path.resolve(folder, file ?? ''), written)) changed.resolve()
    }),
  )
  signal.addEventListener('abort', () => changed.resolve(), { once: true })
  let code = 0
  while (!signal.aborted) {
    changed = Promise.withResolvers<void>()
    const child = spawn(process.execPath, args, { stdio: 'inherit' })
    code = await new Promise<number>((resolve) => child.on('close', (exit) => resolve(exit ?? 1)))
    if (signal.aborted) break
    out('… waiting for changes')
    await changed.promise
    // An editor saves in several steps.
    await systemClock.sleep(100)
  }
  for (const watcher of watchers) watcher.close()
  return code
}

export default command

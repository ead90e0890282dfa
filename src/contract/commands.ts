/**
 * The four commands of the contract, implemented for a Muster operator:
 *
 *     input-resources                                       its inputs, as YAML
 *     output-resources                                      its outputs, as YAML
 *     apply-configuration --input-dir I --output-dir O      one run on a directory, without network access
 *     apply-configuration-live … --kubeconfig K             the same, with access to the user-workload cluster
 *
 * Exit codes: 0, all controllers succeeded and wrote only declared outputs. 1 with an output: a controller failed or
 * panicked, or a write was not declared. 1 without an output: the command line was wrong.
 */
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Clock } from '../clock/clock.ts'
import { systemClock } from '../clock/system-clock.ts'
import { flagErrors } from '../manager/alone/flag-errors.ts'
import { contractErrors } from './errors.ts'
import { describeError, MusterError } from '../kube/muster-error.ts'
import type { Live } from '../operator/live.ts'
import type { Operator } from '../operator/operator.ts'
import { selectControllers } from './controller-selection.ts'
import { describeResources, inputResourcesOf, outputResourcesOf } from './declaration/declaration.ts'
import type { WorldRun } from './offline/offline-world.ts'

export const contractCommands = [
  'input-resources',
  'output-resources',
  'apply-configuration',
  'apply-configuration-live',
] as const

export type ContractCommand = (typeof contractCommands)[number]

export function isContractCommand(word: string | undefined): word is ContractCommand {
  return contractCommands.some((command) => command === word)
}

/** The output streams; they get lines without line ends. */
export interface Streams {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

interface ContractCommandOptions {
  /** As the operator's own `config` declares it. @default its defaults */
  readonly config?: Readonly<Record<string, unknown>>
}

/** Runs a command of the contract; resolves to its exit code. Never rejects. */
export async function runContractCommand(
  operator: Operator,
  [command, ...words]: readonly string[],
  streams: Streams,
  options: ContractCommandOptions = {},
): Promise<number> {
  try {
    switch (command) {
      case 'input-resources':
        streams.out(describeResources(inputResourcesOf(operator)).trimEnd())
        return 0
      case 'output-resources':
        streams.out(describeResources(outputResourcesOf(operator)).trimEnd())
        return 0
      case 'apply-configuration':
        return await applyConfiguration(operator, words, streams, options)
      case 'apply-configuration-live':
        return await applyLive(operator, words, streams, options)
      default:
        streams.err(`error: unknown command "${command ?? ''}" for "${operator.name}": ${contractCommands.join(', ')}`)
        return 1
    }
  } catch (error) {
    streams.err(`error: ${describeError(error)}`)
    return 1
  }
}

const flags = {
  'input-dir': { type: 'string' },
  'output-dir': { type: 'string' },
  now: { type: 'string' },
  controllers: { type: 'string', multiple: true },
  strict: { type: 'boolean' },
  kubeconfig: { type: 'string' },
} as const

interface Asked {
  readonly inputDir: string
  readonly outputDir: string
  readonly now: number
  readonly controllers: readonly string[]
  readonly strict: boolean
  readonly kubeconfig: string | undefined
}

/** @throws InvalidFlag */
function readFlags(words: readonly string[], clock: Clock): Asked {
  const { values } = explained(() => parseArgs({ args: joined(words), options: flags, strict: true }))
  const inputDir = values['input-dir']
  const outputDir = values['output-dir']
  if (!inputDir) throw new MusterError(flagErrors.InvalidFlag, '--input-dir is required.')
  if (!outputDir) throw new MusterError(flagErrors.InvalidFlag, '--output-dir is required.')
  // The output would be a part of the next run's input.
  if (!path.relative(inputDir, outputDir).startsWith('..')) {
    throw new MusterError(flagErrors.InvalidFlag, `--output-dir ${outputDir} lies in --input-dir ${inputDir}.`)
  }
  return {
    inputDir,
    outputDir,
    now: values.now === undefined ? clock.now() : readNow(values.now),
    controllers: values.controllers?.flatMap((list) => list.split(',')).filter((word) => word !== '') ?? ['*'],
    strict: values.strict ?? false,
    kubeconfig: values.kubeconfig,
  }
}

/** A value may begin with a dash, as in `--controllers -a,*`. */
function joined(words: readonly string[]): string[] {
  const out: string[] = []
  for (let at = 0; at < words.length; at++) {
    const flag = Object.entries(flags).find(([name]) => words[at] === `--${name}`)
    const takesValue = flag?.[1].type === 'string' && at + 1 < words.length
    out.push(takesValue ? `${words[at]}=${words[++at]}` : words[at]!)
  }
  return out
}

function explained<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new MusterError(flagErrors.InvalidFlag, `${error instanceof Error ? error.message : String(error)}.`, {
      cause: error,
    })
  }
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

/** @throws InvalidFlag */
export function readNow(text: string): number {
  const [, year, month, day] = rfc3339.exec(text) ?? []
  const now = day === undefined ? NaN : Date.parse(text)
  // Date.UTC accepts 30 February; reject it.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day)
  if (Number.isNaN(now) || !isDay) {
    throw new MusterError(flagErrors.InvalidFlag, `--now is "${text}"; it must be a time such as 2026-01-31T12:00:00Z.`)
  }
  return now
}

/** The time-out of a run. */
const longestRunMs = 60_000

async function applyConfiguration(
  operator: Operator,
  words: readonly string[],
  { err }: Streams,
  { config, live }: ContractCommandOptions & { readonly live?: Live },
): Promise<number> {
  const asked = readFlags(words, systemClock)
  const isChosen = selectControllers(
    asked.controllers,
    operator.controllers.map(({ name }) => name),
  )
  const [{ readInputs }, { openOfflineWorld: openWorld }, { leftIn, writeOutput }] = await Promise.all([
    import('./directory/input-directory.ts'),
    import('./offline/offline-world.ts'),
    import('./directory/output-directory.ts'),
  ])
  const warn = (message: string): void => err(`warning: ${message}`)
  const left = leftIn(asked.outputDir)
  if (left !== undefined) warn(`${asked.outputDir} holds ${left} of an earlier run: what lies there stays`)
  const objects = await readInputs(asked.inputDir, operator, { strict: asked.strict, warn })
  const world = await openWorld({ operator, objects, now: asked.now, ...(config && { config }), ...(live && { live }) })
  const run = await inTime(world.run(isChosen), operator.name)
  writeOutput(asked.outputDir, run)
  return reportResults(run, err)
}

async function inTime<T>(running: Promise<T>, name: string): Promise<T> {
  const over = Promise.withResolvers<never>()
  const timer = systemClock.after(longestRunMs, () => {
    over.reject(new MusterError(contractErrors.ExternalFailed, `${name} did not end within ${longestRunMs} ms.`))
  })
  try {
    return await Promise.race([running, over.promise])
  } finally {
    timer.cancel()
  }
}

/** Reports what went wrong; returns the exit code. */
function reportResults({ results, undeclared, refusedReads }: WorldRun, err: (line: string) => void): number {
  // Upstream exits with 0 after a panic. A caller that checks only the exit code would take that for success.
  const failed = results.filter(({ status }) => status === 'Failed' || status === 'Panicked')
  for (const { controller, errors } of failed) for (const message of errors) err(`error: ${controller}: ${message}`)
  for (const message of refusedReads) err(`error: undeclared input: ${message}`)
  if (undeclared.length > 0) {
    const what = undeclared.join(', ')
    err(`error: ${undeclared.length} output-resource were produced, but not present in the specified output: ${what}`)
  }
  return failed.length + undeclared.length + refusedReads.length > 0 ? 1 : 0
}

/** `live` reaches the user-workload cluster; reads still come from the directory. */
async function applyLive(
  operator: Operator,
  words: readonly string[],
  streams: Streams,
  options: ContractCommandOptions,
): Promise<number> {
  const { kubeconfig } = readFlags(words, systemClock)
  const { connect } = await import('../client/connect.ts')
  const { createLive } = await import('../manager/run/live-calls.ts')
  const client = await connect(kubeconfig === undefined ? {} : { kubeconfig })
  try {
    const live = createLive({ client, clock: systemClock })
    return await applyConfiguration(operator, words, streams, { ...options, live })
  } finally {
    await client.close()
  }
}

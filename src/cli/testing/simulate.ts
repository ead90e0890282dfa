/** `muster simulate`: runs the scenarios of an operator with injected faults, on embedded clusters in virtual time. */
import { availableParallelism } from 'node:os'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { faultGroups, formatPlan, parsePlan } from '../../simulate/faults/fault.ts'
import { samplesOf } from '../../simulate/scorecard/sample.ts'
import {
  type SimulationFailure,
  openSimulator,
  type SimulationPart,
  simulate,
  type SimulationOptions,
  type SimulationReport,
} from '../../simulate/faults/simulate.ts'
import { operatorSubject } from '../../simulate/faults/subject.ts'
import { formatTrace } from '../../simulate/faults/trace.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { loadOperator } from '../module/module.ts'
import { openNamedFile, readNamedFile } from '../command/named-file.ts'
import { readOutside } from './outside.ts'
import { openProgressBar } from '../terminal/progress-bar.ts'
import { readSample } from './scorecard.ts'
import { type PartMessage, simulateInParts } from './simulate-parts.ts'

const command: Command = defineCommand({
  usage: 'MODULE',
  details: `MODULE is a TypeScript or JavaScript file that exports an operator: as "operator", as default, or as NAME with
FILE#NAME. Its scenarios (a CR is created, changed, deleted, created again) run once without faults, then once for each fault at
each write and each event. The end state must be the same. A failure is printed as a trace, with the command that replays it.
Exit code 1: a law is broken. Faults and laws: docs/simulator.md.`,
  flags: {
    seed: {
      type: 'string',
      value: 'NUMBER',
      help: 'seed of all randomness: the same seed gives the same runs (default: 1)',
    },
    plans: {
      type: 'string',
      value: 'GROUPS',
      help: `fault groups, separated by commas: ${faultGroups.join(', ')} (default: all)`,
    },
    limit: { type: 'string', value: 'NUMBER', help: 'maximum number of plans, drawn by the seed (default: all)' },
    sample: {
      type: 'string',
      value: 'FILE',
      help: 'the CRs, and objects that they need (default: generated from the schema)',
    },
    live: {
      type: 'string',
      value: 'FILE',
      help: 'a file that exports live() or outside(), the simulated application (default: none)',
    },
    scenarios: {
      type: 'string',
      value: 'FILE',
      help: 'further scenarios: names, each with a list of patches of the CR (default: none)',
    },
    bare: { type: 'boolean', help: 'no simulated workloads: no Pods, nothing becomes ready' },
    report: { type: 'string', value: 'FILE', help: 'file for the report, as JSON' },
    jobs: {
      type: 'string',
      value: 'NUMBER',
      help: 'number of processes (default: one a core, if there are many plans)',
    },
    part: { type: 'string', value: 'K/N', help: 'run the Kth of N shares of the plans' },
    replay: { type: 'string', value: 'PLAN', help: 'run one plan, and print every request and event' },
  },
  async run({ flags, positionals, out, err, signal }) {
    const [module] = positionals
    if (module === undefined || positionals.length > 1) {
      throw new MusterError(flagErrors.InvalidFlag, 'simulate takes one MODULE, such as src/operator.ts.')
    }
    const operator = await loadOperator(module)
    const options: SimulationOptions = {
      // Each simulated process loads the module anew, without the state of another one.
      subject: await operatorSubject(() => loadOperator(module, { anew: true })),
      sample: flags.sample === undefined ? samplesOf(operator) : await readSample(flags.sample),
      seed: numberIn('seed', flags.seed) ?? 1,
      workloads: !flags.bare,
      groups: groupsIn(flags.plans),
      limit: numberIn('limit', flags.limit),
      scenarios: flags.scenarios === undefined ? undefined : await readScenarios(flags.scenarios),
      ...(flags.live !== undefined && { outside: await readOutside(flags.live) }),
      signal,
    }
    // Flags that a replay needs in addition to the plan.
    const given = Object.entries({
      seed: flags.seed,
      sample: flags.sample,
      live: flags.live,
      scenarios: flags.scenarios,
    })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => ` --${name} ${quoted(String(value))}`)
    const repeat = `muster simulate ${quoted(module)}${given.join('')}${flags.bare ? ' --bare' : ''}`

    if (flags.replay !== undefined) return await replay(options, flags.replay, out)
    const writeReport = flags.report === undefined ? undefined : openNamedFile('report', flags.report)
    const part = partIn(flags.part)
    const jobs = numberIn('jobs', flags.jobs) ?? usualJobs(options.limit, part)
    const progress =
      process.stderr.isTTY && !process.send
        ? openProgressBar(
            (text) => void process.stderr.write(text),
            () => performance.now(),
          )
        : undefined
    const onProgress = (done: number, of: number, failed: number): void => {
      if (part) process.send?.({ done, of, failed } satisfies PartMessage)
      progress?.show(done, of, failed)
    }
    const report =
      jobs > 1
        ? await simulateInParts({ args: argumentsOf(flags, module), workloads: !flags.bare, jobs, onProgress, signal })
        : await simulate({ ...options, part, onProgress })
    progress?.end()
    if (part) process.send?.({ report } satisfies PartMessage)
    writeReport?.(`${JSON.stringify(report, undefined, 2)}\n`)
    for (const failure of report.failures) for (const line of formatFailure(failure, repeat)) out(line)
    for (const line of formatReport(report)) out(line)
    if (signal.aborted) err('It was stopped before the end.')
    return report.passed && !signal.aborted ? 0 : 1
  },
})

async function replay(options: SimulationOptions, text: string, out: (line: string) => void): Promise<number> {
  const simulator = await openSimulator(options)
  const plan = parsePlan(text)
  const { run, violations } = await simulator.runPlan(plan)
  out(formatTrace(run.trace))
  for (const { kind, at } of run.unreached) out(`${kind}@${at} never struck: the run did not come to that point`)
  for (const { law, text: why } of violations) out(`broken: ${law}: ${why}`)
  if (violations.length === 0) out(`${formatPlan(plan)}: no law is broken`)
  return violations.length === 0 ? 0 : 1
}

function formatFailure({ plan, shortest, trace }: SimulationFailure, repeat: string): readonly string[] {
  return [
    `FAILED  ${shortest}${plan === shortest ? '' : ` (found with ${plan})`}`,
    ...trace.map((line) => `  ${line}`),
    `  replay: ${repeat} --replay ${quoted(shortest)}`,
    '',
  ]
}

function formatReport({
  operator,
  seed,
  plans,
  byGroup,
  scenarios,
  fields,
  skipped,
  passed,
}: SimulationReport): readonly string[] {
  const groups = Object.entries(byGroup).map(([group, count]) => `${group} ${count}`)
  const executed = scenarios.filter(({ name }) => !/^(?:fresh|set|back) /.test(name))
  return [
    ...executed.map(({ name, writes, events }) => `scenario ${name}: ${writes} writes, ${events} events`),
    `walked over ${fields.length} fields: ${fields.join(', ')}`,
    ...skipped.map(({ field, why }) => `not walked over: ${field}: ${why}`),
    `${plans.executed} of ${plans.all} plans run with seed ${seed}: ${groups.join(', ')}`,
    `${operator}: ${passed ? 'no law is broken' : `${plans.failed} plans break a law`}`,
  ]
}

function numberIn(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new MusterError(flagErrors.InvalidFlag, `--${flag} is "${text}"; it must be a whole number.`)
}

/** Below this, starting another process takes longer than it saves. */
const fewPlans = 200

function usualJobs(limit: number | undefined, part: SimulationPart | undefined): number {
  return part || (limit ?? Infinity) < fewPlans ? 1 : Math.min(availableParallelism(), 8)
}

function partIn(text: string | undefined): SimulationPart | undefined {
  if (text === undefined) return undefined
  const [, index = '', of = ''] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []
  const part = { index: Number(index) - 1, of: Number(of) }
  if (part.index >= 0 && part.index < part.of) return part
  throw new MusterError(flagErrors.InvalidFlag, `--part is "${text}"; it must be such as 2/4, the second of four.`)
}

/** The flags for a process that runs a part. */
function argumentsOf(flags: Readonly<Record<string, unknown>>, module: string): readonly string[] {
  const own = new Set(['jobs', 'part', 'report'])
  const words = Object.entries(flags).filter(([name, value]) => !own.has(name) && value !== undefined)
  return [module, ...words.flatMap(([name, value]) => (value === true ? [`--${name}`] : [`--${name}`, String(value)]))]
}

function groupsIn(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined
  const groups = text.split(',').map((group) => group.trim())
  const unknown = groups.find((group) => !faultGroups.includes(group))
  if (unknown === undefined) return groups
  throw new MusterError(flagErrors.InvalidFlag, `--plans has "${unknown}"; there are ${faultGroups.join(', ')}.`)
}

/** Quoted for a shell. */
function quoted(text: string): string {
  return /^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** `back up: [{ spec: { state: servicing } }]` */
async function readScenarios(file: string): Promise<Readonly<Record<string, readonly JsonObject[]>>> {
  const scenarios = readYaml(await readNamedFile('scenarios', file), { source: file })
  const isScenario = ([name, patches]: readonly [string, Json | undefined]): boolean =>
    !name.includes(': ') && isJsonArray(patches) && patches.length > 0 && patches.every(isJsonObject)
  if (!isJsonObject(scenarios) || !Object.entries(scenarios).every(isScenario)) {
    throw new MusterError(
      flagErrors.InvalidFlag,
      `${file} is no list of patches by name, such as "grow: [{spec: {size: 3}}]".`,
    )
  }
  return scenarios as Readonly<Record<string, readonly JsonObject[]>>
}

export default command

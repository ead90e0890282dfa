/** `muster cost`: the cost of each hosted operator, compared with one process for each operator. */
import { durationToMs, parseDuration } from '../../kube/units/duration.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import {
  compareWithSeparateProcesses,
  type Side,
  defaultSeparateProcess,
} from '../../manager/observability/cost-comparison.ts'
import { type Cost, extrapolate } from '../../manager/observability/cost.ts'
import type { ManagerReport } from '../../manager/observability/report.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { formatOutput, outputFlag, readOutputFormat } from '../command/output-flag.ts'
import { fetchReport, managerUrl } from './manager-file.ts'
import { agoOf, columns } from './report-table.ts'
import { isolateControl } from '../terminal/control-characters.ts'
import { managerFlags } from './top.ts'

const command: Command = defineCommand({
  details: `EVENTS are changes that triggered a reconcile, READS objects and lists read from the cache (no requests), CPU is event loop
time of its runs, CACHED its share of the caches, each object divided among its consumers. The line "shared" has the rest
of the process. docs/running.md explains how each is measured.`,
  flags: {
    ...managerFlags,
    over: {
      type: 'string',
      value: 'TIME',
      help: 'extrapolate to this time, such as 24h (default: as measured)',
    },
    'process-mb': { type: 'string', value: 'N', help: 'memory of a separate process without objects (default: 33)' },
    output: outputFlag,
  },
  async run({ flags, positionals, out, signal }) {
    if (positionals.length > 0) throw new MusterError(flagErrors.InvalidFlag, 'cost takes flags only.')
    const output = readOutputFormat(flags.output)
    const overMs = readOver(flags.over)
    const baseBytes = readMegabytes(flags['process-mb'])
    const report = await fetchReport(managerUrl(flags.url), signal)
    if (output) out(await formatOutput(costData(report, overMs, baseBytes), output))
    else for (const line of costLines(report, overMs, baseBytes)) out(line)
    return 0
  },
})

function readOver(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = milliseconds(text)
  if (ms > 0) return ms
  throw new MusterError(flagErrors.InvalidFlag, `--over ${text}: it must be a time, such as 24h.`)
}

function milliseconds(text: string): number {
  try {
    return durationToMs(parseDuration(text))
  } catch {
    return 0
  }
}

function readMegabytes(text: string | undefined): number {
  if (text === undefined) return defaultSeparateProcess.baseBytes
  const count = Number(text)
  if (text.trim() !== '' && count >= 0 && count < 1e6) return count * 1e6
  throw new MusterError(flagErrors.InvalidFlag, `--process-mb ${text}: it must be a number of megabytes.`)
}

function counted(report: ManagerReport, overMs: number | undefined): readonly (readonly [string, Cost])[] {
  return report.operators.map(({ name, cost }) => [name, overMs === undefined ? cost : extrapolate(cost, overMs)])
}

function costData(report: ManagerReport, overMs: number | undefined, baseBytes: number): object {
  const passed = report.at - report.since
  const comparison = compareWithSeparateProcesses(report, overMs ?? passed, { ...defaultSeparateProcess, baseBytes })
  return {
    overMs: overMs ?? passed,
    measuredMs: passed,
    operators: Object.fromEntries(counted(report, overMs)),
    comparison,
  }
}

const head = ['OPERATOR', 'EVENTS', 'RECONCILES', 'READS', 'WRITES', 'FAILURES', 'CPU', 'CACHED', 'GB·S']

export function costLines(report: ManagerReport, overMs: number | undefined, baseBytes: number): readonly string[] {
  const passed = Math.max(report.at - report.since, 1)
  const over = overMs ?? passed
  const costs = counted(report, overMs)
  const sum = (of: (cost: Cost) => number): number => costs.reduce((total, [, cost]) => total + of(cost), 0)
  const scale = over / passed
  const cpuMs = report.process.cpuMs * (overMs === undefined ? 1 : scale)
  const gbSeconds = report.process.gbSeconds * (overMs === undefined ? 1 : scale)
  const rows = costs.map(([name, cost]) => {
    const { events, reconciles, reads, writes, failures } = cost
    const counts = [events, reconciles, reads, writes, failures].map(String)
    return [name].concat(counts, seconds(cost.cpuMs), megabytes(cost.bytes), round(cost.gbSeconds))
  })
  const shared = [
    'shared',
    ...Array.from({ length: 5 }, () => '–'),
    seconds(Math.max(cpuMs - sum((cost) => cost.cpuMs), 0)),
    megabytes(Math.max(report.process.bytes - sum((cost) => cost.bytes), 0)),
    round(Math.max(gbSeconds - sum((cost) => cost.gbSeconds), 0)),
  ]
  const total = [
    'all',
    ...(['events', 'reconciles', 'reads', 'writes', 'failures'] as const).map((key) =>
      String(sum((cost) => cost[key])),
    ),
    seconds(cpuMs),
    megabytes(report.process.bytes),
    round(gbSeconds),
  ]
  const { manager, separate } = compareWithSeparateProcesses(report, over, { ...defaultSeparateProcess, baseBytes })
  const told =
    overMs === undefined
      ? `counted in ${agoOf(passed)}`
      : `for ${agoOf(over)}, from what was counted in ${agoOf(passed)}`
  return [
    `what operators cost, ${told}`,
    ...(overMs !== undefined && passed < soonMs ? ['(counted for a short time: the start weighs heavily)'] : []),
    '',
    ...columns([head, ...rows, shared, total]),
    '',
    `as ${separate.processes === 1 ? '1 separate process' : `${separate.processes} separate processes`} (of ${megabytes(baseBytes)} each without objects, every one with its own watches and caches)`,
    ...(report.coLocated === undefined
      ? []
      : [
          `(this process also runs ${report.coLocated.name}: its ${megabytes(report.coLocated.bytes)} are left out below)`,
        ]),
    '',
    ...columns([
      ['', 'THIS MANAGER', 'SEPARATE', 'SHARE'],
      compared('processes', manager, separate, (side) => side.processes, String),
      compared('memory', manager, separate, (side) => side.bytes, megabytes),
      compared('GB·s', manager, separate, (side) => side.gbSeconds, round),
      compared('watches', manager, separate, (side) => side.watches, String),
      compared('requests', manager, separate, (side) => side.requests, String),
    ]),
  ].map(isolateControl)
}

/** Right after the start, filling caches and the first reconciles dominate: too early to extrapolate. */
const soonMs = 600_000

function compared(
  name: string,
  manager: Side,
  separate: Side,
  of: (side: Side) => number,
  format: (value: number) => string,
): readonly string[] {
  const share = of(separate) === 0 ? '–' : `${Math.round((100 * of(manager)) / of(separate))} %`
  return [name, format(of(manager)), format(of(separate)), share]
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 100_000 ? 2 : 0)} s`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0)} MB`
}

function round(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(2)
}

export default command

/** `muster queue replay` and `muster queue trace`: what the queue would do with a trace of workloads, without a cluster. */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { WaitReason } from '../../workloads/core/queue-decisions.ts'
import type { ReplayReport } from '../../workloads/replay/replay.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { openNamedFile, readNamedFile } from '../command/named-file.ts'
import { formatOutput, outputFlag, readOutputFormat } from '../command/output-flag.ts'
import { columns } from '../manager/report-table.ts'
import { isolateControl } from '../terminal/control-characters.ts'

const command: Command = defineCommand({
  usage: 'replay TRACE | trace NAME',
  details: `replay: a trace has nodes, queues with their quota, and workloads that arrive at certain times (YAML; docs/workloads.md). The time
jumps from event to event, so that a day takes a moment. Prints how long each class of workloads waited, how many were evicted, and what share
of the quota, or of the nodes, was in use. Ends with 1 if a workload never started.

trace: prints the trace of a published scale test: baseline or large-scale.`,
  flags: {
    output: outputFlag,
    plot: { type: 'string', value: 'FILE', help: 'write usage and waiting workloads over time as an SVG file' },
  },
  async run({ flags, positionals, out }) {
    const [verb, name, ...more] = positionals
    if ((verb !== 'replay' && verb !== 'trace') || name === undefined || more.length > 0)
      throw new MusterError(
        flagErrors.InvalidFlag,
        'queue takes "replay TRACE", such as muster queue replay trace.yaml, or "trace NAME", such as muster queue trace baseline.',
      )
    const format = readOutputFormat(flags.output)
    const { readYaml } = await import('../../kube/yaml/yaml.ts')
    if (verb === 'trace') {
      const { scaleSuites, scaleTrace } = await import('../../workloads/replay/scale-trace.ts')
      if (name !== 'baseline' && name !== 'large-scale')
        throw new MusterError(
          flagErrors.InvalidFlag,
          `trace ${name}: there are ${Object.keys(scaleSuites).join(' and ')}.`,
        )
      out(await formatOutput(scaleTrace(name), format ?? 'yaml'))
      return 0
    }
    const { readTrace } = await import('../../workloads/replay/trace.ts')
    const { replay } = await import('../../workloads/replay/replay.ts')
    const text = await readNamedFile('trace', name)
    const writePlot = flags.plot === undefined ? undefined : openNamedFile('plot', flags.plot)
    const { series, ...report } = replay(readTrace(readYaml(text, { source: name })))
    if (writePlot) {
      const { plotUsage } = await import('../../workloads/replay/usage-plot.ts')
      writePlot(plotUsage(series))
    }
    if (format) out(await formatOutput({ ...report, usage: Object.fromEntries(report.usage) }, format))
    else for (const line of linesOf(report)) out(line)
    return report.unstarted.length > 0 ? 1 : 0
  },
})

function linesOf({
  classes,
  usage,
  unstarted,
  durationMs,
  admitted,
  evicted,
}: Omit<ReplayReport, 'series'>): readonly string[] {
  const rows = classes.map((one) => [
    isolateControl(one.class),
    String(one.count),
    String(one.started),
    String(one.evicted),
    seconds(one.averageWaitMs),
    seconds(one.longestWaitMs),
  ])
  return [
    ...columns([['CLASS', 'WORKLOADS', 'STARTED', 'EVICTED', 'AVERAGE WAIT', 'LONGEST WAIT'], ...rows]),
    '',
    `${admitted} starts and ${evicted} evictions in ${seconds(durationMs)}`,
    ...[...usage].map(([resource, share]) => `${isolateControl(resource)}: ${(share * 100).toFixed(1)} % in use`),
    ...unstarted.map(
      ({ class: name, count, reason }) => `${count} of ${isolateControl(name)} never started: ${wordsOf(reason)}`,
    ),
  ]
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

function wordsOf(reason: WaitReason | undefined): string {
  switch (reason?.kind) {
    case 'UnknownQueue':
      return `there is no queue "${isolateControl(reason.queue)}"`
    case 'InsufficientQuota': {
      const unit = reason.resource === 'cpu' ? 'm' : ''
      return `the quota has ${reason.available}${unit} ${isolateControl(reason.resource)} of ${reason.requested}${unit}`
    }
    case 'InsufficientNodes':
      return `the nodes have room for ${reason.room} of ${reason.pods} pods (pods[${reason.group}])`
    case 'NoFlavor':
      return `no flavor of "${isolateControl(reason.queue)}" has nodes for its pods (pods[${reason.group}])`
    case 'QueueStopped':
      return `the queue "${isolateControl(reason.queue)}" is stopped`
    case 'BackingOff':
      return 'it did not fit whenever it was considered'
    case 'BehindHead':
      return 'the first workload of its queue does not fit, and the queue is strict'
    default:
      return 'the nodes have no room for all of its pods together'
  }
}

export default command

/** `muster queue`: questions about the queue of a cluster or a directory, and replays of traces. */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { WaitReason } from '../../workloads/core/queue/queue-decisions.ts'
import type { ReplayReport } from '../../workloads/replay/replay.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import { openNamedFile, readNamedFile } from '../command/named-file.ts'
import { formatOutput, outputFlag, readOutputFormat } from '../command/output-flag.ts'
import { columns } from '../manager/report-table.ts'
import { isolateControl } from '../terminal/control-characters.ts'
import { answerQuestion } from './queue-questions.ts'

const flags = {
  ...connectionFlags,
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'namespace of the AppWrapper (list: only this one)' },
  from: { type: 'string', value: 'DIR', help: 'read a directory, such as a must-gather, instead of a cluster' },
  file: { type: 'string', short: 'f', value: 'FILE', help: 'configuration of the manager (default: the defaults)' },
  configmap: { type: 'string', value: 'NAMESPACE/NAME', help: 'the ConfigMap with that configuration' },
  now: { type: 'string', value: 'TIME', help: 'the time of the decision, as 2026-01-01T00:00:00Z (default: now)' },
  output: outputFlag,
  plot: { type: 'string', value: 'FILE', help: 'replay: write usage and waiting workloads over time as an SVG file' },
} as const

const command: Command = defineCommand({
  usage: 'list|explain NAME|what-if FILE|replay TRACE|trace NAME',
  details: `list: the AppWrappers of a cluster, those that run first, then those that wait in the order in which they start, and why.
explain NAME: why one waits, who is ahead, and when it starts. what-if FILE: the same for an AppWrapper that is not there yet: would
it start, when, evicting whom? Nothing is created. Both end with 1 if nothing that is declared leads to a start. With --from DIR
they read a directory, and need no cluster.

replay TRACE replays a trace: nodes, queues with their quota, and workloads that arrive at certain times (YAML; docs/workloads.md).
The time jumps from event to event, so that a day takes a moment. Prints how long each class of workloads waited, how many were
evicted, and what share of the quota, or of the nodes, was in use. Ends with 1 if a workload never started. trace NAME prints the
trace of a published scale test: baseline or large-scale.`,
  flags,
  async run({ flags: given, positionals, out, err, signal }) {
    const [verb, name, ...more] = positionals
    if (more.length === 0 && (verb === 'list' || verb === 'explain' || verb === 'what-if'))
      return await answerQuestion({ verb, subject: name, flags: given, out, err, signal })
    if ((verb !== 'replay' && verb !== 'trace') || name === undefined || more.length > 0)
      throw new MusterError(
        flagErrors.InvalidFlag,
        'queue takes list, explain NAME, what-if FILE, replay TRACE, such as muster queue replay trace.yaml, or trace NAME, such as muster queue trace baseline.',
      )
    const format = readOutputFormat(given.output)
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
    const writePlot = given.plot === undefined ? undefined : openNamedFile('plot', given.plot)
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

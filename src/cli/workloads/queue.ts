/** `muster queue replay`: what the queue would do with a trace of workloads, without a cluster. */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { WaitReason } from '../../workloads/core/queue-decisions.ts'
import type { ReplayReport } from '../../workloads/replay/replay.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { readNamedFile } from '../command/named-file.ts'
import { formatOutput, outputFlag, readOutputFormat } from '../command/output-flag.ts'
import { columns } from '../manager/report-table.ts'
import { isolateControl } from '../terminal/control-characters.ts'

const command: Command = defineCommand({
  usage: 'replay TRACE',
  details: `Replays a trace: nodes, queues with their quota, and workloads that arrive at certain times (YAML; docs/workloads.md). The time
jumps from event to event, so that a day takes a moment. Prints how long each class of workloads waited, and what share of the
quota, or of the nodes, was in use. Ends with 1 if a workload never started.`,
  flags: { output: outputFlag },
  async run({ flags, positionals, out }) {
    const [verb, file, ...more] = positionals
    if (verb !== 'replay' || file === undefined || more.length > 0)
      throw new MusterError(
        flagErrors.InvalidFlag,
        'queue takes "replay TRACE", such as muster queue replay trace.yaml.',
      )
    const format = readOutputFormat(flags.output)
    const { readYaml } = await import('../../kube/yaml/yaml.ts')
    const { readTrace } = await import('../../workloads/replay/trace.ts')
    const { replay } = await import('../../workloads/replay/replay.ts')
    const text = await readNamedFile('trace', file)
    const report = replay(readTrace(readYaml(text, { source: file })))
    if (format) out(await formatOutput({ ...report, usage: Object.fromEntries(report.usage) }, format))
    else for (const line of linesOf(report)) out(line)
    return report.unstarted.length > 0 ? 1 : 0
  },
})

function linesOf({ classes, usage, unstarted, durationMs, admitted }: ReplayReport): readonly string[] {
  const rows = classes.map(({ class: name, count, started, averageWaitMs, longestWaitMs }) => [
    isolateControl(name),
    String(count),
    String(started),
    seconds(averageWaitMs),
    seconds(longestWaitMs),
  ])
  return [
    ...columns([['CLASS', 'WORKLOADS', 'STARTED', 'AVERAGE WAIT', 'LONGEST WAIT'], ...rows]),
    '',
    `${admitted} workloads in ${seconds(durationMs)}`,
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
    default:
      return 'the nodes have no room for all of its pods together'
  }
}

export default command

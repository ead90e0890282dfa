/**
 * `muster explain`: why is this object not ready? It collects what an administrator would look up one by one: the health of
 * the object and of the objects that it owns, their conditions, Events, findings and the last reconciles of its operator.
 */
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags, connectionOptions } from '../command/connection-flags.ts'
import { formatOutput, outputFlag, readOutputFormat } from '../command/output-flag.ts'
import { readReference } from '../cluster/object-reference.ts'
import { isolateControl } from '../terminal/control-characters.ts'
import { explainObject } from './explanation.ts'
import { explanationLines } from './explanation-lines.ts'
import { fetchReport, managerUrl } from './manager-file.ts'
import { managerFlags } from './top.ts'
import type { ManagerReport } from '../../manager/observability/report.ts'

const command: Command = defineCommand({
  usage: 'KIND NAME',
  details: `Works for any object. Objects that it owns are followed down to Pods. If a manager was started in this folder, or with
--url, its findings and last reconciles of the object are shown as well. The exit code is 0 if the object is ready, else 1.`,
  flags: {
    ...connectionFlags,
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'the namespace of the object (default: default)' },
    ...managerFlags,
    output: outputFlag,
  },
  async run({ flags, positionals, out, signal }) {
    const output = readOutputFormat(flags.output)
    const client: Client = await connect(connectionOptions(flags))
    try {
      const { namespace } = flags
      const named = await readReference(client, positionals, { command: 'explain', namespace, signal })
      const report = await reportOf(flags.url, signal)
      const explanation = await explainObject({ client, named, report, now: systemClock.now(), signal })
      if (output) out(await formatOutput(explanation, output))
      else for (const line of explanationLines(explanation)) out(isolateControl(line))
      return explanation.isReady ? 0 : 1
    } finally {
      await client.close()
    }
  },
})

/** The manager is optional: the object may belong to another one. A given URL must answer. */
async function reportOf(url: string | undefined, signal: AbortSignal): Promise<ManagerReport | undefined> {
  if (url !== undefined) return await fetchReport(managerUrl(url), signal)
  try {
    return await fetchReport(managerUrl(undefined), signal)
  } catch {
    return undefined
  }
}

export default command

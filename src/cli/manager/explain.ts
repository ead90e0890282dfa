/**
 * `muster explain`: why is this object not ready? It collects what an administrator would look up one by one: the health of
 * the object and of the objects that it owns, their conditions, Events, findings and the last reconciles of its operator.
 */
import { systemClock } from '../../clock/system-clock.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import { formatOutput, outputFlag, readOutputFormat } from '../command/output-flag.ts'
import { connectContext } from '../cluster/context-client.ts'
import { readReference } from '../cluster/object-reference.ts'
import { isolateControl } from '../terminal/control-characters.ts'
import { explainObject } from './explanation.ts'
import { explanationLines } from './explanation-lines.ts'
import { reportIfAny } from './manager-file.ts'
import { managerFlags } from './top.ts'

const command: Command = defineCommand({
  usage: 'KIND NAME',
  details: `Works for any object. Objects that it owns, and those of an Installation, are followed down to Pods. If a manager was started in this folder, or with
--url, its findings and last reconciles of the object are shown as well. The exit code is 0 if the object is ready, else 1.`,
  flags: {
    ...connectionFlags,
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'its namespace (default: that of the context)' },
    ...managerFlags,
    output: outputFlag,
  },
  async run({ flags, positionals, out, signal }) {
    const output = readOutputFormat(flags.output)
    const { client, namespace: current } = await connectContext(flags)
    try {
      const { namespace = current } = flags
      const named = await readReference(client, positionals, { command: 'explain', namespace, signal })
      const report = await reportIfAny(flags.url, signal)
      const explanation = await explainObject({ client, named, report, now: systemClock.now(), signal })
      if (output) out(await formatOutput(explanation, output))
      else for (const line of explanationLines(explanation)) out(isolateControl(line))
      return explanation.isReady ? 0 : 1
    } finally {
      await client.close()
    }
  },
})

export default command

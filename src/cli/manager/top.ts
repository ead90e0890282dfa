/** `muster top`: the activity of a running manager, as a live table, or as lines where there is no terminal. */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { gateOrder } from '../../manager/gates/order.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { formatOutput, outputFlag, readOutputFormat } from '../command/output-flag.ts'
import { fetchReport, managerUrl } from './manager-file.ts'
import { findingsOf, newsOf, tableOf } from './report-table.ts'
import { openScreen } from '../terminal/screen.ts'

const everyMs = 1000

export const managerFlags = {
  url: { type: 'string', value: 'URL', help: 'status server of the manager (default: the one started in this folder)' },
} as const

const command: Command = defineCommand({
  details: `Where there is no terminal, prints the table once, and then one line for each thing that an operator does. HELD BY is
the gate that keeps what waits, the first that is closed of
${gateOrder.join(', ')}. With throttle it repeats itself.`,
  flags: {
    ...managerFlags,
    once: { type: 'boolean', help: 'print the table and end' },
    output: outputFlag,
  },
  async run({ flags, positionals, out, signal }) {
    if (positionals.length > 0) throw new MusterError(flagErrors.InvalidFlag, 'top takes flags only.')
    const output = readOutputFormat(flags.output)
    const url = managerUrl(flags.url)
    let report = await fetchReport(url, signal)
    if (output) {
      out(await formatOutput(report, output))
      return 0
    }
    const screen = !flags.once && process.stdout.isTTY ? openScreen(process.stdout) : undefined
    if (!screen) for (const line of tableOf(report)) out(line)
    if (flags.once) return 0
    // Timers do not keep the process alive, and a fetched report leaves nothing open.
    const { port1: alive } = new MessageChannel()
    alive.ref()
    try {
      while (!signal.aborted) {
        screen?.draw([...tableOf(report), ...findingsOf(report)])
        const before = report
        try {
          await systemClock.sleep(everyMs, signal)
          report = await fetchReport(url, signal)
        } catch (error) {
          if (signal.aborted) break
          throw error
        }
        if (!screen) for (const line of newsOf(before, report)) out(line)
      }
    } finally {
      alive.close()
    }
    return 0
  },
})

export default command

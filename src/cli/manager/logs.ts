/** `muster logs`: the last lines of a running manager's log, filtered by operator and level. */
import { systemClock } from '../../clock/system-clock.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { nearest } from '../../kube/text/nearest.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import type { BufferedLine } from '../../manager/logging/log-buffer.ts'
import { logLevels } from '../../manager/logging/log-line.ts'
import { logFormats, type LogSettings, logWriter } from '../../manager/logging/log-writer.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { isolateControl } from '../terminal/control-characters.ts'
import { fetchJson, fetchReport, managerUrl } from './manager-file.ts'
import { checkOperator } from './pausing.ts'
import { managerFlags } from './top.ts'

const pollMs = 1000

const command: Command = defineCommand({
  usage: '[OPERATOR]',
  details: `A manager keeps its last 2,000 lines, of all levels, whatever logging.level it writes.`,
  flags: {
    ...managerFlags,
    follow: { type: 'boolean', short: 'f', help: 'go on with new lines until Ctrl-C' },
    level: { type: 'string', value: logLevels.join('|'), help: 'the lowest level (default: info)' },
    key: { type: 'string', value: 'NAMESPACE/NAME', help: 'lines about one object' },
    output: { type: 'string', short: 'o', value: logFormats.join('|'), help: 'the format (default: text)' },
  },
  async run({ flags, positionals, out, signal }) {
    const [operator, ...rest] = positionals
    if (rest.length > 0) throw new MusterError(flagErrors.InvalidFlag, 'logs takes one OPERATOR, or none for all.')
    const level = oneOf('level', flags.level ?? 'info', logLevels)
    const format = oneOf('output', flags.output ?? 'text', logFormats)
    const url = managerUrl(flags.url)
    if (operator !== undefined) checkOperator(operator, await fetchReport(url, signal))
    let last = 0
    const show = async (): Promise<void> => {
      const lines = (await fetchJson(`${url}/logs?after=${last}`, signal)) as readonly BufferedLine[]
      for (const buffered of lines) {
        last = buffered.sequence
        if (concerns(buffered, operator, flags.key)) print(buffered, { format, level }, out)
      }
    }
    await show()
    if (!flags.follow) return 0
    // Timers do not keep the process alive, and a fetched response leaves nothing open.
    const { port1: alive } = new MessageChannel()
    alive.ref()
    try {
      while (!signal.aborted) {
        await systemClock.sleep(pollMs, signal).catch(() => undefined)
        if (!signal.aborted) await show()
      }
    } finally {
      alive.close()
    }
    return 0
  },
})

function concerns({ line }: BufferedLine, operator: string | undefined, key: string | undefined): boolean {
  const own = typeof line['operator'] === 'string' ? line['operator'].split('@', 1)[0] : undefined
  return (operator === undefined || own === operator) && (key === undefined || line['key'] === key)
}

function print({ line, time }: BufferedLine, settings: LogSettings, out: (line: string) => void): void {
  logWriter(
    (text) => out(settings.format === 'json' ? text : isolateControl(text)),
    () => time,
    () => settings,
  )(line)
}

function oneOf<T extends string>(flag: string, text: string, all: readonly T[]): T {
  const found = all.find((one) => one === text)
  if (found !== undefined) return found
  const near = nearest(text, all)
  const guess = near === undefined ? '' : ` Did you mean "${near}"?`
  throw new MusterError(flagErrors.InvalidFlag, `--${flag} ${text}: there are ${all.join(', ')}.${guess}`)
}

export default command

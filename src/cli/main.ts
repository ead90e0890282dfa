/** Entry point of the command line: finds the command, parses its flags, prints an error in one line. */
import { enableCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { cliErrors } from './errors.ts'
import { describeError, MusterError } from '../kube/muster-error.ts'
import { type Flags, type FlagValues, formatFlags, parseArguments } from './command/command.ts'
import { type CommandEntry, commands } from './commands.ts'
import { nearest } from '../kube/text/nearest.ts'

// Before commands are loaded, so that the next start finds their compiled code.
enableCompileCache()

const out = (line: string): void => void process.stdout.write(`${line}\n`)
const err = (line: string): void => void process.stderr.write(`${line}\n`)

function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const rows = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  return ['usage: muster COMMAND [flags]', '', ...rows, '', 'muster help COMMAND describes one command.'].join('\n')
}

async function help(entry: CommandEntry): Promise<string> {
  const { default: command } = await entry.load()
  const flags = formatFlags(command.flags)
  return [
    `usage: muster ${entry.name}${command.usage ? ` ${command.usage}` : ''}${flags.length > 0 ? ' [flags]' : ''}`,
    '',
    `  ${entry.summary}`,
    ...(command.details ? ['', command.details] : []),
    ...(flags.length > 0 ? ['', ...flags] : []),
  ].join('\n')
}

function find(name: string): CommandEntry {
  const entry = commands.find((candidate) => candidate.name === name)
  if (entry) return entry
  const near = nearest(
    name,
    commands.map((candidate) => candidate.name),
  )
  throw new MusterError(
    cliErrors.UnknownCommand,
    `unknown command "${name}".${near === undefined ? '' : ` Did you mean "${near}"?`}`,
  )
}

async function main([name, ...rest]: readonly string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h' || (name === 'help' && rest.length === 0)) {
    out(overview())
    return 0
  }
  if (name === 'help') {
    out(await help(find(rest[0] ?? '')))
    return 0
  }
  const entry = find(name === '--version' ? 'version' : name)
  for (const flag of entry.engine ?? []) setFlagsFromString(flag)
  const { default: command } = await entry.load()
  if (!command.verbatim && (rest.includes('--help') || rest.includes('-h'))) {
    out(await help(entry))
    return 0
  }
  const { flags, positionals } = command.verbatim
    ? { flags: {}, positionals: rest }
    : parseArguments(command.flags, rest)
  // While a command holds the thread no handler of a signal runs, and the default one would have ended it.
  const signal = command.endsAtOnce ? new AbortController().signal : stopSignal()
  return await command.run({ flags: flags as FlagValues<Flags>, positionals, out, err, signal })
}

/** The first Ctrl-C starts a clean shutdown; a second one, at least a second later, exits at once. */
function stopSignal(): AbortSignal {
  const stop = new AbortController()
  let askedAt = 0
  const ask = (): void => {
    // The terminal signals the whole process group, and `bin/muster` forwards its signal: one Ctrl-C arrives twice.
    if (stop.signal.aborted && performance.now() - askedAt > 1000) process.exit(130)
    if (!stop.signal.aborted) askedAt = performance.now()
    stop.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, ask)
  return stop.signal
}

// A closed pipe (`muster … | head`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

// The build of this file does not support a top-level await.
main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    err(describeError(error))
    if (!(error instanceof MusterError) && error instanceof Error && process.env['MUSTER_DEBUG']) err(error.stack ?? '')
    process.exitCode = error instanceof MusterError && error.code.startsWith('MUS15') ? 2 : 1
  },
)

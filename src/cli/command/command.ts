/**
 * A command as data: usage, flags and the function to run. Flag parsing, help and errors for wrong flags derive from it.
 */
import { parseArgs } from 'node:util'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { nearest } from '../../kube/text/nearest.ts'

export interface Flag {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** The placeholder of the value in the help: `--context NAME`. */
  readonly value?: string
  readonly help: string
  /** May be repeated: the value is a list. */
  readonly multiple?: boolean
}

export type Flags = Readonly<Record<string, Flag>>

export type FlagValues<F extends Flags> = {
  readonly [Name in keyof F]?: F[Name]['type'] extends 'boolean'
    ? boolean
    : F[Name]['multiple'] extends true
      ? readonly string[]
      : string
}

export interface Invocation<F extends Flags> {
  readonly flags: FlagValues<F>
  readonly positionals: readonly string[]
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  /** Aborted by Ctrl-C (SIGINT) or SIGTERM. */
  readonly signal: AbortSignal
}

export interface Command<F extends Flags = Flags> {
  /** The arguments, for the help: `KIND [-n NAMESPACE]`. */
  readonly usage?: string
  readonly details?: string
  readonly flags: F
  /** All arguments are passed to the command unparsed, flags included. @default false */
  readonly verbatim?: boolean
  /**
   * Ctrl-C and SIGTERM end the process at once: for a command that holds the thread, and leaves nothing half-done.
   * @default false: they abort the signal of the invocation
   */
  readonly endsAtOnce?: boolean
  /** Resolves to the exit code. */
  run(invocation: Invocation<F>): Promise<number>
}

/** Infers the types of the flags for `run`. */
export function defineCommand<const F extends Flags>(command: Command<F>): Command {
  return command
}

interface ParsedArguments {
  readonly flags: Readonly<Record<string, string | boolean | readonly string[]>>
  readonly positionals: readonly string[]
}

export function parseArguments(flags: Flags, argv: readonly string[]): ParsedArguments {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { type, short, multiple = false }]) => [
      name,
      { type, multiple, ...(short !== undefined && { short }) },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true })
    return { flags: values as ParsedArguments['flags'], positionals }
  } catch (error) {
    throw explain(error as Error & { readonly code?: string }, flags)
  }
}

function explain(error: Error & { readonly code?: string }, flags: Flags): MusterError {
  if (error.code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
    return new MusterError(flagErrors.InvalidFlag, `${error.message}.`, { cause: error })
  const wrong = /'(-[^']*)'/.exec(error.message)?.[1] ?? 'flag'
  const near = nearest(wrong.replace(/^-+/, ''), Object.keys(flags))
  return new MusterError(
    flagErrors.UnknownFlag,
    `unknown flag "${wrong}".${near === undefined ? '' : ` Did you mean "--${near}"?`}`,
  )
}

export function formatFlags(flags: Flags): readonly string[] {
  const left = ([name, { short, value, type }]: [string, Flag]): string =>
    `${short === undefined ? '    ' : `-${short}, `}--${name}${type === 'string' ? ` ${value ?? 'VALUE'}` : ''}`
  const entries = Object.entries(flags)
  const width = Math.max(0, ...entries.map((entry) => left(entry).length))
  return entries.map((entry) => `  ${left(entry).padEnd(width)}  ${entry[1].help}`)
}

/**
 * Runs a program of the test control plane until it receives a signal to end.
 *
 * It ends on SIGTERM, SIGINT and SIGHUP, as the original does, and also when the process that started it is gone: a test run that was
 * killed leaves nothing behind. A program started with nohup stays.
 */
import { readFileSync } from 'node:fs'
import { describeError } from '../../kube/muster-error.ts'

/** How long a killed test run leaves its control plane behind, at most. */
const parentCheckMs = 500

export interface ProgramContext {
  /** Aborted when the program is to end. */
  readonly signal: AbortSignal
  /** A line for standard output. */
  readonly out: (line: string) => void
  /** A line for standard error. */
  readonly say: (line: string) => void
  readonly env: Readonly<Record<string, string | undefined>>
}

const out = (line: string): void => void process.stdout.write(`${line}\n`)
const say = (line: string): void => void process.stderr.write(`${line}\n`)

/** `run` resolves when the program has ended, after the signal. An error is printed in one line, and the exit code is 1. */
export function runEntry(run: (words: readonly string[], context: ProgramContext) => Promise<void>): void {
  const stop = new AbortController()
  let asked = 0
  const end = (): void => {
    // A second one does not wait for requests.
    if (++asked > 1) process.exit(1)
    stop.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
  const isDetached = ignoresHangUp()
  if (!isDetached) process.on('SIGHUP', end)
  const watch = isDetached ? undefined : watchParent(() => stop.abort())
  // The reader of the output may be gone before the program is.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

  run(process.argv.slice(2), { signal: stop.signal, out, say, env: process.env }).then(
    () => {
      clearInterval(watch)
      // Connections that clients keep open are no reason to stay.
      process.exit(0)
    },
    (error: unknown) => {
      say(describeError(error))
      process.exit(1)
    },
  )
}

/** Undefined if there is no parent to wait for. */
function watchParent(gone: () => void): NodeJS.Timeout | undefined {
  const parent = process.ppid
  if (parent === 1) return undefined
  return setInterval(() => {
    // The system gives an orphan another parent.
    if (process.ppid !== parent) gone()
  }, parentCheckMs).unref()
}

/** Started with nohup, to outlive its parent. Linux says so; elsewhere a program ends with its parent. */
function ignoresHangUp(): boolean {
  try {
    const [, mask = '0'] = /^SigIgn:\s*([\da-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    return (Number.parseInt(mask.slice(-1), 16) & 1) === 1
  } catch {
    return false
  }
}

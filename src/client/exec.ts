/**
 * A command in a container, over a message stream. The first byte of each message says which channel it is for:
 *
 *     0 stdin ▶   1 ◀ stdout   2 ◀ stderr   3 ◀ how it ended (a Status)   4 terminal size ▶   255 end of a channel ▶
 *
 * Version 5 of the protocol added 255; before it, the end of the input could not be signalled to the command.
 */
import type { Clock } from '../clock/clock.ts'
import { clientErrors } from './errors.ts'
import { transportErrors } from '../transport/errors.ts'
import { isMusterError, MusterError } from '../kube/muster-error.ts'
import { isJsonObject, parseJson } from '../kube/json.ts'
import { asStatus } from '../kube/json-object.ts'
import type { Status } from '../kube/object.ts'
import type { ExecOptions, ExecResult } from './client.ts'
import { Deadline } from './deadline.ts'
import { printable } from './credentials/redaction.ts'
import type { MessageStream } from '../transport/transport.ts'

const closingProtocol = 'v5.channel.k8s.io'

export const execProtocols: readonly string[] = [closingProtocol, 'v4.channel.k8s.io']

const channel = { stdin: 0, stdout: 1, stderr: 2, outcome: 3, size: 4, close: 255 } as const

/** Servers reject very long messages. */
const maxMessageBytes = 32 * 1024

/** How long the stream may stay open after the exit status: output may arrive later than the status. */
const graceMs = 5_000

/** Runs one command on an open stream, and closes it. `what` names the command in messages. */
export async function runCommand(
  stream: MessageStream,
  options: Pick<ExecOptions, 'stdin' | 'sizes' | 'onStdout' | 'onStderr' | 'signal'>,
  clock: Clock,
  what: string,
): Promise<ExecResult> {
  if (!execProtocols.includes(stream.protocol)) {
    stream.close()
    const offered = JSON.stringify(printable(stream.protocol))
    throw new MusterError(
      clientErrors.ProtocolError,
      `${what}: the server speaks the unknown exec protocol ${offered}.`,
    )
  }
  const deadline = new Deadline({ clock, timeoutMs: Number.POSITIVE_INFINITY, signal: options.signal, what })
  const feeds = [
    feed(
      options.stdin,
      (chunk) => sendInput(stream, chunk),
      () => endInput(stream),
    ),
    feed(options.sizes, ({ columns, rows }) => {
      send(stream, channel.size, Buffer.from(JSON.stringify({ Width: columns, Height: rows })))
    }),
  ]
  try {
    const failures = feeds.map((one) => one.failed)
    return exitOf(await deadline.race(Promise.race([converse(stream, options, clock, what), ...failures])), what)
  } finally {
    deadline.release()
    for (const one of feeds) one.stop()
    stream.close()
  }
}

/** Passes output on until the stream ends; returns the exit status. */
function converse(
  stream: MessageStream,
  { onStdout, onStderr }: Pick<ExecOptions, 'onStdout' | 'onStderr'>,
  clock: Clock,
  what: string,
): Promise<Status> {
  let outcome: Status | undefined
  let outcomeText = ''
  const decoder = new TextDecoder()

  const read = async (onStatus: (status: Status) => void): Promise<Status> => {
    for await (const message of stream.messages) {
      const content = message.subarray(1)
      // Servers open each channel with an empty message.
      if (content.length === 0) continue
      if (message[0] === channel.stdout) onStdout?.(content)
      else if (message[0] === channel.stderr) onStderr?.(content)
      else if (message[0] === channel.outcome) {
        outcomeText += decoder.decode(content, { stream: true })
        outcome ??= readOutcome(outcomeText)
        if (outcome) onStatus(outcome)
      }
    }
    if (outcome) return outcome
    throw outcomeText === ''
      ? new MusterError(transportErrors.ConnectionLost, `${what}: the stream ended before the command did.`)
      : new MusterError(clientErrors.ProtocolError, `${what}: how the command ended cannot be read.`)
  }

  return new Promise((resolve, reject) => {
    const onStatus = (status: Status): void => void (timer ??= clock.after(graceMs, () => resolve(status)))
    let timer: ReturnType<Clock['after']> | undefined
    read(onStatus)
      .catch((error: unknown) => {
        // The exit status is known: a connection that breaks afterwards changes nothing.
        if (outcome && isMusterError(error, transportErrors.ConnectionLost)) return outcome
        throw error
      })
      .then(resolve, reject)
      .finally(() => timer?.cancel())
  })
}

function readOutcome(text: string): Status | undefined {
  try {
    const status = parseJson(text)
    return isJsonObject(status) ? asStatus(status) : undefined
  } catch {
    return undefined
  }
}

function exitOf(status: Status, what: string): ExecResult {
  if (status.status === 'Success') return { exitCode: 0 }
  if (status.reason === 'NonZeroExitCode') {
    const exitCode = Number(status.details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message)
    if (Number.isInteger(exitCode)) return { exitCode }
  }
  throw new MusterError(
    clientErrors.ExecFailed,
    `${what}: ${printable(status.message ?? status.reason ?? 'no reason is given')}.`,
  )
}

function sendInput(stream: MessageStream, chunk: Uint8Array): void {
  for (let start = 0; start < chunk.length; start += maxMessageBytes) {
    send(stream, channel.stdin, chunk.subarray(start, start + maxMessageBytes))
  }
}

function endInput(stream: MessageStream): void {
  if (stream.protocol === closingProtocol) send(stream, channel.close, Uint8Array.of(channel.stdin))
}

function send(stream: MessageStream, to: number, content: Uint8Array): void {
  const message = new Uint8Array(content.length + 1)
  message[0] = to
  message.set(content, 1)
  stream.send(message)
}

interface Feed {
  /** Rejects when the source fails; never resolves. */
  readonly failed: Promise<never>
  stop(): void
}

/** Passes on the data of a source until it ends or is stopped, even if the source never yields again. */
function feed<T>(source: AsyncIterable<T> | undefined, pass: (item: T) => void, ended?: () => void): Feed {
  const iterator = source?.[Symbol.asyncIterator]()
  let isStopped = false
  const run = async (): Promise<void> => {
    if (!iterator) return
    for (;;) {
      const { done, value } = await iterator.next()
      if (isStopped) return
      if (done) break
      pass(value)
    }
    ended?.()
  }
  const failed = new Promise<never>((_resolve, reject) => {
    run().catch((cause: unknown) =>
      reject(new MusterError(clientErrors.ExecFailed, 'the input of the command failed.', { cause })),
    )
  })
  failed.catch(() => undefined)
  return {
    failed,
    stop: () => {
      isStopped = true
      void iterator?.return?.().then(undefined, () => undefined)
    },
  }
}

/**
 * The process shim: a separate process for each running action, `node process-shim.js FOLDER`.
 *
 * The sidecar may be killed at any moment while the program continues. The shim reads the program's output, ends it on
 * time-out, and records its outcome. It leads a process group that the program belongs to, so all remaining processes
 * of an action are found by that group.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { systemClock as clock } from '../clock/system-clock.ts'
import { type Json, parseJson, stringifyJson } from '../kube/json.ts'
import { cutText } from '../kube/text/hidden-text.ts'
import {
  type FailureReason,
  hiding,
  longestMessage,
  type ActionOutcome,
  readActionsReport,
  type ActionsReport,
  actionTexts,
} from './action.ts'
import { readSaved, type SavedAction } from './action-folder.ts'
import { claimDurably, writeDurably } from './durable-file.ts'
import { ownIdentity } from './process-identity.ts'

/** An ended program may leave children that hold its stdout; they are not waited for. */
const drainMs = 1000

/** Retries of writing the outcome, for a full disk. */
const outcomeTries = 60

const complaintLength = 65_536
const longestLine = 65_536
const folder = process.argv[2] ?? ''
const at = (name: string): string => path.join(folder, name)
const stamp = (): string => new Date(clock.now()).toISOString()

const saved = await readSaved(folder)
// The clock's timers are unreferenced; a port with a listener keeps the process alive.
new MessageChannel().port1.on('message', () => undefined)
if (saved && (await claimDurably(at('claim.json'), JSON.stringify(await ownIdentity())))) await keep(saved)
process.exit(0)

async function keep({ spec, ...action }: SavedAction): Promise<void> {
  const text = await readFile(at('input.json'), 'utf8')
  const secrets = secretsOf(parseJson(text), action)
  let ending: FailureReason | undefined
  let child: ChildProcess | undefined

  const end = (reason: FailureReason): void => {
    // The signal below also reaches this process: once is enough.
    if (ending) return
    ending = reason
    if (!child) return
    signalGroup('SIGTERM')
    clock.after(spec.graceMs, () => child?.kill('SIGKILL'))
  }
  process.on('SIGTERM', () => end('Cancelled'))
  process.on('SIGINT', () => undefined)
  process.on('SIGHUP', () => undefined)
  if (await isCancelled()) end('Cancelled')
  if (ending) return await write({ state: 'failed', reason: ending, endedAt: stamp(), message: 'cancelled' })

  const [program = '', ...args] = spec.command
  child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], ...(spec.directory ? { cwd: spec.directory } : {}) })
  const ended = endOf(child)
  const said = listen(child, secrets)
  child.stdin?.on('error', () => undefined).end(text)
  const timer = clock.after(spec.timeoutMs, () => end('TimedOut'))
  // It may have been cancelled while it was started.
  if (await isCancelled()) end('Cancelled')

  const { code, signal, failure } = await ended
  timer.cancel()
  await said.settled
  await write(outcome({ code, signal, failure, ending, timeoutMs: spec.timeoutMs }, said.report(), said.complaint()))
  // The grace period is over.
  if (ending) signalGroup('SIGKILL')
}

interface Ending {
  readonly code: number | null
  readonly signal: string | null
  readonly failure?: NodeJS.ErrnoException | undefined
}

async function endOf(child: ChildProcess): Promise<Ending> {
  const { promise, resolve } = Promise.withResolvers<Ending>()
  child.once('error', (failure) => resolve({ code: null, signal: null, failure }))
  child.once('exit', (code, signal) => resolve({ code, signal }))
  return await promise
}

interface Listening {
  report(): ActionsReport
  /** The last line of stderr. */
  complaint(): string
  /** Resolves when all output is read. */
  readonly settled: Promise<void>
}

function listen(child: ChildProcess, secrets: readonly string[]): Listening {
  const hide = hiding(secrets)
  const longestSecret = Math.max(0, ...secrets.map(({ length }) => length))
  let report: ActionsReport = {}
  let complaint = ''
  let isCut = false
  let writing: Promise<void> | undefined
  let isStale = false

  const save = async (): Promise<void> => {
    while (isStale) {
      isStale = false
      const draft = at('progress.json.draft')
      // Progress is not synced to disk: after a crash of the machine the program is gone, too.
      await writeFile(draft, stringifyJson(report), { mode: 0o600 })
        .then(() => rename(draft, at('progress.json')))
        .catch(() => undefined)
    }
    writing = undefined
  }
  const onLine = byLine((line) => {
    const next = readActionsReport(line, report, hide)
    if (next === report) return
    report = next
    isStale = true
    writing ??= save()
  })
  // The last line may lack a newline.
  child
    .stdout!.setEncoding('utf8')
    .on('data', onLine)
    .once('end', () => onLine('\n'))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    isCut ||= complaint.length + text.length > complaintLength
    complaint = (complaint + text).slice(-complaintLength)
  })
  const closed = once(child, 'close').catch(() => undefined)
  const settle = async (): Promise<void> => {
    await Promise.race([closed, once(child, 'exit').then(() => clock.sleep(drainMs))]).catch(() => undefined)
    await writing
  }
  return {
    report: () => report,
    complaint() {
      // The text may have been cut inside of a secret: leave out as much as the longest secret.
      const whole = isCut ? complaint.slice(longestSecret) : complaint
      return cutText(hide(whole.trim()).split('\n').at(-1) ?? '', longestMessage)
    },
    settled: settle(),
  }
}

/** Emits complete lines; an overlong line is dropped, not buffered. */
function byLine(onLine: (line: string) => void): (text: string) => void {
  let rest = ''
  let isTooLong = false
  return (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!isTooLong && line.length <= longestLine) onLine(line)
      isTooLong = false
    }
    if (rest.length <= longestLine) return
    rest = ''
    isTooLong = true
  }
}

interface Circumstances extends Ending {
  readonly ending: FailureReason | undefined
  readonly timeoutMs: number
}

function outcome(how: Circumstances, report: ActionsReport, complaint: string): ActionOutcome {
  const { code, signal, failure, ending, timeoutMs } = how
  const base = { ...report, endedAt: stamp(), ...(code === null ? {} : { exitCode: code }) }
  if (failure) {
    const message = `the program does not start (${failure.code ?? 'unknown error'})`
    return { ...base, state: 'failed', reason: 'NotStarted', message }
  }
  // Many programs exit with 0 on SIGTERM: that is no success.
  if (code === 0 && !ending) return { ...base, state: 'succeeded' }
  const [reason, what]: readonly [FailureReason, string] =
    ending === 'TimedOut'
      ? ['TimedOut', `not done within ${timeoutMs / 1000} s`]
      : ending
        ? [ending, 'cancelled']
        : code === null
          ? ['Signal', `ended by ${signal}`]
          : ['ExitCode', `exit code ${code}`]
  return { ...base, state: 'failed', reason, message: complaint ? `${what}: ${complaint}` : what }
}

async function write(end: ActionOutcome): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await writeDurably(at('outcome.json'), stringifyJson(end))
      return
    } catch (error) {
      if (tries === outcomeTries) throw error
      await clock.sleep(1000)
    }
  }
}

async function isCancelled(): Promise<boolean> {
  return await access(at('cancel')).then(
    () => true,
    () => false,
  )
}

function signalGroup(signal: NodeJS.Signals): void {
  try {
    process.kill(-process.pid, signal)
  } catch {
    // The group is gone.
  }
}

/** The values to redact in messages: the input, and the variables of this program. */
function secretsOf(input: Json, { name, key }: Pick<SavedAction, 'name' | 'key'>): readonly string[] {
  const harmless = new Set([name, key, process.env['PATH']])
  return [...actionTexts(input), ...Object.values(process.env)].filter(
    (text): text is string => text !== undefined && !harmless.has(text),
  )
}

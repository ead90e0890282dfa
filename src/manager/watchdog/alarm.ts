/**
 * The alarm: the main thread has given no sign of life for too long. It runs in the watchdog's thread, which has only
 * the heartbeat table and the facts it was sent; everything else is loaded now.
 *
 * The operator is named in the log and in the quarantine record; then the process is ended. It cannot continue: the
 * engine could terminate the loop, but only together with everything queued behind it, which is the work of other
 * operators.
 */
import { writeSync } from 'node:fs'
import path from 'node:path'
import { MessageChannel, parentPort, receiveMessageOnPort } from 'node:worker_threads'
import type { Clock } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { whoOf } from '../findings/finding.ts'
import type { Culprit } from '../threads/thread-watch.ts'
import type { LogLevel, LogLine } from '../logging/log-line.ts'
import type { ClusterFact, Fact, OperatorFact } from './fact.ts'
import { exitMainThread, type StackFrame, lookAtMainThread } from './main-stack.ts'
import { type HeartbeatReading, readHeartbeats } from '../threads/heartbeat-table.ts'
import { addEntries, type QuarantineEntry, entryKey } from './quarantine-record.ts'
import { type Version, codeVersionOf } from './version.ts'

/** Time limits of the parts: the process ends in any case. */
const lookMs = 2000
const recordMs = 5000
const signalMs = 500
const exitCode = 137

let cluster: ClusterFact | undefined
const operators = new Map<string, OperatorFact>()
let wasDebugged = false

/** Returns if it was a false alarm: the main thread is alive, or a debugger has stopped it. */
export async function raiseAlarm(heartbeats: SharedArrayBuffer, silentMs: number): Promise<void> {
  // Keeps the thread alive, since timers do not.
  const { port1: alive } = new MessageChannel()
  alive.ref()
  try {
    await raise(systemClock, heartbeats, silentMs)
  } finally {
    alive.close()
  }
}

async function raise(clock: Clock, heartbeats: SharedArrayBuffer, silentMs: number): Promise<void> {
  hearFacts()
  const reading = readHeartbeats(heartbeats)
  if (!reading) return
  const { frames, isDebugged } = await lookAtMainThread(clock, lookMs)
  if (readHeartbeats(heartbeats)?.sign !== reading.sign) return
  if (isDebugged) {
    if (!wasDebugged) writeLog(clock, { msg: 'The main thread is blocked; ignored, since a debugger is attached' })
    wasDebugged = true
    return
  }
  const versions = new Map<string, Version>()
  for (const { place } of reading.inside) {
    const fact = factOf(place.operator)
    const version = fact && (await codeVersionOf(fact).catch(() => undefined))
    if (version) versions.set(place.operator, version)
  }
  const culprits = culpritsOf(reading, frames, (operator) => versions.get(operator)?.files ?? [])
  const line = alarmLine(
    frames,
    [...versions.values()].flatMap(({ files }) => files),
  )
  writeLog(clock, describe(culprits, silentMs, line))
  try {
    await record(clock, culprits, versions, { silentMs, line })
  } catch (error) {
    writeLog(clock, { msg: 'The operator that blocked the main thread was not quarantined', error: String(error) })
  }
  process.kill(process.pid, 'SIGKILL')
  // Still running: PID 1 of a container ignores its own signals.
  await clock.sleep(signalMs)
  await exitMainThread(clock, exitCode, lookMs)
  writeLog(clock, { msg: 'The process cannot be ended from within: it has to be killed from outside' })
}

/** The operators that caused it: one where that is certain, otherwise all that may have. */
export function culpritsOf(
  { holder, inside }: Pick<HeartbeatReading, 'holder' | 'inside'>,
  frames: readonly StackFrame[],
  filesOf: (operator: string) => readonly string[],
): readonly Culprit[] {
  const onStack = new Set(frames.map(({ file }) => file))
  const seen = inside.filter(({ place }) => filesOf(place.operator).some((file) => onStack.has(file)))
  // The call stack outweighs the last mark.
  if (seen.length > 0 && !(holder && seen.includes(holder))) return seen
  return holder ? [holder] : inside
}

/** The innermost line in an operator's own files; otherwise the innermost. */
export function alarmLine(frames: readonly StackFrame[], own: readonly string[]): string {
  const files = new Set(own)
  const frame = frames.find(({ file }) => files.has(file)) ?? frames[0]
  return frame === undefined ? '' : `${path.basename(frame.file)}:${frame.line}${frame.name && ` (${frame.name})`}`
}

/** Webhooks write the cluster after a dot. */
function factOf(name: string): OperatorFact | undefined {
  return operators.get(name) ?? operators.get(name.replace('.', '@'))
}

function hearFacts(): void {
  for (let heard = receiveMessageOnPort(parentPort!); heard; heard = receiveMessageOnPort(parentPort!)) {
    const fact = heard.message as Fact
    if (fact.about === 'cluster') cluster = fact
    else operators.set(fact.as, fact)
  }
}

function describe(culprits: readonly Culprit[], silentMs: number, line: string): LogLine {
  const [first, ...others] = culprits
  const seconds = Math.round(silentMs / 1000)
  if (!first) {
    const error = `the main thread has been held for ${seconds} s by no operator that is known; the process ends`
    return { msg: 'The main thread is blocked', error, heldSeconds: seconds, line }
  }
  const { operator, controller, key } = first.place
  const or = others.map(({ place }) => whoOf(place))
  return {
    msg: 'An operator blocks the main thread',
    operator,
    controller,
    key,
    step: first.step,
    heldSeconds: seconds,
    ...(line !== '' && { line }),
    ...(or.length > 0 && { or }),
    error: `${whoOf(first.place)}: has held the thread for ${seconds} s and does not give it back; the process ends`,
    cure: `Mend the loop, or run it apart: operators.${operator}.isolation=worker. Until then it is quarantined.`,
  }
}

async function record(
  clock: Clock,
  culprits: readonly Culprit[],
  versions: ReadonlyMap<string, Version>,
  { silentMs, line }: { readonly silentMs: number; readonly line: string },
): Promise<void> {
  if (!cluster) return
  const { replica, configMap, kubeconfig, context } = cluster
  const who = culprits.map(({ place }) => whoOf(place))
  const entries = new Map<string, QuarantineEntry>()
  for (const { place, step } of culprits) {
    const fact = factOf(place.operator)
    const version = versions.get(place.operator)
    // The files have changed since they were loaded: the next start has other code, and is not quarantined.
    if (!fact || !version || version.newest > fact.loadedAt) continue
    entries.set(entryKey(fact.operator, version.version), {
      ...place,
      operator: fact.operator,
      step,
      heldSeconds: Math.round(silentMs / 1000),
      at: formatTime(clock.now()),
      replica,
      line,
      or: who.filter((one) => one !== whoOf(place)),
    })
  }
  if (entries.size === 0) return
  const { connect } = await import('../../client/connect.ts')
  const client = await connect({ kubeconfig, context, clock })
  const signal = AbortSignal.timeout(recordMs)
  await addEntries(client, configMap, entries, { signal, timeoutMs: recordMs })
  writeLog(clock, {
    msg: 'Operators were quarantined',
    quarantined: [...new Set(culprits.map(({ place }) => place.operator))],
    record: `${configMap.namespace}/${configMap.name}`,
  })
}

/** Synchronously, since the main thread is blocked. */
function writeLog(clock: Clock, line: LogLine): void {
  const level: LogLevel = 'error' in line ? 'error' : 'warn'
  writeSync(2, `${JSON.stringify({ time: new Date(clock.now()).toISOString(), level, ...line })}\n`)
}

/**
 * Reads the call stack of the main thread from another thread: the engine's debugger interrupts it between two
 * instructions, even in an endless loop. It costs nothing until it is used.
 */
import type { Debugger } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../clock/clock.ts'

export interface StackFrame {
  readonly name: string
  /** A path, if it is a file. */
  readonly file: string
  /** 1-based. */
  readonly line: number
}

interface MainThread {
  /** Innermost first. Empty: it cannot be interrupted, and is blocked in a system call. */
  readonly frames: readonly StackFrame[]
  /** A debugger is attached and may have stopped the thread. */
  readonly isDebugged: boolean
}

/** Returns in time, with what is known by then. */
export async function lookAtMainThread(clock: Clock, timeoutMs: number): Promise<MainThread> {
  let frames: readonly StackFrame[] = []
  let isDebugged = false
  const session = new Session()
  const looking = async (): Promise<void> => {
    session.connectToMainThread()
    isDebugged = (await evaluate(session, `process.getBuiltinModule('node:inspector').url() ?? ''`)) !== ''
    if (isDebugged) return
    const files = new Map<string, string>()
    session.on('Debugger.scriptParsed', ({ params }) => void files.set(params.scriptId, params.url))
    const paused = new Promise<readonly Debugger.CallFrame[]>((resolve) => {
      session.once('Debugger.paused', ({ params }) => resolve(params.callFrames))
    })
    await session.post('Debugger.enable')
    await session.post('Debugger.pause')
    frames = (await paused).map(({ functionName: name, location: { scriptId, lineNumber } }) => ({
      name,
      file: pathOf(files.get(scriptId) ?? ''),
      line: lineNumber + 1,
    }))
  }
  await within(
    clock,
    timeoutMs,
    looking().catch(() => undefined),
  )
  session.disconnect()
  return { frames, isDebugged }
}

/** The last resort where signals have no effect: PID 1 of a container ignores its own. */
export async function exitMainThread(clock: Clock, code: number, timeoutMs: number): Promise<void> {
  const session = new Session()
  session.connectToMainThread()
  await within(
    clock,
    timeoutMs,
    evaluate(session, `process.reallyExit(${code})`).catch(() => undefined),
  )
}

async function evaluate(session: Session, expression: string): Promise<unknown> {
  const { result } = await session.post('Runtime.evaluate', { expression })
  return result.value
}

async function within(clock: Clock, timeoutMs: number, work: Promise<unknown>): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timer = clock.after(timeoutMs, () => over.resolve())
  await Promise.race([work, over.promise]).finally(() => timer.cancel())
}

function pathOf(url: string): string {
  const [place = ''] = url.split('?')
  return place.startsWith('file://') ? fileURLToPath(place) : place
}

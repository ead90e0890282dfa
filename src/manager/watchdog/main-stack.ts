/**
 * Where the main thread is, seen from another one: the debugger of the engine interrupts it between two instructions, even
 * in a loop without an end. It costs nothing before it is asked.
 */
import type { Debugger } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../clock/clock.ts'

export interface StackFrame {
  readonly name: string
  /** A path, where it is a file. */
  readonly file: string
  /** From 1. */
  readonly line: number
}

export interface MainThread {
  /** The innermost first. Empty: it cannot be interrupted, it waits for the machine. */
  readonly frames: readonly StackFrame[]
  /** Somebody may be looking at it with a debugger, and have it stand still. */
  readonly isDebugged: boolean
}

/** Answers in time, with what it knows by then. */
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

/** The last resort where signals are of no use: the first process of a container ignores those of its own. */
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

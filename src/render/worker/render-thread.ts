/**
 * Renders charts in a thread of its own: a large chart takes longer than the shared thread may be held, and a hostile one takes
 * more memory than the process has. Memory and time are bounded; a render that runs out of them is stopped and named, and the
 * next one gets a new thread.
 */
import { getCompileCacheDir } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../clock/clock.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { errorCode } from '../../system/error-code.ts'
import { renderErrors } from '../errors.ts'
import type { ChartRequest, ChartResult } from './chart-request.ts'

export interface RenderThreadOptions {
  readonly clock: Clock
  /** @default 1024 */
  readonly memoryMiB?: number
  /** For one render. @default 60_000 */
  readonly timeoutMs?: number
}

export interface RenderThread {
  /**
   * Requests are rendered one after the other.
   * @throws RenderStopped, and the errors of the render
   */
  render(this: void, request: ChartRequest): Promise<ChartResult>
  close(): Promise<void>
}

/** What the thread is created with. */
export interface WorkerSettings {
  /** The folder of compiled code, if the process has one. */
  readonly compileCache: string | undefined
}

export interface WorkerRequest {
  readonly request: ChartRequest
  readonly now: number
}

export interface WorkerAnswer {
  readonly result?: ChartResult
  readonly problem?: {
    readonly message: string
    /** Of a MusterError; a class does not survive the way between threads. */
    readonly definition?: Pick<MusterError, 'name' | 'code' | 'retry' | 'cure'>
  }
}

const isSource = import.meta.url.endsWith('.ts')
const workerFile = fileURLToPath(new URL(`./render-worker.${isSource ? 'ts' : 'cjs'}`, import.meta.url))

/** The request that the thread works on. */
interface Pending {
  readonly answered: (answer: WorkerAnswer) => void
  readonly failed: (error: unknown) => void
}

export function createRenderThread({ clock, memoryMiB = 1024, timeoutMs = 60_000 }: RenderThreadOptions): RenderThread {
  let worker: Worker | undefined
  let pending: Pending | undefined
  let last: Promise<unknown> = Promise.resolve()

  const started = (): Worker => {
    if (worker) return worker
    const created = new Worker(workerFile, {
      resourceLimits: { maxOldGenerationSizeMb: memoryMiB },
      env: {},
      execArgv: [],
      workerData: { compileCache: getCompileCacheDir() } satisfies WorkerSettings,
    })
    created.on('message', (answer: WorkerAnswer) => pending?.answered(answer))
    created.on('error', (error) => pending?.failed(error))
    created.on('exit', () => {
      if (worker === created) pending?.failed(undefined)
    })
    worker = created
    return created
  }

  const stop = async (): Promise<void> => {
    const stopped = worker
    worker = undefined
    await stopped?.terminate()
  }

  const answerOne = (request: ChartRequest): Promise<ChartResult> =>
    new Promise((resolve, reject) => {
      const { name } = request.release
      const settle = (): void => {
        timer.cancel()
        pending = undefined
        // An idle thread does not keep the process alive.
        worker?.unref()
      }
      const giveUp = (error: MusterError): void => {
        settle()
        void stop()
        reject(error)
      }
      const timer = clock.after(timeoutMs, () =>
        giveUp(new MusterError(renderErrors.RenderStopped, `${name}: rendering takes longer than ${timeoutMs} ms.`)),
      )
      pending = {
        failed: (error) => giveUp(stoppedBy(error, name, memoryMiB)),
        answered({ result, problem }) {
          settle()
          if (result) resolve(result)
          else if (problem?.definition) reject(new MusterError(problem.definition, problem.message))
          else reject(new Error(problem?.message))
        },
      }
      const thread = started()
      thread.ref()
      thread.postMessage({ request, now: clock.now() } satisfies WorkerRequest, [])
    })

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }

  return {
    render: (request) => inTurn(() => answerOne(request)),
    close: stop,
  }
}

function stoppedBy(error: unknown, name: string, memoryMiB: number): MusterError {
  const isMemory = errorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY'
  const why = isMemory ? `it needs more than ${memoryMiB} MiB of memory` : 'its thread failed'
  return new MusterError(renderErrors.RenderStopped, `${name}: rendering was stopped: ${why}.`, { cause: error })
}

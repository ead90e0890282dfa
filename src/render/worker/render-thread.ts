/**
 * Renders in a thread of its own: a large chart takes longer than the shared thread may be held, and a hostile one takes
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
import type { JsonObject } from '../../kube/json.ts'
import type { ChartRequest, ChartResult } from './chart-request.ts'
import type { FolderRequest } from './folder-request.ts'

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
  /**
   * Manifests and kustomizations, in turn with charts.
   * @throws RenderStopped, and the errors of the render
   */
  renderFolder(this: void, request: FolderRequest): Promise<readonly JsonObject[]>
  /** Renders in progress and later ones fail with RenderStopped. */
  close(): Promise<void>
}

/** What the thread is created with. */
export interface WorkerSettings {
  /** The folder of compiled code, if the process has one. */
  readonly compileCache: string | undefined
}

export interface WorkerRequest {
  /** The answer carries it, too: a stopped thread may still have an answer under way. */
  readonly id: number
  readonly request: ChartRequest | FolderRequest
  readonly now: number
}

export interface WorkerAnswer {
  readonly id: number
  readonly result?: ChartResult
  readonly objects?: readonly JsonObject[]
  readonly problem?: {
    readonly message: string
    /** Of a MusterError; a class does not survive the way between threads. */
    readonly definition?: Pick<MusterError, 'name' | 'code' | 'retry' | 'cure'>
  }
}

/** Enough for a thousand includes, each in a hundred blocks. Only what is used takes memory. */
const stackMiB = 64

const isSource = import.meta.url.endsWith('.ts')
const workerFile = fileURLToPath(new URL(`./render-worker.${isSource ? 'ts' : 'cjs'}`, import.meta.url))

/** The request that a thread works on. */
interface Pending {
  readonly id: number
  readonly worker: Worker
  readonly answered: (answer: WorkerAnswer) => void
  /** Without an answer; the thread is stopped. */
  readonly failed: (why: string, cause?: unknown) => void
}

export function createRenderThread({ clock, memoryMiB = 1024, timeoutMs = 60_000 }: RenderThreadOptions): RenderThread {
  let worker: Worker | undefined
  let pending: Pending | undefined
  let last: Promise<unknown> = Promise.resolve()
  let requests = 0
  let isClosed = false

  const started = (): Worker => {
    if (worker) return worker
    const created = new Worker(workerFile, {
      resourceLimits: { maxOldGenerationSizeMb: memoryMiB, stackSizeMb: stackMiB },
      env: {},
      execArgv: [],
      workerData: { compileCache: getCompileCacheDir() } satisfies WorkerSettings,
    })
    // Events of a stopped thread arrive while the next request is pending already: each event names its request or thread.
    created.on('message', (answer: WorkerAnswer) => {
      if (pending?.id === answer.id) pending.answered(answer)
    })
    const ended = (error?: unknown): void => {
      if (worker === created) worker = undefined
      if (pending?.worker === created) pending.failed(reasonOf(error, memoryMiB), error)
    }
    created.on('error', ended)
    created.on('exit', () => ended())
    created.unref()
    worker = created
    return created
  }

  const stop = async (): Promise<void> => {
    const stopped = worker
    worker = undefined
    await stopped?.terminate()
  }

  const answerOne = (name: string, request: ChartRequest | FolderRequest): Promise<WorkerAnswer> =>
    new Promise((resolve, reject) => {
      if (isClosed) throw stoppedError(name, closedReason)
      const id = ++requests
      const thread = started()
      thread.postMessage({ id, request, now: clock.now() } satisfies WorkerRequest, [])
      // Only a thread that works keeps the process alive.
      thread.ref()
      const timer = clock.after(timeoutMs, () => failed(`it takes longer than ${timeoutMs} ms`))
      const settle = (): void => {
        timer.cancel()
        pending = undefined
        thread.unref()
      }
      const failed: Pending['failed'] = (why, cause) => {
        settle()
        void stop()
        reject(stoppedError(name, why, cause))
      }
      pending = {
        id,
        worker: thread,
        failed,
        answered(answer) {
          settle()
          const { problem } = answer
          if (!problem) resolve(answer)
          else if (problem.definition) reject(new MusterError(problem.definition, problem.message))
          else reject(new Error(problem.message))
        },
      }
    })

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }

  return {
    render: (request) => inTurn(async () => (await answerOne(request.release.name, request)).result!),
    renderFolder: (request) => inTurn(async () => (await answerOne(request.name, request)).objects!),
    async close() {
      isClosed = true
      const stopping = stop()
      pending?.failed(closedReason)
      await stopping
    },
  }
}

const closedReason = 'its thread is closed'

function reasonOf(error: unknown, memoryMiB: number): string {
  const isMemory = errorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY'
  return isMemory ? `it needs more than ${memoryMiB} MiB of memory` : 'its thread failed'
}

function stoppedError(name: string, why: string, cause?: unknown): MusterError {
  return new MusterError(renderErrors.RenderStopped, `${name}: rendering was stopped: ${why}.`, { cause })
}

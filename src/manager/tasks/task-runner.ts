/**
 * Runs tasks in the background, one runner for all operators and clusters of a process. Equal calls share one attempt; its
 * result is remembered (`result-store.ts`, `result-folder.ts`), and so is its error: a terminal one until the call changes, any
 * other until the next attempt, which follows by itself with back-off.
 *
 *     asked ─▶ queued ─▶ running ─▶ result: every caller is woken
 *                ▲          └─────▶ failed: every caller is woken
 *                └── back-off ──────┘  and is woken again by the next attempt
 *
 * An attempt belongs to its callers (`TaskCaller`: one CR of one controller); without any it is aborted and forgotten.
 * Attempts with other secrets are separate once one has failed: corrected credentials are tried at once, and wrong ones of one
 * operator do not fail another.
 */
import { freezeDeep } from '../../cache/decode/intern.ts'
import type { Clock, Timer } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { equalJson, parseJson } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { operatorErrors } from '../../operator/errors.ts'
import { jsonText, type Task, type TaskCall, taskCall, type TaskSecrets } from '../../operator/task/task.ts'
import { suspendedFor, type TaskResults } from '../../operator/task/task-results.ts'
import { managerErrors } from '../errors.ts'
import type { ResultFolder } from './result-folder.ts'
import { createResultStore, type StoredResult } from './result-store.ts'
import { createResultUses } from './result-uses.ts'
import { redactedError, taskRetryDelay, withNextAttempt } from './task-error.ts'

/** Runs the work on one key to its end. */
type BlockingRun = <T>(key: string, work: () => Promise<T>) => Promise<T>

export interface TaskRunnerOptions {
  readonly clock?: Clock
  /** Concurrent tasks. @default 4 */
  readonly concurrency?: number
  /** Results in memory, as JSON; up to twice as much again is held for CRs that wait for more results. @default 67_108_864 */
  readonly maxBytes?: number
  /** Results on disk. @default none */
  readonly folder?: ResultFolder | undefined
  /**
   * Callers wait for their tasks instead of being suspended, and this stops the virtual time meanwhile. Tasks then run one by one,
   * so that the order of everything is the same each time. @default tasks run in the background
   */
  readonly runBlocking?: BlockingRun | undefined
  /** An attempt has ended. */
  readonly onEnd?: ((task: string, result: 'success' | 'error', tookMs: number) => void) | undefined
}

export interface TaskRunner {
  /** `wake`: a task that it was suspended for, or whose error it got, has ended an attempt. */
  openCaller(wake: () => void): TaskCaller
  state(): TaskRunnerState
  /** Resolves when no task is queued or running. */
  idle(): Promise<void>
  /** Aborts everything. Resolves when no file is being written. */
  close(): Promise<void>
}

interface TaskRunnerState {
  readonly queued: number
  readonly running: number
  /** Failed tasks that are asked for. */
  readonly failed: number
  /** Results in memory. */
  readonly bytes: number
}

/** One CR of one controller, as it asks for results. */
export interface TaskCaller extends TaskResults {
  /** A reconcile begins. */
  begin(): void
  /** A reconcile has ended: what it did not ask for is released, except for tasks that it did not come to because it failed. */
  end(outcome: 'done' | 'failed' | 'suspended'): void
  /** It asks no more: the CR is gone. */
  close(): void
}

/** One call with the secrets of its first caller, from the first attempt to a result. */
class Attempt {
  readonly call: TaskCall
  readonly secrets: TaskSecrets
  readonly callers: Set<Caller> = new Set()
  /** Those to wake when it ends. */
  waiting: Set<Caller> = new Set()
  state: 'queued' | 'running' | 'failed' | 'over' = 'queued'
  error: unknown
  failures = 0
  /** When it is tried again, after a failure. */
  retryAt: number | undefined
  retry: Timer | undefined
  abort: AbortController = new AbortController()
  ended: PromiseWithResolvers<void> = Promise.withResolvers<void>()

  constructor(call: TaskCall, secrets: TaskSecrets) {
    this.call = call
    this.secrets = secrets
  }
}

interface Caller extends TaskCaller {
  readonly attempts: Set<Attempt>
  /** It gets this result when it asks again, even if the store has dropped it by then. */
  deliver(key: string, result: StoredResult): void
  wake(): void
}

export function createTaskRunner(options: TaskRunnerOptions = {}): TaskRunner {
  const { clock = systemClock, runBlocking, maxBytes = 67_108_864, folder, onEnd } = options
  const { concurrency = runBlocking ? 1 : 4 } = options
  // A task that virtual time waits for takes real time.
  const limits = runBlocking ? systemClock : clock
  const store = createResultStore(maxBytes)
  const uses = createResultUses((key) => store.drop(key))
  /** By key. */
  const attempts = new Map<string, Set<Attempt>>()
  const queue = new Set<Attempt>()
  const writing = new Set<Promise<void>>()
  /** Callers that wait for a result, the longest first. */
  const suspended = new Set<Caller>()
  let running = 0
  /** Bytes that callers hold. */
  let held = 0
  let isClosed = false
  let rested: PromiseWithResolvers<void> | undefined

  // ── attempts ───────────────────────────────────────────────────────────────────────────────────────────────

  function enqueue(attempt: Attempt): void {
    attempt.state = 'queued'
    attempt.retry = undefined
    attempt.retryAt = undefined
    attempt.ended = Promise.withResolvers()
    queue.add(attempt)
    pump()
  }

  function pump(): void {
    for (const attempt of queue) {
      if (running >= concurrency) return
      queue.delete(attempt)
      void run(attempt)
    }
  }

  async function run(attempt: Attempt): Promise<void> {
    const { call, secrets } = attempt
    const startedAt = clock.now()
    const work = (): Promise<StoredResult> => runTask(attempt)
    attempt.state = 'running'
    attempt.abort = new AbortController()
    running++
    try {
      const result = await (runBlocking ? runBlocking(call.key, work) : work())
      running--
      if (isOver(attempt)) return
      attempt.state = 'over'
      onEnd?.(call.task.name, 'success', clock.now() - startedAt)
      succeed(call.key, result)
    } catch (error) {
      running--
      if (isOver(attempt)) return
      onEnd?.(call.task.name, 'error', clock.now() - startedAt)
      fail(attempt, redactedError(error, secrets))
    } finally {
      pump()
      noteRest()
    }
  }

  const isIdle = (): boolean => running === 0 && queue.size === 0

  function noteRest(): void {
    if (!isIdle()) return
    rested?.resolve()
    rested = undefined
  }

  async function runTask(attempt: Attempt): Promise<StoredResult> {
    const { call, secrets } = attempt
    const { task, key, input } = call
    const kept = task.ephemeral ? undefined : await folder?.read(key)
    const { signal } = attempt.abort
    signal.throwIfAborted()
    const text =
      kept ??
      jsonText(
        await limited(attempt, async () => await task.run(freezeDeep(input) as never, { signal, secrets })),
        `The result of task ${task.name}`,
      )
    const bytes = Buffer.byteLength(text)
    if (bytes > maxBytes) throw tooLarge(`The result of task ${task.name} takes`, bytes)
    if (folder && kept === undefined && !task.ephemeral) write(folder, key, text)
    return { task, value: freezeDeep(parseJson(text)), bytes }
  }

  /** Ends with the time limit or the abort, even if the task does not. */
  async function limited({ call: { task }, abort }: Attempt, work: () => Promise<unknown>): Promise<unknown> {
    const { signal } = abort
    const aborted = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => aborted.reject(signal.reason as Error), { once: true })
    const timer = limits.after(task.timeoutMs, () =>
      abort.abort(
        new MusterError(managerErrors.TaskTimeout, `Task ${task.name} did not end within ${task.timeoutMs} ms.`),
      ),
    )
    try {
      return await Promise.race([work(), aborted.promise])
    } finally {
      timer.cancel()
    }
  }

  function write(to: ResultFolder, key: string, text: string): void {
    const written = to.write(key, text).finally(() => writing.delete(written))
    writing.add(written)
  }

  function tooLarge(what: string, bytes: number): MusterError {
    return new MusterError(
      operatorErrors.TaskTooLarge,
      `${what} ${bytes} bytes; ${maxBytes} are allowed (tasks.memory).`,
    )
  }

  /** The result answers every attempt at the call. */
  function succeed(key: string, result: StoredResult): void {
    store.set(key, result)
    const all = [...(attempts.get(key) ?? [])]
    const woken = new Set(all.flatMap(({ waiting }) => [...waiting]))
    for (const { callers } of all) for (const caller of callers) caller.deliver(key, result)
    for (const attempt of all) forget(attempt)
    for (const caller of woken) caller.wake()
  }

  function fail(attempt: Attempt, error: unknown): void {
    const delay = taskRetryDelay(error, ++attempt.failures)
    attempt.state = 'failed'
    attempt.error = error
    attempt.retryAt = delay === undefined ? undefined : clock.now() + delay
    attempt.retry = delay === undefined ? undefined : clock.after(delay, () => enqueue(attempt))
    const woken = attempt.waiting
    attempt.waiting = new Set()
    attempt.ended.resolve()
    for (const caller of woken) caller.wake()
  }

  /** Ends it without a result. */
  function forget(attempt: Attempt): void {
    const { call, callers, abort, ended, retry, state } = attempt
    attempt.state = 'over'
    retry?.cancel()
    queue.delete(attempt)
    noteRest()
    for (const caller of callers) caller.attempts.delete(attempt)
    callers.clear()
    attempt.waiting.clear()
    const others = attempts.get(call.key)
    others?.delete(attempt)
    if (others?.size === 0) attempts.delete(call.key)
    ended.resolve()
    if (state === 'running') abort.abort(new Error(`No CR asks for the result of task ${call.task.name} any more.`))
  }

  function release(attempt: Attempt, caller: Caller): void {
    attempt.callers.delete(caller)
    attempt.waiting.delete(caller)
    caller.attempts.delete(attempt)
    if (attempt.callers.size === 0) forget(attempt)
  }

  /** One that is under way, whatever its secrets; one that failed with the same; or a new one. */
  function attemptAt(call: TaskCall, secrets: TaskSecrets): Attempt {
    const all = attempts.get(call.key) ?? new Set()
    for (const each of all) if (each.state !== 'failed') return each
    for (const each of all) if (equalJson(each.secrets, secrets)) return each
    const attempt = new Attempt(call, secrets)
    attempts.set(call.key, all.add(attempt))
    enqueue(attempt)
    return attempt
  }

  // ── callers ─────────────────────────────────────────────────────────────────────────────────────────────────

  function openCaller(wake: () => void): TaskCaller {
    /** Of this reconcile: the keys, with the names of their tasks, and the attempts. */
    const asked = new Map<string, string>()
    const touched = new Set<Attempt>()
    /** The keys of ephemeral results. */
    const ephemeralKeys = new Set<string>()
    /** Results of this reconcile and of those that were suspended before it. */
    const results = new Map<string, StoredResult>()
    let isOpen = true

    // A CR that needs several results must get them all at once, or it would wait for ever while those of others displace them:
    // one CR after the other, if the memory does not suffice for all.
    const keep = (key: string, result: StoredResult): void => {
      const isFirst = suspended.values().next().value === caller
      if (results.has(key) || (isFirst ? bytesOf(results.keys()) : held) + result.bytes > maxBytes) return
      results.set(key, result)
      held += result.bytes
    }
    const releaseResults = (isKept: (key: string) => boolean): void => {
      for (const [key, { bytes }] of results) {
        if (isKept(key)) continue
        results.delete(key)
        held -= bytes
      }
    }
    const bytesOf = (keys: Iterable<string>): number => {
      let sum = 0
      for (const key of keys) sum += results.get(key)?.bytes ?? 0
      return sum
    }

    /** The result; or the attempt that it waits for. @throws the error of the last attempt */
    const ask = (call: TaskCall, secrets: TaskSecrets): StoredResult | Attempt => {
      const { task, key } = call
      asked.set(key, task.name)
      if (task.ephemeral) ephemeralKeys.add(key)
      const found = results.get(key) ?? store.get(key)
      if (found) {
        checkSame(found.task, task)
        const bytes = bytesOf(asked.keys()) + (results.has(key) ? 0 : found.bytes)
        if (bytes > maxBytes) throw tooLarge(`With that of task ${task.name}, the results of one reconcile take`, bytes)
        keep(key, found)
        return found
      }
      const attempt = attemptAt(call, secrets)
      checkSame(attempt.call.task, task)
      attempt.callers.add(caller)
      caller.attempts.add(attempt)
      touched.add(attempt)
      const { state, error, retryAt } = attempt
      if (state === 'failed' ? retryAt !== undefined : !runBlocking) attempt.waiting.add(caller)
      if (state !== 'failed') {
        suspended.add(caller)
        return attempt
      }
      throw retryAt === undefined ? error : withNextAttempt(error, Math.max(retryAt - clock.now(), 0))
    }

    const caller: Caller = {
      attempts: new Set(),
      wake,
      deliver: keep,
      async result<Input, Result>(
        task: Task<Input, Result>,
        input: unknown,
        { secrets = {} }: { readonly secrets?: TaskSecrets } = {},
      ): Promise<Result> {
        const call = taskCall(task, input)
        for (;;) {
          if (!isOpen || isClosed) throw suspendedFor(task)
          const found = ask(call, secrets)
          if (!(found instanceof Attempt)) return found.value as Result
          if (!runBlocking) throw suspendedFor(task)
          await found.ended.promise
        }
      },
      begin() {
        asked.clear()
        touched.clear()
        ephemeralKeys.clear()
      },
      end(outcome) {
        const names = new Set(asked.values())
        for (const each of caller.attempts) {
          if (touched.has(each) || (outcome === 'failed' && !names.has(each.call.task.name))) continue
          release(each, caller)
        }
        if (outcome !== 'suspended') suspended.delete(caller)
        if (outcome === 'done') uses.set(caller, new Set(ephemeralKeys))
        releaseResults((key) => outcome === 'suspended' && asked.has(key))
      },
      close() {
        isOpen = false
        suspended.delete(caller)
        for (const each of caller.attempts) release(each, caller)
        releaseResults(() => false)
        uses.set(caller, new Set())
      },
    }
    return caller
  }

  return {
    openCaller,
    state() {
      let failed = 0
      for (const all of attempts.values()) for (const { state } of all) if (state === 'failed') failed++
      return { queued: queue.size, running, failed, bytes: store.bytes }
    },
    async idle() {
      while (!isIdle()) {
        rested ??= Promise.withResolvers()
        await rested.promise
      }
    },
    async close() {
      isClosed = true
      for (const all of attempts.values()) for (const attempt of all) forget(attempt)
      await Promise.all(writing)
    },
  }
}

/** It may have been forgotten while it ran. */
function isOver({ state }: Attempt): boolean {
  return state === 'over'
}

/** Equal names must mean equal work: operators of several authors share one runner. @throws InvalidTask */
function checkSame(one: Task, other: Task): void {
  if (one.run === other.run || String(one.run) === String(other.run)) return
  throw new MusterError(
    operatorErrors.InvalidTask,
    `There are two tasks ${one.name} of version ${one.version}, with different functions. Give one of them another name, ` +
      `or another version if it has changed.`,
  )
}

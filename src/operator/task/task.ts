/**
 * A task: slow work outside of the reconcile, such as fetching an archive or rendering a chart. It is a function of JSON input
 * with a remembered result: name, version and input are its key, so equal calls have one result, and the task runs once,
 * no matter how many CRs, controllers, operators or clusters ask.
 *
 * `run` awaits; what needs much processor time belongs in a thread of its own, which `run` starts. The same input must lead to an
 * equal result: raise `version` when the code changes.
 */
import { hash } from 'node:crypto'
import { canonicalJson } from '../../kube/apply/canonical.ts'
import { type Json, parseJson, stringifyJson } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { operatorErrors } from '../errors.ts'
import { checkOptionNames, type OptionNames } from '../option-names.ts'

/** Passed to `run`, by name; no part of the key: never stored, never logged. */
export type TaskSecrets = Readonly<Record<string, string>>

export interface TaskContext {
  /** Aborted when the time is up, when no CR asks for the result any more, or when the manager stops. */
  readonly signal: AbortSignal
  readonly secrets: TaskSecrets
}

export interface TaskOptions<Input, Result> {
  /** Unique among the operators of a manager: `example.com/render`. */
  readonly name: string
  /** Part of the key: another version has other results. @default 1 */
  readonly version?: number
  /** Input and result are JSON; the input is frozen. An error is remembered by its retry class. */
  readonly run: (input: Input, context: TaskContext) => Result | Promise<Result>
  /** The longest that an attempt may take. @default 120_000 */
  readonly timeoutMs?: number
  /** The longest input, as JSON in UTF-8. @default 1_048_576 */
  readonly maxInputBytes?: number
  /**
   * Its result is dropped when no CR asks for it any more, and is not written to disk: for answers that are good for a while
   * only, with the time as a part of the input. @default false
   */
  readonly ephemeral?: boolean
}

export type Task<Input = never, Result = unknown> = Required<TaskOptions<Input, Result>>

const taskOptionNames: OptionNames<TaskOptions<never, unknown>> = {
  name: true,
  version: true,
  run: true,
  timeoutMs: true,
  maxInputBytes: true,
  ephemeral: true,
}

const namePattern = /^[a-z0-9](?:[a-z0-9./-]{0,126}[a-z0-9])?$/

/** @throws InvalidTask */
export function defineTask<Input, Result>(options: TaskOptions<Input, Result>): Task<Input, Result> {
  const { name, version = 1, run, timeoutMs = 120_000, maxInputBytes = 1_048_576, ephemeral = false } = options
  const place = `Task ${name}`
  const refuse = (problem: string): never => {
    throw new MusterError(operatorErrors.InvalidTask, `${place}${problem}`)
  }
  checkOptionNames(options, taskOptionNames, operatorErrors.InvalidTask, place)
  if (typeof name !== 'string' || !namePattern.test(name)) {
    refuse(': its name must consist of lower-case letters, digits, ".", "-" and "/", as example.com/render.')
  }
  if (typeof run !== 'function') refuse(' has no function run.')
  for (const [option, value] of Object.entries({ version, timeoutMs, maxInputBytes })) {
    if (!Number.isSafeInteger(value) || value <= 0) refuse(`: ${option} is ${value}; it must be an integer above 0.`)
  }
  return { name, version, run, timeoutMs, maxInputBytes, ephemeral }
}

/** A task with its input. */
export interface TaskCall {
  readonly task: Task
  /** SHA-256 of name, version and input, in hexadecimal digits. */
  readonly key: string
  /** A copy of the author's: plain JSON. */
  readonly input: Json
}

/** @throws InvalidTask for an input that is not JSON, TaskTooLarge */
export function taskCall(task: Task, given: unknown): TaskCall {
  const { name, version, maxInputBytes } = task
  const input = parseJson(jsonText(given, `The input of task ${name}`))
  const text = canonicalJson([name, version, input])
  const bytes = Buffer.byteLength(text)
  if (bytes > maxInputBytes) {
    throw new MusterError(
      operatorErrors.TaskTooLarge,
      `The input of task ${name} takes ${bytes} bytes; ${maxInputBytes} are allowed (maxInputBytes).`,
    )
  }
  return { task, key: hash('sha256', text, 'hex'), input }
}

/** @throws InvalidTask for a value that is not JSON */
export function jsonText(value: unknown, what: string): string {
  const refusal = (cause?: unknown): MusterError =>
    new MusterError(operatorErrors.InvalidTask, `${what} is not JSON.`, { cause })
  let text: string | undefined
  try {
    text = stringifyJson(value) as string | undefined
  } catch (error) {
    throw refusal(error)
  }
  if (text === undefined) throw refusal()
  return text
}

/**
 * How a reconcile gets the result of a task. A known result is there at once. For any other, the manager starts the work and ends
 * the reconcile by `Suspended`: no failure, no status, no back-off; the CR is enqueued when the task has ended. Where a reconcile
 * has no manager (a directory, a test, a simulation), it waits for the task and goes on.
 */
import { Suspended } from '../suspended.ts'
import { type Task, taskCall, type TaskSecrets } from './task.ts'

export interface ResultOptions {
  /** Credentials for `run`: no part of the key, never stored, never logged. @default none */
  readonly secrets?: TaskSecrets
}

export interface TaskResults {
  /**
   * @throws Suspended while the task is worked on, in a manager
   * @throws the error of the task, until its next attempt has ended
   */
  result<Input, Result>(
    this: void,
    task: Task<Input, Result>,
    input: NoInfer<Input>,
    options?: ResultOptions,
  ): Promise<Result>
}

/** The suspension of a reconcile that waits for a task. */
export function suspendedFor({ name }: Pick<Task, 'name'>): Suspended {
  return new Suspended(`the result of task ${name}`)
}

/** Works each task out where it is asked for, and remembers nothing: for a reconcile on its own. */
export const directResults: TaskResults = {
  async result(task, input, { secrets = {} } = {}) {
    const call = taskCall(task, input)
    return await task.run(call.input as typeof input, { signal: new AbortController().signal, secrets })
  },
}

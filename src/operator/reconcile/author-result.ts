/** Results of tasks, for author code: declared tasks only. A reconcile that is suspended stays so, even if author code catches it. */
import { MusterError } from '../../kube/muster-error.ts'
import { operatorErrors } from '../errors.ts'
import { Suspended } from '../suspended.ts'
import { directResults, type TaskResults } from '../task/task-results.ts'
import type { ReconcileRun } from './run.ts'

export function resultFor(run: ReconcileRun): TaskResults['result'] {
  return async (task, input, options) => {
    const { controller, tasks = directResults } = run.situation
    if (!controller.tasks.includes(task)) {
      throw new MusterError(
        operatorErrors.UndeclaredTask,
        `${run.journal.place} asks for the result of task ${task.name}, which it does not declare. Add it to tasks.`,
      )
    }
    run.awaitedTasks++
    try {
      return await tasks.result(task, input, options)
    } catch (error) {
      if (error instanceof Suspended) run.journal.suspend(error)
      throw error
    } finally {
      run.awaitedTasks--
    }
  }
}

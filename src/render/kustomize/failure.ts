/** Errors of kustomizations, with the place that they are about. */
import { MusterError } from '../../kube/muster-error.ts'
import { kustomizeErrors } from './errors.ts'

/** Of `place` (a file, or a field of it), what is wrong. */
export function failure(
  error: keyof typeof kustomizeErrors,
  place: string,
  problem: string,
  cause?: unknown,
): MusterError {
  return new MusterError(kustomizeErrors[error], `${place}: ${problem}${problem.endsWith('?') ? '' : '.'}`, { cause })
}

/** Runs `work`; what it throws is reported as an error at `place`. */
export function failingAt<Result>(error: keyof typeof kustomizeErrors, place: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof MusterError && cause.code.startsWith('MUS23')) throw cause
    throw failure(error, place, cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause), cause)
  }
}

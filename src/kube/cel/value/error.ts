/**
 * Errors of CEL expressions. A compile error is a mistake of the author and rejected at creation; a run-time error depends on
 * the data. Both have the messages of the real server, which clients see.
 */
import { kubeErrors } from '../../errors.ts'
import { MusterError } from '../../muster-error.ts'

/** Why an expression was rejected: `source` for its text, `program` for invalid constants in it. */
type CelCompilePhase = 'source' | 'program'

export class CelCompileError extends MusterError {
  readonly phase: CelCompilePhase
  /** One per mistake, with its position and source line. */
  readonly issues: readonly string[]

  constructor(issues: readonly string[], phase: CelCompilePhase = 'source') {
    super(kubeErrors.InvalidExpression, issues.join('\n'))
    this.issues = issues
    this.phase = phase
  }
}

export class CelRuntimeError extends MusterError {
  constructor(message: string) {
    super(kubeErrors.ExpressionFailed, message)
  }
}

/** The expression exceeded its cost limit: `||` does not absorb it. */
export class CelCostError extends CelRuntimeError {
  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}

export function noSuchOverload(detail?: string): CelRuntimeError {
  return new CelRuntimeError(detail === undefined ? 'no such overload' : `no such overload: ${detail}`)
}

/**
 * Errors of CEL expressions. One that does not compile is the author's mistake and is refused when it is written; one
 * that fails while it runs is a fact about the data. Both speak the words of the real server, which clients see.
 */
import { MusterError } from '../errors.ts'

/** Why an expression was refused: `source` for its text, `program` for constants in it that cannot be. */
export type CelCompilePhase = 'source' | 'program'

export class CelCompileError extends MusterError {
  readonly phase: CelCompilePhase
  /** One for each mistake, with its place and the line of source. */
  readonly issues: readonly string[]

  constructor(issues: readonly string[], phase: CelCompilePhase = 'source') {
    super('InvalidExpression', issues.join('\n'))
    this.issues = issues
    this.phase = phase
  }
}

export class CelRuntimeError extends MusterError {
  constructor(message: string) {
    super('ExpressionFailed', message)
  }
}

/** The expression cost more than it may: no part of it can make up for that, so `||` does not absorb it. */
export class CelCostError extends CelRuntimeError {
  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}

export function noSuchOverload(detail?: string): CelRuntimeError {
  return new CelRuntimeError(detail === undefined ? 'no such overload' : `no such overload: ${detail}`)
}

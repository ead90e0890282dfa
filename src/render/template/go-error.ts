/** Errors as Go wraps them: the text of each contains that of its cause. Helm takes this chain apart to print it. */

/** An error of a template or of a function that it calls. */
export class GoError extends Error {
  override readonly name: string = 'GoError'
  /** What `errors.Unwrap` returns. */
  readonly wrapped: GoError | undefined

  constructor(message: string, wrapped?: GoError) {
    super(message)
    this.wrapped = wrapped
  }
}

/** Raised by an executing template; the message begins with `template: name:line:column:`. */
export class ExecError extends GoError {
  override readonly name: string = 'ExecError'
}

/** A template used up one of its bounds: no function or template may swallow this. */
export class BudgetExceeded extends Error {
  override readonly name: string = 'BudgetExceeded'
}

/** The stack of this thread is used up, and the caller has another thread with a larger one. */
export class StackExhausted extends Error {
  override readonly name: string = 'StackExhausted'
}

/** V8 reports an exhausted stack by a RangeError; while it compiles a regular expression, by a SyntaxError. */
export function isStackOverflow(error: unknown): boolean {
  if (error instanceof RangeError) return error.message.includes('call stack')
  return error instanceof SyntaxError && error.message.endsWith('Stack overflow')
}

export function runtimeError(what: string): GoError {
  return new GoError(`runtime error: ${what}`)
}

export function nilDereference(): GoError {
  return runtimeError('invalid memory address or nil pointer dereference')
}

/** The error of a task: what it says about the next attempt, and what of it may be shown. */
import { isMusterError, MusterError, type RetryClass } from '../../kube/muster-error.ts'
import { hidingValues } from '../../kube/text/hidden-text.ts'
import { OperatorError } from '../../operator/failure.ts'
import type { TaskSecrets } from '../../operator/task/task.ts'
import { blackedOut } from '../../operator/view/secret-redaction.ts'

const firstMs = 1000
const mostMs = 300_000

/** The wait before the next attempt, after so many failed ones; undefined: there is none, unless something changes. */
export function taskRetryDelay(error: unknown, failures: number): number | undefined {
  const { retry, afterMs = 0 } = retryOf(error)
  if (retry === 'terminal') return undefined
  const wait = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), mostMs)
  return Number.isFinite(afterMs) ? Math.max(wait, afterMs) : wait
}

function retryOf(error: unknown): { readonly retry: RetryClass; readonly afterMs?: number | undefined } {
  if (error instanceof OperatorError) return error
  if (isMusterError(error)) return { retry: error.retry, afterMs: error.retryAfterMs }
  return { retry: 'transient' }
}

/** The same error, with the time of the next attempt. */
export function withNextAttempt(error: unknown, afterMs: number): unknown {
  if (error instanceof OperatorError) {
    const { reason, message, retry, gaveUp } = error
    return new OperatorError(reason, message, { retry, gaveUp, afterMs, cause: error })
  }
  if (isMusterError(error)) return new MusterError(error, error.message, { cause: error, retryAfterMs: afterMs })
  return error
}

/** More causes than this are not followed. */
const mostCauses = 8

/** An error may repeat the secrets that its task was given: they are redacted, in its causes, too. */
export function redactedError(error: unknown, secrets: TaskSecrets): unknown {
  const hide = hidingValues(
    Object.values(secrets).filter((value) => value !== ''),
    blackedOut,
  )
  // A thrown value may have no string form.
  if (!(error instanceof Error)) return new Error(typeof error === 'string' ? hide(error) : 'It threw no error.')
  let each: unknown = error
  for (let depth = 0; each instanceof Error && depth < mostCauses; depth++) {
    for (const member of ['message', 'stack'] as const) {
      const text: unknown = each[member]
      const shown = typeof text === 'string' ? hide(text) : text
      // In place: authors recognise their errors by class and members.
      if (shown !== text && !Reflect.defineProperty(each, member, { value: shown }))
        return new Error(hide(error.message))
    }
    each = each.cause
  }
  return error
}

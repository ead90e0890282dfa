/**
 * Errors of failed Secret writes. API servers quote rejected values; the value of a Secret must not reach a condition,
 * an Event or a log, which have more readers than the Secret.
 */
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { hidingValues } from '../../kube/text/hidden-text.ts'
import { type Mutation, mutationName } from '../../operator/plan.ts'
import { blackedOut, isSecret, secretValues } from '../../operator/view/secret-redaction.ts'

/** The error itself, unless its message contains a value of the Secret. */
export function withoutSecrets(error: unknown, mutation: Mutation): unknown {
  if (mutation.verb !== 'apply' || !isSecret(mutation.object)) return error
  const text = error instanceof Error ? error.message : String(error)
  const values = secretValues(mutation.object)
  const isRepeated = hidingValues(values, blackedOut)(text) !== text || values.some((value) => text.includes(value))
  if (!isRepeated) return error
  const { namespace, name } = mutationName(mutation)
  const message = `Secret ${namespace}/${name} was refused; why is left out, since it repeats what the Secret holds.`
  // No `cause`: it would contain the original message.
  return isMusterError(error)
    ? new MusterError(error, message, { retryAfterMs: error.retryAfterMs })
    : new Error(message)
}

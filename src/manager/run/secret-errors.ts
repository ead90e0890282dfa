/**
 * Failed writes of Secrets. Servers quote what they refuse; what a Secret holds must not end in a condition, an Event or a
 * log, which more people may read than the Secret.
 */
import { isMusterError, MusterError } from '../../kube/errors.ts'
import { hidingValues } from '../../kube/hidden-text.ts'
import { type Mutation, mutationName } from '../../operator/plan.ts'
import { blackedOut, isSecret, secretValues } from '../../operator/secrecy.ts'

/** The error itself, unless it repeats something that the Secret was to hold. */
export function withoutSecrets(error: unknown, mutation: Mutation): unknown {
  if (mutation.verb !== 'apply' || !isSecret(mutation.object)) return error
  const text = error instanceof Error ? error.message : String(error)
  const values = secretValues(mutation.object)
  const isRepeated = hidingValues(values, blackedOut)(text) !== text || values.some((value) => text.includes(value))
  if (!isRepeated) return error
  const { namespace, name } = mutationName(mutation)
  const message = `Secret ${namespace}/${name} was refused; why is left out, since it repeats what the Secret holds.`
  // Without a cause: that would be the very words.
  return isMusterError(error)
    ? new MusterError(error.name, message, { retryAfterMs: error.retryAfterMs })
    : new Error(message)
}

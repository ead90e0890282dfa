/** The Secrets that a guest has read recently: its output and errors may repeat them. */
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { SecretReads } from '../../operator/view/secret-redaction.ts'
import type { PrintedSecrets } from './launch/guest-handle.ts'

interface SeenSecrets extends PrintedSecrets {
  /** Remembers what a reconcile of the guest reads. */
  add(reads: SecretReads): void
  /** The same error, with these values masked. */
  without(reason: unknown): unknown
}

/** Limit of reconciles whose Secrets are remembered. */
const mostRemembered = 64

export function rememberSecrets(): SeenSecrets {
  const seen: SecretReads[] = []
  const hide = (text: string): string => seen.reduce((hidden, secrets) => secrets.hide(hidden), text)
  return {
    add(reads) {
      if (seen.push(reads) > mostRemembered) seen.shift()
    },
    hide,
    ofSeveralLines: () => seen.flatMap((secrets) => secrets.ofSeveralLines()),
    without(reason) {
      if (isMusterError(reason)) {
        const { message, retryAfterMs } = reason
        return new MusterError(reason, hide(message), retryAfterMs === undefined ? {} : { retryAfterMs })
      }
      if (!(reason instanceof Error)) return hide(String(reason))
      return Object.assign(new Error(hide(reason.message)), { name: reason.name })
    },
  }
}

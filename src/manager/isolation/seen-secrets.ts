/** The Secrets that a guest has read recently: its output and errors may repeat them. */
import { isMusterError, MusterError } from '../../kube/errors.ts'
import { watchSecrets, type WatchedSecrets } from '../../operator/secrecy.ts'
import type { View } from '../../operator/view.ts'
import type { PrintedSecrets } from './guest-handle.ts'

interface SeenSecrets extends PrintedSecrets {
  /** The same view; Secrets that are read are remembered. */
  watched(view: View): View
  /** The same error, with these values masked. */
  without(reason: unknown): unknown
}

/** Limit of reconciles whose Secrets are remembered. */
const mostRemembered = 64

export function rememberSecrets(): SeenSecrets {
  const seen: WatchedSecrets[] = []
  const hide = (text: string): string => seen.reduce((hidden, secrets) => secrets.hide(hidden), text)
  return {
    watched(view) {
      const secrets = watchSecrets(view)
      if (seen.push(secrets) > mostRemembered) seen.shift()
      return secrets.view
    },
    hide,
    ofSeveralLines: () => seen.flatMap((secrets) => secrets.ofSeveralLines()),
    without(reason) {
      if (isMusterError(reason)) {
        const { name, message, retryAfterMs } = reason
        return new MusterError(name, hide(message), retryAfterMs === undefined ? {} : { retryAfterMs })
      }
      if (!(reason instanceof Error)) return hide(String(reason))
      return Object.assign(new Error(hide(reason.message)), { name: reason.name })
    },
  }
}

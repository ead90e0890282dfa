/** Errors of the sidecar and of its client: MUS18xx. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  SidecarConfigInvalid: {
    code: 'MUS1801',
    retry: 'terminal',
    meaning: 'The configuration, token file or address of a sidecar is not valid.',
    cure: 'Correct the setting in the message; src/sidecar/README.md has an example.',
  },
  SidecarStateUnusable: {
    code: 'MUS1802',
    retry: 'terminal',
    meaning: 'The state directory of a sidecar is not writable, or another sidecar uses it.',
    cure: 'Give every sidecar its own writable directory.',
  },
  SidecarUnreachable: {
    code: 'MUS1803',
    retry: 'transient',
    meaning: 'No complete response came from a sidecar.',
    cure: 'Check that the Pod runs, and that the sidecar listens on a reachable address (--listen).',
  },
  SidecarRefused: {
    code: 'MUS1804',
    retry: 'terminal',
    meaning: 'A sidecar rejected a request: the action name or the request is not valid.',
    cure: 'Correct the request; the action must be configured in the sidecar.',
  },
  SidecarBusy: {
    code: 'MUS1805',
    retry: 'throttled',
    meaning: 'A sidecar runs as many actions as its concurrency allows.',
    cure: 'Retry when the action in the message has ended, or raise concurrency.',
  },
  ActionConflict: {
    code: 'MUS1806',
    retry: 'terminal',
    meaning: 'The idempotency key of an action was already used with another name or input.',
    cure: 'Use another key for another action.',
  },
  SidecarFailed: {
    code: 'MUS1807',
    retry: 'transient',
    meaning: 'A sidecar could not carry out a request: it is stopping or overloaded, or its disk or token file failed.',
    cure: "Read the sidecar's log; free its disk, or fix its token file.",
  },
  SidecarUnauthorized: {
    code: 'MUS1808',
    retry: 'transient',
    meaning: 'A sidecar did not accept the token; a rotated token reaches it within minutes.',
    cure: "Use a token of the sidecar's token file; during rotation keep the old one in it on its own line.",
  },
} as const

export const sidecarErrors: ErrorTable<typeof table> = defineErrors(table)

/** Errors that both ends of a connection raise: the client and the embedded API server. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  ConnectionLost: {
    code: 'MUS1206',
    retry: 'transient',
    meaning:
      'The connection broke before the response was complete; it is unknown whether the server carried out the request.',
    cure: 'Retry; if it persists, check load balancers and proxies in between.',
  },
} as const

export const transportErrors: ErrorTable<typeof table> = defineErrors(table)

/** Errors of workloads: MUS25xx. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  InvalidTrace: {
    code: 'MUS2501',
    retry: 'terminal',
    meaning:
      'A trace of workloads cannot be read: a field is missing, unknown or has the wrong form, or it is too large.',
    cure: 'Correct the field in the message; docs/workloads.md has the format.',
  },
} as const

export const workloadErrors: ErrorTable<typeof table> = defineErrors(table)

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
  InvalidPodSets: {
    code: 'MUS2521',
    retry: 'terminal',
    meaning:
      'The pods of a wrapped object cannot be worked out: a path leads nowhere, or a number of replicas is none.',
    cure: 'Declare the pod sets of the component with the right paths, or correct the wrapped object.',
  },
} as const

export const workloadErrors: ErrorTable<typeof table> = defineErrors(table)

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
    code: 'MUS2511',
    retry: 'terminal',
    meaning:
      'The pods of a wrapped object cannot be worked out: a path leads nowhere, or a number of replicas is none.',
    cure: 'Declare the pod sets of the component with the right paths, or correct the wrapped object.',
  },
  InjectionConflict: {
    code: 'MUS2512',
    retry: 'terminal',
    meaning: 'What the admission adds to the pods of an AppWrapper contradicts their template.',
    cure: 'Leave the field in the message out of the template, or admit the AppWrapper elsewhere.',
  },
} as const

export const workloadErrors: ErrorTable<typeof table> = defineErrors(table)

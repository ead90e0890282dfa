/** Errors of the platform: MUS24xx. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  UnknownVersion: {
    code: 'MUS2401',
    retry: 'terminal',
    meaning: 'A CRD does not have the version that is named.',
    cure: 'Name one of the versions of the CRD.',
  },
  InvalidHelmRelease: {
    code: 'MUS2402',
    retry: 'terminal',
    meaning: 'A Secret is no release of Helm, or the release in it is damaged or too large.',
    cure: 'Name a release that helm list shows; a damaged one can only be installed again.',
  },
  InvalidImport: {
    code: 'MUS2403',
    retry: 'terminal',
    meaning: 'An object that is to be imported is no valid Kubernetes object.',
    cure: 'Correct the object that the message names.',
  },
  InvalidWave: {
    code: 'MUS2404',
    retry: 'terminal',
    meaning: 'The wave of an object is no integer.',
    cure: 'Write a whole number into the annotation that the message names, or remove it.',
  },
} as const

export const platformErrors: ErrorTable<typeof table> = defineErrors(table)

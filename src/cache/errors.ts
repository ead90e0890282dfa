/** Errors of the shared caches: MUS14xx. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  StreamIdle: {
    code: 'MUS1212',
    retry: 'transient',
    meaning: 'A stream was silent for so long that its connection is considered dead.',
    cure: 'None: the stream is opened again.',
  },

  CacheClosed: {
    code: 'MUS1401',
    retry: 'terminal',
    meaning: 'A cache or subscription was used after it was closed.',
    cure: 'Subscribe again.',
  },
  IndexNotFound: {
    code: 'MUS1402',
    retry: 'terminal',
    meaning: 'A read used an index that was not declared.',
    cure: 'Declare the index when subscribing.',
  },
  SyncTimeout: {
    code: 'MUS1403',
    retry: 'transient',
    meaning: 'The cache did not sync within the time-out.',
    cure: 'Check the freshness of the informer: it contains the reason.',
  },
  NotSynced: {
    code: 'MUS1405',
    retry: 'transient',
    meaning: 'A read before the first list was complete.',
    cure: 'Wait for synced() before reading.',
  },
} as const

export const cacheErrors: ErrorTable<typeof table> = defineErrors(table)

/** Errors of files and folders. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  LockUnavailable: {
    code: 'MUS1605',
    retry: 'terminal',
    meaning: 'A folder cannot be locked against other processes.',
    cure: 'Use a writable folder on a local file system, and a Node with SQLite.',
  },
} as const

export const systemErrors: ErrorTable<typeof table> = defineErrors(table)

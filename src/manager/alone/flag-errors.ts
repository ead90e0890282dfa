/** Errors of command lines: those of operators that run alone, of the contract commands and of `muster`. */
import { defineErrors, type ErrorTable } from '../../kube/muster-error.ts'

const table = {
  UnknownFlag: {
    code: 'MUS1502',
    retry: 'terminal',
    meaning: 'The command has no such flag.',
    cure: 'Run muster help COMMAND to see its flags.',
  },
  InvalidFlag: {
    code: 'MUS1503',
    retry: 'terminal',
    meaning: 'The value of a flag is not valid.',
    cure: 'Use a value that the help of the command describes.',
  },
} as const

export const flagErrors: ErrorTable<typeof table> = defineErrors(table)

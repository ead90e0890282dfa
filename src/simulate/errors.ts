/** Errors of the fault simulator and of declarative tests. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  InvalidTest: {
    code: 'MUS2005',
    retry: 'terminal',
    meaning: 'A declarative test is not valid.',
    cure: 'Correct the test.yaml in the message; docs/declarative-tests.md describes all keys.',
  },

  InvalidPlan: {
    code: 'MUS2101',
    retry: 'terminal',
    meaning: 'A fault plan is not valid, or names an unknown scenario or fault.',
    cure: 'Copy the plan from the report, or write SCENARIO: FAULT@POINT; docs/simulator.md lists the faults.',
  },
} as const

export const simulateErrors: ErrorTable<typeof table> = defineErrors(table)

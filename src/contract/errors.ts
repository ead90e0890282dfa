/** Errors of the operator contract: MUS20xx. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  InvalidResourceList: {
    code: 'MUS2001',
    retry: 'terminal',
    meaning: 'The declared inputs or outputs of an operator (input-resources, output-resources) are not valid.',
    cure: 'Correct the entries in the message.',
  },
  OutputRefused: {
    code: 'MUS2002',
    retry: 'terminal',
    meaning: 'The output directory of an operator violates the contract; none of it was applied.',
    cure: 'Correct the operator; distrust the operator if there is no explanation.',
  },
  ExternalFailed: {
    code: 'MUS2003',
    retry: 'transient',
    meaning: 'An external operator crashed, hung, exceeded its memory limit or left no results; nothing was applied.',
    cure: 'Run its command by hand on the same input directory; the message contains the cause.',
  },
  NetworkNotCut: {
    code: 'MUS2004',
    retry: 'terminal',
    meaning: 'A run requires a sandbox or no network, and that cannot be enforced on this machine.',
    cure: 'Follow the message (user namespaces, util-linux, CAP_SYS_ADMIN for root), or set allowUnenforced: true for trusted code.',
  },
  EgressRefused: {
    code: 'MUS2006',
    retry: 'terminal',
    meaning: 'An external operator called an address that is not on its allow list.',
    cure: 'Add the address to the allow list of this operator, if the call is intended.',
  },
  OutputUnwritable: {
    code: 'MUS2007',
    retry: 'terminal',
    meaning: 'The result of a run cannot be written to the requested path.',
    cure: 'Use a path in a writable folder; an output directory must be new or empty.',
  },
} as const

export const contractErrors: ErrorTable<typeof table> = defineErrors(table)

/** Errors of the manager: MUS19xx, and those of its webhook server, listeners and module loader. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  ModuleUnusable: {
    code: 'MUS1505',
    retry: 'terminal',
    meaning: 'A file that should export an operator or a kind cannot be loaded, or has no such export.',
    cure: 'Correct the file or the path in the message.',
  },
  PortTaken: {
    code: 'MUS1508',
    retry: 'terminal',
    meaning: 'Another program listens on the requested port.',
    cure: 'Choose another port, or stop the other program.',
  },

  WebhookUnknown: {
    code: 'MUS1743',
    retry: 'transient',
    meaning: 'No hosted operator has the requested webhook; it may not be registered yet, or be about to be removed.',
    cure: 'Host the operator in the message, or delete the webhook configuration that points here.',
  },
  InvalidReview: {
    code: 'MUS1744',
    retry: 'terminal',
    meaning: 'A request to a webhook is not a valid review.',
    cure: 'Let only API servers call webhooks; the message contains the reason.',
  },
  WebhookFailed: {
    code: 'MUS1745',
    retry: 'transient',
    meaning: 'The author code of a webhook threw, returned an invalid result or timed out; its failure policy decides.',
    cure: 'Read the log of the manager for the cause, and correct the webhook in the message.',
  },
  CertificatesForeign: {
    code: 'MUS1746',
    retry: 'terminal',
    meaning: 'The Secret for the webhook certificates exists and was not created by this manager.',
    cure: 'Configure another Secret, or delete the one in the message.',
  },

  InvalidConfiguration: {
    code: 'MUS1901',
    retry: 'terminal',
    meaning: 'A configuration has an unknown key or a value that is not valid.',
    cure: 'Correct the keys in the message; the previous configuration stays in force.',
  },
  ContradictoryWrites: {
    code: 'MUS1921',
    retry: 'terminal',
    meaning: 'One plan contains two contradictory writes of the same object: neither is sent.',
    cure: 'Remove one of the two writes in the message.',
  },
  InvalidNameMap: {
    code: 'MUS1931',
    retry: 'terminal',
    meaning: 'The rules of a name map are not reversible, or two maps cover the same objects.',
    cure: 'Correct the rules in the message, so that each name in the cluster corresponds to exactly one name.',
  },
  NameOutsideMap: {
    code: 'MUS1932',
    retry: 'terminal',
    meaning: 'An operator with a name map uses an object name that no rule covers.',
    cure: 'Add a rule for the namespace or the name; a kind that is shared can only be read.',
  },
  InvalidPlacement: {
    code: 'MUS1933',
    retry: 'terminal',
    meaning: 'An operator cannot be placed on several clusters: it is ambiguous which objects belong where.',
    cure: 'Give each kind one role, and each cluster its identity before it is placed.',
  },
  TermOver: {
    code: 'MUS1941',
    retry: 'conflict',
    meaning:
      'A write was computed while this replica held the lease, and the lease was lost before it was sent (fencing).',
    cure: 'None: the new leader computes it again. If it is frequent, find out why leases are not renewed in time.',
  },
  IsolationRefused: {
    code: 'MUS1951',
    retry: 'terminal',
    meaning: 'The configured isolation of an operator cannot be enforced on this machine.',
    cure: 'Follow the message: provide what is missing (Node 26, Linux user namespaces, util-linux), or move the file that must not be readable; or choose another level.',
  },
  OperatorNotLoaded: {
    code: 'MUS1952',
    retry: 'transient',
    meaning: 'The module of an operator cannot be loaded, or has no such export.',
    cure: 'Correct the module; files outside of its own folder must be listed as readable.',
  },
  OperatorCrashed: {
    code: 'MUS1953',
    retry: 'transient',
    meaning: 'An isolated operator exited, had an uncaught error or ran out of memory; it is restarted.',
    cure: 'Correct the operator, or give it more memory; the message contains the cause.',
  },
  OperatorUnresponsive: {
    code: 'MUS1954',
    retry: 'transient',
    meaning: 'An isolated operator blocked its event loop; it was terminated and is restarted.',
    cure: 'Look for an endless loop, or for long synchronous work.',
  },
  ReconcileTimeout: {
    code: 'MUS1955',
    retry: 'transient',
    meaning: 'An isolated operator did not finish the reconcile of an object in time; its other objects continue.',
    cure: 'Find out what it waits for, or raise its time-out.',
  },
  GuestMisbehaved: {
    code: 'MUS1956',
    retry: 'transient',
    meaning: 'An isolated operator violated the protocol or a limit of its sandbox; it was terminated.',
    cure: 'Correct the operator, or raise the limit in the message; distrust the operator if there is no explanation.',
  },
  OutsideRefused: {
    code: 'MUS1957',
    retry: 'terminal',
    meaning: 'An isolated operator called an address that is not allowed.',
    cure: 'Allow the origin for this operator, if the call is intended.',
  },
  OperatorQuarantined: {
    code: 'MUS1958',
    retry: 'transient',
    meaning:
      'An operator blocked the main thread until the process was terminated, and cannot be isolated on this machine.',
    cure: 'Fix the loop, or make the operator able to run at isolation level worker; the message names the entry to remove.',
  },
  TaskTimeout: {
    code: 'MUS1961',
    retry: 'transient',
    meaning: 'A task did not end in time. It was aborted, and is tried again later.',
    cure: 'Find out what it waits for, or raise its timeoutMs.',
  },
} as const

export const managerErrors: ErrorTable<typeof table> = defineErrors(table)

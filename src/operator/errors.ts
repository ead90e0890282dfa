/** Errors of the operator kit: MUS17xx. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  UndeclaredInput: {
    code: 'MUS1702',
    retry: 'terminal',
    meaning: 'A controller reads a kind, namespace or name that it did not declare.',
    cure: "Add it to the controller's reads: the kind, or exactly(…), labelled(…), generated(…), referenced(…).",
  },
  UndeclaredOutput: {
    code: 'MUS1703',
    retry: 'terminal',
    meaning: 'A plan writes a kind or an object name that its operator did not declare as output.',
    cure: 'Make it a dependent of the controller, or add the kind or the name to its writes.',
  },
  InvalidDependent: {
    code: 'MUS1704',
    retry: 'terminal',
    meaning: 'The definition of a dependent is inconsistent, or does not match the object it builds.',
    cure: 'Correct the dependent in the message.',
  },
  InvalidController: {
    code: 'MUS1705',
    retry: 'terminal',
    meaning: 'The definition of a controller or operator is inconsistent.',
    cure: 'Correct the definition in the message.',
  },
  InvalidFieldPath: {
    code: 'MUS1706',
    retry: 'terminal',
    meaning: 'Not a valid field path.',
    cure: 'Write members with dots, keys as ["…"], list items as [name=app].',
  },
  StepTimeout: {
    code: 'MUS1709',
    retry: 'transient',
    meaning: 'A step of a controller exceeded its time-out.',
    cure: 'Make long work a task (defineTask), and ask for its result.',
  },
  FrozenObject: {
    code: 'MUS1710',
    retry: 'terminal',
    meaning: 'Author code tried to change a read-only object.',
    cure: 'Return the desired changes instead of changing the object.',
  },
  NotOurs: {
    code: 'MUS1711',
    retry: 'terminal',
    meaning: 'An object with the name of a desired dependent exists and is not owned by this controller.',
    cure: 'Choose another name, delete the object, or set the policy of the dependent to adopt or ignore.',
  },
  NeedsCluster: {
    code: 'MUS1712',
    retry: 'terminal',
    meaning: 'Author code makes an external call in a run without a cluster.',
    cure: 'Make external calls only if live.available is true.',
  },
  InvalidKind: {
    code: 'MUS1714',
    retry: 'terminal',
    meaning: 'An API server would reject the CRD of a kind: its group, version, names, a pattern, a default or a rule.',
    cure: 'Correct the definition at the place in the message.',
  },
  NoSample: {
    code: 'MUS1721',
    retry: 'terminal',
    meaning: 'The examination of an operator needs a sample of its custom resource, and there is none.',
    cure: 'Write one, and pass it with --sample FILE.',
  },
  InvalidLifecycle: {
    code: 'MUS1731',
    retry: 'terminal',
    meaning: 'A life-cycle graph has unreachable or unknown states, or a cycle.',
    cure: 'Correct the states in the message.',
  },
  InvalidWebhook: {
    code: 'MUS1741',
    retry: 'terminal',
    meaning: 'The definition of a webhook or conversion is inconsistent.',
    cure: 'Correct the definition in the message.',
  },
  ConversionMissing: {
    code: 'MUS1742',
    retry: 'terminal',
    meaning: 'An object is requested at a version for which its kind has no conversion.',
    cure: 'Declare a conversion for that version with defineConversion.',
  },
  InvalidTask: {
    code: 'MUS1751',
    retry: 'terminal',
    meaning: 'The definition of a task is inconsistent, or its input or result is not JSON.',
    cure: 'Correct the task in the message.',
  },
  UndeclaredTask: {
    code: 'MUS1752',
    retry: 'terminal',
    meaning: 'A controller asks for the result of a task that it did not declare.',
    cure: "Add the task to the controller's tasks.",
  },
  InvalidCoordinator: {
    code: 'MUS1755',
    retry: 'terminal',
    meaning: 'The definition of a coordinator is inconsistent, or what its functions return is not valid.',
    cure: 'Correct the coordinator in the message.',
  },
  UndeclaredCoordinator: {
    code: 'MUS1756',
    retry: 'terminal',
    meaning: 'A controller reads a decision of a coordinator that it did not declare.',
    cure: "Add the coordinator to the controller's coordinators.",
  },
  TaskTooLarge: {
    code: 'MUS1753',
    retry: 'terminal',
    meaning: 'The input of a task, or the results that one reconcile asks for, take more memory than allowed.',
    cure: 'Pass less and return less, or raise the limit that the message names.',
  },
} as const

export const operatorErrors: ErrorTable<typeof table> = defineErrors(table)

/** Errors of the `muster` command: MUS15xx, and those of the programs that it starts. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  UnknownCommand: {
    code: 'MUS1501',
    retry: 'terminal',
    meaning: 'There is no such muster command.',
    cure: 'Run muster help to see the commands.',
  },
  BinaryMissing: {
    code: 'MUS1504',
    retry: 'terminal',
    meaning: 'A required program is not installed on this machine.',
    cure: 'Install the program in the message.',
  },
  AlreadyThere: {
    code: 'MUS1506',
    retry: 'terminal',
    meaning: 'A file or folder to be written already exists; it was not changed.',
    cure: 'Choose another name, or move the existing one.',
  },
  ManagerNotFound: {
    code: 'MUS1507',
    retry: 'terminal',
    meaning: 'No running manager was found, or the response does not come from a manager.',
    cure: 'Start one with muster up or muster run in this folder, or set the address of its status server with --url.',
  },
  PlatformMissing: {
    code: 'MUS1509',
    retry: 'terminal',
    meaning: 'The cluster does not serve Installations, or no manager there hosts their operator.',
    cure: 'Run muster run @muster-dev/muster/platform --install, or add muster-platform to the operators of a manager.',
  },
  InstallationExists: {
    code: 'MUS1510',
    retry: 'terminal',
    meaning: 'An Installation of that name exists.',
    cure: 'Upgrade it with muster upgrade, or choose another name.',
  },
  InstallationNotFound: {
    code: 'MUS1511',
    retry: 'terminal',
    meaning: 'There is no Installation of that name in the namespace.',
    cure: 'List them with kubectl get installations --all-namespaces; name the namespace with --namespace.',
  },
  RevisionNotFound: {
    code: 'MUS1512',
    retry: 'terminal',
    meaning: 'An Installation has no such revision, or its content is gone.',
    cure: 'Name one that muster history shows.',
  },
  WaitTimedOut: {
    code: 'MUS1513',
    retry: 'transient',
    meaning:
      'An Installation did not become ready, or was not removed, within the time to wait. The work goes on in the cluster.',
    cure: 'Wait longer with --timeout, or follow it with kubectl get installation NAME --watch.',
  },
  ForeignDefinition: {
    code: 'MUS1514',
    retry: 'terminal',
    meaning:
      'A CRD of an operator exists with other contents, and another client made it: another project, or another tool.',
    cure: 'Leave the operator out of this manager; or remove the project that brings the CRD, and the CRD with its objects; or, if the CRD is meant to be this one, apply what muster generate crd prints with kubectl apply --server-side --force-conflicts.',
  },

  PartFailed: {
    code: 'MUS2102',
    retry: 'terminal',
    meaning: 'A worker process of a simulation ended without a report.',
    cure: 'Read its output above this line; --jobs 1 runs everything in one process.',
  },
} as const

export const cliErrors: ErrorTable<typeof table> = defineErrors(table)

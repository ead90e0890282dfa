/** Errors of the embedded API server: MUS16xx. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
  StorageDamaged: {
    code: 'MUS1601',
    retry: 'terminal',
    meaning: 'The data folder of an embedded cluster is corrupt; none of it is served.',
    cure: 'Restore the folder from a backup, or start with another --data folder.',
  },
  StorageFailed: {
    code: 'MUS1602',
    retry: 'transient',
    meaning: 'A change could not be written to the data folder; it was rolled back.',
    cure: 'Free disk space, or fix the cause in the message; then retry.',
  },
  StorageInUse: {
    code: 'MUS1603',
    retry: 'terminal',
    meaning: 'Another process uses this data folder or this kubeconfig file.',
    cure: 'Stop the process in the message; or use another --data folder and another --kubeconfig-out, or start in another folder.',
  },
  GatherUnreadable: {
    code: 'MUS1604',
    retry: 'terminal',
    meaning: 'A must-gather directory, or a file in it, cannot be read.',
    cure: 'Check the path in the message; unless strict, broken files are skipped.',
  },
  SigningKeyInvalid: {
    code: 'MUS1606',
    retry: 'terminal',
    meaning: 'The signing key of service account tokens is not valid.',
    cure: 'Restore service-accounts.pem from a backup, or remove it: then a new key is created, and existing tokens become invalid.',
  },
  ListenFailed: {
    code: 'MUS1607',
    retry: 'terminal',
    meaning: 'The embedded API server cannot listen on this address.',
    cure: 'Use a loopback address (127.0.0.1 or ::1), and a port that no other program uses.',
  },
  ServerCertificateInvalid: {
    code: 'MUS1608',
    retry: 'terminal',
    meaning: 'A certificate or its private key, given to the embedded API server, is not valid.',
    cure: 'Give a certificate and its private key in PEM that belong together, and a bundle with at least one authority.',
  },
} as const

export const apiserverErrors: ErrorTable<typeof table> = defineErrors(table)

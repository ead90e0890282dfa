/** The in-cluster connection of a Pod: its service account, as mounted by the kubelet. */
import { errorCode } from '../../system/error-code.ts'
import type { Clock } from '../../clock/clock.ts'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Connection } from '../connection.ts'
import { fingerprintOf } from '../followed-connection.ts'
import { explainFileError, type Machine } from './machine.ts'
import { tokenFileCredentials } from './token-file.ts'

/** The name of the connection. */
export const inClusterName = 'in-cluster'

const account = '/var/run/secrets/kubernetes.io/serviceaccount'

interface InClusterOptions {
  readonly machine: Machine
  readonly clock: Clock
}

/** Throws `NotInCluster`, with what is missing, outside of a Pod or without a service account. */
export async function inClusterConnection({ machine, clock }: InClusterOptions): Promise<Connection> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, POD_NAMESPACE: podNamespace } = machine.env
  if (!host || !port) {
    throw new MusterError(clientErrors.NotInCluster, 'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set.')
  }
  if ((await readMounted('token', machine)) === undefined) {
    throw new MusterError(
      clientErrors.NotInCluster,
      `${account}/token does not exist: let the Pod mount its service account (automountServiceAccountToken).`,
    )
  }
  const namespace = podNamespace || (await readMounted('namespace', machine))?.trim()
  // Some clusters have a publicly trusted certificate and mount no CA.
  const ca = await readMounted('ca.crt', machine)
  return {
    name: inClusterName,
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    tls: { ca },
    // The token is read from its file again and again, and the address is that of a Service, which stays.
    fingerprint: fingerprintOf(ca ?? null),
    credentials: tokenFileCredentials(`${account}/token`, { machine, clock }),
    namespace: namespace || 'default',
  }
}

async function readMounted(name: string, machine: Machine): Promise<string | undefined> {
  try {
    return await machine.readFile(`${account}/${name}`)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    const message = `${account}/${name} ${explainFileError(error)}.`
    throw new MusterError(clientErrors.CredentialFileUnreadable, message, { cause: error })
  }
}

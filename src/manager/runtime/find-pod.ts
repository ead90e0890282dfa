/** Whether the manager runs in a Pod and uses its service account; and if so, where it is. */
import type { Connection } from '../../client/connection.ts'
import { type LoadConnectionOptions, loadConnection } from '../../client/load-connection.ts'
import { systemMachine } from '../../client/credentials/machine.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { checkDnsLabel } from '../../kube/meta/name.ts'
import { installationVariable, type PodPlace } from '../config/pod-layer.ts'
import { managerErrors } from '../errors.ts'

/**
 * Undefined outside of a Pod, and where a kubeconfig leads to another cluster.
 * @throws InvalidConfiguration for an invalid name of the installation
 */
export async function findPod(options: LoadConnectionOptions = {}): Promise<PodPlace | undefined> {
  const { env } = options.machine ?? systemMachine
  if (!env['KUBERNETES_SERVICE_HOST']) return undefined
  let connection: Connection
  try {
    connection = await loadConnection(options)
  } catch {
    // The manager connects next, and reports the problem.
    return undefined
  }
  if (connection.name !== 'in-cluster') return undefined
  const installation = env[installationVariable] || undefined
  const [problem] = installation === undefined ? [] : checkDnsLabel(installation)
  if (problem !== undefined) {
    throw new MusterError(
      managerErrors.InvalidConfiguration,
      `${installationVariable} "${installation}": it ${problem}.`,
    )
  }
  const { POD_NAME: name, POD_UID: uid } = env
  return {
    namespace: connection.namespace,
    ...(installation !== undefined && { installation }),
    ...(name && uid && { pod: { name, uid } }),
  }
}

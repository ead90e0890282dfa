/**
 * Runs a single operator in a process of its own. Its flags become a configuration, and it is hosted by the same
 * runtime as in a manager of many. Programs call `operatorMain` of `@muster-dev/muster/contract`.
 */
import { aborted } from '../../clock/aborted.ts'
import { systemMachine } from '../../client/credentials/machine.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { flagErrors } from './flag-errors.ts'
import { describeError, MusterError } from '../../kube/muster-error.ts'
import type { Operator } from '../../operator/operator.ts'
import { composeConfiguration } from '../config/open-configuration.ts'
import { installedConfigMap } from '../config/pod-layer.ts'
import { logWriter } from '../logging/log-writer.ts'
import { replicaName } from '../leases/replica-name.ts'
import type { Reached } from '../runtime/clusters.ts'
import { findPod } from '../runtime/find-pod.ts'
import type { ManagerService } from '../runtime/manager-service.ts'
import { ownHelp, readOwnArguments } from './own-flags.ts'

export interface AloneOptions {
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Stops it after the reconciles in progress. */
  readonly signal: AbortSignal
  readonly out: (line: string) => void
  /** Receives the log, one JSON object per line. */
  readonly err: (line: string) => void
  /** A cluster that is connected already. @default the one in the settings */
  readonly local?: Reached
}

/** Resolves to the exit code. */
export async function runAlone(operator: Operator, options: AloneOptions): Promise<number> {
  try {
    await run(operator, options)
    return 0
  } catch (error) {
    options.err(describeError(error))
    return error instanceof MusterError && error.code.startsWith('MUS15') ? 2 : 1
  }
}

async function run(operator: Operator, options: AloneOptions): Promise<void> {
  const { argv, environment, signal, out, err, local } = options
  const { layer, file, configMap, isHelp } = readOwnArguments(operator, argv)
  if (isHelp) {
    out(ownHelp(operator))
    return
  }
  if (file !== undefined && configMap !== undefined) {
    throw new MusterError(flagErrors.InvalidFlag, 'The configuration is in a file or in a ConfigMap: leave one out.')
  }
  const { startManagerService } = await import('../runtime/manager-service.ts')
  const { reachCluster, reachLocal } = await import('../runtime/cluster-connection.ts')
  // The logging settings until the service has read its file or ConfigMap.
  const { configuration } = await composeConfiguration([], { environment, over: [layer], operators: [operator] })
  const { kubeconfig, context } = configuration.settings.clientConnection
  const machine = { ...systemMachine, env: environment }
  const pod = local ? undefined : await findPod({ kubeconfig, context, machine })
  const followed = configMap ?? (pod && file === undefined ? installedConfigMap(pod) : undefined)
  let service: ManagerService | undefined
  const log = logWriter(
    err,
    () => systemClock.now(),
    () => (service?.configuration.current ?? configuration).settings.logging,
  )
  const starting = startManagerService({
    ...(file !== undefined && { from: { file } }),
    ...(followed !== undefined && { from: { configMap: followed } }),
    pod,
    environment,
    over: [layer],
    declared: () => Promise.resolve([operator]),
    load: () => Promise.resolve({ operator }),
    connect: local ? () => Promise.resolve(local) : reachLocal,
    reach: reachCluster,
    identity: replicaName(),
    log,
    signal,
  })
  try {
    service = await starting
  } catch (error) {
    if (signal.aborted) return
    throw error
  }
  try {
    await Promise.race([service.runtime.settled(), aborted(signal)])
    if (!signal.aborted) out(`${operator.name} is running`)
    await aborted(signal)
  } finally {
    await service.stop()
  }
}

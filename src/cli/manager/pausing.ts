/**
 * What `muster pause` and `muster resume` share. An object is paused by a label on it, an operator by an annotation of the
 * ConfigMap that its manager follows: both apply to all replicas, survive restarts, and are visible with kubectl.
 */
import type { Client } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import type { Resource } from '../../kube/kind.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { pausedAnnotation, readPausedOperators } from '../../manager/config/paused-operators.ts'
import { managerErrors } from '../../manager/errors.ts'
import type { ManagerReport } from '../../manager/observability/report.ts'
import { pausedLabel } from '../../manager/run/paused.ts'
import { connectContext } from '../cluster/context-client.ts'
import { readReference, splitReference } from '../cluster/object-reference.ts'
import { type Command, defineCommand, type FlagValues, type Invocation } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import { readObjectName } from '../command/namespace-flag.ts'
import { fetchReport, managerUrl } from './manager-file.ts'
import { managerFlags } from './top.ts'

const flags = {
  ...connectionFlags,
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'its namespace (default: that of the context)' },
  configmap: {
    type: 'string',
    value: 'NAMESPACE/NAME',
    help: 'for an operator: the ConfigMap of its manager (default: that of the manager started in this folder)',
  },
  ...managerFlags,
} as const

export function pausingCommand(command: 'pause' | 'resume', details: string): Command {
  return defineCommand({
    usage: 'OPERATOR | KIND NAME',
    details,
    flags,
    async run(invocation) {
      await setPaused(command, invocation)
      return 0
    },
  })
}

async function setPaused(
  command: 'pause' | 'resume',
  { flags: given, positionals, out, signal }: Invocation<typeof flags>,
): Promise<void> {
  const isPaused = command === 'pause'
  const [operator] = positionals
  const { client, namespace: current } = await connectContext(given)
  try {
    if (operator !== undefined && positionals.length === 1 && !splitReference(positionals)) {
      const configMap = await configMapOf(operator, given, signal)
      await annotate(client, configMap, operator, isPaused, signal)
      out(`operator ${operator} is ${isPaused ? 'paused' : 'resumed'} (ConfigMap ${configMap})`)
      return
    }
    const { namespace = current } = given
    const { resource, ref } = await readReference(client, positionals, { command, namespace, signal })
    const labels = { [pausedLabel]: isPaused ? 'true' : null }
    await client.patch(resource, ref, { metadata: { labels } }, { type: 'merge', signal })
    out(`${resource.kind} ${ref.name} is ${isPaused ? 'paused' : 'resumed'}`)
  } finally {
    await client.close()
  }
}

async function configMapOf(operator: string, given: FlagValues<typeof flags>, signal: AbortSignal): Promise<string> {
  if (given.configmap !== undefined) return readObjectName('configmap', given.configmap)
  const report = await fetchReport(managerUrl(given.url), signal)
  checkOperator(operator, report)
  const { source = '' } = report.configuration ?? {}
  const [, configMap] = /^ConfigMap (\S+)$/.exec(source) ?? []
  if (configMap !== undefined) return configMap
  const cure =
    source === ''
      ? 'from its flags and environment, which stay as they are while it runs: start it with --configmap NAMESPACE/NAME, or pause objects with muster pause KIND NAME.'
      : `from ${source}: set operators.${operator}.paused there; it takes effect at once.`
  throw new MusterError(managerErrors.InvalidConfiguration, `The manager takes its settings ${cure}`)
}

/** @throws InvalidFlag */
export function checkOperator(name: string, { operators }: ManagerReport): void {
  if (operators.some((operator) => operator.name.split('@', 1)[0] === name)) return
  const names = operators.map((operator) => operator.name).join(', ') || 'none'
  throw new MusterError(flagErrors.InvalidFlag, `There is no operator "${name}"; the manager runs ${names}.`)
}

const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }

/** Other commands may change the annotation meanwhile: the resourceVersion makes the patch fail then. */
async function annotate(
  client: Client,
  configMap: string,
  operator: string,
  isPaused: boolean,
  signal: AbortSignal,
): Promise<void> {
  const [namespace = '', name = ''] = configMap.split('/')
  for (let attempt = 1; ; attempt++) {
    const { metadata } = await client.get(configMaps, { namespace, name }, { signal })
    const before = readPausedOperators(metadata.annotations?.[pausedAnnotation])
    const others = before.filter((other) => other !== operator)
    const after = isPaused ? [...others, operator].toSorted() : others
    const annotations = { [pausedAnnotation]: after.length === 0 ? null : after.join(',') }
    const patch = { metadata: { annotations, resourceVersion: metadata.resourceVersion ?? null } }
    try {
      await client.patch(configMaps, { namespace, name }, patch, { type: 'merge', signal })
      return
    } catch (error) {
      if (attempt === mostAttempts || !isMusterError(error, clientErrors.Conflict)) throw error
    }
  }
}

const mostAttempts = 5

/** `muster retry`: reconciles an object, or all objects of an operator, now, whatever their back-off. */
import type { Client, DiscoveredResource } from '../../client/client.ts'
import { systemClock } from '../../clock/system-clock.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { ManagerReport } from '../../manager/observability/report.ts'
import { isPausedObject } from '../../manager/run/paused.ts'
import { connectContext } from '../cluster/context-client.ts'
import { type NamedObject, readReference, splitReference } from '../cluster/object-reference.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import { heldText } from './explanation.ts'
import { fetchReport, managerUrl, reportIfAny } from './manager-file.ts'
import { checkOperator } from './pausing.ts'
import { managerFlags } from './top.ts'

/** A changed CR is reconciled at once, and a hot loop that was throttled is released. */
const requestedAt = 'reconcile.muster.dev/requestedAt'

const command: Command = defineCommand({
  usage: 'OPERATOR | KIND NAME',
  details: `Sets the annotation ${requestedAt} on the object, so that it is reconciled without waiting for the
back-off of a failure or for a throttle. With --all, every object of the kind: muster retry memcached --all. With an operator, every
object of its kinds. While an object or its operator is paused, it waits for the end of the pause.`,
  flags: {
    ...connectionFlags,
    namespace: {
      type: 'string',
      short: 'n',
      value: 'NAME',
      help: 'the namespace (default: that of the context; with --all or an operator: all)',
    },
    all: { type: 'boolean', help: 'all objects of the kind' },
    ...managerFlags,
  },
  async run({ flags, positionals, out, signal }) {
    const { client, namespace: current } = await connectContext(flags)
    const { namespace, all = false } = flags
    const [operator] = positionals
    try {
      if (!all && operator !== undefined && positionals.length === 1 && !splitReference(positionals)) {
        const report = await fetchReport(managerUrl(flags.url), signal)
        checkOperator(operator, report)
        for (const resource of await kindsOf(client, operator, report, signal)) await everyObject(resource, report)
        return 0
      }
      const report = await reportIfAny(flags.url, signal)
      const words = all && positionals.length === 1 ? [positionals[0]!, '*'] : positionals
      const at = namespace ?? current
      const named = await readReference(client, words, { command: 'retry', namespace: at, signal })
      if (all) await everyObject(named.resource, report)
      else await retried(named, report)
      return 0
    } finally {
      await client.close()
    }

    async function everyObject(resource: DiscoveredResource, report: ManagerReport | undefined): Promise<void> {
      const { items } = await client.list(resource, { ...(namespace !== undefined && { namespace }), signal })
      for (const { metadata } of items) {
        const { name, namespace: at } = metadata
        await retried({ resource, ref: at === undefined ? { name } : { name, namespace: at } }, report)
      }
      if (items.length === 0) out(`there is no ${resource.kind}`)
    }

    async function retried({ resource, ref }: NamedObject, report: ManagerReport | undefined): Promise<void> {
      const annotations = { [requestedAt]: new Date(systemClock.now()).toISOString() }
      const object = await client.patch(resource, ref, { metadata: { annotations } }, { type: 'merge', signal })
      const name = `${resource.kind} ${ref.namespace === undefined ? '' : `${ref.namespace}/`}${ref.name}`
      out(`${name}${effectOn(object, resource, report)}`)
    }
  },
})

/** What follows from the annotation: nothing at once while the object or its operator is paused. */
function effectOn(object: KubeObject, { group, kind }: DiscoveredResource, report: ManagerReport | undefined): string {
  if (isPausedObject(object)) return ' is paused: it is reconciled after muster resume'
  const hosts = (report?.operators ?? []).filter(({ controllers = [] }) =>
    controllers.some((one) => one.group === group && one.kind === kind),
  )
  if (hosts.length === 0) return ': a reconcile is requested'
  const held = hosts.map(heldText).find((text) => text !== undefined)
  return held === undefined ? ' is reconciled again' : ` waits: ${held}`
}

async function kindsOf(
  client: Client,
  operator: string,
  { operators }: ManagerReport,
  signal: AbortSignal,
): Promise<readonly DiscoveredResource[]> {
  const own = new Set(
    operators
      .filter(({ name }) => name.split('@', 1)[0] === operator)
      .flatMap(({ controllers = [] }) => controllers.map(({ group, kind }) => `${group}/${kind}`)),
  )
  const resources = await client.discovery.resources({ signal })
  return resources.filter(({ group, kind }) => own.has(`${group}/${kind}`))
}

export default command

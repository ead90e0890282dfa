/** `muster retry`: reconciles an object now, whatever its back-off. */
import { connect } from '../../client/connect.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { readReference } from '../cluster/object-reference.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags, connectionOptions } from '../command/connection-flags.ts'

/** A changed CR is reconciled at once, and a hot loop that was throttled is released. */
const requestedAt = 'reconcile.muster.dev/requestedAt'

const command: Command = defineCommand({
  usage: 'KIND NAME',
  details: `Sets the annotation ${requestedAt} on the object, so that it is reconciled without waiting for the
back-off of a failure or for a throttle. With --all, every object of the kind: muster retry memcached --all.`,
  flags: {
    ...connectionFlags,
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'the namespace (default: default; with --all: all)' },
    all: { type: 'boolean', help: 'all objects of the kind' },
  },
  async run({ flags, positionals, out, signal }) {
    const client = await connect(connectionOptions(flags))
    const { namespace, all = false } = flags
    try {
      const words = all && positionals.length === 1 ? [positionals[0]!, '*'] : positionals
      const { resource, ref } = await readReference(client, words, { command: 'retry', namespace, signal })
      const refs = all ? await everyObject() : [ref]
      const annotations = { [requestedAt]: new Date(systemClock.now()).toISOString() }
      for (const one of refs) {
        await client.patch(resource, one, { metadata: { annotations } }, { type: 'merge', signal })
        out(`${resource.kind} ${one.namespace === undefined ? '' : `${one.namespace}/`}${one.name} is reconciled again`)
      }
      if (refs.length === 0) out(`there is no ${resource.kind}`)
      return 0

      async function everyObject(): Promise<(typeof ref)[]> {
        const { items } = await client.list(resource, { ...(namespace !== undefined && { namespace }), signal })
        return items.map(({ metadata: { name, namespace: at } }) =>
          at === undefined ? { name } : { name, namespace: at },
        )
      }
    } finally {
      await client.close()
    }
  },
})

export default command

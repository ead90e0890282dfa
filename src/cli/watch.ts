/** `muster watch`: follows a resource through the shared cache, and prints the events that an operator receives. */
import { aborted } from '../clock/aborted.ts'
import { createSharedCache } from '../cache/shared-cache.ts'
import { connect } from '../client/connect.ts'
import type { DiscoveredResource } from '../client/client.ts'
import { MusterError } from '../kube/errors.ts'
import { type Command, defineCommand } from './command.ts'
import { connectionFlags, connectionOptions } from './connection-flags.ts'
import { nearest } from '../kube/nearest.ts'

const command: Command = defineCommand({
  usage: 'RESOURCE',
  details:
    'RESOURCE is a plural, a short name or a kind, with its group where needed: pods, deploy, widgets.example.com.',
  flags: {
    ...connectionFlags,
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'one namespace (default: all)' },
    selector: {
      type: 'string',
      short: 'l',
      value: 'LABELS',
      help: 'only objects with these labels: app=web,tier in (a,b)',
    },
    'field-selector': { type: 'string', value: 'FIELDS', help: 'only objects with these fields: spec.nodeName=node-1' },
    once: { type: 'boolean', help: 'end after the initial list' },
  },
  async run({ flags, positionals, out, err, signal }) {
    const [name] = positionals
    if (name === undefined || positionals.length > 1) {
      throw new MusterError('InvalidFlag', 'watch takes one RESOURCE, such as pods.')
    }
    const client = await connect(connectionOptions(flags))
    try {
      const resource = findResource(name, await client.discovery.resources({ signal }))
      const cache = createSharedCache({ client })
      const subscription = cache.subscribe(resource, {
        consumer: 'muster watch',
        detail: 'metadata',
        namespaces: flags.namespace === undefined ? undefined : [flags.namespace],
        labels: flags.selector,
        fields: flags['field-selector'],
        onEvent({ type, object: { metadata } }) {
          const where = metadata.namespace === undefined ? '' : `${metadata.namespace}/`
          out(`${type.padEnd(7)}  ${where}${metadata.name}  ${metadata.resourceVersion}`)
        },
        onFreshness({ state, reason }) {
          err(`${state}${reason === undefined ? '' : `: ${reason}`}`)
        },
      })
      await subscription.synced({ signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
      if (!flags.once) await aborted(signal)
      cache.close()
      return 0
    } finally {
      await client.close()
    }
  },
})

function findResource(name: string, resources: readonly DiscoveredResource[]): DiscoveredResource {
  const [word = '', ...rest] = name.toLowerCase().split('.')
  const group = rest.join('.')
  const namesOf = ({ plural, singular, kind, shortNames }: DiscoveredResource): readonly string[] =>
    [plural, singular, kind.toLowerCase(), ...shortNames].filter((candidate) => candidate !== '')
  const found = resources.find(
    (resource) => (group === '' || resource.group === group) && namesOf(resource).includes(word),
  )
  if (found) return found
  const near = nearest(
    word,
    resources.flatMap((resource) => namesOf(resource)),
  )
  throw new MusterError(
    'KindNotServed',
    `the server serves no "${name}".${near === undefined ? '' : ` Did you mean "${near}"?`}`,
  )
}

export default command

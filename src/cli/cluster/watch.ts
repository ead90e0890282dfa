/** `muster watch`: follows a resource through the shared cache, and prints the events that an operator receives. */
import { aborted } from '../../clock/aborted.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { connect } from '../../client/connect.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags, connectionOptions } from '../command/connection-flags.ts'
import { outputFlag, readOutputFormat } from '../command/output-flag.ts'
import { findResource } from './object-reference.ts'

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
    output: { ...outputFlag, help: 'print each event as data: a line of JSON, or a YAML document' },
  },
  async run({ flags, positionals, out, err, signal }) {
    const [name] = positionals
    if (name === undefined || positionals.length > 1) {
      throw new MusterError(flagErrors.InvalidFlag, 'watch takes one RESOURCE, such as pods.')
    }
    const output = readOutputFormat(flags.output)
    const { writeYaml } = output === 'yaml' ? await import('../../kube/yaml/yaml.ts') : { writeYaml: undefined }
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
          if (output) {
            const { namespace, name: of, resourceVersion = '' } = metadata
            const event = { type, ...(namespace !== undefined && { namespace }), name: of, resourceVersion }
            out(writeYaml ? `---\n${writeYaml(event).trimEnd()}` : JSON.stringify(event))
            return
          }
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

export default command

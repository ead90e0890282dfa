/** `muster diff`: what an upgrade of an Installation would change. */
import { styleText } from 'node:util'
import { asObject } from '../../kube/json-object.ts'
import type { InstallationObject } from '../../platform/installation/installation.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import { valueFlags } from '../render/value-flags.ts'
import { isolateControl } from '../terminal/control-characters.ts'
import { atInstallation, installationFlags, readArguments, readInstallation } from './cluster-installation.ts'
import { contentDiff } from './content-diff.ts'
import { declaredSpec, specFlags } from './declared-spec.ts'
import { revisionContent } from './installation-content.ts'
import { renderedContent } from './rendered-content.ts'
import { sourceFlags } from './source-argument.ts'

const command: Command = defineCommand({
  usage: 'NAME [SOURCE]',
  details: `Renders what "muster upgrade" with the same arguments would install, and compares it with the objects of the active revision.
Values of Secrets are masked. Nothing is written. To see what other clients changed in the cluster, look at the condition Drifted.`,
  flags: {
    ...connectionFlags,
    ...installationFlags,
    ...sourceFlags,
    ...valueFlags,
    ...specFlags,
    'exit-code': { type: 'boolean', help: 'exit with 2 if something would change' },
  },
  async run({ flags, positionals, out, err, signal }) {
    const name = readArguments('diff', positionals, 'NAME and perhaps SOURCE, such as web ./chart', 1)
    return await atInstallation(name, flags, signal, async (place) => {
      const installation = await readInstallation(place)
      const { metadata, status = {} } = installation
      const spec = await declaredSpec(positionals[1], flags, installation.spec)
      const changed = asObject({ ...installation, spec }) as UpgradedObject
      const rendered = await renderedContent(place, changed)
      for (const warning of rendered.warnings) err(`warning: ${isolateControl(warning)}`)
      const active = status.revision ? (await revisionContent(place, status.revision)).items : []
      const namespace = changed.spec.targetNamespace ?? metadata.namespace ?? 'default'
      const lines = contentDiff(
        active.map(({ object }) => object),
        rendered.items.map(({ object }) => object),
        namespace,
      )
      for (const { kind, text } of lines) {
        const line = isolateControl(text)
        out(kind === 'same' ? line : styleText(colours[kind], line, { stream: process.stdout }))
      }
      if (lines.length === 0) err('nothing would change')
      return lines.length > 0 && flags['exit-code'] ? 2 : 0
    })
  },
})

type UpgradedObject = ReturnType<typeof asObject> & InstallationObject

const colours = { head: 'bold', hunk: 'cyan', removed: 'red', added: 'green' } as const

export default command

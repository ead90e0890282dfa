/** `muster uninstall`: removes an Installation and its objects. */
import { Installation } from '../../platform/installation/installation.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import {
  atInstallation,
  cliFieldManager,
  installationFlags,
  readArguments,
  readInstallation,
} from './cluster-installation.ts'
import { readTimeout, waitFlags, waitForRemoval } from './wait.ts'

const command: Command = defineCommand({
  usage: 'NAME',
  details: `Deletes the Installation. Its objects go with it, in the reverse of the order in which they were created; objects with
helm.sh/resource-policy: keep or platform.muster.dev/prune: disabled stay, and so do the CRDs of which users have objects: they are
named, and waited for. With --keep, all objects stay and belong to no Installation any more.`,
  flags: {
    ...connectionFlags,
    ...installationFlags,
    keep: { type: 'boolean', help: 'leave the objects in the cluster' },
    ...waitFlags,
  },
  async run({ flags, positionals, out, signal }) {
    const name = readArguments('uninstall', positionals, 'NAME, such as web')
    const timeoutMs = readTimeout(flags)
    return await atInstallation(name, flags, signal, async (place) => {
      const { client, ref } = place
      await readInstallation(place)
      if (flags.keep) {
        const spec = { deletion: 'orphan' }
        await client.patch(Installation, ref, { spec }, { type: 'merge', fieldManager: cliFieldManager, signal })
      }
      await client.delete(Installation, ref, { signal })
      const about = `Installation ${ref.namespace}/${name}`
      if (flags['no-wait']) {
        out(`${about} is being removed.`)
        return 0
      }
      await waitForRemoval(place, { timeoutMs, out })
      out(`${about} is removed${flags.keep ? '; its objects stay' : ''}.`)
      return 0
    })
  },
})

export default command

/** `muster upgrade`: another source, version or other values for an Installation. */
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import { valueFlags } from '../render/value-flags.ts'
import { installationFlags, readArguments } from './cluster-installation.ts'
import { specFlags } from './declared-spec.ts'
import { sourceFlags } from './source-argument.ts'
import { declaringFlags, upgrade } from './upgraded-installation.ts'
import { waitFlags } from './wait.ts'

const command: Command = defineCommand({
  usage: 'NAME [SOURCE]',
  details: `SOURCE is as for "muster install"; without one the source stays, and --version changes its version. Values that are given
replace all earlier ones; without any, they stay. An upgrade ends a rollback. If it does not become healthy, the last good revision
is active again, and the command says why. Exit code: 0 ready, 1 failed.`,
  flags: {
    ...connectionFlags,
    ...installationFlags,
    ...sourceFlags,
    ...valueFlags,
    ...specFlags,
    ...waitFlags,
    ...declaringFlags,
    create: { type: 'boolean', help: 'create the Installation, if there is none' },
  },
  async run({ flags, positionals, out, signal }) {
    const name = readArguments('upgrade', positionals, 'NAME and perhaps SOURCE, such as web ./chart', 1)
    return await upgrade(name, positionals[1], flags, { out, signal })
  },
})

export default command

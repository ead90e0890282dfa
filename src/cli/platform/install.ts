/** `muster install`: a chart, a kustomization or manifests as a new Installation. */
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import { valueFlags } from '../render/value-flags.ts'
import { installationFlags, readArguments } from './cluster-installation.ts'
import { specFlags } from './declared-spec.ts'
import { sourceFlags } from './source-argument.ts'
import { declaringFlags, install } from './upgraded-installation.ts'
import { waitFlags } from './wait.ts'

const command: Command = defineCommand({
  usage: 'NAME SOURCE',
  details: `SOURCE is a chart (oci://HOST/PATH/NAME, a NAME in a --repo, a folder, a .tgz archive), a folder with a kustomization, or
plain manifests (a file or a folder). An OCI artifact may hold manifests or a kustomization: --kind. What is on this machine becomes part of the Installation. The manager that hosts the operator
of Installations (muster run @muster-dev/muster/platform) fetches, renders and applies it. Waits until all of it is ready, and
prints what it waits for. Exit code: 0 ready, 1 failed.`,
  flags: {
    ...connectionFlags,
    ...installationFlags,
    ...sourceFlags,
    ...valueFlags,
    ...specFlags,
    ...waitFlags,
    ...declaringFlags,
  },
  async run({ flags, positionals, out, signal }) {
    const name = readArguments('install', positionals, 'NAME and SOURCE, such as web ./chart', 1)
    const [, source = ''] = positionals
    if (source === '') readArguments('install', [], 'NAME and SOURCE, such as web ./chart')
    return await install(name, source, flags, { out, signal })
  },
})

export default command

/** `muster start`: an embedded cluster on this machine, and its kubeconfig. */
import path from 'node:path'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { runEmbeddedCluster } from './embedded-cluster.ts'

const command: Command = defineCommand({
  details:
    'The cluster lives in the memory of this process and ends with it (Ctrl-C). It is for trying things out, not for production.',
  flags: {
    port: { type: 'string', value: 'N', help: 'port on 127.0.0.1 (default: a free one)' },
    nodes: {
      type: 'string',
      value: 'N',
      help: 'simulated nodes for pods to run on (default: 3; 0: pods stay pending)',
    },
    'kubeconfig-out': { type: 'string', value: 'FILE', help: 'kubeconfig to write (default: .muster/kubeconfig)' },
  },
  async run({ flags, positionals, out, signal }) {
    if (positionals.length > 0) throw new MusterError(flagErrors.InvalidFlag, 'start takes flags only.')
    await runEmbeddedCluster({
      port: flags.port,
      kubeconfig: path.resolve(flags['kubeconfig-out'] ?? path.join('.muster', 'kubeconfig')),
      folder: undefined,
      nodes: flags.nodes ?? '3',
      signal,
      ready: ({ url, use }) => out(`an embedded cluster is ready on ${url}; to use it: ${use}`),
    })
    return 0
  },
})

export default command

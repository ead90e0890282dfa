/** `muster apiserver`: runs the embedded API server alone, for programs that need a cluster. */
import path from 'node:path'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { runEmbeddedCluster } from './embedded-cluster.ts'

const command: Command = defineCommand({
  details:
    'Prints one line when it is ready. With --data every acknowledged write survives a crash; without it, the data is lost at the end of the process.',
  flags: {
    port: { type: 'string', value: 'N', help: 'port on 127.0.0.1 (default: a free one)' },
    data: { type: 'string', value: 'DIR', help: 'folder for the data (default: in memory only)' },
    import: { type: 'string', value: 'DIR', help: 'must-gather directory to load at the start' },
    export: { type: 'string', value: 'DIR', help: 'must-gather directory to write at the end' },
    simulate: { type: 'boolean', help: 'simulate workloads: scheduler, kubelets, controllers (default: off)' },
    nodes: { type: 'string', value: 'N', help: 'number of simulated nodes; implies --simulate (default: 3)' },
    'kubeconfig-out': { type: 'string', value: 'FILE', help: 'kubeconfig to write (default: .muster/kubeconfig)' },
  },
  async run({ flags, positionals, out, err, signal }) {
    if (positionals.length > 0) throw new MusterError(flagErrors.InvalidFlag, 'apiserver takes flags only.')
    await runEmbeddedCluster({
      port: flags.port,
      kubeconfig: path.resolve(flags['kubeconfig-out'] ?? path.join('.muster', 'kubeconfig')),
      folder: flags.data === undefined ? undefined : path.resolve(flags.data),
      importFrom: flags.import === undefined ? undefined : path.resolve(flags.import),
      exportTo: flags.export === undefined ? undefined : path.resolve(flags.export),
      warn: err,
      nodes: flags.simulate === true ? (flags.nodes ?? '3') : flags.nodes,
      signal,
      ready: ({ url, use, note }) => out(`API server ready on ${url}${note}; to use it: ${use}`),
    })
    return 0
  },
})

export default command

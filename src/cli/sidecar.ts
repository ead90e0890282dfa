/** `muster sidecar`: runs beside an application, reports its state, and runs actions that an operator requests. */
import { aborted } from '../clock/aborted.ts'
import { systemClock } from '../clock/system-clock.ts'
import { flagErrors } from '../manager/alone/flag-errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { loadConfig } from '../sidecar/config.ts'
import { startSidecar } from '../sidecar/sidecar.ts'
import { type Command, defineCommand } from './command/command.ts'

const command: Command = defineCommand({
  details:
    'Prints one line when it is ready. The file says how the application is asked and which actions there are (src/sidecar/README.md). What a flag says wins over MUSTER_SIDECAR_CONFIG, _LISTEN, _TOKEN_FILE and _STATE_DIR, and those over the file.',
  flags: {
    config: { type: 'string', value: 'FILE', help: 'configuration, YAML or JSON' },
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      help: 'address to listen on; :8787 for all addresses (default: 127.0.0.1:8787)',
    },
    'token-file': { type: 'string', value: 'FILE', help: 'file with the token that clients must send' },
    'state-dir': { type: 'string', value: 'DIR', help: 'folder that keeps actions across restarts' },
  },
  async run({ flags, positionals, out, err, signal }) {
    if (positionals.length > 0) throw new MusterError(flagErrors.InvalidFlag, 'sidecar takes flags only.')
    const { env } = process
    const file = flags.config ?? env['MUSTER_SIDECAR_CONFIG']
    if (file === undefined) throw new MusterError(flagErrors.InvalidFlag, 'sidecar needs --config FILE.')
    const config = await loadConfig(file, {
      listen: flags.listen ?? env['MUSTER_SIDECAR_LISTEN'],
      tokenFile: flags['token-file'] ?? env['MUSTER_SIDECAR_TOKEN_FILE'],
      stateDirectory: flags['state-dir'] ?? env['MUSTER_SIDECAR_STATE_DIR'],
    })
    const sidecar = await startSidecar({ clock: systemClock, config, environment: env, log: err })
    out(`sidecar ready on ${sidecar.url}`)
    await aborted(signal)
    await sidecar.stop()
    return 0
  },
})

export default command

/** `muster envtest`: makes the folder of executables that test suites start as their control plane, and prints its path. */
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorCode } from '../../system/error-code.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { contractErrors } from '../../contract/errors.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { cliErrors } from '../errors.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { assetScripts, assetsName, makeAssets, type Scripts } from './assets-folder.ts'
import { unwritable } from '../command/named-file.ts'

const command: Command = defineCommand({
  details:
    'Prints the path of a folder with kube-apiserver, etcd and kubectl, for projects in any language whose tests start a control plane with the tools of controller-runtime or their relatives:\n\n  KUBEBUILDER_ASSETS=$(muster envtest) go test ./...\n\nkubectl is the one on the PATH. docs/envtest.md has Go, Java, Python and Rust.',
  flags: {
    dir: { type: 'string', value: 'DIR', help: 'the folder to make (default: one in the cache folder of the user)' },
  },
  async run({ flags, positionals, out }) {
    if (positionals.length > 0) throw new MusterError(flagErrors.InvalidFlag, 'envtest takes flags only.')
    if (process.platform === 'win32')
      throw new MusterError(
        cliErrors.BinaryMissing,
        'envtest needs a POSIX shell: run it on Linux, on macOS or in WSL.',
      )
    const scripts = assetScripts({ node: [process.execPath, ...nodeFlags()], entries: entryFiles() })
    out(flags.dir === undefined ? makeInCache(scripts, process.env) : makeAt(path.resolve(flags.dir), scripts))
    return await Promise.resolve(0)
  },
})

export default command

/** In a checkout the sources run, in a package the bundles beside the command line. */
function entryFiles(): Readonly<Record<'kube-apiserver' | 'etcd', string>> {
  const here = fileURLToPath(import.meta.url)
  const at = (name: string): string =>
    here.endsWith('.ts') ? path.resolve(here, `../${name}.ts`) : path.resolve(here, `../${name}.cjs`)
  return { 'kube-apiserver': at('kube-apiserver'), etcd: at('etcd') }
}

/**
 * A small young generation saves memory, and the authorities of the system need no parsing at each start: the control plane calls
 * webhooks with the CA that they name.
 */
function nodeFlags(): readonly string[] {
  return ['--max-semi-space-size=4', '--use-openssl-ca']
}

function makeAt(folder: string, scripts: Scripts): string {
  try {
    makeAssets(folder, scripts)
    return folder
  } catch (error) {
    throw unwritable('dir', folder, error)
  }
}

/** In the user's cache folder; where that cannot be written to, in a folder of the user among the temporary files. */
function makeInCache(scripts: Scripts, env: NodeJS.ProcessEnv): string {
  const home = env['XDG_CACHE_HOME'] || path.join(env['HOME'] || homedir(), '.cache')
  const places = [
    path.join(home, 'muster'),
    path.join(env['TMPDIR'] || tmpdir(), `muster-${process.getuid?.() ?? 'user'}`),
  ]
  for (const [index, place] of places.entries()) {
    const folder = path.join(path.resolve(place), 'envtest', assetsName(scripts))
    try {
      makeAssets(folder, scripts)
      return folder
    } catch (error) {
      if (index === places.length - 1) {
        const why = `${places.join(' and ')} cannot be written to (${errorCode(error) ?? 'unknown error'}); choose a folder with --dir.`
        throw new MusterError(contractErrors.OutputUnwritable, why, { cause: error })
      }
    }
  }
  throw new MusterError(contractErrors.OutputUnwritable, 'there is no folder to write to.')
}

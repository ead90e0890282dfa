/**
 * Removes network access from an offline process. A Muster operator has no connection of its own, but its code could
 * open one. On Linux the process starts again in a network namespace without any interface, not even loopback, in which
 * the usual places of kubeconfigs and tokens are empty. That takes no privilege. The result is verified from inside.
 *
 * Where that is impossible, connections are refused within the process. That stops careless code, not hostile code, and
 * a warning says so.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { devNull, networkInterfaces } from 'node:os'
import path from 'node:path'
import { contractErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'

/**
 * The process that has started this one without a network. It is no proof: it only stops a sandbox that does not hold
 * from being built again and again.
 */
const mark = 'MUSTER_NETWORK_CUT'

/**
 * Run by the shell, as root of a user namespace: USER GROUP PLACE… -- COMMAND…
 *
 * Kernel settings are made read-only: a process with uid 0 may write them in any namespace. The command runs with the
 * original uid, in an inner namespace, so it cannot undo the mounts. Where a place cannot be emptied, an empty
 * kubeconfig stops programs from looking for others.
 */
const script = `
set -eu
user=$1 group=$2; shift 2
mount --rbind /proc/sys /proc/sys
mount -o remount,bind,ro,nosuid,nodev,noexec /proc/sys
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mount -t tmpfs -o mode=755,ro,size=4k tmpfs "$1"
  elif [ -e "$1" ]; then mount --bind /dev/null "$1"
  fi 2>/dev/null || export KUBECONFIG=/dev/null
  shift
done
shift
exec unshare --user --map-user="$user" --map-group="$group" -- "$@"
`

/** The command, wrapped: without network access, and with those places empty. */
function sandboxed(command: readonly string[], places: readonly string[]): readonly [string, ...string[]] {
  const who = [process.getuid?.() ?? 0, process.getgid?.() ?? 0].map(String)
  const apart = ['--user', '--map-root-user', '--net', '--mount']
  return ['unshare', ...apart, '--', '/bin/sh', '-c', script, 'cut', ...who, ...places, '--', ...command]
}

let isPossible: boolean | undefined

function canCutOff(): boolean {
  const [program, ...words] = sandboxed(['true'], [])
  isPossible ??= process.platform === 'linux' && spawnSync(program, words).status === 0
  return isPossible
}

/**
 * Returns in a process without network access; otherwise it runs the same command in one, and exits with its exit code.
 * @throws NetworkNotCut if the sandbox does not hold
 */
export async function cutOff(warn: (line: string) => void): Promise<void> {
  // The sandbox that we already run in has set the environment.
  if (hasNoNetwork()) return
  if (process.env[mark] === String(process.ppid)) {
    throw new MusterError(contractErrors.NetworkNotCut, 'a network namespace was made, and there is a network in it.')
  }
  if (!canCutOff()) {
    const kept = offlineEnvironment(process.env)
    for (const name of Object.keys(process.env)) if (!Object.hasOwn(kept, name)) delete process.env[name]
    // Otherwise ~/.kube/config is used.
    process.env['KUBECONFIG'] = devNull
    refuseConnections()
    warn('warning: no network namespace can be made here: connections are only refused within this process')
    return
  }
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const [program, ...words] = sandboxed(command, await hiddenPlaces(command))
  const env = { ...offlineEnvironment(process.env), [mark]: String(process.pid) }
  const child = spawn(program, words, { stdio: 'inherit', env })
  const stop = (signal: NodeJS.Signals): void => void child.kill(signal)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  process.exit(await new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? 1))))
}

/** In a new network namespace no interface has an address, not even loopback. */
function hasNoNetwork(): boolean {
  try {
    return Object.keys(networkInterfaces()).length === 0
  } catch {
    // It cannot be determined, so assume that there is a network.
    return false
  }
}

/** Variables with cluster addresses, proxies and credentials: of no use to an offline process. */
const unwanted: readonly RegExp[] = [
  /^KUBECONFIG$/,
  /^KUBERNETES_/,
  /proxy$/i,
  /^(?:SSH_AUTH_SOCK|DOCKER_HOST)$/,
  /(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)(?:_|$)/i,
]

/** The environment of an offline process. Settings (`MUSTER__…`) are kept, whatever their names. */
export function offlineEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isKept = (name: string): boolean =>
    name.startsWith('MUSTER__') || !unwanted.some((pattern) => pattern.test(name))
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isKept(name)))
}

/**
 * Places of credentials, the manager's files, daemon sockets and devices, except those that the command itself needs.
 */
async function hiddenPlaces(command: readonly string[]): Promise<readonly string[]> {
  // Loaded lazily: most commands of an operator are not offline.
  const { ownFiles } = await import('../manager/config/own-files.ts')
  // A network namespace does not cover sockets with a path: daemons have them below /run.
  const places = [...(await ownFiles()), '/run', '/var/run', '/sys']
  // By real path: /var/run is a link to /run, and is emptied once.
  const found = places.filter((place) => existsSync(place)).map((place) => realpathSync(place))
  return [...new Set(found)].filter((place) =>
    command.every((word) => path.relative(place, path.resolve(word)).startsWith('..')),
  )
}

/** Makes every connection of this process fail. */
function refuseConnections(): void {
  const require = createRequire(import.meta.url)
  const net = require('node:net') as { Socket: { prototype: { connect: unknown } } }
  const dgram = require('node:dgram') as { createSocket: unknown }
  const refuse = (): never => {
    throw Object.assign(new Error('There is no network in an offline run.'), { code: 'ENETUNREACH' })
  }
  net.Socket.prototype.connect = refuse
  dgram.createSocket = refuse
  syncBuiltinESMExports()
}

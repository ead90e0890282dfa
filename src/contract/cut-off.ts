/**
 * Offline means offline. A Muster operator has no connection to begin with; but its code is code, and could open one. So a
 * process that is to run offline gives its network away: on Linux it starts anew in a network namespace of its own, in which
 * there is nothing, not even loopback, and in which the usual places of kubeconfigs and tokens are empty. That takes no
 * privilege. Whether it holds is looked at from inside, and not believed.
 *
 * Where that is impossible, connections are refused within the process. That holds for what is careless, not for what is
 * hostile, and it is said.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { devNull, networkInterfaces } from 'node:os'
import path from 'node:path'
import { MusterError } from '../kube/errors.ts'

/**
 * Holds the process that has started this one without a network. It proves nothing, and nobody has a network the less for it:
 * it only keeps walls that do not hold from being built again and again.
 */
const mark = 'MUSTER_NETWORK_CUT'

/**
 * Run by the shell, as root of a user namespace: USER GROUP PLACE… -- COMMAND…
 * Settings of the kernel cannot be written: to a process of uid 0 they belong whatever namespace it is in.
 * The command runs as who it was, in another namespace within: what was mounted here it cannot take away. Where a place cannot
 * be emptied, an empty kubeconfig keeps others from being looked for.
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

/** The command, without a network, and without what is in those places. */
function walled(command: readonly string[], places: readonly string[]): readonly [string, ...string[]] {
  const who = [process.getuid?.() ?? 0, process.getgid?.() ?? 0].map(String)
  const apart = ['--user', '--map-root-user', '--net', '--mount']
  return ['unshare', ...apart, '--', '/bin/sh', '-c', script, 'cut', ...who, ...places, '--', ...command]
}

let isPossible: boolean | undefined

function canCutOff(): boolean {
  const [program, ...words] = walled(['true'], [])
  isPossible ??= process.platform === 'linux' && spawnSync(program, words).status === 0
  return isPossible
}

/**
 * From here on there is no network. Either this returns in a process that has none, or, in one that has, it runs the same
 * command in one that has not, and ends with its exit code.
 * @throws NetworkNotCut where walls were built and do not hold
 */
export async function cutOff(warn: (line: string) => void): Promise<void> {
  // Whoever has built these walls has also said what is in the environment.
  if (hasNoNetwork()) return
  if (process.env[mark] === String(process.ppid)) {
    throw new MusterError('NetworkNotCut', 'a network namespace was made, and there is a network in it.')
  }
  if (!canCutOff()) {
    const kept = offlineEnvironment(process.env)
    for (const name of Object.keys(process.env)) if (!Object.hasOwn(kept, name)) delete process.env[name]
    // Else it is ~/.kube/config that is looked for.
    process.env['KUBECONFIG'] = devNull
    refuseConnections()
    warn('warning: no network namespace can be made here: connections are only refused within this process')
    return
  }
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const [program, ...words] = walled(command, await hiddenPlaces(command))
  const env = { ...offlineEnvironment(process.env), [mark]: String(process.pid) }
  const child = spawn(program, words, { stdio: 'inherit', env })
  const stop = (signal: NodeJS.Signals): void => void child.kill(signal)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  process.exit(await new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? 1))))
}

/** In a network namespace that was just made no interface has an address, loopback neither. */
function hasNoNetwork(): boolean {
  try {
    return Object.keys(networkInterfaces()).length === 0
  } catch {
    // Who may not even ask: it is not known, so there is one.
    return false
  }
}

/** Where a cluster is, how to get out, and what opens doors: nothing of it is of use to who is offline. */
const unwanted: readonly RegExp[] = [
  /^KUBECONFIG$/,
  /^KUBERNETES_/,
  /proxy$/i,
  /^(?:SSH_AUTH_SOCK|DOCKER_HOST)$/,
  /(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)(?:_|$)/i,
]

/** Of an environment, what a process gets that is offline. Settings (`MUSTER__…`) are said to be for it, whatever their names. */
export function offlineEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isKept = (name: string): boolean =>
    name.startsWith('MUSTER__') || !unwanted.some((pattern) => pattern.test(name))
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isKept(name)))
}

/** Where credentials and files of the manager are, sockets of daemons and devices; not what the command itself is about. */
async function hiddenPlaces(command: readonly string[]): Promise<readonly string[]> {
  // Loaded here: most commands of an operator are not offline.
  const { ownFiles } = await import('../manager/config/own-files.ts')
  // A namespace cuts off what has an address, and not what has a path: daemons have their sockets below /run.
  const places = [...(await ownFiles()), '/run', '/var/run', '/sys']
  // By their real paths: /var/run is a link to /run, and is emptied once.
  const found = places.filter((place) => existsSync(place)).map((place) => realpathSync(place))
  return [...new Set(found)].filter((place) =>
    command.every((word) => path.relative(place, path.resolve(word)).startsWith('..')),
  )
}

/** Sockets of this process connect to nowhere. */
export function refuseConnections(): void {
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

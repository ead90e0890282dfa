/**
 * A program that keeps the contract, started by the manager. It gets an environment of its own and nothing of the manager's,
 * is ended with all that it has started when it takes too long or too much, and has no network: on Linux it runs in
 * namespaces of its own, without privileges, in which there is no way out and the usual places of credentials are empty.
 *
 * Where that cannot be done, or does not hold, it is not started, unless somebody says that it may have a network.
 */
import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { constants, homedir } from 'node:os'
import path from 'node:path'
import type { Clock, Timer } from '../../clock/clock.ts'

export interface Program {
  /** An absolute path, or a name in PATH. */
  readonly command: string
  /** Before the words of the contract. */
  readonly args?: readonly string[]
  /** All that it gets, beside PATH. */
  readonly env?: Readonly<Record<string, string>>
  /** Where it starts. @default where the manager did */
  readonly folder?: string
  /** Files that are empty to it, beside the usual places of credentials. */
  readonly hidden?: readonly string[]
}

export interface ProgramLimits {
  /** For one command. @default 30_000 */
  readonly timeoutMs: number
  /** For each of its processes. @default 1024 */
  readonly memoryMb: number
  /** Of what it prints, the rest is dropped. @default 1 MiB */
  readonly printedBytes: number
}

export const defaultProgramLimits: ProgramLimits = { timeoutMs: 30_000, memoryMb: 1024, printedBytes: 2 ** 20 }

/**
 * `cut`: there is none. `egress`: the socket of an egress proxy is the only way out. `open`: the machine's; whoever said so
 * has decided.
 */
export type Network = 'cut' | { readonly egress: string } | 'open'

export interface RunOptions {
  readonly program: Program
  readonly limits?: Partial<ProgramLimits>
  /** @default "cut" */
  readonly network?: Network
  /** A folder that it may read and not change, where there are walls. */
  readonly readOnly?: string
  readonly clock: Clock
  readonly signal?: AbortSignal
}

export interface Ended {
  /** Undefined: it was ended by a signal, or did not start. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
  /** Why it did not come to its own end. */
  readonly trouble: string | undefined
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Runs one command of the contract to its end. Never rejects. */
export async function runProgram(options: RunOptions, words: readonly string[]): Promise<Ended> {
  const { program, network = 'cut', clock, signal } = options
  const limits = { ...defaultProgramLimits, ...options.limits }
  const { command: file, folder } = program
  // What the shell would say of a file that is not there is no better.
  if (path.isAbsolute(file) && !existsSync(file)) return unstarted(`there is no ${file}`)
  if (folder !== undefined && !existsSync(folder)) return unstarted(`there is no folder ${folder}`)
  const own = [file, ...(program.args ?? []), ...words]
  const env = { PATH: systemPath, ...program.env, ...(typeof network === 'object' && proxied) }
  const walls = { limits, searched: env.PATH, hidden: program.hidden ?? [], readOnly: options.readOnly ?? '' }
  const [command = '', ...args] = network === 'open' ? limited(own, limits) : walled(own, { ...walls, network })
  const child = spawn(command, args, {
    // In the environment, and not among the words: those can be read by everybody on the machine.
    env: network === 'open' ? env : { ...env, PATH: systemPath },
    ...(folder !== undefined && { cwd: folder }),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: all of it is ended at once.
    detached: true,
  })
  let trouble: string | undefined
  const kill = (why: string): void => {
    trouble ??= why
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It ended by itself.
    }
  }
  const timer = clock.after(limits.timeoutMs, () => kill(`it did not end within ${limits.timeoutMs} ms`))
  const stop = (): void => kill('it was stopped')
  signal?.addEventListener('abort', stop, { once: true })
  let leaving: Timer | undefined
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      if (printed[name].length < limits.printedBytes) printed[name] += text.slice(0, limits.printedBytes)
    })
  }
  const code = await new Promise<number | undefined>((resolve) => {
    child.on('error', (error) => {
      trouble ??= `it does not start: ${error.message}`
      resolve(undefined)
    })
    child.on('exit', (exit, by) => {
      if (exit === null) trouble ??= `it was ended by ${by}`
      // A shell says it of a command of its own.
      if (by === 'SIGXFSZ' || exit === 128 + constants.signals.SIGXFSZ) {
        trouble = `it wrote a file of more than ${mostFileBytes} bytes, and was ended for that`
      }
      // What it has left running, and what still holds its pipes, ends with it.
      kill('')
      leaving = clock.after(1000, () => {
        for (const stream of [child.stdout, child.stderr]) stream.destroy()
      })
    })
    child.on('close', (exit) => resolve(exit ?? undefined))
  })
  timer.cancel()
  leaving?.cancel()
  signal?.removeEventListener('abort', stop)
  return { code, ...printed, trouble: trouble === '' ? undefined : trouble }
}

/** Another file is another version; one of its words may be the script. */
export function programVersion({ command, args = [], folder = process.cwd() }: Program): string {
  return [command, ...args]
    .map((word) => {
      const found = statSync(path.resolve(folder, word), { throwIfNoEntry: false })
      return found?.isFile() ? `${found.ino} ${found.mtimeMs} ${found.size}` : ''
    })
    .join('\n')
}

function unstarted(why: string): Ended {
  return { code: undefined, stdout: '', stderr: '', trouble: `it does not start: ${why}` }
}

/** What no file of an output may be, no file needs to be. */
const mostFileBytes = 256 * 2 ** 20

/** Memory is limited even where walls are not to be had. */
function limited(command: readonly string[], { memoryMb }: ProgramLimits): readonly string[] {
  const script = `ulimit -c 0; ulimit -f ${mostFileBytes / 512} 2>/dev/null; ulimit -d "$1" 2>/dev/null; shift; exec "$@"`
  return ['/bin/sh', '-c', script, 'limited', String(memoryMb * 1024), ...command]
}

/** Where a program without a network finds its proxy. */
const relayPort = 3128
const proxyUrl = `http://127.0.0.1:${relayPort}`
const proxied = {
  HTTP_PROXY: proxyUrl,
  HTTPS_PROXY: proxyUrl,
  NO_PROXY: '',
  http_proxy: proxyUrl,
  https_proxy: proxyUrl,
  no_proxy: '',
}
/** From loopback, inside, to the socket in the file system. */
const relay = `
const net = require('node:net')
const [socket, port] = process.argv.slice(1)
net.createServer((from) => {
  const to = net.connect(socket)
  for (const [one, other] of [[from, to], [to, from]]) one.on('error', () => other.destroy()).pipe(other)
}).listen(Number(port), '127.0.0.1')
`
const probe = `
require('node:net').connect(Number(process.argv[1]), '127.0.0.1')
  .on('connect', () => process.exit(0)).on('error', () => process.exit(1))
`

/**
 * Run by the shell, as root of a user namespace: MEMORY EGRESS NODE PATH READONLY HIDDEN… -- COMMAND…
 * /proc is that of its own processes; where credentials usually are, there is nothing. With an egress, loopback leads to it.
 */
const script = `
set -eu
memory=$1 egress=$2 node=$3 path=$4 still=$5; shift 5
if [ -n "$egress" ]; then
  ip link set lo up
  env -i "$node" -e $RELAY "$egress" ${relayPort} &
  while ! env -i "$node" -e $PROBE ${relayPort}; do :; done
fi
mount -t proc proc /proc 2>/dev/null || true
if [ -n "$still" ]; then
  mount --bind "$still" "$still"
  mount -o remount,bind,ro "$still"
fi
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mount -t tmpfs -o mode=755,ro tmpfs "$1"; else mount --bind /dev/null "$1"; fi
  shift
done
shift
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all prlimit --core=0 --fsize=${mostFileBytes} --data="$memory" \\
  env -u OLDPWD -u SHLVL PATH="$path" "$@"
`

interface Walls {
  readonly limits: ProgramLimits
  readonly network: Exclude<Network, 'open'>
  /** PATH, for the program. */
  readonly searched: string
  readonly hidden: readonly string[]
  /** Empty: none. */
  readonly readOnly: string
}

function walled(command: readonly string[], walls: Walls): readonly string[] {
  const { limits, network, searched, readOnly } = walls
  const egress = network === 'cut' ? '' : network.egress
  const apart = ['--user', '--map-root-user', '--net', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child']
  const inside = script.replace('$RELAY', quoted(relay)).replace('$PROBE', quoted(probe))
  const memory = String(limits.memoryMb * 2 ** 20)
  const unseen = hidden(command, walls.hidden)
  const words = [memory, egress, process.execPath, searched, readOnly, ...unseen, '--', ...command]
  return ['setpriv', '--pdeathsig', 'KILL', 'unshare', ...apart, '/bin/sh', '-c', inside, 'walled', ...words]
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Where credentials of the manager are; not what the program itself is given. */
function hidden(command: readonly string[], unseen: readonly string[]): readonly string[] {
  const kubeconfigs = (process.env['KUBECONFIG'] ?? '').split(path.delimiter)
  const wanted = ['/var/run/secrets', '/run/secrets', path.join(homedir(), '.kube'), ...kubeconfigs, ...unseen]
  return [...new Set(wanted)].filter(
    (place) =>
      path.isAbsolute(place) &&
      existsSync(place) &&
      !command.some((word) => word === place || word.startsWith(path.join(place, path.sep))),
  )
}

let known: Promise<string | undefined> | undefined

/** What keeps the network from being cut off here, in words; undefined: nothing, as was seen by trying. Asked once a process. */
export function networkTrouble(clock: Clock): Promise<string | undefined> {
  return (known ??= tryWalls(clock))
}

const canary = `
const socket = require('node:net').connect(Number(process.argv[1]), '127.0.0.1')
socket.on('connect', () => { console.log('reached'); process.exit(0) })
socket.on('error', () => { console.log('cut'); process.exit(0) })
`

/** The trial is a program that does its best to reach this one, which listens. `network` is what it is to have meanwhile. */
export async function tryWalls(clock: Clock, network: Network = 'cut'): Promise<string | undefined> {
  if (process.platform !== 'linux') return `there are no network namespaces on ${process.platform}; it needs Linux`
  const server = createServer((socket) => socket.destroy())
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { readonly port: number }).port))
  })
  try {
    const program = { command: process.execPath, args: ['-e', canary] }
    const { stdout, stderr, trouble: problem } = await runProgram({ program, network, clock }, [String(port)])
    if (stdout.trim() === 'cut') return undefined
    if (stdout.trim() === 'reached') return 'its walls do not hold: it reached a port of this machine'
    const why = problem ?? stderr.split('\n').find((line) => /[a-z]/i.test(line)) ?? 'for an unknown reason'
    return `no namespaces can be made (${why})`
  } finally {
    server.close()
  }
}

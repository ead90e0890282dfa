/**
 * A program that keeps the contract, started by the manager. It gets an environment of its own and nothing of the manager's,
 * is ended with all that it has started when it takes too long or too much, and has no network: on Linux it runs in
 * namespaces of its own, without privileges, in which there is no way out, the usual places of credentials and the folders of other
 * programs are empty, and nobody answers at the sockets of the machine.
 *
 * Where that cannot be done, or does not hold, it is not started, unless somebody says that it may have a network.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { constants, homedir, tmpdir } from 'node:os'
import path from 'node:path'
import type { Clock, Timer } from '../../clock/clock.ts'
import { ownFolderOf, programsFolder } from './programs-folder.ts'

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
 * has decided. `proxy`: the same, and its environment leads it to a proxy that nothing makes it use.
 */
export type Network = 'cut' | { readonly egress: string } | { readonly proxy: string } | 'open'

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
  const isOpen = network === 'open' || (typeof network === 'object' && 'proxy' in network)
  const proxy = typeof network === 'string' ? undefined : 'proxy' in network ? network.proxy : proxyUrl
  const env = { PATH: systemPath, ...program.env, ...(proxy !== undefined && proxied(proxy)) }
  const walls = { limits, searched: env.PATH, hidden: program.hidden ?? [], readOnly: options.readOnly ?? '' }
  let started: readonly string[]
  try {
    started = isOpen ? limited(own, limits) : walled(own, { ...walls, network })
  } catch (error) {
    return unstarted((error as Error).message)
  }
  const [command = '', ...args] = started
  const child = spawn(command, args, {
    // In the environment, and not among the words: those can be read by everybody on the machine.
    env: isOpen ? env : { ...env, PATH: systemPath },
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

function proxied(url: string): Readonly<Record<string, string>> {
  return { HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: '', http_proxy: url, https_proxy: url, no_proxy: '' }
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
 * Run by the shell, as root of a user namespace: MEMORY EGRESS NODE PATH READONLY ALL OWN HIDDEN… -- COMMAND…
 * Of all folders of programs there is its own. /proc is that of its own processes; where credentials usually are, and behind the
 * sockets of others, there is nothing. With an egress, loopback leads to it.
 */
const script = `
set -eu
memory=$1 egress=$2 node=$3 path=$4 still=$5 all=$6 own=$7; shift 7
if [ -n "$egress" ]; then
  ip link set lo up
  env -i "$node" -e $RELAY "$egress" ${relayPort} &
  while ! env -i "$node" -e $PROBE ${relayPort}; do :; done
fi
if [ -n "$own" ]; then exec 9<"$own"; fi
mount -t tmpfs -o mode=755 tmpfs "$all"
if [ -n "$own" ]; then
  mkdir "$own"
  mount --no-canonicalize --bind /proc/self/fd/9 "$own"
  exec 9<&-
fi
mount -t proc proc /proc 2>/dev/null || mount -t tmpfs -o ro tmpfs /proc
if [ -n "$still" ]; then
  mount --bind "$still" "$still"
  mount -o remount,bind,ro "$still"
fi
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mount -t tmpfs -o mode=755,ro tmpfs "$1"
  else mount --bind /dev/null "$1" 2>/dev/null || [ ! -e "$1" ]; fi
  shift
done
shift
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all prlimit --core=0 --fsize=${mostFileBytes} --data="$memory" \\
  env -u OLDPWD -u SHLVL PATH="$path" "$@"
`

interface Walls {
  readonly limits: ProgramLimits
  readonly network: Network
  /** PATH, for the program. */
  readonly searched: string
  readonly hidden: readonly string[]
  /** Empty: none. */
  readonly readOnly: string
}

function walled(command: readonly string[], walls: Walls): readonly string[] {
  const { limits, network, searched, readOnly } = walls
  const egress = typeof network === 'object' && 'egress' in network ? network.egress : ''
  const apart = ['--user', '--map-root-user', '--net', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child']
  const inside = script.replace('$RELAY', quoted(relay)).replace('$PROBE', quoted(probe))
  const memory = String(limits.memoryMb * 2 ** 20)
  const all = programsFolder()
  const own = ownFolderOf([egress, readOnly, ...command], all) ?? ''
  const unseen = [...hidden(command, walls.hidden), ...strangeSockets([egress, ...command], all)]
  const words = [memory, egress, process.execPath, searched, readOnly, all, own, ...unseen, '--', ...command]
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

/** A namespace cuts off what has an address, and not what has a path. Those in folders of programs are hidden with these. */
function strangeSockets(own: readonly string[], all: string): readonly string[] {
  let table: string
  try {
    table = readFileSync('/proc/net/unix', 'utf8')
  } catch {
    return []
  }
  const sockets = Array.from(table.matchAll(listeningSocket), ([, place]) => place!).filter(
    (place) => !own.includes(place) && !place.startsWith(path.join(all, path.sep)) && existsSync(place),
  )
  return [...new Set(sockets.map((place) => hiddenWith(place, own)))]
}

/** Daemons keep their sockets, often many, in a folder of theirs: hiding takes time for each. */
function hiddenWith(place: string, own: readonly string[]): string {
  const folder = /^\/(?:var\/)?run\/[^/]+(?=\/)/.exec(place)?.[0] ?? place
  return own.some((word) => word.startsWith(`${folder}/`)) ? place : folder
}

/** `…: 00000002 00000000 00010000 0001 01 2345 /run/some.sock`: the flag says that somebody listens. */
const listeningSocket = /^\S+ \S+ \S+ 00010000 .* (\/.*)$/gm

let known: Promise<string | undefined> | undefined

/** What keeps the network from being cut off here, in words; undefined: nothing, as was seen by trying. Asked once a process. */
export function networkTrouble(clock: Clock): Promise<string | undefined> {
  return (known ??= tryWalls(clock))
}

/** The path comes in two, so that it is no word of the command: those a program is given it may reach. */
const canary = `
const [port, folder, name] = process.argv.slice(1)
const reach = (what, how) => new Promise((resolve) => {
  const socket = require('node:net').connect(how)
  socket.on('connect', () => resolve(what)).on('error', () => resolve(''))
})
Promise.all([reach('a port', { port: Number(port), host: '127.0.0.1' }), reach('a socket', { path: folder + '/' + name })])
  .then((reached) => { console.log(reached.find(Boolean) ?? 'cut'); process.exit(0) })
`

/** The trial is a program that does its best to reach this one, which listens. `network` is what it is to have meanwhile. */
export async function tryWalls(clock: Clock, network: Network = 'cut'): Promise<string | undefined> {
  if (process.platform !== 'linux') return `there are no network namespaces on ${process.platform}; it needs Linux`
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-canary-'))
  const [byPort, byPath] = [createServer((socket) => socket.destroy()), createServer((socket) => socket.destroy())]
  const listen = (server: Server, where: ListenOptions): Promise<void> =>
    new Promise((resolve) => server.listen(where, resolve))
  try {
    await Promise.all([
      listen(byPort, { port: 0, host: '127.0.0.1' }),
      listen(byPath, { path: path.join(folder, 'socket') }),
    ])
    const { port } = byPort.address() as { readonly port: number }
    const program = { command: process.execPath, args: ['-e', canary] }
    const words = [String(port), folder, 'socket']
    const { stdout, stderr, trouble: problem } = await runProgram({ program, network, clock }, words)
    const said = stdout.trim()
    if (said === 'cut') return undefined
    if (said.startsWith('a ')) return `its walls do not hold: it reached ${said} of this machine`
    const why = problem ?? stderr.split('\n').find((line) => /[a-z]/i.test(line)) ?? 'for an unknown reason'
    return `no namespaces can be made (${why})`
  } finally {
    byPort.close()
    byPath.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

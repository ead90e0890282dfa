/**
 * Runs a program of the contract. It gets a clean environment, is ended with all of its children when it exceeds its
 * time or memory, and runs in the sandbox of the isolation level `process` (`manager/isolation/sandbox/sandbox.ts`): no
 * network, a read-only root with the system, the program, its inputs and what the configuration lists, one writable
 * folder, another uid.
 *
 * Where the sandbox cannot be built, or does not hold, the program is not started, unless the configuration allows it.
 */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Clock, Timer } from '../../clock/clock.ts'
import { type ControlGroup, openControlGroup } from '../../manager/isolation/sandbox/control-group.ts'
import { withoutInherited } from '../../manager/isolation/sandbox/inherited-descriptors.ts'
import {
  canaryCode,
  canaryWords,
  machineProblem,
  mostFileBytes,
  mostProcesses,
  type Sandboxed,
  sandboxed,
  signalOf,
  canaryProblem,
} from '../../manager/isolation/sandbox/sandbox.ts'
import { statOf, viewOf } from './program-view.ts'
import { programsFolder } from './programs-folder.ts'

export interface ExternalProgram {
  /** An absolute path, or a name in PATH. */
  readonly command: string
  /** Arguments before the contract's own. */
  readonly args?: readonly string[]
  /** Its environment beside PATH. */
  readonly env?: Readonly<Record<string, string>>
  /** Its working directory. @default the manager's */
  readonly folder?: string
  /** Files and folders that it may read beside its own files. @default none */
  readonly readable?: readonly string[]
  /** Hidden files and folders within those, beside the usual places of credentials. */
  readonly hidden?: readonly string[]
}

export interface ProgramLimits {
  /** The time-out of one command. @default 30_000 */
  readonly timeoutMs: number
  /** Per process, and for all together where control groups are available. @default 1024 */
  readonly memoryMb: number
  /** The limit of its output; the rest is dropped. @default 1 MiB */
  readonly printedBytes: number
}

export const defaultProgramLimits: ProgramLimits = { timeoutMs: 30_000, memoryMb: 1024, printedBytes: 2 ** 20 }

/**
 * `cut`: no network. `egress`: only the socket of an egress proxy. `open`: the machine's network, as the configuration
 * allows. `proxy`: the same, with HTTP_PROXY set, which is not enforced.
 */
export type Network = 'cut' | { readonly egress: string } | { readonly proxy: string } | 'open'

export interface ProgramRunOptions {
  readonly program: ExternalProgram
  readonly limits?: Partial<ProgramLimits>
  /** @default "cut" */
  readonly network?: Network
  /** A readable folder, read-only in a sandbox. */
  readonly readOnly?: string
  /** The only writable folder, /tmp aside. Its content is there at the end. */
  readonly output?: string
  /** In a sandbox, the empty folder that receives the output. */
  readonly collected?: string
  /** Small files that are copied to the same path: a kubeconfig. */
  readonly copied?: readonly string[]
  readonly clock: Clock
  readonly signal?: AbortSignal
}

export interface Ended {
  /** Undefined: killed by a signal, or not started. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
  /** Why it did not end by itself. */
  readonly problem: string | undefined
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Runs one command of the contract. Never rejects. */
export async function runProgram(options: ProgramRunOptions, words: readonly string[]): Promise<Ended> {
  const { program, network = 'cut', clock, signal } = options
  const limits = { ...defaultProgramLimits, ...options.limits }
  const { command: file, folder } = program
  // Clearer than the shell's message for a missing file.
  if (path.isAbsolute(file) && !existsSync(file)) return unstarted(`there is no ${file}`)
  if (folder !== undefined && !existsSync(folder)) return unstarted(`there is no folder ${folder}`)
  const own = [file, ...(program.args ?? []), ...words]
  const isOpen = network === 'open' || (typeof network === 'object' && 'proxy' in network)
  const proxy = typeof network === 'string' ? undefined : 'proxy' in network ? network.proxy : proxyUrl
  const env = { PATH: systemPath, ...program.env, ...(proxy !== undefined && proxied(proxy)) }
  let started: Sandboxed
  let group: ControlGroup | undefined
  try {
    group = isOpen ? undefined : openControlGroup(groupLimits(limits))
    const joins = group?.joins ?? []
    started = isOpen
      ? { command: limited(own, limits), env }
      : sandboxedProgram(own, { ...options, network, limits, env, joins })
  } catch (error) {
    group?.remove()
    return unstarted((error as Error).message)
  }
  const [command, ...args] = started.command
  const child = spawn(command, args, {
    env: started.env,
    ...(folder !== undefined && { cwd: folder }),
    stdio: withoutInherited(['ignore', 'pipe', 'pipe']),
    // A process group of its own, killed as a whole.
    detached: true,
  })
  let problem: string | undefined
  const kill = (why: string): void => {
    problem ??= why
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
    child[name]!.setEncoding('utf8').on('data', (text: string) => {
      if (printed[name].length < limits.printedBytes) printed[name] += text.slice(0, limits.printedBytes)
    })
  }
  const code = await new Promise<number | undefined>((resolve) => {
    child.on('error', (error) => {
      problem ??= `it does not start: ${error.message}`
      resolve(undefined)
    })
    child.on('exit', (exit, by) => {
      const ending = by ?? signalOf(exit)
      if (ending !== undefined) problem ??= `it was ended by ${ending}`
      if (ending === 'SIGXFSZ') problem = `it wrote a file of more than ${mostFileBytes} bytes, and was ended for that`
      if (group?.ranOut()) problem = 'all its processes together ran out of memory'
      // Its remaining children, which may hold its pipes, end with it.
      kill('')
      leaving = clock.after(1000, () => {
        for (const stream of [child.stdout, child.stderr]) stream?.destroy()
      })
    })
    child.on('close', (exit) => resolve(signalOf(exit) === undefined ? (exit ?? undefined) : undefined))
  })
  timer.cancel()
  leaving?.cancel()
  signal?.removeEventListener('abort', stop)
  group?.remove()
  return { code, ...printed, problem: problem === '' ? undefined : problem }
}

/** A changed file is a new version; one of the arguments may be the script. */
export function programVersion({ command, args = [], folder = process.cwd() }: ExternalProgram): string {
  return [command, ...args]
    .map((word) => {
      const found = statOf(path.resolve(folder, word))
      return found?.isFile() ? `${found.ino} ${found.mtimeMs} ${found.size}` : ''
    })
    .join('\n')
}

function unstarted(why: string): Ended {
  return { code: undefined, stdout: '', stderr: '', problem: `it does not start: ${why}` }
}

/** Memory is limited even without a sandbox. */
function limited(command: readonly string[], { memoryMb }: ProgramLimits): readonly [string, ...string[]] {
  const script = `ulimit -c 0; ulimit -f ${mostFileBytes / 512} 2>/dev/null; ulimit -d "$1" 2>/dev/null; shift; exec "$@"`
  return ['/bin/sh', '-c', script, 'limited', String(memoryMb * 1024), ...command]
}

/** The port of the relay to the proxy, on loopback inside of the sandbox. */
const relayPort = 3128
const proxyUrl = `http://127.0.0.1:${relayPort}`

function proxied(url: string): Readonly<Record<string, string>> {
  return { HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: '', http_proxy: url, https_proxy: url, no_proxy: '' }
}

/** Relays from loopback inside of the sandbox to the Unix socket. */
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

/** Run by the shell, inside the sandbox: NODE RELAY PROBE SOCKET PORT COMMAND… */
const relayed = `
node=$1 relay=$2 probe=$3 socket=$4 port=$5; shift 5
( /usr/bin/env -i "$node" -e "$relay" "$socket" "$port" </dev/null >/dev/null 2>&1 & )
while ! /usr/bin/env -i "$node" -e "$probe" "$port"; do :; done
exec "$@"
`

interface ProgramSandboxOptions extends Pick<
  ProgramRunOptions,
  'program' | 'readOnly' | 'output' | 'collected' | 'copied'
> {
  readonly limits: ProgramLimits
  readonly network: Network
  readonly env: Readonly<Record<string, string>> & { readonly PATH: string }
  readonly joins: readonly string[]
}

/** @throws Error when the program cannot run in any sandbox */
function sandboxedProgram(command: readonly string[], options: ProgramSandboxOptions): Sandboxed {
  const { program, limits, network, env, readOnly, output, collected, copied = [], joins } = options
  const folder = program.folder ?? process.cwd()
  const socket = typeof network === 'object' && 'egress' in network ? network.egress : undefined
  const view = viewOf(program, env.PATH)
  if (view.problem !== undefined) throw new Error(view.problem)
  const whole =
    socket === undefined
      ? command
      : ['/bin/sh', '-c', relayed, 'relayed', process.execPath, relay, probe, socket, String(relayPort), ...command]
  return sandboxed(
    {
      root: mountPoint(),
      readable: socket === undefined ? view.readable : [...view.readable, process.execPath],
      covered: view.covered,
      memoryMb: limits.memoryMb,
      furnished: true,
      environment: { ...env, PWD: folder },
      folder,
      cgroups: joins,
      ...(readOnly !== undefined && existsSync(readOnly) && { input: readOnly }),
      ...(output !== undefined && { output }),
      ...(collected !== undefined && { collected }),
      copied,
      ...(socket !== undefined && { socket }),
    },
    whole,
  )
}

/** The mount point of a sandbox's root, in its own mount namespace. */
function mountPoint(): string {
  const place = path.join(programsFolder(), 'root')
  mkdirSync(place, { recursive: true, mode: 0o700 })
  return place
}

/** The memory of the sandbox tools and the relay. */
const relayMb = 128

function groupLimits({ memoryMb }: ProgramLimits): { readonly memoryBytes: number; readonly processes: number } {
  return { memoryBytes: (memoryMb + relayMb) * 2 ** 20, processes: mostProcesses }
}

let known: Promise<string | undefined> | undefined

/** Why a sandbox cannot be built on this machine; undefined: a test succeeded. Tested once per process. */
export function programSandboxProblem(clock: Clock): Promise<string | undefined> {
  return (known ??= checkSandbox(clock))
}

/**
 * A sandbox self-check: a program that tries to reach what only this process may reach: a port, a socket in a readable
 * folder, a file beside it. `network` is the network that it is given.
 */
export async function checkSandbox(clock: Clock, network: Network = 'cut'): Promise<string | undefined> {
  const lacking = machineProblem()
  if (lacking !== undefined) return lacking
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-canary-'))
  const [open, file] = [path.join(folder, 'open'), path.join(folder, 'file')]
  const socket = path.join(open, 'socket')
  const [byPort, byPath] = [createServer((each) => each.destroy()), createServer((each) => each.destroy())]
  const listen = (server: Server, where: ListenOptions): Promise<void> =>
    new Promise((resolve) => server.listen(where, resolve))
  try {
    mkdirSync(open)
    chmodSync(open, 0o755)
    writeFileSync(file, 'A program that reads this is not in a sandbox.\n', { mode: 0o644 })
    await Promise.all([
      listen(byPort, { port: 0, host: '127.0.0.1' }),
      listen(byPath, { path: socket, readableAll: true, writableAll: true }),
    ])
    const { port } = byPort.address() as { readonly port: number }
    const program = { command: process.execPath, args: ['-e', canaryCode], readable: [open] }
    const words = canaryWords({ port, files: [file], socket })
    const { code, stdout, stderr, problem } = await runProgram({ program, network, clock }, words)
    const failure = problem ?? stderr.split('\n').find((line) => /[a-z]/i.test(line)) ?? `exit code ${code}`
    return canaryProblem(stdout, code === 0 && problem === undefined ? '' : failure)
  } finally {
    byPort.close()
    byPath.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

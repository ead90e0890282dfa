/**
 * Runs the hostile program in the sandbox of this machine, as the user of this process, and prints the result. A
 * separate process, with a home folder, secrets, sockets and an inherited descriptor as targets.
 *
 * `node run.ts program|process|control`
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createSocket } from 'node:dgram'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock as clock } from '../../../src/clock/system-clock.ts'
import { runProgram } from '../../../src/contract/external/program.ts'
import { openProgramFolder, programsFolder } from '../../../src/contract/external/programs-folder.ts'
import { openControlGroup } from '../../../src/manager/isolation/sandbox/control-group.ts'
import { withoutInherited } from '../../../src/manager/isolation/sandbox/inherited-descriptors.ts'
import { sandboxed } from '../../../src/manager/isolation/sandbox/sandbox.ts'
import { inherited, type Report, secret } from './situation.ts'

const mark = `muster-hostile-${process.pid}`

/** Not below /tmp, where a program has its own writable folder. */
const temporary = mkdtempSync(path.join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'muster-hostile-'))
const folder = (...names: readonly string[]): string => {
  const place = path.join(temporary, ...names)
  mkdirSync(place, { recursive: true })
  chmodSync(place, 0o755)
  return place
}
const file = (place: string, text: string = secret): string => {
  mkdirSync(path.dirname(place), { recursive: true })
  writeFileSync(place, text, { mode: 0o644 })
  return place
}

async function main(how: string): Promise<Report> {
  chmodSync(temporary, 0o755)
  // The project is below the home folder, as usual.
  const home = folder('home')
  process.env['HOME'] = home
  process.env['TMPDIR'] = folder('tmp')
  for (const name of ['.kube/config', '.kube/cache/token', 'token', 'client.key', '.profile'])
    file(path.join(home, name))
  const readable = folder('home', 'project', 'operator')
  process.env['KUBECONFIG'] = file(path.join(readable, 'cluster.kubeconfig'))
  for (const name of ['.muster/kubeconfig', 'muster.yaml']) file(path.join(readable, name))
  const hidden = ['cluster.kubeconfig', '.muster', 'muster.yaml'].map((name) => path.join(readable, name))
  for (const name of ['plain', 'removable']) file(path.join(readable, name), 'plain')
  const pipe = openPipe(path.join(readable, 'pipe'))
  const beside = file(path.join(folder('home', 'project', 'bin'), 'beside'))
  file(path.join(temporary, 'other-file'))
  const script = path.join(path.dirname(beside), 'program.cjs')
  file(script, readFileSync(new URL('program.cjs', import.meta.url), 'utf8'))
  const other = openProgramFolder('other')
  file(path.join(other, 'user-workload.kubeconfig'))
  const own = openProgramFolder('own')
  const input = path.join(own, 'input')
  file(path.join(input, 'a.yaml'), 'as it was')
  chmodSync(input, 0o755)
  const output = path.join(own, 'output')
  mkdirSync(output)

  const servers: Server[] = []
  const listening = async (where: ListenOptions): Promise<Server> => {
    const server = createServer((socket) => socket.on('error', () => undefined).end('hello'))
    servers.push(server)
    await new Promise<void>((resolve, reject) => server.on('error', reject).listen(where, resolve))
    return server
  }
  const byPath = (place: string): ListenOptions => ({ path: place, readableAll: true, writableAll: true })
  const { port } = (await listening({ port: 0 })).address() as { readonly port: number }
  await listening(byPath(path.join(other, 'egress.sock')))
  await listening(byPath(path.join(readable, 'early.sock')))
  await listening({ path: `\0${mark}` })
  const datagrams = createSocket('udp4')
  datagrams.on('message', (_, { port: from, address }) => datagrams.send('hello', from, address))
  await new Promise<void>((resolve) => datagrams.bind(0, '127.0.0.1', resolve))
  let making: ReturnType<typeof setTimeout> | undefined
  const makeLater = (): void => {
    void listening(byPath(path.join(readable, `late-${Date.now()}.sock`))).catch(() => undefined)
    making = setTimeout(makeLater, 100)
  }
  makeLater()

  const isProgram = how !== 'process'
  const group = openControlGroup({ memoryBytes: 2 ** 30, processes: 100 })
  group?.remove()
  const addresses = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address))
  const files = { temporary, home, readable, input, beside, other, programs: programsFolder() }
  const SITUATION = JSON.stringify({
    ...files,
    secret,
    manager: process.pid,
    port,
    addresses,
    datagrams: datagrams.address().port,
    abstract: mark,
    descriptor: inherited,
    mark,
    output: isProgram ? output : '',
  })
  const env = { SITUATION, DEEDS: how }
  try {
    const words = ['--leave-a-process']
    const program = {
      command: process.execPath,
      args: [script],
      env,
      readable: [readable],
      hidden: [path.join(readable, 'muster.yaml')],
    }
    const limits = { memoryMb: 768, timeoutMs: 60_000 }
    const network = how === 'control' ? 'open' : 'cut'
    const { stdout, stderr, problem } = isProgram
      ? await runProgram({ program, limits, network, readOnly: input, output, clock }, words)
      : await asGuest([process.execPath, script, ...words], env, [script, readable, input], hidden)
    const said = stdout.startsWith('{')
      ? (JSON.parse(stdout) as Pick<Report, 'tried' | 'done'>)
      : { tried: 0, done: [] }
    const failure = stdout.startsWith('{') ? problem : `${problem ?? ''} ${stderr}`
    const left = [...leftIn(isProgram ? output : undefined), ...(pipe.isWritten() ? ['what it wrote to a pipe'] : [])]
    const memory = how === 'program' && group ? await sharedMemory(output) : {}
    return { uid: process.getuid?.() ?? -1, ...said, left, ...(failure !== undefined && { problem: failure }), memory }
  } finally {
    clearTimeout(making)
    for (const server of servers) server.close()
    datagrams.close()
    for (const each of [other, own, temporary]) rmSync(each, { recursive: true, force: true })
  }
}

/** The result of exceeding the memory limit with kinds of memory that no process limit counts. */
async function sharedMemory(output: string): Promise<Report['memory']> {
  const python = ['/usr/bin/python3', '/usr/local/bin/python3'].find((each) => existsSync(each))
  const take = (megabytes: number, place: string): string => `head -c ${megabytes}000000 /dev/zero >${place}/taken`
  const ways: Readonly<Record<string, readonly string[]>> = {
    tmpfs: ['/bin/sh', '-c', `${take(60, '/tmp')}; ${take(60, '/dev/shm')}; ${take(120, output)}`],
    ...(python !== undefined && {
      mapping: [
        python,
        '-c',
        'import mmap\nwith mmap.mmap(-1, 2**29) as m:\n  for i in range(0, 2**29, 4096): m[i] = 1',
      ],
    }),
  }
  const ended = Object.entries(ways).map(async ([name, [command = '', ...args]]) => {
    const limits = { memoryMb: 64, timeoutMs: 60_000 }
    const { problem } = await runProgram({ program: { command, args }, limits, output, clock }, [])
    return [name, problem ?? 'it had as much as it wanted'] as const
  })
  return Object.fromEntries(await Promise.all(ended))
}

/** As an operator at the level `process`, without Node's permission model: the sandbox alone must hold. */
function asGuest(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  readable: readonly string[],
  covered: readonly string[],
): Promise<{ readonly stdout: string; readonly stderr: string; readonly problem: string | undefined }> {
  const root = folder('root')
  const group = openControlGroup({ memoryBytes: 900 * 2 ** 20, processes: 1024 })
  const options = {
    root,
    readable: [process.execPath, ...readable],
    covered,
    memoryMb: 768,
    cgroups: group?.joins ?? [],
  }
  // A guest has no environment; this one gets its situation by arguments.
  const words = ['/usr/bin/env', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...command]
  const {
    command: [program, ...args],
    env: tools,
  } = sandboxed(options, words)
  const child: ChildProcess = spawn(program, args, {
    env: tools,
    stdio: withoutInherited(['ignore', 'pipe', 'pipe']),
    cwd: '/',
  })
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name]?.on('data', (text) => (printed[name] += String(text)))
  return new Promise((resolve) => {
    child.on('close', (code) => {
      group?.remove()
      resolve({ ...printed, problem: code === 0 ? undefined : `exit code ${code}` })
    })
  })
}

/** Both ends are open here, so that neither blocks. */
function openPipe(place: string): { isWritten(): boolean } {
  if (spawnSync('mkfifo', ['-m', '666', place]).status !== 0) throw new Error(`${place} cannot be made`)
  const pipe = openSync(place, constants.O_RDWR | constants.O_NONBLOCK)
  return {
    isWritten() {
      try {
        return readSync(pipe, Buffer.alloc(100)) > 0
      } catch {
        return false
      }
    },
  }
}

/** A process that outlives it, a followed link, a file that would run as the manager. */
function leftIn(output: string | undefined): readonly string[] {
  const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && wordsOf(name).includes(mark))
  const others = running.map(Number).filter((pid) => pid !== process.pid)
  // Each leads a process group. Without a sandbox they still run, and are killed now.
  for (const pid of others) process.kill(-pid, 'SIGKILL')
  const left = others.map(() => 'a process')
  if (output === undefined) return left
  const names = readdirSync(output).toSorted()
  if (names.join(' ') !== 'link result setuid') left.push(`an output of ${names.join(' ') || 'nothing'}`)
  else {
    if (!lstatSync(path.join(output, 'link')).isSymbolicLink()) left.push('what a link led to')
    if ((statSync(path.join(output, 'setuid')).mode & 0o6000) !== 0) left.push('a setuid file')
  }
  return left
}

function wordsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

console.log(JSON.stringify(await main(process.argv[2] ?? 'program')))

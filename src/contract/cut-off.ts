/**
 * Offline means offline. A Muster operator has no connection to begin with; but its code is code, and could open one. So a
 * process that is to run offline gives its network away: on Linux it starts anew in a network namespace of its own, in which
 * there is nothing, not even loopback. That takes no privilege.
 *
 * Where that is impossible, connections are refused within the process. That holds for what is careless, not for what is
 * hostile, and it is said.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createRequire, syncBuiltinESMExports } from 'node:module'

/** Set for a process that has no network any more. */
const mark = 'MUSTER_NETWORK_CUT'

/** In front of a command, it has no network. */
export const withoutNetwork: readonly string[] = ['unshare', '--user', '--map-current-user', '--net', '--']

let isPossible: boolean | undefined

/** Whether a program can be started without a network here. */
export function canCutOff(): boolean {
  isPossible ??=
    process.platform === 'linux' && spawnSync(withoutNetwork[0]!, [...withoutNetwork.slice(1), 'true']).status === 0
  return isPossible
}

/**
 * From here on there is no network. Either this returns in a process that has none, or, in one that has, it runs the same
 * command in one that has not, and ends with its exit code.
 */
export async function cutOff(warn: (line: string) => void): Promise<void> {
  if (process.env[mark] !== undefined) return
  if (!canCutOff()) {
    refuseConnections()
    warn('warning: no network namespace can be made here: connections are only refused within this process')
    return
  }
  const [program = '', ...args] = [...withoutNetwork, process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, [mark]: '1' } })
  const stop = (signal: NodeJS.Signals): void => void child.kill(signal)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  process.exit(await new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? 1))))
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

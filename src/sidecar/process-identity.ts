/**
 * The identity of a process, safe against reuse of its pid.
 *
 * Pids are reused, and every container starts counting anew. So an identity is the pid, the start time of the process,
 * and the boot and container in which both are valid.
 */
import { readdir, readFile, readlink } from 'node:fs/promises'
import { type JsonObject } from '../kube/json.ts'

export interface ProcessIdentity {
  readonly pid: number
  /** In clock ticks of the kernel. */
  readonly startTime: string
  readonly world: string
}

interface ProcessStat {
  readonly group: number
  readonly startTime: string
}

export async function ownIdentity(): Promise<ProcessIdentity> {
  const stat = await readStat(process.pid)
  return { pid: process.pid, startTime: stat?.startTime ?? '', world: await currentWorld() }
}

export function readIdentity(value: JsonObject | undefined): ProcessIdentity | undefined {
  const { pid, startTime, world } = value ?? {}
  const isWhole = Number.isSafeInteger(pid) && (pid as number) > 0
  return isWhole && typeof startTime === 'string' && typeof world === 'string'
    ? { pid: pid as number, startTime, world }
    : undefined
}

/** Whether this process still runs. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (identity.world !== (await currentWorld())) return false
  if (identity.startTime === '') return answersSignals(identity.pid)
  return (await readStat(identity.pid))?.startTime === identity.startTime
}

/**
 * Whether this process, or another one of its process group, still runs. The kernel does not reuse a pid while a
 * process group has it, so a group without its leader is the right one.
 */
export async function isGroupAlive(identity: ProcessIdentity): Promise<boolean> {
  if (await isAlive(identity)) return true
  if (identity.world !== (await currentWorld()) || !answersSignals(-identity.pid)) return false
  if (await readStat(identity.pid)) return false
  const numbers = (await readdir('/proc').catch(() => [])).map(Number).filter((pid) => pid > 0)
  for (const pid of numbers) if ((await readStat(pid))?.group === identity.pid) return true
  return false
}

/** Undefined for a process that is gone or a zombie. */
async function readStat(pid: number): Promise<ProcessStat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name is in parentheses and may contain parentheses itself.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state = '', , group, startTime] = [fields[0], fields[1], fields[2], fields[19]]
  return startTime === undefined || 'ZX'.includes(state) ? undefined : { group: Number(group), startTime }
}

function answersSignals(pid: number): boolean {
  try {
    // Signal 0 only checks for existence.
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

let world: Promise<string> | undefined

function currentWorld(): Promise<string> {
  world ??= Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]).then(([boot, container]) => `${boot.trim()} ${container}`)
  return world
}

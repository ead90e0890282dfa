/**
 * A control group around one sandbox: limits the memory of all its processes together, including what `RLIMIT_DATA`
 * does not count (shared mappings, memfd, tmpfs, System V segments), and the number of its processes.
 *
 * It is created where this process has the rights: below or beside its own group of version 2, as in a delegated
 * systemd unit with `DelegateSubgroup=`, or below its own groups of version 1. Elsewhere there is none, and only the
 * limits of single processes apply.
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'

interface ControlGroupLimits {
  readonly memoryBytes: number
  readonly processes: number
}

export interface ControlGroup {
  /** A process joins by writing `0` into each. */
  readonly joins: readonly string[]
  /** Whether the kernel has killed a process in it for lack of memory. */
  ranOut(): boolean
  /** To be called after all its processes have ended. */
  remove(): void
}

interface ControlGroupMachine {
  /** Mount point of control groups. @default /sys/fs/cgroup */
  readonly mount: string
  /** Control groups of this process. @default /proc/self/cgroup */
  readonly own: string
}

/** Undefined where none can be created. */
export function openControlGroup(limits: ControlGroupLimits, machine?: ControlGroupMachine): ControlGroup | undefined {
  if (process.platform !== 'linux') return undefined
  const { mount, own } = machine ?? { mount: '/sys/fs/cgroup', own: textOf('/proc/self/cgroup') }
  for (const folder of left) if (removed(folder)) left.delete(folder)
  return existsSync(path.join(mount, 'cgroup.controllers')) ? unified(mount, own, limits) : divided(mount, own, limits)
}

/** Version 2: one tree. Processes must be in leaves, so a new group often fits beside ours only. */
function unified(mount: string, own: string, limits: ControlGroupLimits): ControlGroup | undefined {
  const [, below] = /^0::(\/.*)$/m.exec(own) ?? []
  if (below === undefined) return undefined
  const ours = path.join(mount, below)
  for (const parent of new Set([ours, below === '/' ? ours : path.dirname(ours)])) {
    const control = path.join(parent, 'cgroup.subtree_control')
    for (const controller of ['+pids', '+memory']) attempt(() => writeFileSync(control, controller))
    // Moving a process needs write access to the common ancestor.
    const mayMove = attempt(() => accessSync(path.join(parent, 'cgroup.procs'), constants.W_OK))
    if (!mayMove || !/\bmemory\b/.test(textOf(control))) continue
    const folder = made(parent)
    if (folder === undefined) continue
    const set = (name: string, value: number): boolean =>
      attempt(() => writeFileSync(path.join(folder, name), String(value)))
    if (set('memory.max', limits.memoryBytes)) {
      set('memory.swap.max', 0)
      set('memory.oom.group', 1)
      set('pids.max', limits.processes)
      return groupOf([folder], path.join(folder, 'memory.events'))
    }
    removed(folder)
  }
  return undefined
}

/** Version 1: a tree for each controller. Without the memory controller it is useless. */
function divided(mount: string, own: string, limits: ControlGroupLimits): ControlGroup | undefined {
  const place = (controller: string): string | undefined => {
    const found = own.split('\n').map((line) => /^\d+:([^:]*):(\/.*)$/.exec(line))
    const below = found.find((each) => each?.[1]?.split(',').includes(controller))?.[2]
    return below === undefined ? undefined : made(path.join(mount, controller, below))
  }
  const memory = place('memory')
  if (memory === undefined) return undefined
  const limit = path.join(memory, 'memory.limit_in_bytes')
  if (!attempt(() => writeFileSync(limit, String(limits.memoryBytes)))) {
    removed(memory)
    return undefined
  }
  const pids = place('pids')
  const isCounted =
    pids !== undefined && attempt(() => writeFileSync(path.join(pids, 'pids.max'), String(limits.processes)))
  return groupOf([memory, ...(isCounted ? [pids] : [])], path.join(memory, 'memory.oom_control'))
}

function groupOf(folders: readonly string[], events: string): ControlGroup {
  return {
    joins: folders.map((folder) => path.join(folder, 'cgroup.procs')),
    ranOut: () => /^oom_kill [1-9]/m.test(textOf(events)),
    remove() {
      for (const folder of folders) if (!removed(folder)) left.add(folder)
    },
  }
}

/** Groups whose last process had not quite ended at their removal. */
const left = new Set<string>()
let count = 0

function made(parent: string): string | undefined {
  // Another process may have the same pid, in another container.
  for (let tries = 0; tries < 100; tries++) {
    const folder = path.join(parent, `muster-${process.pid}-${count++}`)
    try {
      mkdirSync(folder)
      sweep(parent, folder)
      return folder
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return undefined
    }
  }
  return undefined
}

/** Parents that were cleaned up. */
const swept = new Set<string>()

/**
 * A killed manager leaves its groups behind. Groups that are much older than this process and empty are removed: a
 * group in use is empty only for a moment, and one with processes cannot be removed.
 */
function sweep(parent: string, youngest: string): void {
  if (swept.has(parent)) return
  swept.add(parent)
  const now = statSync(youngest).ctimeMs
  for (const name of readdirSync(parent)) {
    const folder = path.join(parent, name)
    const found = /^muster-\d+-\d+$/.test(name) ? statSync(folder, { throwIfNoEntry: false }) : undefined
    if (found && now - found.ctimeMs > 60_000) removed(folder)
  }
}

function removed(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

function attempt(run: () => void): boolean {
  try {
    run()
    return true
  } catch {
    return false
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

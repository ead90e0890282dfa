/**
 * The self-check of a guest, before it loads any code of the operator.
 *
 * Node's permission model (`--permission`) denies files, network, programs, threads and native code. It is requested at
 * the start of the guest, and verified here: each action is attempted, and those that succeed are reported. What the
 * model does not cover (signals, engine flags, priorities, process reports) is removed first.
 *
 * These restrictions stop careless code, not code that tries hard. `sandbox.ts` builds the stronger ones around a
 * process.
 */
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { guardDescriptors } from './descriptors.ts'
import type { Canary } from '../protocol/protocol.ts'

/** Node 26: `drop` revokes a permission. */
const permission = process.permission as
  | (NodeJS.ProcessPermission & { readonly drop?: (scope: string, reference: string) => void })
  | undefined

const attempts: Readonly<Record<string, (canary: Canary) => unknown>> = {
  network: ({ port }) => connect(port),
  programs: async () => (await import('node:child_process')).spawnSync(process.execPath, ['--version']).status,
  threads: async () => {
    const { Worker } = await import('node:worker_threads')
    await new Worker('', { eval: true }).terminate()
  },
  'native code': () => (process as unknown as { binding(name: string): unknown }).binding('fs'),
  signals: () => process.kill(process.pid, 0),
  // A report contains the environment of the whole process, whatever that of the thread is.
  environment: () => {
    const told = process.report.getReport() as { readonly environmentVariables?: object }
    if (Object.keys({ ...told.environmentVariables, ...process.env }).length === 0) throw new Error('empty')
  },
  'the working directory': () => {
    if (!permission?.has('fs.read', process.cwd())) throw new Error('denied')
  },
  // A process has its own descriptors; a thread shares the manager's.
  descriptors: async () => {
    if (isMainThread) throw new Error('its own')
    ;(await import('node:fs')).fstatSync(0)
  },
  // SQLite opens files without asking the permission model.
  databases: async () => {
    // Not by an import: the types of a missing module are not available.
    if (process.getBuiltinModule('node:sqlite') === undefined) throw new Error('denied')
  },
}

/** Actions that succeed although they must not, after `fasten`. */
export async function leaksOf(canary: Canary): Promise<readonly string[]> {
  const { readdirSync, readFileSync } = await import('node:fs')
  const isReadable = (file: string): boolean => succeeds(() => readFileSync(file)) || succeeds(() => readdirSync(file))
  const leaks = canary.files.filter(isReadable).map((file) => `files (${file})`)
  for (const [guarantee, attempt] of Object.entries(attempts)) {
    try {
      await attempt(canary)
      leaks.push(guarantee)
    } catch {
      // As expected.
    }
  }
  return leaks
}

async function connect(port: number): Promise<void> {
  const { connect: open } = await import('node:net')
  await new Promise<void>((resolve, reject) => {
    const socket = open(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve()
    })
    socket.on('error', reject)
  })
}

function succeeds(run: () => unknown): boolean {
  try {
    run()
    return true
  } catch {
    return false
  }
}

/** Removes what the permission model does not cover, and lowers the priority. */
export function fasten(): void {
  const os = process.getBuiltinModule('node:os') as { setPriority: unknown }
  const v8 = process.getBuiltinModule('node:v8') as { setFlagsFromString: unknown }
  // On Linux this applies to the calling thread only: a busy loop leaves the processor to the manager.
  succeeds(() => (os.setPriority as (priority: number) => void)(10))
  const denied = (): never => {
    throw Object.assign(new Error('An isolated operator may not do this.'), { code: 'ERR_ACCESS_DENIED' })
  }
  const own = process as unknown as Record<string, unknown>
  // A thread shares its process: its signal would kill the manager.
  for (const name of ['kill', '_kill', 'abort', 'setuid', 'setgid', 'umask', 'dlopen']) own[name] = denied
  // Reports contain the manager's environment, and their settings are those of the process.
  Object.defineProperty(process, 'report', { value: undefined })
  if (!isMainThread) {
    // Node allows a process to read its main file. A worker has none, and Node uses the working directory instead.
    permission?.drop?.('fs.read', process.cwd())
    guardDescriptors()
  }
  os.setPriority = denied
  v8.setFlagsFromString = denied
  syncBuiltinESMExports()
}

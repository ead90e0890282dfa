/**
 * The belt: what keeps careless code from doing harm inside a guest, before anything of the operator is loaded.
 *
 * Node's permission model (`--permission`) denies files, network, programs, threads and native code. It is asked for
 * when the guest is started, and believed only after it was seen to work: each is tried here, and what can be done
 * although it must not is told. What the model leaves open (signals, flags of the engine, priorities, reports about the
 * process) is taken away before.
 *
 * A belt is no wall: it holds what does not try hard. A wall is what `sandbox.ts` builds around a process.
 */
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { guardDescriptors } from './descriptors.ts'
import type { Canary } from './protocol.ts'

/** Of Node 26: `drop` takes back what was allowed. */
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
  // A report tells the variables of the whole process, whatever a thread was given.
  environment: () => {
    const told = process.report.getReport() as { readonly environmentVariables?: object }
    if (Object.keys({ ...told.environmentVariables, ...process.env }).length === 0) throw new Error('empty')
  },
  'the working directory': () => {
    if (!permission?.has('fs.read', process.cwd())) throw new Error('denied')
  },
  // A process of its own has descriptors of its own; a thread has the manager's.
  descriptors: async () => {
    if (isMainThread) throw new Error('its own')
    ;(await import('node:fs')).fstatSync(0)
  },
  // SQLite opens files by itself, and asks no one.
  databases: async () => {
    // Not by name: the type of a module that is not there cannot be had.
    if (process.getBuiltinModule('node:sqlite') === undefined) throw new Error('denied')
  },
}

/** What can be done although it must not, with the belt fastened. */
export async function leaksOf(canary: Canary): Promise<readonly string[]> {
  const { readdirSync, readFileSync } = await import('node:fs')
  const isReadable = (file: string): boolean => succeeds(() => readFileSync(file)) || succeeds(() => readdirSync(file))
  const leaks = canary.files.filter(isReadable).map((file) => `files (${file})`)
  for (const [guarantee, attempt] of Object.entries(attempts)) {
    try {
      await attempt(canary)
      leaks.push(guarantee)
    } catch {
      // As it should be.
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

/** Takes away what the permission model leaves open, and stands back behind the manager. */
export function fasten(): void {
  const os = process.getBuiltinModule('node:os') as { setPriority: unknown }
  const v8 = process.getBuiltinModule('node:v8') as { setFlagsFromString: unknown }
  // On Linux this is about the calling thread alone: whoever spins leaves the processor to the manager.
  succeeds(() => (os.setPriority as (priority: number) => void)(10))
  const denied = (): never => {
    throw Object.assign(new Error('An isolated operator may not do this.'), { code: 'ERR_ACCESS_DENIED' })
  }
  const own = process as unknown as Record<string, unknown>
  // A thread shares its process: a signal from it would end the manager.
  for (const name of ['kill', '_kill', 'abort', 'setuid', 'setgid', 'umask', 'dlopen']) own[name] = denied
  // Its settings are those of the process, and what it tells are the manager's variables.
  Object.defineProperty(process, 'report', { value: undefined })
  if (!isMainThread) {
    // Node allows the file that a process starts with to be read. A worker has none, and Node takes that for the working directory.
    permission?.drop?.('fs.read', process.cwd())
    guardDescriptors()
  }
  os.setPriority = denied
  v8.setFlagsFromString = denied
  syncBuiltinESMExports()
}

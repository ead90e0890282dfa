/** The enforced isolation levels: how each starts its guest, and the self-check that comes first. */
import { realpathSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Clock } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { ownFiles } from '../config/own-files.ts'
import type { Log } from '../logging/log-line.ts'
import { openConfined } from './confined-runner.ts'
import { defaultGuestLimits, type Limits } from './launch/limits.ts'
import { type ModuleName, parseModuleName } from './protocol/module-name.ts'
import type { RunnerOptions } from './open-runner.ts'
import { startProcessGuest } from './launch/process-guest.ts'
import type { Canary } from './protocol/protocol.ts'
import { readablePaths } from './sandbox/readable.ts'
import type { IsolationLevel, Runner } from './runner.ts'
import { type SandboxOptions, sandboxProblem } from './sandbox/sandbox.ts'
import { startWorkerGuest } from './launch/worker-guest.ts'

/** In a thread of its own, with Node's permission model. */
export async function workerRunner(options: RunnerOptions): Promise<Runner> {
  const secrets = await secretsOf(options)
  const { name, readable, limits, clock, place, log } = prepare('worker', options, secrets)
  const { canary, dispose } = await openCanary(secrets)
  return await openConfined({
    ...place,
    log,
    canary,
    dispose,
    // Computed for each guest: files may have been added.
    start: (events) => startWorkerGuest({ name, readable: readable(), limits, clock }, events),
  })
}

/** In a process of its own, with the permission model inside and a sandbox around it. */
export async function processRunner(options: RunnerOptions): Promise<Runner> {
  const secrets = await secretsOf(options)
  const { readable: readableNow, limits, clock, place, log } = prepare('process', options, secrets)
  const readable = readableNow()
  const { canary, folder, dispose } = await openCanary(secrets)
  const sandboxOptions: SandboxOptions = {
    root: folder,
    readable: [process.execPath, ...readable],
    memoryMb: 2 * limits.memoryMb + nodeMb,
    tools: options.tools,
  }
  const problem = await sandboxProblem(sandboxOptions, canary)
  const cause = `${options.module} (process): ${problem}.`
  if (problem !== undefined && options.allowUnenforced !== true) {
    await dispose()
    throw new MusterError(managerErrors.IsolationRefused, cause)
  }
  const sandbox = problem === undefined ? sandboxOptions : undefined
  return await openConfined({
    ...place,
    log,
    canary,
    dispose,
    start(events) {
      if (!sandbox)
        log({
          level: 'warn',
          msg: 'Operator is NOT ISOLATED as configured; allowUnenforced permits it',
          isolation: 'process',
          error: cause,
        })
      return startProcessGuest({ readable, limits, sandbox, clock }, events)
    },
  })
}

/** Node's own memory without an operator: code, thread stacks, reserves. */
const nodeMb = 640

interface Prepared {
  readonly name: string
  readonly readable: () => readonly string[]
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Log
  readonly place: {
    readonly level: IsolationLevel
    readonly module: ModuleName
    readonly limits: Limits
    readonly allowUnenforced: boolean
    readonly outside: readonly string[]
    readonly clock: Clock
  }
}

/** Files that no guest may read: those of the manager, and those that the options name. */
async function secretsOf({ secrets = [] }: RunnerOptions): Promise<readonly string[]> {
  return [...new Set([...(await ownFiles()), ...secrets.map((each) => path.resolve(each))])]
}

function prepare(level: IsolationLevel, options: RunnerOptions, secrets: readonly string[]): Prepared {
  const { outside = [], allowUnenforced = false, log = () => undefined, clock = systemClock } = options
  const module = foundModule(options.module)
  const limits = { ...defaultGuestLimits, ...options.limits }
  return {
    name: `${path.basename(module.file)}#${module.exported}`,
    readable: () => readablePaths(module.file, secrets),
    limits,
    clock,
    log,
    place: { level, module, limits, allowUnenforced, outside, clock },
  }
}

/** By its real path, since only real paths are in the list of readable files. */
function foundModule(name: string): ModuleName {
  const { file, exported } = parseModuleName(name)
  try {
    return { file: realpathSync(file), exported }
  } catch (error) {
    throw new MusterError(managerErrors.OperatorNotLoaded, `There is no ${file}.`, { cause: error })
  }
}

/** A port and a file that the guest must not be able to reach. */
async function openCanary(secrets: readonly string[]): Promise<{
  readonly canary: Canary
  /** Empty, and the manager's own. */
  readonly folder: string
  readonly dispose: () => Promise<void>
}> {
  const home = await mkdtemp(path.join(tmpdir(), 'muster-'))
  const file = path.join(home, 'canary')
  const folder = await mkdtemp(path.join(home, 'root-'))
  await writeFile(file, 'Whoever reads this is not isolated.\n')
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  server.unref()
  const address = server.address()
  return {
    canary: {
      port: typeof address === 'object' && address ? address.port : 0,
      files: [file, ...secrets],
    },
    folder,
    async dispose() {
      server.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}

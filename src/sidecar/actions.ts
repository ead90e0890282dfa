/**
 * The actions of one sidecar: starts each once per key, follows it, and keeps its record.
 *
 * The source of truth is the disk (action-folder.ts), not this process. The records in memory are read from it again
 * whenever an action's folder changes, its process shim exits, or a second has passed. So it makes no difference
 * whether this sidecar or an earlier one started an action.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { type FSWatcher, watch } from 'node:fs'
import { access, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock, Timer } from '../clock/clock.ts'
import { isJsonObject, parseJson, stringifyJson } from '../kube/json.ts'
import { ownMember } from '../kube/json-member.ts'
import {
  type ActionRecord,
  type ActionRequest,
  type ActionSpec,
  type ActionOutcome,
  actionOutcomeOf,
  actionsReportOf,
} from './action.ts'
import {
  createFolder,
  digestOf,
  findFolders,
  folderOf,
  markCancelled,
  removeInput,
  type SavedAction,
} from './action-folder.ts'
import { claimDurably, readDurableObject, writeDurably } from './durable-file.ts'
import { environmentFor, type Variables } from './environment.ts'
import { isAlive, isGroupAlive, ownIdentity, type ProcessIdentity, readIdentity } from './process-identity.ts'
import { refuseRequest } from './refusal.ts'

export interface ActionsOptions {
  readonly clock: Clock
  /** The folder of the records. */
  readonly folder: string
  readonly specs: ReadonlyMap<string, ActionSpec>
  /** The most actions that run at once. */
  readonly concurrency: number
  /** The most records of ended actions. */
  readonly remember: number
  /** The sidecar's own environment, for variables that are passed on. */
  readonly environment: Variables
  readonly log: (line: string) => void
}

export interface Started {
  readonly record: ActionRecord
  /** False when the key was known. */
  readonly isNew: boolean
}

export interface Actions {
  /** Resolves when the action is durably recorded; from then on it will be started, but never twice. */
  start(request: ActionRequest): Promise<Started>
  get(key: string): ActionRecord | undefined
  /** Oldest first. */
  list(): readonly ActionRecord[]
  /** Requests its end; undefined for an unknown key. The record shows when it has ended. */
  cancel(key: string): Promise<ActionRecord | undefined>
  /** The names of running actions. */
  running(): ReadonlySet<string>
  onChange(listener: (record: ActionRecord) => void): () => void
  /** Rejects new actions from now on. */
  drain(): void
  /** Resolves when none runs. */
  idle(): Promise<void>
  /** Stops following. Running actions continue. */
  close(): void
}

interface Entry {
  readonly folder: string
  readonly saved: SavedAction
  record: ActionRecord
  claim: ProcessIdentity | undefined
  /** Set while this sidecar is the parent of the process shim. */
  shim: ChildProcess | undefined
  watcher: FSWatcher | undefined
  timer: Timer | undefined
  isReading: boolean
  readAgain: boolean
  isUnwanted: boolean
  signalledAt: number | undefined
  folderError: string | undefined
}

/** Polling, for file systems without change notifications and for shims that were killed. */
const lookMs = 1000

/** This file is .ts in the sources and .js in the package; the shim is beside it in both. */
const shimFile = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './process-shim.ts' : './process-shim.js', import.meta.url),
)

/** A process shim needs little memory. */
const shimFlags = ['--max-old-space-size=64', '--max-semi-space-size=1', '--no-warnings'] as const

export async function openActions(options: ActionsOptions): Promise<Actions> {
  const { clock, specs, concurrency, remember, environment, log } = options
  const entries = new Map<string, Entry>()
  const damaged = new Set<string>()
  const listeners = new Set<(record: ActionRecord) => void>()
  let lastStamp = 0
  const closed = new AbortController()
  let isDraining = false
  let turn: Promise<unknown> = Promise.resolve()

  /** Strictly increasing, so that `since` detects every change. */
  const stamp = (): string => {
    lastStamp = Math.max(clock.now(), lastStamp + 1)
    return new Date(lastStamp).toISOString()
  }
  const isRunning = ({ record }: Entry): boolean => record.state === 'running'

  const put = (entry: Entry, change: Partial<ActionRecord>): void => {
    entry.record = { ...entry.record, ...change, updatedAt: stamp() }
    for (const listener of listeners) listener(entry.record)
  }

  const enter = (folder: string, saved: SavedAction): Entry => {
    const { key, name, startedAt } = saved
    const entry: Entry = {
      folder,
      saved,
      record: { key, name, state: 'running', startedAt, updatedAt: stamp() },
      claim: undefined,
      shim: undefined,
      watcher: undefined,
      timer: undefined,
      isReading: false,
      readAgain: false,
      isUnwanted: false,
      signalledAt: undefined,
      folderError: undefined,
    }
    entries.set(key, entry)
    return entry
  }

  const follow = (entry: Entry): void => {
    try {
      entry.watcher = watch(entry.folder, () => look(entry)).on('error', () => entry.watcher?.close())
    } catch {
      // The number of file watchers is limited; the timer detects changes a little later.
    }
    look(entry)
  }

  const leave = (entry: Entry): void => {
    entry.watcher?.close()
    entry.timer?.cancel()
    entry.watcher = entry.timer = undefined
  }

  /** Reads the folder, one read at a time; a call during a read triggers another one. */
  const look = (entry: Entry): void => {
    entry.readAgain = true
    if (entry.isReading) return
    entry.isReading = true
    entry.timer?.cancel()
    const readAll = async (): Promise<void> => {
      while (entry.readAgain && !closed.signal.aborted && isRunning(entry)) {
        entry.readAgain = false
        await read(entry)
      }
    }
    readAll()
      .catch((error: unknown) => {
        // Logged once: a full disk stays full for a while.
        if (entry.folderError !== codeOf(error)) log(`action ${entry.saved.name}: its folder fails (${codeOf(error)})`)
        entry.folderError = codeOf(error)
      })
      .finally(() => {
        entry.isReading = false
        if (!closed.signal.aborted && isRunning(entry)) entry.timer = clock.after(lookMs, () => look(entry))
      })
  }

  const read = async (entry: Entry): Promise<void> => {
    const at = (name: string): string => path.join(entry.folder, name)
    entry.claim ??= readIdentity(await readDurableObject(at('claim.json')))
    entry.isUnwanted ||= await exists(at('cancel'))
    // The order matters: a shim writes the outcome before it exits, so once it is gone, the outcome is there.
    const isLeft = entry.claim ? await isGroupAlive(entry.claim) : entry.shim !== undefined
    const outcome = actionOutcomeOf(await readDurableObject(at('outcome.json')))
    if (outcome) return await finish(entry, outcome)
    if (!isLeft) {
      const verdict = await settle(entry)
      if (verdict) await finish(entry, verdict)
      else entry.readAgain = true
      return
    }
    if (entry.claim && entry.isUnwanted) await signal(entry, entry.claim)
    const { progress, message } = actionsReportOf((await readDurableObject(at('progress.json'))) ?? {})
    const { record } = entry
    if (progress !== record.progress || message !== record.message) put(entry, { progress, message })
  }

  /**
   * Records the final outcome of an action whose shim is gone. Undefined if there is a shim after all: one that an
   * earlier sidecar started just before it was killed.
   */
  const settle = async (entry: Entry): Promise<ActionOutcome | undefined> => {
    const claimFile = path.join(entry.folder, 'claim.json')
    // Without a claim it was not started, and with our claim no shim can start it.
    const isUnstarted = !entry.claim && (await claimDurably(claimFile, JSON.stringify(await ownIdentity())))
    if (!entry.claim && !isUnstarted) {
      entry.claim = readIdentity(await readDurableObject(claimFile))
      if (entry.claim) return undefined
    }
    const said = actionsReportOf((await readDurableObject(path.join(entry.folder, 'progress.json'))) ?? {})
    const base = { ...said, endedAt: new Date(clock.now()).toISOString() }
    const outcome: ActionOutcome = entry.isUnwanted
      ? { ...base, state: 'failed', reason: 'Cancelled', message: 'cancelled' }
      : isUnstarted
        ? { ...base, state: 'failed', reason: 'NotStarted', message: 'it could not be started' }
        : { ...base, state: 'lost', message: 'it ended unobserved: its outcome is unknown' }
    await writeDurably(path.join(entry.folder, 'outcome.json'), stringifyJson(outcome))
    return outcome
  }

  const signal = async (entry: Entry, claim: ProcessIdentity): Promise<void> => {
    const isKept = await isAlive(claim)
    const waited = entry.signalledAt === undefined ? undefined : clock.now() - entry.signalledAt
    try {
      // A shim handles SIGTERM itself. Without one, the process group gets SIGTERM, then SIGKILL.
      if (waited === undefined) process.kill(isKept ? claim.pid : -claim.pid, 'SIGTERM')
      else if (!isKept && waited >= entry.saved.spec.graceMs) process.kill(-claim.pid, 'SIGKILL')
    } catch {
      // It ended just now; the next read will show it.
    }
    entry.signalledAt ??= clock.now()
  }

  const finish = async (entry: Entry, outcome: ActionOutcome): Promise<void> => {
    leave(entry)
    await removeInput(entry.folder)
    put(entry, outcome)
    log(`action ${entry.saved.name} ${outcome.state}${outcome.reason ? ` (${outcome.reason})` : ''}`)
    await forgetOldest()
  }

  const forgetOldest = async (): Promise<void> => {
    const ended = [...entries.values()].filter((entry) => !isRunning(entry))
    const surplus = ended.toSorted(byStart).slice(0, Math.max(0, ended.length - remember))
    for (const { saved, folder } of surplus) {
      entries.delete(saved.key)
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** Starts a process shim. If that fails, the next read finds neither shim nor claim. */
  const keep = async (entry: Entry): Promise<void> => {
    await spawnShim(entry).catch((error: unknown) =>
      log(`action ${entry.saved.name} cannot be started (${codeOf(error)})`),
    )
  }

  const spawnShim = async (entry: Entry): Promise<void> => {
    const { spec, key, name } = entry.saved
    const input = parseJson(await readFile(path.join(entry.folder, 'input.json'), 'utf8'))
    const shim = spawn(process.execPath, [...shimFlags, shimFile, entry.folder], {
      env: {
        ...environmentFor(spec.environment, environment, input),
        MUSTER_ACTION_KEY: key,
        MUSTER_ACTION_NAME: name,
      },
      // A process group of its own without shared pipes: it outlives this process.
      detached: true,
      stdio: 'ignore',
    })
    shim.unref()
    entry.shim = shim
    const gone = (): void => {
      entry.shim = undefined
      look(entry)
    }
    shim.once('error', gone).once('exit', gone)
  }

  const startInTurn = async ({ key, name, input = null }: ActionRequest): Promise<Started> => {
    const spec = specs.get(name)
    const known = entries.get(key)
    if (known) {
      if (known.saved.name !== name || known.saved.inputDigest !== digestOf(input))
        refuseRequest('Conflict', `action "${key}" is known with another name or input.`)
      return { record: known.record, isNew: false }
    }
    if (damaged.has(folderOf(options.folder, key)))
      refuseRequest('Conflict', `action "${key}" was accepted before, but its record cannot be read.`)
    if (!spec)
      return refuseRequest('UnknownAction', `there is no action "${name}"; there are: ${[...specs.keys()].join(', ')}.`)
    if (isDraining) refuseRequest('Stopping', 'the sidecar is stopping.')
    const busy = [...entries.values()].filter(isRunning)
    if (busy.length >= concurrency)
      refuseRequest(
        'Busy',
        `${busy.map(({ saved }) => `"${saved.key}"`).join(', ')} still running; at most ${concurrency} at once.`,
      )
    for (const member of Object.values(spec.environment.fromInput)) {
      const value = isJsonObject(input) ? ownMember(input, member) : undefined
      if (typeof value === 'object' && value !== null)
        refuseRequest('BadRequest', `input.${member} must be no object or list.`)
    }
    const saved = { key, name, startedAt: stamp(), inputDigest: digestOf(input), spec }
    const folder = await createFolder(options.folder, saved, input).catch((error: unknown) =>
      refuseRequest('StorageFailed', `the action cannot be written down (${codeOf(error)}), and was not started.`),
    )
    const entry = enter(folder, saved)
    log(`action ${name} accepted`)
    await keep(entry)
    follow(entry)
    put(entry, {})
    return { record: entry.record, isNew: true }
  }

  for (const { folder, saved } of await findFolders(options.folder)) {
    if (!saved) {
      damaged.add(folder)
      log(`the record of an action cannot be read: ${folder}`)
      continue
    }
    const entry = enter(folder, saved)
    const outcome = actionOutcomeOf(await readDurableObject(path.join(folder, 'outcome.json')))
    if (outcome) {
      entry.record = { ...entry.record, ...outcome }
      await removeInput(folder)
    } else {
      // Accepted by a sidecar that was killed before starting it: start it now. If another shim starts concurrently,
      // only one of them gets the claim.
      if (!(await exists(path.join(folder, 'claim.json')))) await keep(entry)
      follow(entry)
    }
  }
  await forgetOldest()

  return {
    start(request) {
      const result = turn.then(() => startInTurn(request))
      turn = result.catch(() => undefined)
      return result
    },
    get: (key) => entries.get(key)?.record,
    list: () => [...entries.values()].toSorted(byStart).map(({ record }) => record),
    async cancel(key) {
      const entry = entries.get(key)
      if (entry && isRunning(entry)) {
        await markCancelled(entry.folder)
        entry.isUnwanted = true
        look(entry)
      }
      return entry?.record
    },
    running: () => new Set([...entries.values()].filter(isRunning).map(({ saved }) => saved.name)),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    drain: () => void (isDraining = true),
    async idle() {
      // An action that is being accepted counts as running.
      await turn
      const { promise, resolve } = Promise.withResolvers<void>()
      const check = (): void => {
        if (![...entries.values()].some(isRunning)) resolve()
      }
      listeners.add(check)
      check()
      await promise
      listeners.delete(check)
    },
    close() {
      closed.abort()
      for (const entry of entries.values()) leave(entry)
    },
  }
}

function byStart(a: Entry, b: Entry): number {
  return a.saved.startedAt < b.saved.startedAt ? -1 : 1
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  )
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error'
}

/**
 * A file as a configuration source, watched. Files are replaced in many ways: in place, in several writes; renamed over
 * by an editor; swapped by a symbolic link two levels away, as Kubernetes does with mounted ConfigMaps. So every folder
 * is watched in which a step of the path can change; and a new content counts once it has been quiet and was read the
 * same twice. File systems without notifications are polled.
 */
import type { FSWatcher } from 'node:fs'
import path from 'node:path'
import type { Clock, Timer } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { ConfigurationSource } from './source.ts'

export interface FileSourceOptions {
  readonly clock?: Clock
}

/** How long the file must be quiet. */
const quietMs = 200
/** Polling interval for file systems without notifications. */
const lookMs = 10_000

export function fileSource(file: string, options: FileSourceOptions = {}): ConfigurationSource {
  const { clock = systemClock } = options
  const read = async (): Promise<string | undefined> => {
    const { readFile } = await import('node:fs/promises')
    try {
      return await readFile(file, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw new MusterError(
        managerErrors.InvalidConfiguration,
        `${file} cannot be read: ${(error as Error).message}.`,
        {
          cause: error,
        },
      )
    }
  }
  return {
    name: file,
    folder: path.dirname(path.resolve(file)),
    isRemote: false,
    read,
    watch: (onChange) => watchFile(file, { clock, read, onChange }),
  }
}

interface Watching {
  readonly clock: Clock
  readonly read: () => Promise<string | undefined>
  readonly onChange: () => void
}

function watchFile(file: string, { clock, read, onChange }: Watching): () => void {
  let isOver = false
  let timer: Timer | undefined
  const watchers = new Map<string, FSWatcher>()
  /** Counts notifications: a content that was read before the last one is outdated. */
  let notifications = 0
  /** The last reported content; null: none yet. */
  let seen: string | undefined | null = null
  let places: ReadonlyMap<string, ReadonlySet<string>> = new Map()

  const attempt = (): Promise<string | undefined> => read().catch(() => undefined)

  const wait = (ms: number, then: () => Promise<void>): void => {
    timer?.cancel()
    if (!isOver) timer = clock.after(ms, () => void then())
  }

  const hear = (): void => {
    notifications++
    wait(quietMs, look)
  }

  /** After a quiet period: checks whether the content stays the same. */
  const look = async (): Promise<void> => {
    const before = notifications
    const text = await attempt()
    if (isOver || notifications !== before) return
    if (text === seen) await rest()
    else wait(quietMs, () => confirm(text))
  }

  const confirm = async (text: string | undefined): Promise<void> => {
    const before = notifications
    const again = await attempt()
    if (isOver || notifications !== before) return
    if (again !== text) {
      hear()
      return
    }
    seen = text
    onChange()
    await rest()
  }

  /** The links of the path may have changed. */
  const rest = async (): Promise<void> => {
    const before = notifications
    await listen()
    if (notifications === before) wait(lookMs, look)
  }

  const listen = async (): Promise<void> => {
    const { watch } = await import('node:fs')
    places = await placesOf(file)
    if (isOver) return
    for (const [folder, watcher] of watchers) {
      if (places.has(folder)) continue
      watcher.close()
      watchers.delete(folder)
    }
    for (const folder of places.keys()) {
      if (watchers.has(folder)) continue
      try {
        const watcher = watch(folder, { persistent: false }, (_, name) => {
          if (name === null || places.get(folder)?.has(name)) hear()
        })
        watchers.set(folder, watcher)
        // The folder was deleted, most likely. The next check follows the path again.
        watcher.on('error', () => {
          watcher.close()
          if (watchers.get(folder) === watcher) watchers.delete(folder)
        })
      } catch {
        // It does not exist or cannot be watched: it is polled.
      }
    }
  }

  // Changes between the caller's first read and now are noticed as well: callers compare contents.
  void listen().then(() => notifications === 0 && wait(quietMs, look))
  return () => {
    isOver = true
    timer?.cancel()
    for (const watcher of watchers.values()) watcher.close()
    watchers.clear()
  }
}

/** More links are a cycle. */
const mostLinks = 40

/** The folders in which a step of a path can be replaced, and the names of the steps. */
export async function placesOf(file: string): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { readlink } = await import('node:fs/promises')
  const places = new Map<string, Set<string>>()
  const note = (folder: string, name: string): void => {
    places.set(folder, (places.get(folder) ?? new Set()).add(name))
  }
  const stepsOf = (whole: string): string[] =>
    whole.slice(path.parse(whole).root.length).split(path.sep).filter(Boolean)
  const whole = path.resolve(file)
  let at = path.parse(whole).root
  let steps = stepsOf(whole)
  for (let links = 0; steps.length > 0;) {
    const [name = '', ...rest] = steps
    const target = await readlink(path.join(at, name)).catch(() => undefined)
    if (target !== undefined || rest.length === 0) note(at, name)
    if (target === undefined) {
      at = path.join(at, name)
      steps = rest
      continue
    }
    if (++links > mostLinks) break
    const to = path.resolve(at, target)
    at = path.parse(to).root
    steps = [...stepsOf(to), ...rest]
  }
  return places
}

/**
 * A file as a source, watched. Files are replaced in many ways: written in place, in several writes; renamed over by an
 * editor; swapped by a symbolic link that is two links away, as Kubernetes does with mounted ConfigMaps. So it is not the
 * file that is watched but every folder in which a step of its path can change; and it counts when it has been quiet, and
 * read the same twice. File systems that tell nothing are looked at from time to time.
 */
import type { FSWatcher } from 'node:fs'
import path from 'node:path'
import type { Clock, Timer } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { MusterError } from '../../kube/errors.ts'
import type { ConfigurationSource } from './source.ts'

export interface FileSourceOptions {
  readonly clock?: Clock
  /** How long it must be quiet. @default 200 */
  readonly quietMs?: number
  /** How often it is looked at where nothing is told. @default 10_000 */
  readonly lookMs?: number
}

export function fileSource(file: string, options: FileSourceOptions = {}): ConfigurationSource {
  const { clock = systemClock, quietMs = 200, lookMs = 10_000 } = options
  const read = async (): Promise<string | undefined> => {
    const { readFile } = await import('node:fs/promises')
    try {
      return await readFile(file, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw new MusterError('InvalidConfiguration', `${file} cannot be read: ${(error as Error).message}.`, {
        cause: error,
      })
    }
  }
  return {
    name: file,
    folder: path.dirname(path.resolve(file)),
    isRemote: false,
    read,
    watch: (onChange) => watchFile(file, { clock, quietMs, lookMs, read, onChange }),
  }
}

interface Watching {
  readonly clock: Clock
  readonly quietMs: number
  readonly lookMs: number
  readonly read: () => Promise<string | undefined>
  readonly onChange: () => void
}

function watchFile(file: string, { clock, quietMs, lookMs, read, onChange }: Watching): () => void {
  let isOver = false
  let timer: Timer | undefined
  const watchers = new Map<string, FSWatcher>()
  /** Counts what was told: what was read before it is old. */
  let told = 0
  /** As it was last told of; null: not yet. */
  let seen: string | undefined | null = null
  let places: ReadonlyMap<string, ReadonlySet<string>> = new Map()

  const attempt = (): Promise<string | undefined> => read().catch(() => undefined)

  const wait = (ms: number, then: () => Promise<void>): void => {
    timer?.cancel()
    if (!isOver) timer = clock.after(ms, () => void then())
  }

  const hear = (): void => {
    told++
    wait(quietMs, look)
  }

  /** Quiet so far: does it stay like this? */
  const look = async (): Promise<void> => {
    const before = told
    const text = await attempt()
    if (isOver || told !== before) return
    if (text === seen) await rest()
    else wait(quietMs, () => confirm(text))
  }

  const confirm = async (text: string | undefined): Promise<void> => {
    const before = told
    const again = await attempt()
    if (isOver || told !== before) return
    if (again !== text) {
      hear()
      return
    }
    seen = text
    onChange()
    await rest()
  }

  /** The path may go another way by now. */
  const rest = async (): Promise<void> => {
    const before = told
    await listen()
    if (told === before) wait(lookMs, look)
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
        // Gone, most likely. The next look finds another way, if there is one.
        watcher.on('error', () => {
          watcher.close()
          if (watchers.get(folder) === watcher) watchers.delete(folder)
        })
      } catch {
        // Not there yet, or not to be watched: it is looked at.
      }
    }
  }

  // What came after the first reading, by whoever asked, and before now is noticed, too: they compare.
  void listen().then(() => told === 0 && wait(quietMs, look))
  return () => {
    isOver = true
    timer?.cancel()
    for (const watcher of watchers.values()) watcher.close()
    watchers.clear()
  }
}

/** More links than that are a circle. */
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

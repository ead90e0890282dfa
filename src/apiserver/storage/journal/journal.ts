/**
 * The journal: what makes an acknowledged write survive. Every change is appended to a file before anybody is told of
 * it. Changes that come while the disk is busy go out together (group commit), so many writers share one sync.
 *
 * On disk there are segments, numbered, each a row of frames; and snapshots: `snapshot-7` holds all that was there before
 * `segment-7` began. When a segment grows too long a snapshot is written beside it, and what it replaces is removed. An
 * empty frame ends a segment that another one continues: so a file that is missing is noticed, whichever it is.
 *
 * Where a write fails (a full disk) its changes are given back to be undone: what is in memory is never ahead of what
 * the disk holds, except for changes of which nobody has heard yet.
 */
import { MusterError } from '../../../kube/errors.ts'
import { stringifyJson } from '../../../kube/json.ts'
import type { Foundation } from '../bootstrap-objects.ts'
import type { Done } from '../storage.ts'
import type { Disk, DiskFile } from './disk.ts'
import { encodeFrame } from './frame.ts'
import { codes, type JournalEntry, segmentName, type ObjectEntry, recover, type RevisionEntry } from './recovery.ts'
import { objectText, textOnce } from '../../codec/object-text.ts'

/** What has been done in memory, and in which cluster. */
export type Noted = Done & { readonly cluster: string }

/** What a cluster holds: as it will be read again. */
export type Kept = ObjectEntry | RevisionEntry | { readonly cluster: string; readonly foundation: Foundation }

export interface JournalOwner {
  /** Everything there is, for a snapshot. Called between two changes; objects are immutable, so references do. */
  state(): readonly Kept[]
  /** These changes, the oldest first, could not be kept and must be undone. */
  lost(changes: readonly Noted[]): void
}

export interface Journal {
  append(noted: Noted): void
  /** Settles when all that was appended is safe; undefined when it is already. Rejects if it could not be kept. */
  durable(): Promise<void> | undefined
  /** Waits for what is under way. */
  close(): Promise<void>
}

export interface OpenedJournal {
  /** What was kept: puts and removals in the order they were made. */
  readonly entries: Iterable<JournalEntry>
  /** Bytes of an unfinished write that were cut off. */
  readonly tornBytes: number
  readonly start: (owner: JournalOwner) => Promise<Journal>
}

export interface JournalOptions {
  /** Bytes of a segment before a snapshot takes its place. @default 64 MiB */
  readonly segmentBytes?: number | undefined
}

const snapshotFrameBytes = 1 << 20

/** What is written together is never nothing. */
const segmentEnd = new Uint8Array()

async function cutTo(file: DiskFile, size: number): Promise<void> {
  await file.truncate(size)
  await file.sync()
}

export async function openJournal(disk: Disk, options: JournalOptions = {}): Promise<OpenedJournal> {
  const recovered = await recover(disk)
  return {
    entries: recovered.entries,
    tornBytes: recovered.tornBytes,
    async start(owner) {
      const file = await disk.open(segmentName('segment', recovered.segment))
      if (recovered.tornBytes > 0) await cutTo(file, recovered.segmentBytes)
      for (const { name, bytes } of recovered.tornEnds) {
        const ended = await disk.open(name)
        await cutTo(ended, bytes)
        await ended.close()
      }
      for (const name of await disk.list()) if (name.endsWith('.draft')) await disk.remove(name)
      await disk.syncNames()
      return run({ disk, owner, file, ...recovered, limit: options.segmentBytes ?? 64 << 20 })
    },
  }
}

interface Running {
  readonly disk: Disk
  readonly owner: JournalOwner
  readonly file: DiskFile
  readonly segment: number
  readonly segmentBytes: number
  readonly sequence: number
  readonly limit: number
}

function run({ disk, owner, limit, ...start }: Running): Journal {
  let { file, segment, segmentBytes, sequence } = start
  let pending: Noted[] = []
  let next = Promise.withResolvers<void>()
  let inFlight: Promise<void> | undefined
  let broken: MusterError | undefined
  let snapshotting: Promise<void> | undefined
  let longest = limit

  const flush = async (): Promise<void> => {
    while (pending.length > 0) {
      const batch = pending
      const told = next
      pending = []
      next = Promise.withResolvers<void>()
      inFlight = told.promise
      // The state now is the state at the end of this segment, if the batch is the last in it.
      const state = isFull() ? owner.state() : undefined
      try {
        if (broken) throw broken
        const frame = encodeFrame({ sequence, payload: Buffer.from(batch.map(recordOf).join('\n')) })
        await file.append(frame)
        await file.sync()
        segmentBytes += frame.byteLength
        sequence++
        inFlight = undefined
        told.resolve()
      } catch (error) {
        inFlight = undefined
        await giveUp(batch, told, error)
        continue
      }
      if (state) await rotate(state)
    }
    // In the same turn as the last look at what is pending: nothing can come in between and be forgotten.
    running = undefined
  }

  const isFull = (): boolean => segmentBytes >= longest && !snapshotting

  /** What cannot be written is undone, and with it what came later and may build on it. */
  const giveUp = async (batch: readonly Noted[], told: PromiseWithResolvers<void>, error: unknown): Promise<void> => {
    const lost = [...batch, ...pending]
    const later = next
    pending = []
    next = Promise.withResolvers<void>()
    const why = `a change could not be written: ${reasonOf(error)}.`
    const failure = broken ?? new MusterError('StorageFailed', why, { cause: error })
    owner.lost(lost)
    for (const waiting of [told, later]) {
      // Nobody may be waiting.
      waiting.promise.catch(() => undefined)
      waiting.reject(failure)
    }
    if (broken) return
    await repair(file, segmentBytes)
  }

  const repair = async (torn: DiskFile, size: number): Promise<void> => {
    try {
      await cutTo(torn, size)
    } catch (cause) {
      // What is behind the last whole frame is unknown now, so nothing may follow it.
      broken = new MusterError('StorageFailed', `the journal cannot be repaired: ${reasonOf(cause)}.`, { cause })
    }
  }

  const rotate = async (state: readonly Kept[]): Promise<void> => {
    const following = segmentName('segment', segment + 1)
    let opened: DiskFile
    try {
      opened = await disk.open(following)
      await disk.syncNames()
    } catch {
      // No room for another file: this one grows on, and it is tried again later.
      longest = segmentBytes + limit
      await disk.remove(following).catch(() => undefined)
      return
    }
    const full = file
    const fullBytes = segmentBytes
    file = opened
    segment++
    segmentBytes = 0
    // The next file is there by now, and nothing is in it yet: whoever finds this end may count on that file.
    try {
      await full.append(encodeFrame({ sequence, payload: segmentEnd }))
      await full.sync()
      sequence++
    } catch {
      await repair(full, fullBytes)
    }
    await full.close().catch(() => undefined)
    snapshotting = writeSnapshot(disk, segment, sequence, state)
      .then(
        (bytes) => void (longest = Math.max(limit, bytes)),
        () => void (longest = limit),
      )
      .finally(() => (snapshotting = undefined))
  }

  let running: Promise<void> | undefined
  return {
    append(noted) {
      pending.push(noted)
      // After this turn, so that what one request changes goes out together.
      running ??= Promise.resolve().then(flush)
    },
    durable: () => (pending.length > 0 ? next.promise : inFlight),
    async close() {
      await running
      await snapshotting
      await file.close()
    },
  }
}

function recordOf(noted: Noted): string {
  if ('foundation' in noted) return lineOf(noted, objectText)
  const { cluster, table, change } = noted
  return lineOf({ cluster, table, isRemoval: change.type === 'DELETED', object: change.object }, objectText)
}

function lineOf(kept: Kept, write: (object: object) => string): string {
  const cluster = stringifyJson(kept.cluster)
  if ('foundation' in kept) return `[${cluster},"",${codes.foundation},${kept.foundation.record()}]`
  if ('revision' in kept) return `[${cluster},"",${codes.revision},${kept.revision}]`
  const code = kept.isRemoval ? codes.removal : codes.put
  return `[${cluster},${stringifyJson(kept.table)},${code},${write(kept.object)}]`
}

/** Written aside and renamed when it is whole; only then is anything older removed. */
async function writeSnapshot(disk: Disk, segment: number, sequence: number, state: readonly Kept[]): Promise<number> {
  const draft = `${segmentName('snapshot', segment)}.draft`
  await disk.remove(draft)
  const file = await disk.open(draft)
  let bytes = 0
  let frames = 0
  const write = async (payload: string): Promise<void> => {
    const frame = encodeFrame({ sequence: frames++, payload: Buffer.from(payload) })
    await file.append(frame)
    bytes += frame.byteLength
  }
  try {
    let lines: string[] = []
    let size = 0
    for (const entry of state) {
      const line = lineOf(entry, textOnce)
      lines.push(line)
      size += line.length
      if (size < snapshotFrameBytes) continue
      await write(lines.join('\n'))
      lines = []
      size = 0
    }
    await write(lines.join('\n'))
    await write(stringifyJson({ end: frames, sequence }))
    await file.sync()
  } catch (error) {
    await disk.remove(draft)
    throw error
  } finally {
    await file.close()
  }
  await disk.rename(draft, segmentName('snapshot', segment))
  await disk.syncNames()
  await removeOlder(disk, segment)
  return bytes
}

async function removeOlder(disk: Disk, segment: number): Promise<void> {
  for (const name of await disk.list()) {
    const match = /^(?:segment|snapshot)-(\d+)$/.exec(name)
    if (match && Number(match[1]) < segment) await disk.remove(name)
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown reason'
}

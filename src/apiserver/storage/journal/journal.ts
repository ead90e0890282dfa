/**
 * The journal: a write-ahead log, so that acknowledged writes survive a crash. Every change is synced to disk before
 * the response and its watch events are sent. Changes that arrive during a sync are written together (group commit), so
 * many writers share one sync.
 *
 * On disk there are numbered segments, each a sequence of frames, and snapshots: `snapshot-7` holds the state before
 * `segment-7`. When a segment is full, a snapshot is written beside the next one, and older files are removed. An empty
 * frame ends a segment that has a successor, so that any missing file is detected.
 *
 * When a write fails (a full disk), its changes are passed to the owner to be reverted: memory is never ahead of the
 * disk, except for changes that no client has seen.
 */
import { apiserverErrors } from '../../errors.ts'
import { MusterError } from '../../../kube/muster-error.ts'
import { stringifyJson } from '../../../kube/json.ts'
import type { BootstrapObjects } from '../bootstrap-objects.ts'
import type { RecordedChange } from '../storage.ts'
import type { Disk, DiskFile } from './disk.ts'
import { encodeFrame } from './frame.ts'
import { codes, type JournalEntry, segmentName, type ObjectEntry, recover, type RevisionEntry } from './recovery.ts'
import { objectText, textOnce } from '../../codec/object-text.ts'

/** A change in memory, with its cluster. */
export type JournaledChange = RecordedChange & { readonly cluster: string }

/** An entry of a snapshot. */
export type SnapshotEntry =
  | ObjectEntry
  | RevisionEntry
  | { readonly cluster: string; readonly bootstrap: BootstrapObjects }

export interface JournalOwner {
  /** The whole state, for a snapshot. Called between two changes; objects are immutable, so references suffice. */
  state(): readonly SnapshotEntry[]
  /** These changes, the oldest first, could not be written and must be reverted. */
  lost(changes: readonly JournaledChange[]): void
}

export interface Journal {
  append(change: JournaledChange): void
  /** Resolves when everything appended is on disk; undefined if it is already. Rejects if it could not be written. */
  durable(): Promise<void> | undefined
  /** Waits for pending writes. */
  close(): Promise<void>
}

export interface OpenedJournal {
  /** The recovered entries, in the order of the changes. */
  readonly entries: Iterable<JournalEntry>
  /** Size of an incomplete write that was cut off, in bytes. */
  readonly tornBytes: number
  readonly start: (owner: JournalOwner) => Promise<Journal>
}

interface JournalOptions {
  /** Size at which a segment is replaced by a snapshot, in bytes. @default 64 MiB */
  readonly segmentBytes?: number | undefined
}

const snapshotFrameBytes = 1 << 20

/** The payload that ends a segment; a group commit is never empty. */
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
  let pending: JournaledChange[] = []
  let next = Promise.withResolvers<void>()
  let inFlight: Promise<void> | undefined
  let broken: MusterError | undefined
  let snapshotting: Promise<void> | undefined
  let longest = limit

  const flush = async (): Promise<void> => {
    while (pending.length > 0) {
      const batch = pending
      const commit = next
      pending = []
      next = Promise.withResolvers<void>()
      inFlight = commit.promise
      // If this batch is the last of its segment, the state now is the state at the segment's end.
      const state = isFull() ? owner.state() : undefined
      try {
        if (broken) throw broken
        const frame = encodeFrame({ sequence, payload: Buffer.from(batch.map(recordOf).join('\n')) })
        await file.append(frame)
        await file.sync()
        segmentBytes += frame.byteLength
        sequence++
        inFlight = undefined
        commit.resolve()
      } catch (error) {
        inFlight = undefined
        await revertBatch(batch, commit, error)
        continue
      }
      if (state) await rotate(state)
    }
    // In the same turn as the last check of `pending`, so that no change can be missed.
    running = undefined
  }

  const isFull = (): boolean => segmentBytes >= longest && !snapshotting

  /** Reverts a batch that cannot be written, and all later changes, which may depend on it. */
  const revertBatch = async (
    batch: readonly JournaledChange[],
    commit: PromiseWithResolvers<void>,
    error: unknown,
  ): Promise<void> => {
    const lost = [...batch, ...pending]
    const later = next
    pending = []
    next = Promise.withResolvers<void>()
    const why = `a change could not be written: ${reasonOf(error)}.`
    const failure = broken ?? new MusterError(apiserverErrors.StorageFailed, why, { cause: error })
    owner.lost(lost)
    for (const waiting of [commit, later]) {
      // There may be no waiter: avoid an unhandled rejection.
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
      // The data after the last valid frame is unknown now, so nothing may be appended.
      broken = new MusterError(apiserverErrors.StorageFailed, `the journal cannot be repaired: ${reasonOf(cause)}.`, {
        cause,
      })
    }
  }

  const rotate = async (state: readonly SnapshotEntry[]): Promise<void> => {
    const following = segmentName('segment', segment + 1)
    let opened: DiskFile
    try {
      opened = await disk.open(following)
      await disk.syncNames()
    } catch {
      // No room for another file: this segment grows on, and rotation is tried again later.
      longest = segmentBytes + limit
      await disk.remove(following).catch(() => undefined)
      return
    }
    const full = file
    const fullBytes = segmentBytes
    file = opened
    segment++
    segmentBytes = 0
    // The next segment already exists, so recovery may rely on it when it finds this end frame.
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
    append(change) {
      pending.push(change)
      // After this turn, so that all changes of one request are written together.
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

function recordOf(change: JournaledChange): string {
  if ('bootstrap' in change) return lineOf(change, objectText)
  const { type, object } = change.change
  return lineOf({ cluster: change.cluster, table: change.table, isRemoval: type === 'DELETED', object }, objectText)
}

function lineOf(kept: SnapshotEntry, write: (object: object) => string): string {
  const cluster = stringifyJson(kept.cluster)
  if ('bootstrap' in kept) return `[${cluster},"",${codes.bootstrap},${kept.bootstrap.record()}]`
  if ('revision' in kept) return `[${cluster},"",${codes.revision},${kept.revision}]`
  const code = kept.isRemoval ? codes.removal : codes.put
  return `[${cluster},${stringifyJson(kept.table)},${code},${write(kept.object)}]`
}

/** Written under a temporary name and renamed when complete; only then are older files removed. */
async function writeSnapshot(
  disk: Disk,
  segment: number,
  sequence: number,
  state: readonly SnapshotEntry[],
): Promise<number> {
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

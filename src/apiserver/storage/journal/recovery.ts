/**
 * Recovery: reads the journal. A write that was incomplete when the process died is cut off: it was never acknowledged.
 * Any other invalid data is damage: recovery fails with the file and the offset, and nothing is served.
 */
import { apiserverErrors } from '../../errors.ts'
import { MusterError } from '../../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../../kube/json.ts'
import type { StoredObject } from '../storage.ts'
import type { Disk } from './disk.ts'
import { type JournalFrame, headerBytes, scanFrames } from './frame.ts'

/** One record of the journal. */
export type JournalEntry = ObjectEntry | BootstrapEntry | RevisionEntry

/** An object, or the removal of one. */
export interface ObjectEntry {
  readonly cluster: string
  readonly table: string
  readonly isRemoval: boolean
  readonly object: StoredObject
}

/** The record from which the bootstrap objects of a cluster are recreated. */
interface BootstrapEntry {
  readonly cluster: string
  readonly bootstrap: JsonObject
}

/** The revision of the state in all entries before this one. Only in snapshots. */
export interface RevisionEntry {
  readonly cluster: string
  readonly revision: number
}

/** A record is `[cluster, table, code, value]`; for `put` and `removal` the value is an object. */
export const codes = { put: 0, removal: 1, bootstrap: 2, revision: 3 } as const

interface Recovered {
  readonly entries: Iterable<JournalEntry>
  /** The segment to append to, the size of its valid part, and the sequence number of the next frame. */
  readonly segment: number
  readonly segmentBytes: number
  readonly sequence: number
  readonly tornBytes: number
  /** Segments with an incomplete end frame, and the size of their valid part. */
  readonly tornEnds: readonly { readonly name: string; readonly bytes: number }[]
}

export function segmentName(kind: 'segment' | 'snapshot', number: number): string {
  return `${kind}-${String(number).padStart(8, '0')}`
}

export async function recover(disk: Disk): Promise<Recovered> {
  const names = await disk.list()
  const numbersOf = (kind: string): readonly number[] =>
    names
      .map((name) => new RegExp(`^${kind}-(\\d+)$`).exec(name)?.[1])
      .filter((digits) => digits !== undefined)
      .map(Number)
      .toSorted((a, b) => a - b)
  const snapshot = numbersOf('snapshot').at(-1)
  const first = snapshot ?? 1
  const segments = numbersOf('segment').filter((number) => number >= first)
  const last = segments.at(-1) ?? first
  // Only a new folder has neither.
  const isNew = snapshot === undefined && segments.length === 0
  for (let number = first; number <= last; number++) {
    if (isNew || segments.includes(number)) continue
    const isAll = snapshot === undefined && number === 1
    const what = isAll ? `${segmentName('snapshot', segments[0]!)}, or all before it,` : segmentName('segment', number)
    throw new MusterError(apiserverErrors.StorageDamaged, `${what} is missing.`)
  }

  const payloads: Payload[] = []
  let sequence = 1
  if (snapshot !== undefined) {
    const read = await readSnapshot(disk, segmentName('snapshot', snapshot))
    for (const payload of read.payloads) payloads.push(payload)
    sequence = read.sequence
  }
  let segmentBytes = 0
  let tornBytes = 0
  let isEnded = false
  const tornEnds: { name: string; bytes: number }[] = []
  for (const number of segments) {
    const name = segmentName('segment', number)
    const bytes = await disk.read(name)
    const { frames, wholeBytes, damagedAt } = scanFrames(bytes)
    const torn = bytes.byteLength - wholeBytes
    if (damagedAt !== undefined) throw damaged(name, wholeBytes)
    // Only the last segment can have an incomplete frame, or the one before it an incomplete end while the last is
    // empty.
    const [before] = tornEnds
    if (before && bytes.byteLength > 0) throw damaged(before.name, before.bytes)
    if (torn > 0 && number !== last) {
      if (torn > headerBytes) throw damaged(name, wholeBytes)
      tornEnds.push({ name, bytes: wholeBytes })
    }
    isEnded = frames.at(-1)?.payload.byteLength === 0
    for (const frame of frames) {
      if (frame.sequence !== sequence) throw damaged(name, 0, `frame ${sequence} is missing`)
      sequence++
      payloads.push({ name, frame })
    }
    segmentBytes = wholeBytes
    tornBytes = torn
  }
  if (isEnded) throw new MusterError(apiserverErrors.StorageDamaged, `${segmentName('segment', last + 1)} is missing.`)
  return { entries: entriesOf(payloads), segment: last, segmentBytes, sequence, tornBytes, tornEnds }
}

interface Payload {
  readonly name: string
  readonly frame: JournalFrame
}

async function readSnapshot(
  disk: Disk,
  name: string,
): Promise<{ readonly payloads: readonly Payload[]; readonly sequence: number }> {
  const bytes = await disk.read(name)
  const { frames, wholeBytes } = scanFrames(bytes)
  const end = frames.at(-1)
  // A snapshot gets this name only when it is complete, so an incomplete one is damaged.
  if (!end || wholeBytes < bytes.byteLength) throw damaged(name, wholeBytes)
  const footer = parseJson(Buffer.from(end.payload).toString())
  const { end: count, sequence } = isJsonObject(footer) ? footer : {}
  if (count !== frames.length - 1 || typeof sequence !== 'number')
    throw damaged(name, wholeBytes, 'its end record is invalid')
  return { payloads: frames.slice(0, -1).map((frame) => ({ name, frame })), sequence }
}

function* entriesOf(payloads: readonly Payload[]): Generator<JournalEntry> {
  for (const { name, frame } of payloads) {
    if (frame.payload.byteLength === 0) continue
    for (const line of Buffer.from(frame.payload).toString().split('\n')) {
      const entry = entryOf(parseJson(line))
      if (!entry) throw damaged(name, 0, 'a record is invalid')
      yield entry
    }
  }
}

function entryOf(record: Json): JournalEntry | undefined {
  const [cluster, table, code, value] = Array.isArray(record) ? (record as readonly Json[]) : []
  if (typeof cluster !== 'string' || typeof table !== 'string') return undefined
  if (code === codes.revision) return typeof value === 'number' ? { cluster, revision: value } : undefined
  if (!isJsonObject(value)) return undefined
  if (code === codes.bootstrap) return { cluster, bootstrap: value }
  const isRemoval = code === codes.removal
  if (!isRemoval && code !== codes.put) return undefined
  return { cluster, table, isRemoval, object: value as unknown as StoredObject }
}

function damaged(name: string, at: number, why = `at byte ${at}`): MusterError {
  return new MusterError(apiserverErrors.StorageDamaged, `${name} is damaged: ${why}.`)
}

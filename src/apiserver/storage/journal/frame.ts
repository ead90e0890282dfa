/**
 * Frames: the unit of the journal's files. A frame holds all records of one group commit, after a magic number and a
 * checksum over its length, its sequence number and its payload.
 *
 * A frame is written only after the previous one has been synced. So an invalid frame followed by a valid one was
 * synced once, and has been damaged since; an invalid frame at the end was being written when the process or machine
 * died.
 */
import { hash } from 'node:crypto'

/** The magic number: four bytes that cannot occur in JSON text. */
const mark = 0x01_fe_4d_55
export const headerBytes = 16
/** The checksum covers everything after itself. */
const checkedFrom = 8

export interface JournalFrame {
  readonly sequence: number
  readonly payload: Uint8Array
}

export function encodeFrame({ sequence, payload }: JournalFrame): Buffer {
  const bytes = Buffer.allocUnsafe(headerBytes + payload.byteLength)
  bytes.writeUInt32BE(mark, 0)
  bytes.writeUInt32BE(payload.byteLength, 8)
  bytes.writeUInt32BE(sequence, 12)
  bytes.set(payload, headerBytes)
  bytes.writeUInt32BE(checksumOf(bytes.subarray(checkedFrom)), 4)
  return bytes
}

/** Not a CRC: that would load node:zlib, several megabytes, and SHA-256 is loaded anyway. */
function checksumOf(bytes: Uint8Array): number {
  return hash('sha256', bytes, 'buffer').readUInt32BE(0)
}

interface FrameScan {
  readonly frames: readonly JournalFrame[]
  /** Size of the valid frames at the start, in bytes. */
  readonly wholeBytes: number
  /** The offset of the first invalid frame if a valid one follows it: the file is damaged. */
  readonly damagedAt: number | undefined
}

export function scanFrames(bytes: Buffer): FrameScan {
  const frames: JournalFrame[] = []
  let at = 0
  for (let frame = frameAt(bytes, at); frame; frame = frameAt(bytes, at)) {
    frames.push(frame)
    at += headerBytes + frame.payload.byteLength
  }
  return { frames, wholeBytes: at, damagedAt: at < bytes.byteLength && hasFrameAfter(bytes, at) ? at : undefined }
}

function frameAt(bytes: Buffer, at: number): JournalFrame | undefined {
  if (at + headerBytes > bytes.byteLength || bytes.readUInt32BE(at) !== mark) return undefined
  const length = bytes.readUInt32BE(at + 8)
  const end = at + headerBytes + length
  if (end > bytes.byteLength) return undefined
  if (bytes.readUInt32BE(at + 4) !== checksumOf(bytes.subarray(at + checkedFrom, end))) return undefined
  return { sequence: bytes.readUInt32BE(at + 12), payload: bytes.subarray(at + headerBytes, end) }
}

const markBytes = Buffer.from([0x01, 0xfe, 0x4d, 0x55])

function hasFrameAfter(bytes: Buffer, broken: number): boolean {
  for (let at = bytes.indexOf(markBytes, broken + 1); at >= 0; at = bytes.indexOf(markBytes, at + 1)) {
    if (frameAt(bytes, at)) return true
  }
  return false
}

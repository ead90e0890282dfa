/**
 * A disk for tests with power failures. Written but unsynced data may be lost from any byte on; synced data stays. It
 * can also be full.
 */
import type { Disk, DiskFile } from '../src/apiserver/storage/journal/disk.ts'

interface File {
  bytes: Buffer
  synced: number
}

export interface FaultyDisk extends Disk {
  /** Bytes that can still be written before the disk is full. */
  room: number
  /** Whether even truncating a file fails. */
  isStuck: boolean
  /** The files that a new process finds: of the unsynced bytes, the fraction `keep` (0 to 1) of each file remains. */
  afterCrash(keep: number): FaultyDisk
  /** The bytes of a file, to damage them. */
  raw(name: string): Buffer
  readonly syncs: () => number
}

export function faultyDisk(files: Map<string, File> = new Map()): FaultyDisk {
  let syncs = 0
  const get = (name: string): File => {
    const file = files.get(name)
    if (!file) throw new Error(`no file ${name}`)
    return file
  }
  const disk: FaultyDisk = {
    room: Number.POSITIVE_INFINITY,
    isStuck: false,
    syncs: () => syncs,
    list: () => Promise.resolve([...files.keys()]),
    read: (name) => Promise.resolve(Buffer.from(get(name).bytes)),
    open(name) {
      if (disk.room <= 0) return Promise.reject(new Error('ENOSPC: no space left on device'))
      if (!files.has(name)) files.set(name, { bytes: Buffer.alloc(0), synced: 0 })
      return Promise.resolve(opened(get(name)))
    },
    rename(from, to) {
      files.set(to, get(from))
      files.delete(from)
      return Promise.resolve()
    },
    remove: (name) => Promise.resolve(void files.delete(name)),
    syncNames: () => Promise.resolve(),
    afterCrash: (keep) =>
      faultyDisk(
        new Map(
          [...files].map(([name, { bytes, synced }]) => {
            const size = synced + Math.floor((bytes.byteLength - synced) * keep)
            return [name, { bytes: Buffer.from(bytes.subarray(0, size)), synced: size }]
          }),
        ),
      ),
    raw: (name) => get(name).bytes,
  }
  const opened = (file: File): DiskFile => ({
    append(bytes) {
      const fits = Math.min(bytes.byteLength, disk.room)
      disk.room -= fits
      file.bytes = Buffer.concat([file.bytes, bytes.subarray(0, fits)])
      return fits < bytes.byteLength ? Promise.reject(new Error('ENOSPC: no space left on device')) : Promise.resolve()
    },
    sync() {
      syncs++
      file.synced = file.bytes.byteLength
      return Promise.resolve()
    },
    truncate(size) {
      if (disk.isStuck) return Promise.reject(new Error('EIO: i/o error'))
      disk.room += file.bytes.byteLength - size
      file.bytes = file.bytes.subarray(0, size)
      file.synced = Math.min(file.synced, size)
      return Promise.resolve()
    },
    close: () => Promise.resolve(),
  })
  return disk
}

/** Unpacks archives in memory, within bounds: charts (.tgz), and layers of OCI artifacts. */
import { gunzipSync } from 'node:zlib'
import { errorCode } from '../../system/error-code.ts'
import { withoutByteOrderMark } from './byte-order-mark.ts'
import { isTar, readTar, refused, safePath } from './tar.ts'

/** The files of a chart by path: `templates/web.yaml`. */
export type ChartFiles = ReadonlyMap<string, Uint8Array>

interface ArchiveLimits {
  /** Bytes of the archive itself. @default 20 MiB */
  readonly packed?: number
  /** Bytes of all files together. @default 100 MiB, as in Helm */
  readonly unpacked?: number
  /** How many times larger the files may be than the archive, beyond the first MiB. @default 200 */
  readonly ratio?: number
  /** @default 10000 */
  readonly files?: number
}

const mebibyte = 2 ** 20

/**
 * The files below the one folder that a chart archive contains.
 * @throws InvalidArchive: nothing of a suspicious archive is used
 */
export function unpackChart(archive: Uint8Array, place: string, limits: ArchiveLimits = {}): ChartFiles {
  if (!isGzipped(archive)) throw refused(place, 'it is no gzipped archive')
  const unpackedFiles = new Map<string, Uint8Array>()
  for (const { path, data } of readTar(gunzip(archive, place, limits), place, filesLimit(limits))) {
    const slash = path.indexOf('/')
    if (slash < 0) throw refused(place, `"${path.slice(0, 100)}" is not inside the folder of the chart`)
    unpackedFiles.set(path.slice(slash + 1), withoutByteOrderMark(data))
  }
  if (unpackedFiles.size === 0) throw refused(place, 'it has no files')
  return unpackedFiles
}

/**
 * The files of a layer: a tar archive, gzipped or not, or a single file.
 * @param name of a single file; a layer that is no archive and has no name is refused
 * @throws InvalidArchive: nothing of a suspicious layer is used
 */
export function unpackLayer(
  layer: Uint8Array,
  place: string,
  name: string | undefined,
  limits: ArchiveLimits = {},
): ChartFiles {
  checkPacked(layer, place, limits)
  const bytes = isGzipped(layer) ? gunzip(layer, place, limits) : layer
  if (isTar(bytes)) {
    const files = readTar(bytes, place, filesLimit(limits))
    return new Map(files.map(({ path, data }) => [path, withoutByteOrderMark(data)]))
  }
  if (name === undefined) throw refused(place, 'it is neither an archive nor a file with a name')
  return new Map([[safePath(name, place), withoutByteOrderMark(bytes)]])
}

function isGzipped(archive: Uint8Array): boolean {
  return archive[0] === 0x1f && archive[1] === 0x8b
}

function filesLimit({ files = 10_000 }: ArchiveLimits): { readonly files: number } {
  return { files }
}

function checkPacked(archive: Uint8Array, place: string, { packed = 20 * mebibyte }: ArchiveLimits): void {
  if (archive.length > packed) throw refused(place, `it is larger than ${packed} bytes`)
}

function gunzip(archive: Uint8Array, place: string, limits: ArchiveLimits): Uint8Array {
  checkPacked(archive, place, limits)
  const { unpacked = 100 * mebibyte, ratio = 200 } = limits
  const maxOutputLength = Math.min(unpacked, Math.max(mebibyte, archive.length * ratio))
  try {
    return gunzipSync(archive, { maxOutputLength })
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE')
      throw refused(place, `it unpacks to more than ${maxOutputLength} bytes`, error)
    throw refused(place, 'it is damaged, or no gzipped archive', error)
  }
}

/**
 * Reads the files of a chart from a folder. Links are followed, as in Helm: a folder is chosen by its user, an archive is not.
 * Only commands read folders, and so it is synchronous: hundreds of small files take a third of the time.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { MusterError } from '../../kube/muster-error.ts'
import { errorCode } from '../../system/error-code.ts'
import type { ChartFiles } from '../archive/archive.ts'
import { withoutByteOrderMark } from '../archive/byte-order-mark.ts'
import { type IgnoreRule, readIgnoreFile } from '../chart/helm-ignore.ts'
import { renderErrors } from '../errors.ts'

interface FolderLimits {
  /** Bytes of all files together. @default 100 MiB, as in Helm */
  readonly size?: number
  /** @default 10000 */
  readonly files?: number
}

/** Links that go round in circles end here. */
const deepest = 50

/** @throws InvalidChart */
export function readChartFolder(folder: string, limits: FolderLimits = {}): ChartFiles {
  const { size: mostBytes = 100 * 2 ** 20, files: mostFiles = 10_000 } = limits
  const ignores = readIgnoreFile(readOptional(path.join(folder, '.helmignore')) ?? '')
  const files = new Map<string, Uint8Array>()
  let bytes = 0
  for (const name of walk(folder, '', ignores, 0)) {
    const data = readFileSync(path.join(folder, name))
    bytes += data.length
    if (bytes > mostBytes || files.size >= mostFiles) {
      throw invalid(folder, `it has more than ${mostFiles} files or ${mostBytes} bytes`)
    }
    files.set(name, withoutByteOrderMark(data))
  }
  return files
}

/** Paths of files in lexical order. */
function* walk(root: string, below: string, ignores: IgnoreRule, depth: number): Generator<string> {
  if (depth > deepest) throw invalid(root, `its folders are nested too deeply at ${below}`)
  const entries = readdirSync(path.join(root, below), { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`
    const about = entry.isDirectory() || entry.isFile() ? entry : statSync(path.join(root, name))
    if (ignores(name, about.isDirectory())) continue
    if (about.isDirectory()) yield* walk(root, name, ignores, depth + 1)
    else if (about.isFile()) yield name
    else throw invalid(root, `${name} is no regular file`)
  }
}

function readOptional(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function invalid(folder: string, problem: string): MusterError {
  return new MusterError(renderErrors.InvalidChart, `${folder}: ${problem}.`)
}

/**
 * Generated files beside those of a person. The folder has a record of what was generated last (`.generated.json`): a file that
 * differs from it was changed since, and stays. To get the generated one again, delete the file.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isJsonObject } from '../../kube/json.ts'
import { makeFolder } from '../../system/folder.ts'
import { writing } from '../command/named-file.ts'

const recordName = '.generated.json'

interface KeptFiles {
  readonly written: readonly string[]
  /** Generated before, and no longer part of it. */
  readonly removed: readonly string[]
  /** Changed by a person: left as they are. */
  readonly kept: readonly string[]
}

/** @throws OutputUnwritable */
export function writeKeptFiles(folder: string, files: ReadonlyMap<string, string>): KeptFiles {
  return writing('out', folder, () => {
    makeFolder(folder)
    const before = readRecord(folder)
    const result = { written: [] as string[], removed: [] as string[], kept: [] as string[] }
    for (const [name, text] of files) {
      const file = path.join(folder, name)
      const live = existsSync(file) ? readFileSync(file, 'utf8') : undefined
      if (live === text) continue
      if (live !== undefined && digest(live) !== before[name]) {
        result.kept.push(file)
        continue
      }
      makeFolder(path.dirname(file))
      writeFileSync(file, text)
      result.written.push(file)
    }
    for (const [name, made] of Object.entries(before)) {
      const file = path.join(folder, name)
      if (files.has(name) || !existsSync(file)) continue
      if (digest(readFileSync(file, 'utf8')) === made) {
        rmSync(file)
        result.removed.push(file)
      } else result.kept.push(file)
    }
    const record = Object.fromEntries([...files].map(([name, text]) => [name, digest(text)]))
    writeFileSync(path.join(folder, recordName), `${JSON.stringify(record, undefined, 2)}\n`)
    return result
  })
}

/** Empty if there is none: then every file is that of a person. Names that lead out of the folder are left out. */
function readRecord(folder: string): Readonly<Record<string, string>> {
  let read: unknown
  try {
    read = JSON.parse(readFileSync(path.join(folder, recordName), 'utf8'))
  } catch {
    return {}
  }
  if (!isJsonObject(read)) return {}
  const entries = Object.entries(read).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && isBelow(entry[0]),
  )
  return Object.fromEntries(entries)
}

function isBelow(name: string): boolean {
  return !path.isAbsolute(name) && !path.normalize(name).startsWith('..')
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

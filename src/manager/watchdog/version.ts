/**
 * The version of an operator, as far as a quarantine is concerned: what its code is and how it is set up. The code is its
 * module with every file that it imports by a relative path, and the version of the package that it is in; packages that it
 * imports count with that.
 */
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { isJsonObject, type Json } from '../../kube/json.ts'
import type { OperatorSettings } from '../config/operator-settings.ts'

export interface VersionedCode {
  /** `FILE#NAME`. Undefined: it is built in. */
  readonly module: string | undefined
  /** See `settingsText`. */
  readonly settings: string
}

export interface Version {
  /** Fit to be part of a key of a ConfigMap. */
  readonly version: string
  readonly files: readonly string[]
  /** When the newest of them was written, in milliseconds since the epoch. */
  readonly newest: number
}

export async function codeVersionOf({ module, settings }: VersionedCode): Promise<Version> {
  const hash = createHash('sha256').update(settings)
  if (module === undefined) return { version: hash.digest('hex').slice(0, length), files: [], newest: 0 }
  const name = module.lastIndexOf('#')
  const file = name < 0 ? module : module.slice(0, name)
  const code = await readCode(file)
  const files = [...code.keys()].toSorted()
  hash.update(name < 0 ? '' : module.slice(name)).update(await packageVersion(file))
  for (const each of files)
    hash
      .update('\0')
      .update(path.relative(path.dirname(file), each))
      .update(code.get(each)!)
  const written = await Promise.all(files.map(async (each) => (await stat(each)).mtimeMs))
  return { version: hash.digest('hex').slice(0, length), files, newest: Math.max(0, ...written) }
}

/** What of a section makes another operator of it: all that needs a new start. `isChosen`: somebody chose its isolation. */
export function settingsText(section: OperatorSettings, isChosen: boolean): string {
  const { gates: _, paused: __, ...lasting } = section
  return JSON.stringify([isChosen, sorted(lasting as unknown as Json)])
}

const length = 16
/** Beyond that it is no module but a library; what was read will do. */
const mostFiles = 500
const relativeImport = /(?:from|import|require)\s*(?:\(\s*)?(?:'(\.{1,2}\/[^'"\n]+)'|"(\.{1,2}\/[^'"\n]+)")/g

async function readCode(file: string): Promise<ReadonlyMap<string, string>> {
  const code = new Map<string, string>()
  const waiting = [path.resolve(file)]
  for (let each = waiting.pop(); each !== undefined && code.size < mostFiles; each = waiting.pop()) {
    if (code.has(each)) continue
    const text = await readFile(each, 'utf8').catch(() => undefined)
    if (text === undefined) continue
    code.set(each, text)
    for (const [, single, double] of text.matchAll(relativeImport)) {
      const place = path.resolve(path.dirname(each), single ?? double!)
      waiting.push(place, ...(path.extname(place) === '' ? [`${place}.js`, `${place}.cjs`, `${place}/index.js`] : []))
    }
  }
  return code
}

/** Empty where there is no package around it, or none that says. */
async function packageVersion(file: string): Promise<string> {
  try {
    const manifest = JSON.parse(await readFile(findPackageJSON('.', pathToFileURL(file))!, 'utf8')) as Json
    const version = isJsonObject(manifest) ? manifest['version'] : undefined
    return typeof version === 'string' ? version : ''
  } catch {
    return ''
  }
}

/** The same settings in another order are the same. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map((each: Json) => sorted(each))
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return members.map(([name, member = null]) => [name, sorted(member)])
}

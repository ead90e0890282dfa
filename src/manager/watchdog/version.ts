/**
 * The version of an operator, for its quarantine: a hash of its code and settings. The code is its module, all files
 * that it imports by relative paths, and the version of its package, which stands for the packages that it imports.
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
  /** Valid as part of a ConfigMap key. */
  readonly version: string
  readonly files: readonly string[]
  /** When the newest file was modified, in milliseconds since the epoch. */
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

/** The settings whose change needs a restart of the operator. `isChosen`: its isolation is set explicitly. */
export function settingsText(section: OperatorSettings, isChosen: boolean): string {
  const { gates: _, paused: __, ...lasting } = section
  return JSON.stringify([isChosen, sorted(lasting as unknown as Json)])
}

const length = 16
/** More files are a library rather than a module; the first ones are enough. */
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

/** Empty without a package, or without a version in it. */
async function packageVersion(file: string): Promise<string> {
  try {
    const manifest = JSON.parse(await readFile(findPackageJSON('.', pathToFileURL(file))!, 'utf8')) as Json
    const version = isJsonObject(manifest) ? manifest['version'] : undefined
    return typeof version === 'string' ? version : ''
  } catch {
    return ''
  }
}

/** The order of settings does not matter. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map((each: Json) => sorted(each))
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return members.map(([name, member = null]) => [name, sorted(member)])
}

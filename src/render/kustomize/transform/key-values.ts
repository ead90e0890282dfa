/** The key-value pairs of a generator: from files of `KEY=value` lines, from literals, and from whole files. */
import { posix } from 'node:path'
import { failure } from '../failure.ts'
import type { KustomizationFolder } from '../files.ts'
import type { GeneratorArguments } from '../kustomization.ts'

type Pair = readonly [key: string, value: Uint8Array]

export function readPairs(
  given: GeneratorArguments,
  folder: KustomizationFolder,
  place: string,
): ReadonlyMap<string, Uint8Array> {
  const envs = [...(given.envs ?? []), ...(given.env ? [given.env] : [])]
  const pairs = [
    ...envs.flatMap((file) => pairsOfLines(folder.bytes(file, `${place}.envs`), `${place}.envs: ${file}`)),
    ...(given.literals ?? []).map((literal) => pairOfLiteral(literal, `${place}.literals`)),
    ...(given.files ?? []).map((source) => pairOfFile(source, folder, `${place}.files`)),
  ]
  const known = new Map<string, Uint8Array>()
  for (const [key, value] of pairs) {
    if (known.has(key)) throw failure('KustomizationInvalid', place, `the key ${key} is there twice`)
    known.set(key, value)
  }
  return known
}

/** One pair in each line; empty lines and comments are skipped, and a key without `=` has an empty value. */
function pairsOfLines(bytes: Uint8Array, place: string): readonly Pair[] {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw failure('KustomizationInvalid', place, 'the file is not UTF-8', error)
  }
  return text.split('\n').flatMap((whole): readonly Pair[] => {
    const line = (whole.endsWith('\r') ? whole.slice(0, -1) : whole).trimStart()
    if (line === '' || line.startsWith('#')) return []
    const equals = line.indexOf('=')
    const key = equals < 0 ? line : line.slice(0, equals)
    return key === '' ? [] : [[key, Buffer.from(equals < 0 ? '' : line.slice(equals + 1))]]
  })
}

function pairOfLiteral(literal: string, place: string): Pair {
  const equals = literal.indexOf('=')
  // The literal may be a secret: the message has its number of characters, not its text.
  if (equals <= 0)
    throw failure('KustomizationInvalid', place, `a literal of ${literal.length} characters is not key=value`)
  return [literal.slice(0, equals), Buffer.from(withoutQuotes(literal.slice(equals + 1)))]
}

function withoutQuotes(text: string): string {
  const [first, last] = [text[0], text.at(-1)]
  return text.length >= 2 && first === last && (first === '"' || first === "'") ? text.slice(1, -1) : text
}

function pairOfFile(source: string, folder: KustomizationFolder, place: string): Pair {
  const [key = '', path, ...others] = source.split('=')
  if (others.length > 0) throw failure('KustomizationInvalid', place, `${source} has more than one "="`)
  if (path === undefined) return [posix.basename(source), folder.bytes(source, place)]
  if (key === '') throw failure('KustomizationInvalid', place, `${source} has no key before "="`)
  if (path === '') throw failure('KustomizationInvalid', place, `${source} has no path after "="`)
  return [key, folder.bytes(path, place)]
}

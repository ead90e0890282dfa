/**
 * The objects of one file of a must-gather directory: an object, a list or several documents, in YAML or JSON. Files of
 * usual size are read at once; larger ones in pieces, so that only one object is in memory.
 */
import { createReadStream, readFileSync, statSync } from 'node:fs'
import { apiserverErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { piecesOf } from './gather-pieces.ts'

/** Whether the caller may need an object of this kind in this text. Other objects are skipped without parsing. */
export type Wants = (kind: string, text: string) => boolean

/** Files up to this size are read at once. */
const maxWholeBytes = 4 * 1024 * 1024

/**
 * @param whole the size up to which a file is read at once, in bytes
 * @throws GatherUnreadable, InvalidYaml
 */
export async function* objectsInFile(
  file: string,
  wants?: Wants,
  whole: number = maxWholeBytes,
): AsyncGenerator<UntypedObject> {
  const about = statSync(file)
  // A pipe or a device has no end.
  if (!about.isFile()) throw new MusterError(apiserverErrors.GatherUnreadable, 'it is not a regular file.')
  if (about.size > whole) yield* objectsInPieces(file, wants)
  else {
    const text = readFileSync(file, 'utf8')
    if (mayContain(text, wants)) yield* readYamlDocuments(text).flatMap(objectsOf)
  }
}

async function* objectsInPieces(file: string, wants: Wants | undefined): AsyncGenerator<UntypedObject> {
  const isJson = await startsWithBrace(file)
  // The kind of a list often follows its items, so lists are read in a first pass.
  const heads = new Map<number, JsonObject>()
  for await (const { document, isItem, hasItems, text } of piecesOf(chunksOf(file), isJson)) {
    if (isItem || !hasItems) continue
    const [head] = readYamlDocuments(text)
    if (isJsonObject(head)) heads.set(document, head)
  }
  for await (const { document, isItem, hasItems, text } of piecesOf(chunksOf(file), isJson)) {
    if (!isItem) {
      if (!hasItems && mayContain(text, wants)) yield* readYamlDocuments(text).flatMap(objectsOf)
      continue
    }
    const head = heads.get(document)
    if (!head || !mayMatch(text, head, wants)) continue
    const [read] = readYamlDocuments(text)
    // In YAML, an item with its dash is a list of one.
    yield* objectsOf({ ...head, items: Array.isArray(read) ? (read as readonly Json[]) : [read ?? null] })
  }
}

async function* chunksOf(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of createReadStream(file, { highWaterMark: 2 ** 20 })) {
    yield decoder.decode(chunk as Uint8Array, { stream: true })
  }
  yield decoder.decode()
}

async function startsWithBrace(file: string): Promise<boolean> {
  const { open } = await import('node:fs/promises')
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4096), 0, 4096, 0)
    return /^\s*\{/.test(buffer.toString('utf8', 0, bytesRead))
  } finally {
    await handle.close()
  }
}

/** Checks the `kind:` lines without indentation; a text without any may hold any kind. */
function mayContain(text: string, wants: Wants | undefined): boolean {
  if (!wants) return true
  const kinds = Array.from(text.matchAll(/^kind:[ \t]*["']?(\w+)/gm), ([, kind = '']) => kind)
  return kinds.length === 0 || kinds.some((kind) => isOf(kind, text, wants))
}

/** The same for an item of a list, which may have its own kind. */
function mayMatch(text: string, head: JsonObject, wants: Wants | undefined): boolean {
  if (!wants) return true
  const indent = /^ *- /.exec(text)?.[0].length
  const own = indent === undefined ? undefined : new RegExp(`^[ -]{${indent}}kind:[ \\t]*["']?(\\w+)`, 'm').exec(text)
  if (own?.[1] !== undefined) return isOf(own[1], text, wants)
  return typeof head['kind'] !== 'string' || isOf(head['kind'], text, wants)
}

function isOf(kind: string, text: string, wants: Wants): boolean {
  return kind === 'List' || wants(kind, text) || (kind.endsWith('List') && wants(kind.slice(0, -'List'.length), text))
}

/** The objects of a document: an object, a list, or nothing if it is something else, such as discovery or a log. */
function objectsOf(document: Json): readonly UntypedObject[] {
  if (!isJsonObject(document)) return []
  const { kind, apiVersion, items } = document
  if (typeof kind !== 'string' || typeof apiVersion !== 'string') return []
  if (kind.endsWith('List') && Array.isArray(items)) {
    // Items of a typed list may omit kind and apiVersion.
    const itemKind = kind.slice(0, -'List'.length)
    return (items as readonly Json[]).flatMap((item) =>
      isJsonObject(item) ? objectsOf({ apiVersion, kind: itemKind, ...item }) : [],
    )
  }
  const metadata = document['metadata']
  const isObject = isJsonObject(metadata) && typeof metadata['name'] === 'string'
  return isObject ? [document as unknown as UntypedObject] : []
}

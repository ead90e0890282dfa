/**
 * What surrounds objects on the wire: lines of a watch and pages of a list. Frames are taken apart without parsing the
 * objects in them; those go to `decode.ts`, one by one.
 */
import { MusterError } from '../kube/errors.ts'
import type { KubeObject, ListMeta } from '../kube/object.ts'
import { closeArray, cursor, openArray, openObject, quote } from './cursor.ts'

/** Where an object lies in a text. */
export interface Stretch {
  readonly start: number
  readonly end: number
}

export interface WatchFrame extends Stretch {
  /** `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`, or what a later server may invent. */
  readonly type: string
}

export interface ListPage {
  readonly apiVersion: string | undefined
  readonly kind: string | undefined
  readonly resourceVersion: string
  /** Asks for the next page; undefined on the last. */
  readonly continue: string | undefined
  readonly items: readonly Stretch[]
}

/** Where an object belongs. */
export interface ObjectIdentity {
  readonly namespace: string | undefined
  readonly name: string
}

/**
 * Type and object of one line of a watch.
 * @throws ProtocolError
 */
export function scanWatchFrame(line: string): WatchFrame {
  return scanUsualFrame(line) ?? scanAnyFrame(line)
}

const frameHead = '{"type":"'
const frameMiddle = '","object":'

/**
 * The frame as the API server writes it, known by its beginning and end. That its object ends where the line does is
 * checked when it is decoded.
 */
function scanUsualFrame(line: string): WatchFrame | undefined {
  if (!line.startsWith(frameHead)) return undefined
  const typeEnd = line.indexOf('"', frameHead.length)
  const start = typeEnd + frameMiddle.length
  if (!line.startsWith(frameMiddle, typeEnd) || line.charCodeAt(start) !== openObject) return undefined
  return line.endsWith('}}') ? { type: line.slice(frameHead.length, typeEnd), start, end: line.length - 1 } : undefined
}

function scanAnyFrame(line: string): WatchFrame {
  let type: string | undefined
  let object: Stretch | undefined
  cursor.load(line, 0, line.length)
  for (let key = cursor.firstKey(); key !== undefined; key = cursor.nextKey()) {
    if (key === 'type') type = readString()
    else if (key === 'object') object = skipStretch()
    else cursor.skipValue()
  }
  cursor.end()
  cursor.unload()
  if (type === undefined || object === undefined || line.charCodeAt(object.start) !== openObject) {
    throw new MusterError('ProtocolError', 'a line of the watch is no event: it has no type or no object.')
  }
  return { type, ...object }
}

/**
 * A page of a list: its metadata, and where its items lie.
 * @throws ProtocolError
 */
export function scanList(text: string): ListPage {
  let items: Stretch[] | undefined
  let apiVersion: string | undefined
  let kind: string | undefined
  let metadata: ListMeta = {}
  cursor.load(text, 0, text.length)
  for (let key = cursor.firstKey(); key !== undefined; key = cursor.nextKey()) {
    if (key === 'items') items = readItems()
    else if (key === 'metadata') metadata = readMetadata()
    else if (key === 'apiVersion') apiVersion = readString()
    else if (key === 'kind') kind = readString()
    else cursor.skipValue()
  }
  cursor.end()
  cursor.unload()
  if (!items) throw new MusterError('ProtocolError', `the answer is no list: its kind is ${kind ?? 'unknown'}.`)
  const { resourceVersion = '', continue: next } = metadata
  return { apiVersion, kind, resourceVersion, continue: next === '' ? undefined : next, items }
}

function readItems(): Stretch[] {
  const items: Stretch[] = []
  if (cursor.token() !== openArray) {
    // Go writes null for a list that was never begun.
    if (cursor.readScalar() !== null) cursor.fail()
    return items
  }
  cursor.at++
  for (let code = cursor.token(); code !== closeArray; code = cursor.next(closeArray)) items.push(skipStretch())
  cursor.at++
  return items
}

function readMetadata(): ListMeta {
  const { start, end } = skipStretch()
  return (cursor.parse(start, end) ?? {}) as ListMeta
}

/**
 * Who the object in this stretch of text is, as its metadata says; the rest is left unread.
 * @throws ProtocolError when it has no name
 */
export function scanIdentity(text: string, start: number, end: number): ObjectIdentity {
  let namespace: string | undefined
  let name: string | undefined
  cursor.load(text, start, end)
  for (let key = cursor.firstKey(); key !== undefined; key = cursor.nextKey()) {
    if (key !== 'metadata') {
      cursor.skipValue()
      continue
    }
    for (let inner = cursor.firstKey(); inner !== undefined; inner = cursor.nextKey()) {
      if (inner === 'name') name = readString()
      else if (inner === 'namespace') namespace = readString()
      else cursor.skipValue()
      if (name !== undefined && namespace !== undefined) break
    }
    break
  }
  if (name === undefined) throw new MusterError('ProtocolError', 'the server sent an object without a name.')
  return { namespace, name }
}

/**
 * A glimpse of the object in this stretch of text, if by that it is not wanted: who it is, its state, its labels. Nothing
 * else is read of it. Undefined if it may be wanted: it has to be decoded to know.
 * @throws ProtocolError when it has no name
 */
export function glimpseUnwanted(
  text: string,
  start: number,
  end: number,
  mayBeWanted: (glimpse: KubeObject) => boolean,
): KubeObject | undefined {
  const metadata: Record<string, unknown> = {}
  cursor.load(text, start, end)
  for (let key = cursor.firstKey(); key !== undefined; key = cursor.nextKey()) {
    if (key !== 'metadata') {
      cursor.skipValue()
      continue
    }
    for (let inner = cursor.firstKey(glimpsed); inner !== undefined; inner = cursor.nextKey(glimpsed)) {
      const { start: from, end: to } = skipStretch()
      if (glimpsed.includes(inner)) metadata[inner] = cursor.parse(from, to)
    }
    break
  }
  if (typeof metadata['name'] !== 'string') {
    throw new MusterError('ProtocolError', 'the server sent an object without a name.')
  }
  const glimpse = { apiVersion: '', kind: '', metadata } as KubeObject
  if (mayBeWanted(glimpse)) return undefined
  cursor.unload()
  return glimpse
}

const glimpsed: readonly string[] = ['name', 'namespace', 'uid', 'resourceVersion', 'labels']

function skipStretch(): Stretch {
  cursor.token()
  const start = cursor.at
  cursor.skipValue()
  return { start, end: cursor.at }
}

/** A string of its own, not a cut of the text. */
function readString(): string {
  if (cursor.token() !== quote) cursor.fail()
  return cursor.parseString(cursor.at, cursor.skipString())
}

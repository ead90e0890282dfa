/**
 * The wire format around objects: lines of a watch and pages of a list. Frames are scanned without parsing the objects in
 * them; `decode.ts` decodes those one by one.
 */
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { KubeObject, ListMeta } from '../../kube/object.ts'
import { closeArray, cursor, openArray, openObject, quote } from './cursor.ts'

/** The range of an object in a text. */
interface TextRange {
  readonly start: number
  readonly end: number
}

interface WatchFrame extends TextRange {
  /** `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`, or a type of a later server. */
  readonly type: string
}

interface ListPage {
  readonly apiVersion: string | undefined
  readonly kind: string | undefined
  readonly resourceVersion: string
  /** The continue token; undefined on the last page. */
  readonly continue: string | undefined
  readonly items: readonly TextRange[]
}

/** Namespace and name of an object. */
interface ObjectIdentity {
  readonly namespace: string | undefined
  readonly name: string
}

/** Which state of which object a text contains. */
interface ObjectState extends ObjectIdentity {
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
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
 * The frame as the API server writes it, recognised by its beginning and end. Decoding checks that the object ends with the
 * line.
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
  let object: TextRange | undefined
  cursor.load(line, 0, line.length)
  for (let key = cursor.firstKey(); key !== undefined; key = cursor.nextKey()) {
    if (key === 'type') type = readString()
    else if (key === 'object') object = skipRange()
    else cursor.skipValue()
  }
  cursor.end()
  cursor.unload()
  if (type === undefined || object === undefined || line.charCodeAt(object.start) !== openObject) {
    throw new MusterError(
      clientErrors.ProtocolError,
      'a line of the watch is not an event: it has no type or no object.',
    )
  }
  return { type, ...object }
}

/**
 * A page of a list: its metadata, and the ranges of its items.
 * @throws ProtocolError
 */
export function scanList(text: string): ListPage {
  let items: TextRange[] | undefined
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
  if (!items)
    throw new MusterError(clientErrors.ProtocolError, `the response is not a list: its kind is ${kind ?? 'unknown'}.`)
  const { resourceVersion = '', continue: next } = metadata
  return { apiVersion, kind, resourceVersion, continue: next === '' ? undefined : next, items }
}

function readItems(): TextRange[] {
  const items: TextRange[] = []
  if (cursor.token() !== openArray) {
    // Go writes null for a nil slice.
    if (cursor.readScalar() !== null) cursor.fail()
    return items
  }
  cursor.at++
  for (let code = cursor.token(); code !== closeArray; code = cursor.next(closeArray)) items.push(skipRange())
  cursor.at++
  return items
}

function readMetadata(): ListMeta {
  const { start, end } = skipRange()
  return (cursor.parse(start, end) ?? {}) as ListMeta
}

/**
 * Reads namespace and name of the object in this range; nothing else is read.
 * @throws ProtocolError if it has no name
 */
export function scanIdentity(text: string, start: number, end: number): ObjectIdentity {
  let namespace: string | undefined
  let name: string | undefined
  scanMetadata(text, start, end, (key) => {
    if (key === 'name') name = readString()
    else if (key === 'namespace') namespace = readString()
    else cursor.skipValue()
    return name !== undefined && namespace !== undefined
  })
  return { namespace, name: requireName(name) }
}

/**
 * The same with uid and version. Call `leaveText` if the object is not decoded next.
 * @throws ProtocolError if it has no name
 */
export function scanState(text: string, start: number, end: number): ObjectState {
  let namespace: string | undefined
  let name: string | undefined
  let uid: string | undefined
  let resourceVersion: string | undefined
  scanMetadata(text, start, end, (key) => {
    if (key === 'name') name = readString()
    else if (key === 'namespace') namespace = readString()
    else if (key === 'uid' && cursor.token() === quote) uid = readString()
    else if (key === 'resourceVersion' && cursor.token() === quote) resourceVersion = readString()
    else cursor.skipValue()
    return name !== undefined && namespace !== undefined && uid !== undefined && resourceVersion !== undefined
  })
  return { namespace, name: requireName(name), uid, resourceVersion }
}

/** Releases a scanned text. */
export function leaveText(): void {
  cursor.unload()
}

/** Calls `read` before the value of each member of the metadata, until it returns true. */
function scanMetadata(text: string, start: number, end: number, read: (key: string) => boolean): void {
  cursor.load(text, start, end)
  for (let key = cursor.firstKey(); key !== undefined; key = cursor.nextKey()) {
    if (key !== 'metadata') {
      cursor.skipValue()
      continue
    }
    for (let inner = cursor.firstKey(); inner !== undefined; inner = cursor.nextKey()) if (read(inner)) return
    return
  }
}

function requireName(name: string | undefined): string {
  if (name === undefined) throw new MusterError(clientErrors.ProtocolError, 'the server sent an object without a name.')
  return name
}

/**
 * Reads only identity, version and labels of the object in this range, and returns them if they show that the object is not
 * selected. Undefined if it may be selected: then it must be decoded.
 * @throws ProtocolError if it has no name
 */
export function peekUnselected(
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
      const { start: from, end: to } = skipRange()
      if (glimpsed.includes(inner)) metadata[inner] = cursor.parse(from, to)
    }
    break
  }
  if (typeof metadata['name'] !== 'string') {
    throw new MusterError(clientErrors.ProtocolError, 'the server sent an object without a name.')
  }
  const glimpse = { apiVersion: '', kind: '', metadata } as KubeObject
  if (mayBeWanted(glimpse)) return undefined
  cursor.unload()
  return glimpse
}

const glimpsed: readonly string[] = ['name', 'namespace', 'uid', 'resourceVersion', 'labels']

function skipRange(): TextRange {
  cursor.token()
  const start = cursor.at
  cursor.skipValue()
  return { start, end: cursor.at }
}

/** A copy, not a slice of the text. */
function readString(): string {
  if (cursor.token() !== quote) cursor.fail()
  return cursor.parseString(cursor.at, cursor.skipString())
}

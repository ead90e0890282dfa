/**
 * Decodes objects of built-in kinds from protobuf, which Go clients prefer: the bytes `k8s\0`, then an envelope with the kind,
 * in it the message.
 *
 * The result is the JSON that Go would write for the same object, to the last empty member: a pointer is written even if its
 * value is zero, an empty value is omitted where Go has omitempty, and written otherwise even if it was not sent. So a server
 * need not care in which encoding an object arrived.
 */
import type { Json, JsonObject } from '../json.ts'
import { decodeSpecial, schemaMessage, zeroOfSpecial } from './special.ts'
import { type ProtobufField, type Message, messageNamed, messageOfKind } from './table.ts'
import { WireReader, delimited, fixed64, malformedProtobuf, varint } from './wire.ts'

/** The envelope of every object (`runtime.Unknown`). */
interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  readonly message: Uint8Array
}

/** Deeper than any object; JSON schemas in CRDs are the only recursive message. */
const deepest = 250
/** More inner messages than a legitimate body of three megabytes has: an empty one takes two bytes and expands. */
const mostMessages = 400_000

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** @throws InvalidProtobuf */
function openEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length === 0) throw malformedProtobuf('empty data')
  if (!isProtobuf(bytes))
    throw malformedProtobuf('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]')
  if (bytes.length === 4) throw malformedProtobuf('empty body')
  let message = new Uint8Array()
  let [apiVersion, kind] = ['', '']
  const reader = new WireReader(bytes.subarray(4))
  while (!reader.done) {
    const tag = reader.tag()
    if (tag === 10) {
      const type = new WireReader(reader.delimited())
      while (!type.done) {
        const inner = type.tag()
        if (inner === 10) apiVersion = utf8.decode(type.delimited())
        else if (inner === 18) kind = utf8.decode(type.delimited())
        else type.skip(inner)
      }
    } else if (tag === 18) message = reader.delimited() as Uint8Array<ArrayBuffer>
    else reader.skip(tag)
  }
  return { apiVersion, kind, message }
}

function isProtobuf(bytes: Uint8Array): boolean {
  return bytes[0] === 107 && bytes[1] === 56 && bytes[2] === 115 && bytes[3] === 0
}

/**
 * The object in an envelope; undefined if its kind is not built in.
 * @throws InvalidProtobuf
 */
function decodeEnvelope({ apiVersion, kind, message }: Envelope): JsonObject | undefined {
  const type = messageOfKind(apiVersion, kind)
  return type && { kind, apiVersion, ...(decodeMessage(type, message, { depth: 0, messages: 0 }) as JsonObject) }
}

/**
 * The object in these bytes; undefined if its kind is not built in.
 * @throws InvalidProtobuf
 */
export function decodeProtobuf(bytes: Uint8Array): JsonObject | undefined {
  return decodeEnvelope(openEnvelope(bytes))
}

/** Progress of a decoding: current depth, and inner messages in total. */
interface Progress {
  depth: number
  messages: number
}

function decodeMessage(message: Message, bytes: Uint8Array, progress: Progress): Json {
  if (++progress.messages > mostMessages) throw malformedProtobuf(`there are more than ${mostMessages} messages in one`)
  if (++progress.depth > deepest) throw malformedProtobuf(`messages are nested deeper than ${deepest} levels`)
  const { fields, byNumber, unwrapped } = message
  // Inner messages are kept as bytes: a repeated one is merged, which is the same as concatenating the bytes.
  const found: (Json | Uint8Array | undefined)[] = []
  const reader = new WireReader(bytes)
  while (!reader.done) {
    const tag = reader.tag()
    const index = byNumber.get(tag >>> 3)
    if (index === undefined) reader.skip(tag)
    else found[index] = read(fields[index]!, found[index], tag & 7, reader, progress)
  }
  const result = unwrapped ? ((found[0] as Json | undefined) ?? null) : assemble(fields, found, progress)
  progress.depth--
  return result
}

function read(
  field: ProtobufField,
  before: Json | Uint8Array | undefined,
  type: number,
  reader: WireReader,
  progress: Progress,
): Json | Uint8Array {
  if (field.many === 'map') {
    const members = (before ?? {}) as Record<string, Json>
    const [key, value] = readEntry(field, expect(field, type, delimited, reader).delimited(), progress)
    // Not an assignment: the key may be `__proto__`.
    Object.defineProperty(members, key, { value, enumerable: true, configurable: true, writable: true })
    return members
  }
  if (field.many === 'list') {
    const items = (before ?? []) as Json[]
    if (type === delimited && isPackable(field)) {
      const packed = new WireReader(reader.delimited())
      while (!packed.done) items.push(readScalar(field, wireTypeOf(field), packed))
    } else items.push(readValue(field, type, reader, progress))
    return items
  }
  if (field.scalar) return readScalar(field, type, reader)
  const bytes = expect(field, type, delimited, reader).delimited()
  return before === undefined ? bytes : Buffer.concat([before as Uint8Array, bytes])
}

function readEntry(field: ProtobufField, bytes: Uint8Array, progress: Progress): [string, Json] {
  let key = ''
  let value: Json | undefined
  const entry = new WireReader(bytes)
  while (!entry.done) {
    const tag = entry.tag()
    if (tag === 10) key = utf8.decode(entry.delimited())
    else if (tag >>> 3 === 2) value = readValue(field, tag & 7, entry, progress)
    else entry.skip(tag)
  }
  return [key, value ?? zeroOf(field, progress)]
}

function readValue(field: ProtobufField, type: number, reader: WireReader, progress: Progress): Json {
  if (field.scalar) return readScalar(field, type, reader)
  return decodeInner(field, expect(field, type, delimited, reader).delimited(), progress)
}

function decodeInner({ special, type }: ProtobufField, bytes: Uint8Array, progress: Progress): Json {
  if (!special) return decodeMessage(messageNamed(type), bytes, progress)
  return decodeSpecial(special, bytes, (schema) => decodeMessage(messageNamed(schemaMessage), schema, progress))
}

function readScalar(field: ProtobufField, type: number, reader: WireReader): Json {
  const from = expect(field, type, wireTypeOf(field), reader)
  switch (field.scalar) {
    case 'string':
      return utf8.decode(from.delimited())
    case 'bytes': {
      const bytes = from.delimited()
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
    }
    case 'bool':
      return from.bool()
    case 'int32':
      return from.int32()
    case 'int64':
      return from.int64()
    default:
      return from.double()
  }
}

export function wireTypeOf({ scalar }: Pick<ProtobufField, 'scalar'>): 0 | 1 | 2 {
  if (scalar === undefined || scalar === 'string' || scalar === 'bytes') return delimited
  return scalar === 'double' ? fixed64 : varint
}

function isPackable(field: ProtobufField): boolean {
  return wireTypeOf(field) !== delimited
}

function expect(field: ProtobufField, type: number, wanted: number, reader: WireReader): WireReader {
  if (type !== wanted) throw malformedProtobuf(`proto: wrong wireType = ${type} for field ${field.name || field.type}`)
  return reader
}

function assemble(
  fields: readonly ProtobufField[],
  found: readonly (Json | Uint8Array | undefined)[],
  progress: Progress,
): JsonObject {
  const object: Record<string, Json> = {}
  for (const [index, field] of fields.entries()) {
    const value = found[index]
    if (field.name === '') Object.assign(object, decodeInner(field, (value ?? nothing) as Uint8Array, progress))
    else if (value === undefined) {
      if (field.always) object[field.name] = field.many ? null : zeroOf(field, progress)
    } else if (field.many) object[field.name] = value as Json
    else if (!field.scalar) {
      const inner = decodeInner(field, value as Uint8Array, progress)
      if (field.always || field.pointer || inner !== null) object[field.name] = inner
    } else if (field.pointer || field.always || !isZero(value as Json)) object[field.name] = value as Json
  }
  return object
}

const nothing = new Uint8Array()

/** What Go writes for an unset value. */
function zeroOf(field: ProtobufField, progress: Progress): Json {
  if (field.pointer) return null
  switch (field.scalar) {
    case 'string':
      return ''
    case 'bool':
      return false
    case 'bytes':
      return null
    case 'int32':
    case 'int64':
    case 'double':
      return 0
    default:
      return field.special ? zeroOfSpecial(field.special) : decodeMessage(messageNamed(field.type), nothing, progress)
  }
}

function isZero(value: Json): boolean {
  return value === '' || value === 0 || value === false
}

/**
 * Encodes objects of built-in kinds to protobuf, byte for byte as Go does: fields in the order of their numbers, non-pointers
 * even if they are zero, map keys sorted.
 */
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import { ownMember } from '../json-member.ts'
import { type Json, type JsonObject, isJsonObject } from '../json.ts'
import { wireTypeOf } from './decode.ts'
import { encodeSpecial, schemaMessage, unfit, zeroOfSpecial } from './special.ts'
import { type ProtobufField, type Message, messageNamed, messageOfKind } from './table.ts'
import { WireWriter, delimited } from './wire.ts'

/**
 * The object with its envelope; undefined if it cannot be encoded: its kind is not built in, or a member has another type
 * than its kind allows.
 */
export function encodeProtobuf(object: JsonObject): Uint8Array | undefined {
  const { apiVersion, kind } = object
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined
  const message = messageOfKind(apiVersion, kind)
  if (!message) return undefined
  try {
    return seal(apiVersion, kind, (writer) => writeMessage(message, object, writer))
  } catch (error) {
    if (isMusterError(error, kubeErrors.InvalidProtobuf)) return undefined
    throw error
  }
}

const prefix = Uint8Array.of(107, 56, 115, 0)

function seal(apiVersion: string, kind: string, write: (writer: WireWriter) => void): Uint8Array {
  const writer = new WireWriter()
  // Content encoding and content type: Go leaves both empty, and writes them.
  writer.text('')
  writer.tag(4, delimited)
  writer.text('')
  writer.tag(3, delimited)
  const afterMessage = writer.length
  write(writer)
  writer.varint(writer.length - afterMessage)
  writer.tag(2, delimited)
  const afterType = writer.length
  writer.text(kind)
  writer.tag(2, delimited)
  writer.text(apiVersion)
  writer.tag(1, delimited)
  writer.varint(writer.length - afterType)
  writer.tag(1, delimited)
  writer.prefix(prefix)
  return writer.finish()
}

function writeMessage({ descending, unwrapped, name }: Message, value: Json, writer: WireWriter): void {
  if (unwrapped) return writeField(descending[0]!, value, writer)
  if (!isJsonObject(value)) throw unfit(name, value)
  for (const field of descending) writeField(field, field.name === '' ? value : ownMember(value, field.name), writer)
}

function writeField(field: ProtobufField, value: Json | undefined, writer: WireWriter): void {
  if (field.many === 'list') {
    for (const item of listOf(value).toReversed()) writeValue(field, item, writer)
  } else if (field.many === 'map') {
    if (value === undefined || value === null) return
    if (!isJsonObject(value)) throw unfit('a map', value)
    for (const key of Object.keys(value).toSorted().toReversed()) writeEntry(field, key, value[key], writer)
  } else if (value !== undefined && value !== null) writeValue(field, value, writer)
  // Non-pointers are written even if unset; bytes are not.
  else if (!field.pointer && field.scalar !== 'bytes') writeValue(field, zeroOf(field), writer)
}

function writeEntry(field: ProtobufField, key: string, value: Json | undefined, writer: WireWriter): void {
  if (value === undefined) return
  const before = writer.length
  writeValue({ ...field, number: 2 }, value ?? zeroOf(field), writer)
  writer.text(key)
  writer.tag(1, delimited)
  writer.varint(writer.length - before)
  writer.tag(field.number, delimited)
}

function writeValue(field: ProtobufField, value: Json, writer: WireWriter): void {
  if (field.scalar) writeScalar(field, value, writer)
  else {
    const before = writer.length
    if (field.special)
      encodeSpecial(field.special, value, writer, (schema) => writeMessage(messageNamed(schemaMessage), schema, writer))
    else writeMessage(messageNamed(field.type), value, writer)
    writer.varint(writer.length - before)
  }
  writer.tag(field.number, wireTypeOf(field))
}

function writeScalar({ scalar }: ProtobufField, value: Json, writer: WireWriter): void {
  switch (scalar!) {
    case 'string':
      if (typeof value !== 'string') throw unfit('a text', value)
      return writer.text(value)
    case 'bytes':
      if (typeof value !== 'string') throw unfit('base64', value)
      return writer.data(Buffer.from(value, 'base64'))
    case 'bool':
      if (typeof value !== 'boolean') throw unfit('a boolean', value)
      return writer.varint(value ? 1 : 0)
    case 'int32':
    case 'int64':
      if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) throw unfit('an integer', value)
      return writer.varint(value as number | bigint)
    case 'double':
      if (typeof value !== 'number' && typeof value !== 'bigint') throw unfit('a number', value)
      return writer.double(Number(value))
  }
}

function listOf(value: Json | undefined): readonly Json[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw unfit('a list', value)
  return value as readonly Json[]
}

function zeroOf({ scalar, special, type }: ProtobufField): Json {
  switch (scalar) {
    case 'string':
    case 'bytes':
      return ''
    case 'bool':
      return false
    case 'int32':
    case 'int64':
    case 'double':
      return 0
    default:
      if (special) return zeroOfSpecial(special)
      return messageNamed(type).unwrapped ? [] : {}
  }
}

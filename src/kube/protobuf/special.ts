/**
 * Messages with a JSON form of their own. In Go each has a `MarshalJSON`: a Quantity is a string, an IntOrString a number or a
 * string, a Time is formatted, and raw JSON inside of protobuf is itself.
 */
import { type Json, parseJson, stringifyJson } from '../json.ts'
import { formatDuration, parseDuration, parseTime } from '../units/duration.ts'
import { kubeErrors } from '../errors.ts'
import { type MusterError, isMusterError } from '../muster-error.ts'
import { isJsonArray } from '../json-member.ts'
import { storedQuantity } from '../units/quantity.ts'
import type { Special } from './table.ts'
import { WireReader, type WireWriter, delimited, malformedProtobuf, varint } from './wire.ts'

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
/** The only message that special ones contain. */
export const schemaMessage = 'apiextensions/v1.JSONSchemaProps'
/** Year 1, Go's zero time. */
const zeroTime = -62_135_596_800
const lastTime = 253_402_300_799

/** What is written for an unset non-pointer. */
export function zeroOfSpecial(special: Special): Json {
  switch (special) {
    case 'quantity':
      return '0'
    case 'intorstring':
      return 0
    case 'duration':
      return '0s'
    case 'schemaorbool':
      return false
    default:
      return null
  }
}

export function decodeSpecial(special: Special, bytes: Uint8Array, decodeSchema: (bytes: Uint8Array) => Json): Json {
  switch (special) {
    case 'quantity':
      return decodeQuantity(bytes)
    case 'intorstring':
      return decodeIntOrString(bytes)
    case 'time':
    case 'microtime':
      return decodeTime(bytes, special === 'microtime')
    case 'duration':
      return decodeDuration(bytes)
    case 'raw':
      return decodeRaw(bytes)
    default:
      return decodeSchemaOr(special, bytes, decodeSchema)
  }
}

function decodeQuantity(bytes: Uint8Array): Json {
  let text = '0'
  for (const reader = new WireReader(bytes); !reader.done;) {
    const tag = reader.tag()
    if (tag === 10) text = utf8.decode(reader.delimited())
    else reader.skip(tag)
  }
  try {
    return storedQuantity(text)
  } catch (error) {
    if (isMusterError(error, kubeErrors.InvalidQuantity)) throw malformedProtobuf(error.message)
    throw error
  }
}

function decodeIntOrString(bytes: Uint8Array): Json {
  let [isText, number, text] = [false, 0, '']
  for (const reader = new WireReader(bytes); !reader.done;) {
    const tag = reader.tag()
    if (tag === 8) isText = reader.int64() === 1
    else if (tag === 16) number = reader.int32()
    else if (tag === 26) text = utf8.decode(reader.delimited())
    else reader.skip(tag)
  }
  return isText ? text : number
}

function decodeTime(bytes: Uint8Array, micro: boolean): Json {
  if (bytes.length === 0) return null
  let [seconds, nanos]: (number | bigint)[] = [0, 0]
  for (const reader = new WireReader(bytes); !reader.done;) {
    const tag = reader.tag()
    if (tag === 8) seconds = reader.int64()
    else if (tag === 16) nanos = reader.int32()
    else reader.skip(tag)
  }
  const micros = micro ? Math.trunc(Number(nanos) / 1000) : 0
  const whole = Number(seconds) + Math.floor(micros / 1_000_000)
  if (!(whole >= zeroTime && whole <= lastTime))
    throw malformedProtobuf('a point of time is outside of the years 1 to 9999')
  const fraction = micros - Math.floor(micros / 1_000_000) * 1_000_000
  if (whole === zeroTime && fraction === 0) return null
  const text = new Date(whole * 1000).toISOString().slice(0, -5)
  return micro ? `${text}.${fraction.toString().padStart(6, '0')}Z` : `${text}Z`
}

function decodeDuration(bytes: Uint8Array): Json {
  let nanoseconds: number | bigint = 0
  for (const reader = new WireReader(bytes); !reader.done;) {
    const tag = reader.tag()
    if (tag === 8) nanoseconds = reader.int64()
    else reader.skip(tag)
  }
  return formatDuration(BigInt(nanoseconds))
}

function decodeRaw(bytes: Uint8Array): Json {
  let raw: Uint8Array | undefined
  for (const reader = new WireReader(bytes); !reader.done;) {
    const tag = reader.tag()
    if (tag === 10) raw = reader.delimited()
    else reader.skip(tag)
  }
  if (raw === undefined || raw.length === 0) return null
  try {
    return parseJson(utf8.decode(raw))
  } catch {
    // The parser's message would quote a value that may be a secret.
    throw malformedProtobuf('a member that holds JSON holds none')
  }
}

function decodeSchemaOr(special: Special, bytes: Uint8Array, decodeSchema: (bytes: Uint8Array) => Json): Json {
  const list: Json[] = []
  let allows = false
  let schema: Uint8Array | undefined
  for (const reader = new WireReader(bytes); !reader.done;) {
    const tag = reader.tag()
    // The boolean has number one, the list number two.
    if (special === 'schemaorbool' && tag === 8) allows = reader.bool()
    else if (tag === (special === 'schemaorbool' ? 18 : 10)) schema = reader.delimited()
    else if (special === 'schemaorarray' && tag === 18) list.push(decodeSchema(reader.delimited()))
    else if (special === 'schemaorstrings' && tag === 18) list.push(utf8.decode(reader.delimited()))
    else reader.skip(tag)
  }
  if (list.length > 0) return list
  if (schema) return decodeSchema(schema)
  return special === 'schemaorbool' ? allows : null
}

/** Writes the contents of the message; nothing for an unset value. */
export function encodeSpecial(
  special: Special,
  value: Json,
  writer: WireWriter,
  encodeSchema: (schema: Json) => void,
): void {
  switch (special) {
    case 'quantity':
      if (typeof value !== 'string' && typeof value !== 'number') throw unfit('an amount', value)
      writer.text(typeof value === 'string' ? value : storedQuantity(value))
      return writer.tag(1, delimited)
    case 'intorstring':
      return encodeIntOrString(value, writer)
    case 'time':
    case 'microtime':
      return value === null ? undefined : encodeTime(value, special === 'microtime', writer)
    case 'duration':
      if (typeof value !== 'string') throw unfit('a span of time', value)
      writer.varint(parseDuration(value))
      return writer.tag(1, varint)
    case 'raw':
      if (value === null) return
      writer.text(stringifyJson(value))
      return writer.tag(1, delimited)
    case 'schemaorarray':
    case 'schemaorbool':
    case 'schemaorstrings':
      return encodeSchemaOr(special, value, writer, encodeSchema)
  }
}

function encodeIntOrString(value: Json, writer: WireWriter): void {
  const isText = typeof value === 'string'
  if (!isText && typeof value !== 'number') throw unfit('a number or a text', value)
  writer.text(isText ? value : '')
  writer.tag(3, delimited)
  writer.varint(isText ? 0 : value)
  writer.tag(2, varint)
  writer.varint(isText ? 1 : 0)
  writer.tag(1, varint)
}

function encodeTime(value: Json, micro: boolean, writer: WireWriter): void {
  const ms = typeof value === 'string' ? parseTime(value) : undefined
  if (ms === undefined) throw unfit('a point of time', value)
  const digits = /\.(\d+)/.exec(value as string)?.[1] ?? ''
  writer.varint(micro ? Number(digits.padEnd(6, '0').slice(0, 6)) * 1000 : 0)
  writer.tag(2, varint)
  writer.varint(Math.floor(ms / 1000))
  writer.tag(1, varint)
}

function encodeSchemaOr(special: Special, value: Json, writer: WireWriter, encodeSchema: (schema: Json) => void): void {
  const within = (number: number, schema: Json): void => {
    const before = writer.length
    encodeSchema(schema)
    writer.varint(writer.length - before)
    writer.tag(number, delimited)
  }
  if (special === 'schemaorbool') {
    if (typeof value !== 'boolean') within(2, value)
    // A schema allows what fits it.
    writer.varint(value === false ? 0 : 1)
    writer.tag(1, varint)
  } else if (!isJsonArray(value)) {
    if (value !== null) within(1, value)
  } else
    for (const item of value.toReversed()) {
      if (special === 'schemaorarray') within(2, item)
      else {
        if (typeof item !== 'string') throw unfit('a text', item)
        writer.text(item)
        writer.tag(2, delimited)
      }
    }
}

/** The value does not have the type of the message. It is not quoted: it may be a secret. */
export function unfit(wanted: string, value: Json | undefined): MusterError {
  const kind = value === null ? 'null' : isJsonArray(value) ? 'a list' : `a value of type ${typeof value}`
  return malformedProtobuf(`where ${wanted} belongs there is ${kind}`)
}

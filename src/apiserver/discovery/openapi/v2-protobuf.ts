/**
 * OpenAPI v2 in protobuf, the only form that some Go clients accept: kubectl for unknown kinds, Helm for every chart.
 * The messages are those of gnostic's `OpenAPIv2.proto`; each is a table of the fields that our documents can have.
 */
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../../kube/json.ts'
import { isJsonArray } from '../../../kube/json-member.ts'
import { delimited, fixed64, varint, WireWriter } from '../../../kube/protobuf/wire.ts'

/** Writes a value as a field. The writer works backwards: values before tags, last fields first. */
type Write = (writer: WireWriter, number: number, value: Json) => void

interface Message {
  /** Members by name: the field number, and how it is written. */
  readonly members: Readonly<Record<string, readonly [number: number, write: Write]>>
  /** The field number of vendor extensions (`x-`). */
  readonly extensions?: number
}

export function encodeDocument(document: JsonObject): Uint8Array {
  const writer = new WireWriter()
  writeMembers(writer, documentMessage, document)
  return writer.finish()
}

function writeMembers(writer: WireWriter, { members, extensions }: Message, value: Json): void {
  if (!isJsonObject(value)) return
  if (extensions !== undefined) {
    const entries = Object.entries(value).filter(([name]) => name.startsWith('x-'))
    namedOf(any)(writer, extensions, Object.fromEntries(entries))
  }
  const known = Object.entries(members).toSorted(([, [a]], [, [b]]) => b - a)
  for (const [name, [number, write]] of known) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined
    if (member !== undefined) write(writer, number, member)
  }
}

/** A length-delimited field; the length is known after its content has been written. */
function measured(writer: WireWriter, number: number, write: () => void): void {
  const before = writer.length
  write()
  writer.varint(writer.length - before)
  writer.tag(number, delimited)
}

const text: Write = (writer, number, value) => {
  writer.text(typeof value === 'string' ? value : stringifyJson(value))
  writer.tag(number, delimited)
}

// False and zero are the defaults of missing fields, and are not written.
const flag: Write = (writer, number, value) => {
  if (value !== true) return
  writer.varint(1)
  writer.tag(number, varint)
}

const integer: Write = (writer, number, value) => {
  if (typeof value !== 'number' || value === 0) return
  writer.varint(Math.trunc(value))
  writer.tag(number, varint)
}

const double: Write = (writer, number, value) => {
  if (typeof value !== 'number' || value === 0) return
  writer.double(value)
  writer.tag(number, fixed64)
}

/** Any value, as YAML, of which JSON is a subset. */
const any: Write = (writer, number, value) =>
  measured(writer, number, () => text(writer, 2, `${stringifyJson(value)}\n`))

function message(content: () => Message): Write {
  return (writer, number, value) => measured(writer, number, () => writeMembers(writer, content(), value))
}

/** A message that only wraps another one. */
function wrapped(inner: number, write: Write): Write {
  return (writer, number, value) => measured(writer, number, () => write(writer, inner, value))
}

function listOf(write: Write): Write {
  return (writer, number, value) => {
    for (const item of isJsonArray(value) ? value.toReversed() : [value]) write(writer, number, item)
  }
}

/** The members of an object as messages of a name and a value. */
function namedOf(write: Write): Write {
  return (writer, number, value) => {
    for (const [name, member] of Object.entries(isJsonObject(value) ? value : {}).toReversed()) {
      measured(writer, number, () => {
        write(writer, 2, member ?? null)
        text(writer, 1, name)
      })
    }
  }
}

/** The message type depends on the value. */
function eitherOf(choose: (value: JsonObject) => Write): Write {
  return (writer, number, value) => {
    if (isJsonObject(value)) measured(writer, number, () => choose(value)(writer, 0, value))
  }
}

/** The same value under another field number. */
function as(number: number, write: Write): Write {
  return (writer, _number, value) => write(writer, number, value)
}

const externalDocs = message(() => ({ members: { description: [1, text], url: [2, text] } }))

const schema: Write = message(() => schemaMessage)

const schemaMessage: Message = {
  members: {
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, any],
    multipleOf: [6, double],
    maximum: [7, double],
    exclusiveMaximum: [8, flag],
    minimum: [9, double],
    exclusiveMinimum: [10, flag],
    maxLength: [11, integer],
    minLength: [12, integer],
    pattern: [13, text],
    maxItems: [14, integer],
    minItems: [15, integer],
    uniqueItems: [16, flag],
    maxProperties: [17, integer],
    minProperties: [18, integer],
    required: [19, listOf(text)],
    enum: [20, listOf(any)],
    additionalProperties: [
      21,
      (writer, number, value) =>
        measured(writer, number, () => (isJsonObject(value) ? schema(writer, 1, value) : flag(writer, 2, value))),
    ],
    type: [22, wrapped(1, listOf(text))],
    items: [23, wrapped(1, listOf(schema))],
    allOf: [24, listOf(schema)],
    properties: [25, wrapped(1, namedOf(schema))],
    externalDocs: [29, externalDocs],
    example: [30, any],
  },
  extensions: 31,
}

const bodyParameter = message(() => ({
  members: { description: [1, text], name: [2, text], in: [3, text], required: [4, flag], schema: [5, schema] },
}))

const queryParameter = message(() => ({
  members: {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [6, text],
    uniqueItems: [20, flag],
  },
}))

const pathParameter = message(() => ({
  members: {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [5, text],
    uniqueItems: [19, flag],
  },
}))

const parameter = eitherOf((value) => {
  if (value['in'] === 'body') return as(1, bodyParameter)
  return as(2, wrapped(value['in'] === 'query' ? 3 : 4, value['in'] === 'query' ? queryParameter : pathParameter))
})

const reference = message(() => ({ members: { $ref: [1, text], description: [2, text] } }))

const parameterOrReference = eitherOf((value) => ('$ref' in value ? as(2, reference) : as(1, parameter)))

const response = message(() => ({ members: { description: [1, text], schema: [2, wrapped(1, schema)] } }))

const operation = message(() => ({
  members: {
    tags: [1, listOf(text)],
    description: [3, text],
    operationId: [5, text],
    produces: [6, listOf(text)],
    consumes: [7, listOf(text)],
    parameters: [8, listOf(parameterOrReference)],
    responses: [9, wrapped(1, namedOf(wrapped(1, response)))],
    schemes: [10, listOf(text)],
  },
  extensions: 13,
}))

const pathItem = message(() => ({
  members: {
    get: [2, operation],
    put: [3, operation],
    post: [4, operation],
    delete: [5, operation],
    options: [6, operation],
    head: [7, operation],
    patch: [8, operation],
    parameters: [9, listOf(parameterOrReference)],
  },
}))

const apiKey = message(() => ({
  members: { type: [1, text], name: [2, text], in: [3, text], description: [4, text] },
}))

const documentMessage: Message = {
  members: {
    swagger: [1, text],
    info: [2, message(() => ({ members: { title: [1, text], version: [2, text] } }))],
    paths: [8, wrapped(2, namedOf(pathItem))],
    definitions: [9, wrapped(1, namedOf(schema))],
    parameters: [10, wrapped(1, namedOf(parameter))],
    security: [12, listOf(wrapped(1, namedOf(wrapped(1, listOf(text)))))],
    securityDefinitions: [13, wrapped(1, namedOf(wrapped(2, apiKey)))],
  },
}

/**
 * Metadata of custom objects. It exists at the root and in embedded objects, and no schema describes it: it is decoded as
 * ObjectMeta, which drops unknown fields and rejects wrong types.
 */
import { formatGoValue } from '../go/go-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { isJsonArray } from '../json-member.ts'
import { withMembers } from './members.ts'

/** A Go type; `name` is its name in decoder messages. */
interface GoType {
  readonly name: string
  readonly accepts: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'any'
  readonly fields?: Readonly<Record<string, GoType>>
  readonly items?: GoType
}

const text: GoType = { name: 'string', accepts: 'string' }
const integer: GoType = { name: 'int64', accepts: 'number' }
const boolean: GoType = { name: 'bool', accepts: 'boolean' }
const time: GoType = { name: 'string', accepts: 'string' }
const texts: GoType = { name: '[]string', accepts: 'array', items: text }
const textMap: GoType = { name: 'map[string]string', accepts: 'object', items: text }
const fieldsV1: GoType = { name: 'v1.FieldsV1', accepts: 'any' }

const objectMeta: GoType = {
  name: 'v1.ObjectMeta',
  accepts: 'object',
  fields: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: { name: 'types.UID', accepts: 'string' },
    resourceVersion: text,
    generation: integer,
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: integer,
    labels: textMap,
    annotations: textMap,
    finalizers: texts,
    ownerReferences: {
      name: '[]v1.OwnerReference',
      accepts: 'array',
      items: {
        name: 'v1.OwnerReference',
        accepts: 'object',
        fields: {
          apiVersion: text,
          kind: text,
          name: text,
          uid: { name: 'types.UID', accepts: 'string' },
          controller: boolean,
          blockOwnerDeletion: boolean,
        },
      },
    },
    managedFields: {
      name: '[]v1.ManagedFieldsEntry',
      accepts: 'array',
      items: {
        name: 'v1.ManagedFieldsEntry',
        accepts: 'object',
        fields: {
          manager: text,
          operation: { name: 'v1.ManagedFieldsOperationType', accepts: 'string' },
          apiVersion: text,
          time,
          fieldsType: text,
          fieldsV1,
          subresource: text,
        },
      },
    },
  },
}

interface DecodedMetadata {
  readonly metadata: Json
  /** Paths of dropped fields, below the metadata: `labls`. */
  readonly unknown: readonly string[]
  /** The error of the decoder; then the metadata is unchanged. */
  readonly problem: string | undefined
}

export function decodeMetadata(metadata: Json): DecodedMetadata {
  const walk: Walk = { unknown: [], problem: undefined }
  const decoded = decode(metadata, objectMeta, '', walk)
  if (walk.problem !== undefined) return { metadata, unknown: [], problem: walk.problem }
  return { metadata: decoded ?? {}, unknown: walk.unknown, problem: undefined }
}

interface Walk {
  readonly unknown: string[]
  problem: string | undefined
}

/** Undefined for null, which a typed decoder treats as "not set". */
function decode(value: Json, type: GoType, path: string, walk: Walk): Json | undefined {
  if (value === null) return undefined
  if (type.accepts === 'any') return value
  const kind = isJsonArray(value) ? 'array' : typeof value === 'bigint' ? 'number' : (typeof value as string)
  if (kind !== type.accepts) {
    const place =
      path === '' ? `Go value of type ${type.name}` : `Go struct field ObjectMeta${fieldsOf(path)} of type ${type.name}`
    walk.problem ??= `json: cannot unmarshal ${kind === 'boolean' ? 'bool' : kind} into ${place}`
    return value
  }
  if (type === integer && !Number.isInteger(Number(value))) {
    walk.problem ??= `json: cannot unmarshal number ${formatGoValue(value)} into Go struct field ObjectMeta${fieldsOf(path)} of type ${type.name}`
  }
  if (isJsonArray(value)) return decodeItems(value, type.items!, path, walk)
  return isJsonObject(value) ? decodeMembers(value, type, path, walk) : value
}

/** The decoder names fields without indexes and map keys. */
function fieldsOf(path: string): string {
  return `.${path.replaceAll(/\[\d+\]/g, '')}`
}

function decodeItems(value: readonly Json[], type: GoType, path: string, walk: Walk): Json {
  const items = value.map((item, index) => decode(item, type, `${path}[${index}]`, walk) ?? zeroOf(type))
  return items.every((item, index) => item === value[index]) ? value : items
}

function zeroOf(type: GoType): Json {
  return type.accepts === 'string' ? '' : {}
}

function decodeMembers(value: JsonObject, type: GoType, path: string, walk: Walk): Json {
  let changed: Map<string, Json | undefined> | undefined
  for (const name in value) {
    const member = value[name]
    if (member === undefined) continue
    const own = type.items ?? (type.fields && Object.hasOwn(type.fields, name) ? type.fields[name] : undefined)
    const at = type.items ? path : path === '' ? name : `${path}.${name}`
    if (!own) {
      walk.unknown.push(at)
      changed = (changed ?? new Map<string, Json | undefined>()).set(name, undefined)
      continue
    }
    const decoded = decode(member, own, at, walk) ?? (type.items ? zeroOf(own) : undefined)
    if (decoded !== member) changed = (changed ?? new Map<string, Json | undefined>()).set(name, decoded)
  }
  return changed ? withMembers(value, changed) : value
}

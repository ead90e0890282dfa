/**
 * What a schema lets through. An API server keeps no field that it does not know: those of built-in kinds are lost when
 * they are decoded, those of custom ones are pruned by their structural schema, unless that says otherwise. The same
 * walk fills in the defaults that a structural schema gives.
 */
import { builtinDefinitions } from '../kube/builtin.ts'
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { isJsonArray, ownMember } from '../kube/json-member.ts'
import { type Definitions, resolveSchema, type Schema } from '../kube/schema.ts'

export interface SchemaOfKind {
  readonly schema: Schema | undefined
  readonly definitions: Definitions
  /** From a CRD: unknown means unwanted even where a schema says no more than "object". */
  readonly custom: boolean
}

export interface Pruned {
  readonly object: JsonObject
  /** Paths of what was dropped: `spec.replicsa`, `spec.ports[0].nam`. */
  readonly unknown: readonly string[]
}

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'

export function prune(object: JsonObject, { schema, definitions, custom }: SchemaOfKind): Pruned {
  const unknown: string[] = []
  if (!schema) return { object, unknown }
  const walk: Walk = { definitions, custom, unknown }
  const pruned = custom ? pruneCustom(object, schema, '', walk) : pruneValue(object, schema, '', walk)
  return { object: pruned as JsonObject, unknown }
}

interface Walk {
  readonly definitions: Definitions
  readonly custom: boolean
  readonly unknown: string[]
}

/** Every object has these three, and a structural schema need not mention them. */
function pruneCustom(object: JsonObject, schema: Schema, path: string, walk: Walk): Json {
  const { apiVersion, kind, metadata, ...rest } = object
  const typed: Walk = { definitions: builtinDefinitions(), custom: false, unknown: walk.unknown }
  const pruned = pruneValue(rest, schema, path, walk) as JsonObject
  return {
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    ...(metadata !== undefined && {
      metadata: pruneValue(metadata, builtinDefinitions()[objectMeta], join(path, 'metadata'), typed),
    }),
    ...pruned,
  }
}

function pruneValue(value: Json, declared: Schema | undefined, path: string, walk: Walk): Json {
  if (typeof value !== 'object' || value === null) return value
  const schema = resolveSchema(declared, walk.definitions)
  if (isJsonArray(value)) {
    return schema.items ? value.map((item, index) => pruneItem(item, schema.items!, `${path}[${index}]`, walk)) : value
  }
  const { properties, additionalProperties } = schema
  const isFree = schema['x-kubernetes-preserve-unknown-fields'] === true || additionalProperties === true
  if (!properties && !additionalProperties && (isFree || !walk.custom)) return value

  const kept: [string, Json][] = []
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    const at = join(path, name)
    const known = properties && Object.hasOwn(properties, name) ? properties[name] : undefined
    const own = known ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
    if (!own) {
      if (isFree) kept.push([name, member])
      else walk.unknown.push(at)
    }
    // To a typed decoder null is "not set".
    else if (member !== null || walk.custom) kept.push([name, pruneItem(member, own, at, walk)])
  }
  return Object.fromEntries(kept)
}

function pruneItem(value: Json, schema: Schema, path: string, walk: Walk): Json {
  return schema['x-kubernetes-embedded-resource'] && isJsonObject(value)
    ? pruneCustom(value, schema, path, walk)
    : pruneValue(value, schema, path, walk)
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

/** A custom object with the defaults of its schema where nothing is given. */
export function withDefaults(value: Json, schema: Schema | undefined): Json {
  if (!schema || typeof value !== 'object' || value === null) return value
  if (isJsonArray(value)) return schema.items ? value.map((item) => withDefaults(item, schema.items)) : value
  const members = new Map(Object.entries(value))
  for (const [name, own] of Object.entries(schema.properties ?? {})) {
    let member = ownMember(value, name)
    const isUnset = member === undefined || (member === null && !own.nullable)
    if (isUnset && own.default !== undefined) member = own.default
    if (member !== undefined) members.set(name, withDefaults(member, own))
  }
  if (typeof schema.additionalProperties === 'object') {
    for (const [name, member] of members) {
      if (member === undefined || (schema.properties && Object.hasOwn(schema.properties, name))) continue
      members.set(name, withDefaults(member, schema.additionalProperties))
    }
  }
  return Object.fromEntries(members)
}

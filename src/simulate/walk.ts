/**
 * A walk over the schema of a kind: each field of a CR's spec is set or changed, and then put back. Two things must hold:
 * a change leads where a CR leads that was so from the start, and a change that is taken back leaves no trace. That is how
 * a field shows that is removed from the CR and stays in a child.
 */
import { equalJson, isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { ownMember } from '../kube/json-member.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { JSONSchemaProps } from '../kube/types/apiextensions/v1.ts'
import type { Kind } from '../operator/kind.ts'
import { changeStep, createStep, type Placed, type Scene } from './scene.ts'

/** A field, and another value for it. */
export interface Turn {
  readonly path: readonly string[]
  /** What the sample has; undefined where it leaves it out. */
  readonly before: Json | undefined
  readonly after: Json
}

/** Every field of the spec that a value can be thought of for. */
export function turnsOf(kind: Kind, { spec }: UntypedObject): readonly Turn[] {
  const version = kind.crd().spec.versions.find(({ name }) => name === kind.version)
  const schema = version?.schema?.openAPIV3Schema?.properties?.['spec']
  return schema ? [...turnsIn(schema, isJsonObject(spec) ? spec : {}, ['spec'])] : []
}

function* turnsIn(schema: JSONSchemaProps, value: Json | undefined, path: readonly string[]): Generator<Turn> {
  const properties = schema.properties
  if (properties && Object.keys(properties).length > 0) {
    for (const name of Object.keys(properties)) {
      const member = isJsonObject(value) ? ownMember(value, name) : undefined
      yield* turnsIn(properties[name]!, member, [...path, name])
    }
    // An object that is not there would be half a value: its members are set one by one where it is.
    return
  }
  const now = value ?? schema.default
  const after = otherValue(schema, now)
  if (after !== undefined && !equalJson(after, now ?? null)) yield { path, before: value, after }
}

/** A value of the same type that is another one, as far as the schema tells. */
function otherValue(schema: JSONSchemaProps, now: Json | undefined): Json | undefined {
  if (schema.enum) return schema.enum.find((value) => now === undefined || !equalJson(value, now))
  const { minimum = -Infinity, maximum = Infinity } = schema
  switch (schema.type) {
    case 'integer':
    case 'number': {
      const base = typeof now === 'number' ? now : Number.isFinite(minimum) ? minimum - 1 : 0
      return [base + 1, base - 1].find((value) => value >= minimum && value <= maximum)
    }
    case 'boolean':
      return now !== true
    case 'string':
      return schema.pattern === undefined && schema.format === undefined ? padded(schema, now) : undefined
    case 'array': {
      const items = schema.items as JSONSchemaProps | undefined
      const item = items && otherValue(items, undefined)
      return item === undefined ? undefined : Array.isArray(now) ? [...(now as readonly Json[]), item] : [item]
    }
    case 'object': {
      const each = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
      const member = each && otherValue(each, undefined)
      return member === undefined ? undefined : { ...(isJsonObject(now) ? now : {}), walked: member }
    }
    default:
      return schema['x-kubernetes-int-or-string'] === true ? (now === 7 ? 8 : 7) : undefined
  }
}

function padded({ minLength = 0, maxLength = Infinity }: JSONSchemaProps, now: Json | undefined): string | undefined {
  const text = (now === 'walked' ? 'walked-again' : 'walked').padEnd(minLength, 'x')
  return text.length <= maxLength ? text : undefined
}

export function walkScenes(cr: Placed, all: readonly Placed[], turns: readonly Turn[]): readonly Scene[] {
  return turns.flatMap(({ path, before, after }) => {
    const name = path.join('.')
    const changed = withValue(cr.object as unknown as JsonObject, path, after) as unknown as UntypedObject
    const placed = all.map((one) => (one === cr ? { ...cr, object: changed } : one))
    return [
      { name: `fresh ${name}`, steps: [createStep(placed)] },
      { name: `set ${name}`, after: 'create', steps: [changeStep(cr, patchOf(path, after))], like: `fresh ${name}` },
      {
        name: `back ${name}`,
        after: `set ${name}`,
        steps: [changeStep(cr, patchOf(path, before ?? null))],
        like: 'create',
      },
    ]
  })
}

/** As a merge patch. */
export function patchOf(path: readonly string[], value: Json): JsonObject {
  const [name = '', ...below] = path
  return { [name]: below.length === 0 ? value : patchOf(below, value) }
}

function withValue(object: JsonObject, [name = '', ...below]: readonly string[], value: Json): JsonObject {
  const member = ownMember(object, name)
  return { ...object, [name]: below.length === 0 ? value : withValue(isJsonObject(member) ? member : {}, below, value) }
}

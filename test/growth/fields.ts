/** Every field of every built-in kind once, and objects in which one field has a given value. */
import { builtinDefinitions, type BuiltinResource, builtinResources } from '../../src/kube/builtin.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/kube/json.ts'
import { formatApiVersion } from '../../src/kube/kind.ts'
import { resolveSchema, type Schema } from '../../src/kube/schema.ts'
import { clusterKinds } from '../real/differential/kinds-cluster.ts'
import { coreKinds } from '../real/differential/kinds-core.ts'
import { workloadKinds } from '../real/differential/kinds-workload.ts'

/** A property, an element of a list, or a value of a map. */
type Step = string | typeof element | typeof value
const element: unique symbol = Symbol('element')
const value: unique symbol = Symbol('value')

export interface Field {
  readonly resource: BuiltinResource
  /** `Pod spec.containers[].env` */
  readonly name: string
  readonly type: 'text' | 'list' | 'map'
  /** The items of a list, or the values of a map. */
  readonly inner: Schema | undefined
  readonly steps: readonly Step[]
}

const deepest = 14

/** A field that several kinds share (all of a pod's) is used in the first of them. */
export function fields(): readonly Field[] {
  const seen = new Set<string>()
  return builtinResources()
    .filter(({ version }) => /^v\d+$/.test(version))
    .toSorted((a, b) => Number(b.kind === 'Pod') - Number(a.kind === 'Pod'))
    .flatMap((resource) => Array.from(below({ $ref: `#/${resource.definition}` }, resource, [], seen)))
}

function* below(
  declared: Schema,
  resource: BuiltinResource,
  steps: readonly Step[],
  seen: Set<string>,
): Generator<Field> {
  const definitions = builtinDefinitions()
  const { $ref: reference = '', allOf } = declared
  const target = reference || (allOf?.[0]?.$ref ?? '')
  const schema = resolveSchema(declared, definitions)
  const field = (type: Field['type'], inner?: Schema): Field => ({
    resource,
    name: nameOf(resource, steps),
    type,
    inner,
    steps,
  })
  if (steps.length > deepest) return
  if (schema.type === 'string') yield field('text')
  if (schema.type === 'array') {
    yield field('list', schema.items)
    yield* below(schema.items ?? {}, resource, [...steps, element], seen)
  }
  const { additionalProperties: values } = schema
  if (typeof values === 'object') {
    yield field('map', values)
    yield* below(values, resource, [...steps, value], seen)
  }
  for (const [property, child] of Object.entries(schema.properties ?? {})) {
    const key = `${target || nameOf(resource, steps)} ${property}`
    if (seen.has(key)) continue
    seen.add(key)
    yield* below(child, resource, [...steps, property], seen)
  }
}

function nameOf({ kind }: BuiltinResource, steps: readonly Step[]): string {
  const parts = steps.map((step) => (step === element ? '[]' : step === value ? '{}' : `.${step}`))
  return `${kind} ${parts.join('').slice(1)}`
}

const templates: ReadonlyMap<string, JsonObject> = new Map(
  [...coreKinds, ...workloadKinds, ...clusterKinds].map((one) => [`${one.apiVersion}/${one.kind}`, one.template]),
)

/** A valid object of the kind where there is a template, with this value in the field. */
export function objectWith({ resource, steps }: Field, held: Json): JsonObject {
  const apiVersion = formatApiVersion(resource)
  const start = {
    apiVersion,
    kind: resource.kind,
    metadata: { name: 'a' },
    ...templates.get(`${apiVersion}/${resource.kind}`),
  }
  return place(start, { $ref: `#/${resource.definition}` }, steps, held) as JsonObject
}

function place(live: Json | undefined, declared: Schema, [step, ...rest]: readonly Step[], held: Json): Json {
  if (step === undefined) return held
  const schema = resolveSchema(declared, builtinDefinitions())
  if (step === element) {
    const [first, ...others] = Array.isArray(live) && live.length > 0 ? (live as Json[]) : [sampleOf(schema.items)]
    return [place(first, schema.items ?? {}, rest, held), ...others]
  }
  const members = isJsonObject(live) ? live : (sampleOf(declared) as JsonObject)
  const key = step === value ? 'a' : step
  const child = step === value ? (schema.additionalProperties as Schema) : (schema.properties?.[key] ?? {})
  return { ...members, [key]: place(members[key], child, rest, held) }
}

/** A small value with the required members; different for each index. */
export function sampleOf(declared: Schema | undefined, index = 0, depth = 0): Json {
  const schema = resolveSchema(declared, builtinDefinitions())
  if (schema['x-kubernetes-int-or-string'] || schema.format === 'int-or-string') return index + 1
  switch (schema.type) {
    case 'boolean':
      return true
    case 'integer':
    case 'number':
      return index + 1
    case 'string':
      return (declared?.$ref ?? declared?.allOf?.[0]?.$ref)?.endsWith('Quantity')
        ? '1'
        : schema.format === 'date-time'
          ? '2024-01-01T00:00:00Z'
          : schema.format === 'byte'
            ? 'YQ=='
            : `a${index}`
    case 'array':
      return depth > 3 ? [] : [sampleOf(schema.items, index, depth + 1)]
    default: {
      const names = new Set([
        ...(schema.required ?? []),
        'name',
        'key',
        'port',
        'topologyKey',
        'ip',
        'uid',
        'mountPath',
        'devicePath',
      ])
      const members = Object.entries(schema.properties ?? {}).filter(([name]) => names.has(name))
      return Object.fromEntries(
        members.map(([name, child]) => [name, depth > 5 ? null : sampleOf(child, index, depth + 1)]),
      )
    }
  }
}

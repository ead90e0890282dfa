/**
 * `definitions.json`: the schema of every built-in type, in the vocabulary of `src/kube/schema.ts`, without
 * descriptions. One definition a line, so that the diff between two minors of Kubernetes is readable.
 */
import type { Definitions, Schema } from '../../src/kube/schema.ts'
import type { OpenApiSchema, Sources } from './sources.ts'

/** Members that are copied unchanged, in the order in which they are written. */
const marks = [
  'type',
  'format',
  'required',
  'default',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-patch-strategy',
  'x-kubernetes-patch-merge-key',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-int-or-string',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-unions',
] as const

/** Types that accept more than v2 can express: it declares strings, although numbers are accepted. */
const corrections: Readonly<Record<string, Schema>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { format: 'quantity' },
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { format: 'int-or-string', 'x-kubernetes-int-or-string': true },
}

export function definitionsOf({ v2, v3 }: Sources): Definitions {
  const withDefaults = new Map(v3.flatMap(({ components }) => Object.entries(components?.schemas ?? {})))
  return Object.fromEntries(
    sortedEntries(v2.definitions).map(([name, schema]) => [
      name,
      corrections[name] ?? compact(schema, withDefaults.get(name)),
    ]),
  )
}

export function printDefinitions(definitions: Definitions): string {
  const lines = Object.entries(definitions).map(([name, schema]) => `${JSON.stringify(name)}:${JSON.stringify(schema)}`)
  return `{\n${lines.join(',\n')}\n}\n`
}

/** The v2 schema with the defaults of the corresponding v3 schema. */
function compact(schema: OpenApiSchema, twin: OpenApiSchema | undefined): Schema {
  const { $ref, properties, items, additionalProperties } = schema
  const said: Record<string, unknown> = {}
  if ($ref !== undefined) said['$ref'] = $ref.slice($ref.lastIndexOf('/') + 1)
  for (const mark of marks) {
    // `default: {}` marks a Go struct embedded by value: it always exists, which matters for field ownership.
    const value = mark === 'default' ? twin?.default : schema[mark]
    if (value !== undefined) said[mark] = value
  }
  if (properties) {
    said['properties'] = Object.fromEntries(
      sortedEntries(properties).map(([name, member]) => [name, compact(member, twin?.properties?.[name])]),
    )
  }
  // An existing element has a value: defaults of elements have no effect.
  if (items) said['items'] = compact(items, undefined)
  if (typeof additionalProperties === 'object') said['additionalProperties'] = compact(additionalProperties, undefined)
  else if (additionalProperties !== undefined) said['additionalProperties'] = additionalProperties
  return said
}

function sortedEntries<T>(members: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1))
}

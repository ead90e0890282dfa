/** An object of a kind that a server takes: defaults where there are some, else the least that its schema allows. */
import type { Json, JsonObject } from '../kube/json.ts'
import { formatApiVersion } from '../kube/kind.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { JSONSchemaProps } from '../kube/types/apiextensions/v1.ts'
import type { Kind } from './kind.ts'

export function sampleOf(kind: Kind, name = 'sample'): UntypedObject {
  const { schema } = kind.crd().spec.versions.find((version) => version.name === kind.version) ?? {}
  const { spec } = schema?.openAPIV3Schema?.properties ?? {}
  return {
    apiVersion: formatApiVersion(kind),
    kind: kind.kind,
    metadata: { name, ...(kind.namespaced && { namespace: 'default' }) },
    spec: spec ? least(spec) : {},
  }
}

function least(schema: JSONSchemaProps): Json {
  if (schema.default !== undefined && Object.keys(schema.properties ?? {}).length === 0) return schema.default
  if (schema.enum?.length) return schema.enum[0] as Json
  if (schema['x-kubernetes-int-or-string']) return 1
  switch (schema.type) {
    case 'object':
      return leastObject(schema)
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => least((schema.items ?? {}) as JSONSchemaProps))
    case 'string':
      return leastText(schema)
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 0, Math.min(0, schema.maximum ?? 0))
    case 'boolean':
      return false
    default:
      return {}
  }
}

/** Required members, and those that have a default: a reader sees what can be set. */
function leastObject({ properties = {}, required = [] }: JSONSchemaProps): JsonObject {
  const shown = Object.entries(properties).filter(
    ([name, field]) => required.includes(name) || field.default !== undefined,
  )
  return Object.fromEntries(shown.map(([name, field]) => [name, least(field)]))
}

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  duration: '1m',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com',
  uuid: '00000000-0000-0000-0000-000000000000',
}

/** A pattern cannot be turned round: whoever has one gives a sample of his own. */
function leastText({ minLength = 0, format = '' }: JSONSchemaProps): string {
  return formats[format] ?? 'x'.repeat(Math.max(minLength, 1))
}

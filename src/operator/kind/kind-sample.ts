/**
 * The smallest valid CR of a kind, generated from its schema. Fields with a default are left out, and required fields
 * get the simplest valid value. A schema with patterns or CEL rules may need a sample by hand.
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import type { Kind } from './kind.ts'

/** @throws NoSample when the schema needs values that cannot be generated */
export function sampleOf(kind: Kind): UntypedObject {
  const { versions } = kind.crd().spec
  const schema = versions.find(({ name }) => name === kind.version)?.schema?.openAPIV3Schema
  const spec = schema?.properties?.['spec']
  const object = {
    apiVersion: formatApiVersion(kind),
    kind: kind.kind,
    metadata: { name: 'sample', ...(kind.namespaced && { namespace: 'default' }) },
    spec: spec ? simplest(spec) : {},
  }
  const [problem] = kind.validate(kind.withDefaults(object as never))
  if (problem) {
    throw new MusterError(
      operatorErrors.NoSample,
      `${kind.kind}: no CR can be made from its schema: ${problem.field} ${problem.message}.`,
    )
  }
  return object
}

function simplest(schema: JSONSchemaProps): Json {
  if (schema.default !== undefined) return schema.default
  if (schema.enum?.[0] !== undefined) return schema.enum[0]
  switch (schema.type) {
    case 'integer':
    case 'number':
      return simplestNumber(schema)
    case 'boolean':
      return false
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => simplest((schema.items as JSONSchemaProps) ?? {}))
    case 'object':
      return simplestObject(schema)
    default:
      return schema['x-kubernetes-int-or-string'] ? 1 : simplestText(schema)
  }
}

function simplestNumber({ minimum, maximum = Infinity, exclusiveMinimum, multipleOf = 1 }: JSONSchemaProps): number {
  const least = minimum === undefined ? Math.min(1, maximum) : exclusiveMinimum ? minimum + multipleOf : minimum
  return Math.ceil(least / multipleOf) * multipleOf
}

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  duration: '1m',
  email: 'somebody@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  cidr: '192.0.2.0/24',
  uri: 'https://example.com',
  uuid: '6f2b9a53-7f7d-4a3a-9d38-0d0f0b6a2b11',
  byte: 'c2FtcGxl',
}

function simplestText({ format = '', minLength = 0, maxLength = Infinity }: JSONSchemaProps): string {
  const known = Object.hasOwn(formats, format) ? formats[format] : undefined
  return known ?? 'sample'.padEnd(minLength, 'e').slice(0, Math.min(maxLength, Math.max(6, minLength)))
}

function simplestObject({ properties = {}, required = [] }: JSONSchemaProps): JsonObject {
  const wanted = Object.entries(properties).filter(
    ([name, property]) => required.includes(name) && property.default === undefined,
  )
  return Object.fromEntries(wanted.map(([name, property]) => [name, simplest(property)]))
}

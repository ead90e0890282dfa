/** The schema of a configuration for editors: plain JSON Schema, as strict as the manager. */
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { configurationSchema, type Declared } from './schema.ts'

export function configurationJsonSchema(operators: readonly Declared[] = []): JsonObject {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of Muster',
    ...plain(configurationSchema(operators).schema),
  }
}

function plain(schema: JSONSchemaProps): JsonObject {
  const { properties, additionalProperties, items, ...rest } = schema
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true
  // Kubernetes' extensions and number formats mean nothing to editors.
  const own = Object.entries(rest).filter(([name]) => !name.startsWith('x-kubernetes-'))
  const entries = Object.entries(properties ?? {}).map(([name, below]) => [name, plain(below)] as const)
  return {
    ...(Object.fromEntries(own) as JsonObject),
    ...(properties && { properties: Object.fromEntries(entries) }),
    ...(isJsonObject(items) && { items: plain(items) }),
    ...(schema.type === 'object' &&
      !isOpen && { additionalProperties: isJsonObject(additionalProperties) ? plain(additionalProperties) : false }),
  }
}

/**
 * `crds`: OpenAPI definitions of custom kinds, whose extensions say which fields are names of other objects, labels, annotations
 * or names to prefix. (Files of CustomResourceDefinitions have no such definitions, and add nothing.)
 */
import { isJsonObject, type Json, type JsonObject } from '../../../kube/json.ts'
import { readYamlDocuments } from '../../../kube/yaml/yaml.ts'
import { failingAt } from '../failure.ts'
import type { KustomizationFolder } from '../files.ts'
import { emptyConfig, mergeConfigs, type TransformerConfig } from './transformer-config.ts'

/** Definitions may refer to each other in a circle. */
const mostDepth = 50

export function readCrdFields(folder: KustomizationFolder, name: string, place: string): TransformerConfig {
  const file = folder.pathOf(name)
  const text = folder.text(name, place)
  const [document] = failingAt('KustomizationInvalid', file, () =>
    readYamlDocuments(text, { source: file, keepsEnd: true }),
  )
  const definitions = isJsonObject(document) ? document : {}
  return Object.keys(definitions).reduce((config, type) => {
    const properties = propertiesOf(definitions, type)
    if (!['kind', 'apiVersion', 'metadata'].every((field) => Object.hasOwn(properties, field))) return config
    const kind = type.slice(type.lastIndexOf('.') + 1)
    return fieldsOf(definitions, type, kind, []).reduce((merged, added) => mergeConfigs(merged, added, file), config)
  }, emptyConfig)
}

function propertiesOf(definitions: JsonObject, type: string): JsonObject {
  const definition = Object.hasOwn(definitions, type) ? definitions[type] : undefined
  const schema = isJsonObject(definition) ? (definition['Schema'] ?? definition['schema']) : undefined
  const properties = isJsonObject(schema) ? schema['properties'] : undefined
  return isJsonObject(properties) ? properties : {}
}

function fieldsOf(
  definitions: JsonObject,
  type: string,
  kind: string,
  path: readonly string[],
): readonly TransformerConfig[] {
  if (path.length > mostDepth) return []
  return Object.entries(propertiesOf(definitions, type)).flatMap(([name, property]) => {
    if (!isJsonObject(property)) return []
    const here = path.concat(name)
    const { $ref } = property
    const nested = typeof $ref === 'string' ? fieldsOf(definitions, $ref, kind, here) : []
    return marksOf(property, kind, here).concat(nested)
  })
}

function marksOf(property: JsonObject, kind: string, path: readonly string[]): readonly TransformerConfig[] {
  const text = (name: string): string | undefined => asText(property[`x-kubernetes-${name}`])
  const field = [{ kind, path: path.join('/') }]
  const marks: TransformerConfig[] = []
  if (text('annotation') !== undefined) marks.push({ ...emptyConfig, commonAnnotations: field })
  if (text('label-selector') !== undefined) marks.push({ ...emptyConfig, commonLabels: field })
  if (text('identity') !== undefined) marks.push({ ...emptyConfig, namePrefix: field })
  const [version, target] = [text('object-ref-api-version'), text('object-ref-kind')]
  if (version !== undefined && target !== undefined) {
    const fieldSpecs = [{ kind, path: [...path, text('object-ref-name-key') ?? 'name'].join('/') }]
    marks.push({ ...emptyConfig, nameReference: [{ kind: target, version, fieldSpecs }] })
  }
  return marks
}

function asText(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

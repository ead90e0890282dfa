/**
 * Writes the tables of docs/configuration.md and docs/workload-configuration.md from the schemas of the settings: `npm
 * run generate`. Tests compare the files with the schemas.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { changesBetween } from '../src/manager/config/changes.ts'
import { readConfiguration } from '../src/manager/config/configuration.ts'
import { operatorField } from '../src/manager/config/operator-settings.ts'
import { settingsSchema } from '../src/manager/config/settings.ts'
import { scalar } from '../src/manager/config/yaml-scalar.ts'
import { isJsonObject, type Json, type JsonObject } from '../src/kube/json.ts'
import { workloadsConfig } from '../src/workloads/configuration/workloads-config.ts'
import type { JSONSchemaProps } from '../src/kube/types/apiextensions/v1.ts'

export const configurationDocUrl: URL = new URL('../docs/configuration.md', import.meta.url)
export const workloadConfigurationDocUrl: URL = new URL('../docs/workload-configuration.md', import.meta.url)

const marks = ['<!-- settings: begin -->', '<!-- settings: end -->'] as const

/** The text, with the tables of the current schema. */
export function configurationDoc(text: string): string {
  return withTables(text, tables())
}

export function workloadConfigurationDoc(text: string): string {
  const sections = Object.entries(workloadsConfig.fields).map(([name, { schema }]) =>
    [`### \`${name}\``, table(schema, ['operators', 'name', 'config', name])].join('\n\n'),
  )
  return withTables(text, ['## All settings', ...sections].join('\n\n'))
}

function withTables(text: string, content: string): string {
  const [begin, end] = marks
  const [before = '', rest = ''] = text.split(begin)
  const [, after = ''] = rest.split(end)
  return `${before}${begin}\n\n${content}\n\n${end}${after}`
}

function tables(): string {
  const clusters = settingsSchema.properties!['clusters']!.additionalProperties as JSONSchemaProps
  const hosted = settingsSchema.properties!['placement']!.properties!['hosted']!.additionalProperties as JSONSchemaProps
  return [
    '### The manager',
    table(settingsSchema, []),
    '### A cluster: `clusters.NAME`',
    table(clusters, ['clusters', 'name']),
    '### A hosted cluster: `placement.hosted.NAME`',
    table(hosted, ['placement', 'hosted', 'name']),
    '### An operator: `operators.NAME`',
    table(operatorField.schema, ['operators', 'name']),
  ].join('\n\n')
}

function table(schema: JSONSchemaProps, above: readonly string[]): string {
  const rows = leaves(schema, [])
    .filter(([path]) => !(above.length === 0 && path.join('.') === 'operators'))
    .map(([path, { default: value, description = '', enum: words }]) => {
      const usual = value === undefined ? '' : `\`${scalar(value)}\``
      const choice = words ? ` One of ${words.map((word) => `\`${scalar(word)}\``).join(', ')}.` : ''
      return `| \`${path.join('.')}\` | ${usual} | ${effectOf([...above, ...path])} | ${description}${choice} |`
    })
  return ['| setting | default | takes effect | what it is |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

function leaves(schema: JSONSchemaProps, above: readonly string[]): readonly (readonly [string[], JSONSchemaProps])[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, below]) =>
    below.properties ? leaves(below, [...above, name]) : [[[...above, name], below] as const],
  )
}

const effects = { live: 'live', operator: 'operator', restart: '**restart**' } as const

/** By the effect of a change on the manager. */
function effectOf(path: readonly string[]): string {
  const { settings } = readConfiguration([{ source: 'docs', value: { operators: { name: {} } } }])
  const at = (value: Json): { readonly settings: typeof settings } => ({
    settings: withValue(settings as unknown as JsonObject, path, value) as unknown as typeof settings,
  })
  const [change] = changesBetween(at('before'), at('after'))
  return effects[change!.effect]
}

function withValue(value: JsonObject, [name = '', ...rest]: readonly string[], leaf: Json): JsonObject {
  const below = value[name]
  return { ...value, [name]: rest.length === 0 ? leaf : withValue(isJsonObject(below) ? below : {}, rest, leaf) }
}

if (import.meta.main) {
  writeFileSync(configurationDocUrl, configurationDoc(readFileSync(configurationDocUrl, 'utf8')))
  writeFileSync(
    workloadConfigurationDocUrl,
    workloadConfigurationDoc(readFileSync(workloadConfigurationDocUrl, 'utf8')),
  )
}

/**
 * Single settings from the environment (`MUSTER__leaderElection__leaderElect=true`) and from flags
 * (`--set leaderElection.leaderElect=true`). They name a path, and their text is read as the schema of that path wants it.
 */
import { MusterError } from '../../kube/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { nearest } from '../../kube/nearest.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import type { Layer } from './configuration.ts'
import { settingsSchema } from './settings.ts'

const prefix = 'MUSTER__'

/** @throws InvalidConfiguration */
export function environmentLayer(environment: Readonly<Record<string, string | undefined>>): Layer {
  let value: JsonObject = {}
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith(prefix) || text === undefined) continue
    value = put(value, name.slice(prefix.length).split('__'), text, name)
  }
  return { source: 'environment', value }
}

/** Each is `path=value`. @throws InvalidConfiguration */
export function flagLayer(settings: readonly string[]): Layer {
  let value: JsonObject = {}
  for (const setting of settings) {
    const at = setting.indexOf('=')
    if (at <= 0) throw new MusterError('InvalidConfiguration', `--set ${setting}: write path=value.`)
    value = put(value, setting.slice(0, at).split('.'), setting.slice(at + 1), `--set ${setting.slice(0, at)}`)
  }
  return { source: 'flags', value }
}

function put(value: JsonObject, path: readonly string[], text: string, place: string): JsonObject {
  return withValue(value, path, read(text, schemaAt(path, place)))
}

function withValue(value: JsonObject, [name = '', ...rest]: readonly string[], leaf: Json): JsonObject {
  const below = Object.hasOwn(value, name) ? value[name] : undefined
  const next = rest.length === 0 ? leaf : withValue(isJsonObject(below) ? below : {}, rest, leaf)
  return Object.fromEntries([...Object.entries(value).filter(([other]) => other !== name), [name, next]])
}

/** The schema of a path; undefined where anything may stand. */
function schemaAt(path: readonly string[], place: string): JSONSchemaProps | undefined {
  let schema: JSONSchemaProps = settingsSchema
  for (const step of path) {
    if (schema['x-kubernetes-preserve-unknown-fields']) return undefined
    schema = memberOf(schema, step) ?? fault(step, schema, place)
  }
  return schema
}

function memberOf(
  { properties = {}, additionalProperties }: JSONSchemaProps,
  name: string,
): JSONSchemaProps | undefined {
  if (Object.hasOwn(properties, name)) return properties[name]
  return isJsonObject(additionalProperties) ? additionalProperties : undefined
}

function fault(name: string, { properties = {} }: JSONSchemaProps, place: string): never {
  const known = Object.keys(properties)
  const near = nearest(name, known)
  const guess = near === undefined ? `there are ${known.join(', ')}` : `did you mean "${near}"?`
  throw new MusterError('InvalidConfiguration', `${place}: there is no key "${name}" there; ${guess}`)
}

/** Text stays text where text is wanted; elsewhere it is read as JSON if it is some. */
function read(text: string, schema: JSONSchemaProps | undefined): Json {
  if (schema?.type === 'string') return text
  if (schema?.type === 'array' && !text.trimStart().startsWith('[')) return text.split(',').map((item) => item.trim())
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

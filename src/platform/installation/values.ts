/** The values of an Installation: those of `valuesFrom` in their order, then its own. */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { fail, tryLater } from '../../operator/failure.ts'
import type { View } from '../../operator/view/view.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import type { InstallationObject, ValuesReference } from './installation.ts'

/** @throws ValuesMissing until the object exists; InvalidValues */
export function installationValues({ spec, metadata }: InstallationObject, view: View): Json {
  const { namespace } = metadata
  const parts = spec.valuesFrom.flatMap((reference) => {
    const text = textOf(reference, namespace, view)
    return text === undefined ? [] : [valueOf(reference, text)]
  })
  const own = spec.values ?? {}
  if (!isJsonObject(own)) return fail('InvalidValues', 'spec.values is no object.')
  return [...parts, own].reduce<JsonObject>(mergedValues, {})
}

function textOf(
  { kind, name, key, optional }: ValuesReference,
  namespace: string | undefined,
  view: View,
): string | undefined {
  const place = `${kind} ${namespace}/${name}`
  const found = kind === 'Secret' ? view.get(Secret, { name, namespace }) : view.get(ConfigMap, { name, namespace })
  if (!found) return optional ? undefined : tryLater('ValuesMissing', `${place} of valuesFrom does not exist.`)
  const data = found.data ?? {}
  if (!Object.hasOwn(data, key)) {
    return optional ? undefined : tryLater('ValuesMissing', `${place} of valuesFrom has no key ${key}.`)
  }
  return kind === 'Secret' ? Buffer.from(data[key]!, 'base64').toString('utf8') : data[key]!
}

/** With a path, the text is the value; without one it is YAML. */
function valueOf({ kind, name, key, path }: ValuesReference, text: string): JsonObject {
  if (path !== undefined)
    return path.split('.').reduceRight<Json>((value, step) => ({ [step]: value }), text) as JsonObject
  let value: Json
  try {
    value = readYaml(text, { source: `${kind} ${name}, key ${key}` })
  } catch (error) {
    // The parser quotes the text, which may be secret.
    return fail(
      'InvalidValues',
      `${kind} ${name}, key ${key}: it is not valid YAML.`,
      kind === 'Secret' ? undefined : error,
    )
  }
  if (value === null) return {}
  return isJsonObject(value) ? value : fail('InvalidValues', `${kind} ${name}, key ${key}: it holds no object.`)
}

/** Objects merge; everything else is replaced. */
export function mergedValues(under: JsonObject, over: JsonObject): JsonObject {
  const merged: Record<string, Json> = {}
  for (const source of [under, over]) {
    for (const [name, value] of Object.entries(source)) {
      const before = Object.hasOwn(merged, name) ? merged[name] : undefined
      const both = isJsonObject(before) && isJsonObject(value) ? mergedValues(before, value) : value!
      Object.defineProperty(merged, name, { value: both, enumerable: true, writable: true, configurable: true })
    }
  }
  return merged
}

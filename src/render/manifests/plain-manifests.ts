/** Plain manifests: YAML or JSON of any number of objects. A list (`kind: List`) stands for its items. */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { renderErrors } from '../errors.ts'

export interface ManifestFile {
  /** For messages. */
  readonly name: string
  readonly text: string
}

interface ManifestObject {
  /** The file that it is from. */
  readonly path: string
  readonly object: JsonObject
}

/** Objects in the order of the files. @throws InvalidYaml, InvalidManifest */
export function readManifests(files: readonly ManifestFile[]): readonly ManifestObject[] {
  return files.flatMap(({ name, text }) =>
    readYamlDocuments(text, { source: name }).flatMap((document) =>
      objectsOf(document, name).map((object) => ({ path: name, object })),
    ),
  )
}

/** An object, or those of a list; lists may contain lists. */
export function objectsOf(document: Json, place: string): readonly JsonObject[] {
  if (!isJsonObject(document)) throw invalid(place, 'a document is no object')
  const { kind, apiVersion, items } = document
  if (typeof kind !== 'string' || kind === '' || typeof apiVersion !== 'string' || apiVersion === '') {
    throw invalid(place, 'an object lacks apiVersion or kind')
  }
  if (!kind.endsWith('List') || !Array.isArray(items)) return [document]
  return (items as readonly Json[]).flatMap((item) => objectsOf(item, place))
}

function invalid(place: string, problem: string): MusterError {
  return new MusterError(renderErrors.InvalidManifest, `${place}: ${problem}.`)
}

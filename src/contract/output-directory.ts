/**
 * The output directory: what an operator wants, as files that a person can read and a program can compare.
 *
 *     controller-results.yaml
 *     Configuration/Apply/namespaces/default/apps/deployments/4b1c-body-web.yaml      what is sent
 *                                                            /4b1c-metadata-web.yaml  where, and by whom
 *                                                            /4b1c-options-web.yaml   how, if there is anything to say
 *     Configuration/order.yaml                                                        in which order
 *     Unspecified/…                                                                   what was not declared
 *
 * Names, hashes and form are those of the upstream tools; `order.yaml` is ours, and they pass over it.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Json, JsonObject } from '../kube/json.ts'
import { type ControllerResult, writeResults } from './controller-results.ts'
import { writeGoYaml } from './go-yaml.ts'
import { actionOf, type ClusterFolder, hashOf, type RecordedMutation, unspecifiedFolder } from './mutation.ts'

/** A mutation, and the folders that it goes to. */
export interface Placed {
  readonly mutation: RecordedMutation
  /** More than one, where it is declared for several clusters; none: it is not declared. */
  readonly folders: readonly ClusterFolder[]
  /** What the body says. */
  readonly content: Json | undefined
}

/** What an operator left behind. */
export interface Output {
  readonly mutations: readonly Placed[]
  readonly results: readonly ControllerResult[]
}

export const resultsFile = 'controller-results.yaml'
export const orderFile = 'order.yaml'

/** By their paths in the directory. */
export function outputFiles({ mutations, results }: Output): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  const orders = new Map<string, Json[]>()
  for (const [index, { mutation, folders }] of mutations.entries()) {
    const options = Object.keys(mutation.options).length > 0 ? writeGoYaml(mutation.options) : ''
    const hash = hashOf(mutation.body, options)
    const place = placeOf(mutation)
    const name = fileName(mutation)
    for (const folder of folders.length > 0 ? folders : [unspecifiedFolder]) {
      const put = (part: string, text: string): void =>
        void files.set(path.posix.join(folder, place, `${hash}-${part}-${name}.yaml`), text)
      put('body', mutation.body)
      put('metadata', writeGoYaml(metadataOf(mutation)))
      if (options !== '') put('options', options)
      if (!orders.has(folder)) orders.set(folder, [])
      orders.get(folder)!.push({ file: path.posix.join(place, `${hash}-body-${name}.yaml`), sequence: index + 1 })
    }
  }
  for (const [folder, order] of orders) files.set(path.posix.join(folder, orderFile), writeGoYaml({ order }))
  files.set(resultsFile, writeResults(results))
  return files
}

/** What is there already stays: whoever asks for a run gives it a fresh directory. */
export function writeOutput(folder: string, output: Output): void {
  writeFiles(folder, outputFiles(output))
}

export function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  mkdirSync(folder, { recursive: true })
  const made = new Set<string>(['.'])
  const make = (place: string): void => {
    if (made.has(place)) return
    made.add(place)
    make(path.posix.dirname(place))
    // One level at a time: most of them were made for another file.
    if (!existsSync(path.join(folder, place))) mkdirSync(path.join(folder, place))
  }
  for (const [name, text] of files) {
    make(path.posix.dirname(name))
    writeFileSync(path.join(folder, name), text)
  }
}

/** `Apply/namespaces/default/apps/deployments` */
function placeOf(mutation: RecordedMutation): string {
  const { namespace, type } = mutation
  const scope = namespace === undefined ? 'cluster-scoped-resources' : `namespaces/${namespace}`
  return escaped(path.posix.join(actionOf(mutation), scope, type.group || 'core', type.resource))
}

/** File systems take 255 bytes; names of objects may have almost as many, and the metadata tells all of it. */
const longestName = 200

function fileName({ name, generateName }: RecordedMutation): string {
  return escaped(`${name}${generateName}`).slice(0, longestName)
}

/** A colon is not allowed in every archive. */
export function escaped(text: string): string {
  return text.replaceAll(':', '-COLON-')
}

function metadataOf(mutation: RecordedMutation): JsonObject {
  const { type, namespace, name, generateName, controller, fieldManager, patchType, subresource } = mutation
  return {
    action: actionOf(mutation),
    controllerInstanceName: controller,
    ...(fieldManager !== undefined && { fieldManager }),
    generateName,
    name,
    ...(namespace !== undefined && { namespace }),
    ...(patchType !== undefined && { patchType }),
    resourceType: { Group: type.group, Resource: type.resource, Version: type.version },
    ...(subresource !== undefined && subresource !== 'status' && { subresource }),
  }
}

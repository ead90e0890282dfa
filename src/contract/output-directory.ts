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
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from '../system/error-code.ts'
import { folderMaker } from '../system/folder.ts'
import { MusterError } from '../kube/errors.ts'
import type { Json, JsonObject } from '../kube/json.ts'
import { type ControllerResult, writeResults } from './controller-results.ts'
import { writeGoYaml } from './go-yaml.ts'
import {
  actionOf,
  type ClusterFolder,
  clusterFolders,
  mutationHash,
  type RecordedMutation,
  unspecifiedFolder,
} from './mutation.ts'

/** A mutation, and the folders that it goes to. */
export interface PlacedFile {
  readonly mutation: RecordedMutation
  /** More than one, where it is declared for several clusters; none: it is not declared. */
  readonly folders: readonly ClusterFolder[]
  /** What the body says. */
  readonly content: Json | undefined
}

/** What an operator left behind. */
export interface OutputDirectory {
  readonly mutations: readonly PlacedFile[]
  readonly results: readonly ControllerResult[]
}

export const resultsFile = 'controller-results.yaml'
export const orderFile = 'order.yaml'

/** By their paths in the directory. */
export function outputFiles({ mutations, results }: OutputDirectory): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  const orders = new Map<string, Json[]>()
  for (const [index, { mutation, folders }] of mutations.entries()) {
    const options = Object.keys(mutation.options).length > 0 ? writeGoYaml(mutation.options) : ''
    const hash = mutationHash(mutation.body, options)
    const place = placeOf(mutation)
    for (const folder of folders.length > 0 ? folders : [unspecifiedFolder]) {
      const fileOf = (part: string, mark: string): string =>
        path.posix.join(folder, place, `${mark}-${part}-${fileName(mutation, mark)}.yaml`)
      const mark = freeMark(hash, (each) => files.has(fileOf('body', each)))
      const put = (part: string, text: string): void => void files.set(fileOf(part, mark), text)
      put('body', mutation.body)
      put('metadata', writeGoYaml(metadataOf(mutation)))
      if (options !== '') put('options', options)
      if (!orders.has(folder)) orders.set(folder, [])
      orders.get(folder)!.push({ file: path.posix.relative(folder, fileOf('body', mark)), sequence: index + 1 })
    }
  }
  for (const [folder, order] of orders) files.set(path.posix.join(folder, orderFile), writeGoYaml({ order }))
  files.set(resultsFile, writeResults(results))
  return files
}

/** Something that would be taken for a part of the next output; undefined: there is nothing. */
export function leftIn(folder: string): string | undefined {
  return [...clusterFolders, unspecifiedFolder, resultsFile].find((name) => existsSync(path.join(folder, name)))
}

/**
 * What is there already stays: whoever asks for a run gives it a fresh directory.
 * @throws OutputUnwritable
 */
export function writeOutput(folder: string, output: OutputDirectory): void {
  writeFiles(folder, outputFiles(output))
}

/** @throws OutputUnwritable */
export function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  const make = folderMaker()
  const root = path.resolve(folder)
  try {
    make(root)
    for (const [name, text] of files) {
      const file = path.join(root, name)
      make(path.dirname(file))
      writeFileSync(file, text)
    }
  } catch (error) {
    throw new MusterError('OutputUnwritable', `${folder} cannot be written (${errorCode(error) ?? String(error)}).`, {
      cause: error,
    })
  }
}

/** `Apply/namespaces/default/apps/deployments` */
function placeOf(mutation: RecordedMutation): string {
  const { namespace, type } = mutation
  const scope = namespace === undefined ? 'cluster-scoped-resources' : `namespaces/${namespace}`
  return escaped(path.posix.join(actionOf(mutation), scope, type.group || 'core', type.resource))
}

/**
 * Two requests about one object may have the same hash: the same body from two controllers, or by chance, for it is short.
 * Neither is lost: the second is marked `4b1c-2`.
 */
function freeMark(hash: string, isTaken: (mark: string) => boolean): string {
  let mark = hash
  for (let at = 2; isTaken(mark); at++) mark = `${hash}-${at}`
  return mark
}

/** File systems take 255 bytes; names of objects may have almost as many, and the metadata tells all of it. */
function fileName({ name, generateName }: RecordedMutation, mark: string): string {
  return escaped(`${name}${generateName}`).slice(0, 255 - `${mark}-metadata-.yaml`.length)
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

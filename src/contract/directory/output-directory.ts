/**
 * The output directory: the writes of an operator, as files that people can read and programs can compare.
 *
 *     controller-results.yaml
 *     Configuration/Apply/namespaces/default/apps/deployments/4b1c-body-web.yaml      the body
 *                                                            /4b1c-metadata-web.yaml  the target and the controller
 *                                                            /4b1c-options-web.yaml   the options, if there are any
 *     Configuration/order.yaml                                                        the order
 *     Unspecified/…                                                                   undeclared writes
 *
 * Names, hashes and format are those of the upstream tools; `order.yaml` is ours, and they ignore it.
 */
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from '../../system/error-code.ts'
import { folderMaker } from '../../system/folder.ts'
import { contractErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { type ControllerResult, writeResults } from './controller-results.ts'
import { writeGoYaml } from '../text/go-yaml.ts'
import {
  actionOf,
  type ClusterFolder,
  clusterFolders,
  mutationHash,
  type RecordedMutation,
  unspecifiedFolder,
} from '../declaration/mutation.ts'

/** A mutation and its folders. */
export interface PlacedFile {
  readonly mutation: RecordedMutation
  /** Several, if it is declared for several clusters; none if it is not declared. */
  readonly folders: readonly ClusterFolder[]
  /** The parsed body. */
  readonly content: Json | undefined
}

/** The output of a run. */
export interface OutputDirectory {
  readonly mutations: readonly PlacedFile[]
  readonly results: readonly ControllerResult[]
}

export const resultsFile = 'controller-results.yaml'
export const orderFile = 'order.yaml'

/** The files by path. */
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

/** A file that would be mistaken for a part of the next output; undefined: there is none. */
export function leftIn(folder: string): string | undefined {
  return [...clusterFolders, unspecifiedFolder, resultsFile].find((name) => existsSync(path.join(folder, name)))
}

/**
 * Existing files are kept: the caller provides a fresh directory.
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
    throw new MusterError(
      contractErrors.OutputUnwritable,
      `${folder} cannot be written (${errorCode(error) ?? String(error)}).`,
      {
        cause: error,
      },
    )
  }
}

/** `Apply/namespaces/default/apps/deployments` */
function placeOf(mutation: RecordedMutation): string {
  const { namespace, type } = mutation
  const scope = namespace === undefined ? 'cluster-scoped-resources' : `namespaces/${namespace}`
  return escaped(path.posix.join(actionOf(mutation), scope, type.group || 'core', type.resource))
}

/**
 * Two requests for one object may have the same hash: the same body from two controllers, or by chance, for it is
 * short. The second is marked `4b1c-2`.
 */
function freeMark(hash: string, isTaken: (mark: string) => boolean): string {
  let mark = hash
  for (let at = 2; isTaken(mark); at++) mark = `${hash}-${at}`
  return mark
}

/** File names are limited to 255 bytes; a long object name is shortened, and the metadata file holds all of it. */
function fileName({ name, generateName }: RecordedMutation, mark: string): string {
  return escaped(`${name}${generateName}`).slice(0, 255 - `${mark}-metadata-.yaml`.length)
}

/** Some archive formats do not allow colons. */
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

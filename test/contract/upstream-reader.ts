/**
 * An output directory as the upstream tools read it, for tests: which of our files they understand, which they skip,
 * and which are errors. It is our own code, written from what is known of theirs (library-go's reader, the test runner
 * around it):
 *
 * - At the top level six names are allowed; any other name fails the test.
 * - In the folder of a cluster only those of the eight actions are read.
 * - There, each `.yaml` file with `-body-` in its name is a mutation; its metadata must be beside it, its options may
 *   be. Both names equal that of the body with another word instead of the first "body".
 * - Metadata are decoded into known fields: others are ignored, strings must be strings.
 * - A body must have a kind, unless it is a patch.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../../src/kube/json.ts'
import { readYaml } from '../../src/kube/yaml/yaml.ts'

/** A mutation, as far as upstream supports it. */
export interface UpstreamRequest {
  /** `Configuration`, … */
  readonly cluster: string
  readonly metadata: UpstreamMetadata
  /** Empty for patches. */
  readonly kind: string
  /** The text of the file. */
  readonly body: string
  /** Empty: the file does not exist. */
  readonly options: string
}

export type UpstreamMetadata = Readonly<Record<(typeof texts)[number], string>> & {
  readonly resourceType: Readonly<Record<(typeof typeTexts)[number], string>>
}

export interface UpstreamOutput {
  readonly requests: readonly UpstreamRequest[]
  /** By controller. */
  readonly results: Readonly<Record<string, string>>
  /** Ignored files. */
  readonly passedOver: readonly string[]
}

const clusters = ['Configuration', 'Management', 'UserWorkload']
const resultsFile = 'controller-results.yaml'
const atTop: ReadonlySet<string> = new Set([...clusters, resultsFile, 'stdout.log', 'stderr.log'])
const actions = ['Apply', 'ApplyStatus', 'Create', 'Delete', 'Patch', 'PatchStatus', 'Update', 'UpdateStatus']
const texts = [
  'action',
  'controllerInstanceName',
  'fieldManager',
  'generateName',
  'name',
  'namespace',
  'patchType',
] as const
const typeTexts = ['Group', 'Resource', 'Version'] as const

/** @throws Error for what is an error upstream */
export function readAsUpstream(folder: string): UpstreamOutput {
  const files = filesBelow(folder)
  const stranger = files.find((file) => !atTop.has(file.split('/')[0]!))
  if (stranger !== undefined) throw new Error(`${stranger.split('/')[0]} does not belong at the top`)
  const looked = new Set<string>(files.filter((file) => !file.includes('/')))
  const text = (file: string): string => {
    looked.add(file)
    return readFileSync(path.join(folder, file), 'utf8')
  }
  const requests = clusters.flatMap((cluster) =>
    actions.flatMap((action) =>
      files
        .filter((file) => file.startsWith(`${cluster}/${action}/`) && /.*-body-(.+).yaml/.test(path.basename(file)))
        .map((file): UpstreamRequest => {
          const sibling = (word: string): string =>
            path.posix.join(path.dirname(file), path.basename(file).replace('body', word))
          if (!files.includes(sibling('metadata'))) throw new Error(`${file}: ${sibling('metadata')} is missing`)
          const body = text(file)
          return {
            cluster,
            metadata: metadataIn(text(sibling('metadata')), sibling('metadata')),
            kind: action.startsWith('Patch') ? '' : kindIn(body, file),
            body,
            options: files.includes(sibling('options')) ? text(sibling('options')) : '',
          }
        }),
    ),
  )
  const results = files.includes(resultsFile) ? resultsIn(text(resultsFile)) : {}
  return { requests, results, passedOver: files.filter((file) => !looked.has(file)) }
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .toSorted()
}

function metadataIn(content: string, file: string): UpstreamMetadata {
  const said = mapping(readYaml(content), file)
  const text = (from: JsonObject, member: string): string => {
    const value = from[member] ?? ''
    if (typeof value !== 'string') throw new Error(`${file}: ${member} is no text`)
    return value
  }
  const type = mapping(said['resourceType'] ?? {}, file)
  return {
    ...(Object.fromEntries(texts.map((member) => [member, text(said, member)])) as Omit<
      UpstreamMetadata,
      'resourceType'
    >),
    resourceType: Object.fromEntries(
      typeTexts.map((member) => [member, text(type, member)]),
    ) as UpstreamMetadata['resourceType'],
  }
}

function kindIn(body: string, file: string): string {
  const { kind } = mapping(readYaml(body), file)
  if (typeof kind !== 'string' || kind === '') throw new Error(`${file} does not say of which kind it is`)
  return kind
}

function resultsIn(content: string): Readonly<Record<string, string>> {
  const { controllerResults: entries = [] } = mapping(readYaml(content), resultsFile)
  return Object.fromEntries(
    (entries as readonly JsonObject[]).map(({ controllerName, status }) => [
      controllerName as string,
      status as string,
    ]),
  )
}

function mapping(value: Json | undefined, file: string): JsonObject {
  if (!isJsonObject(value)) throw new Error(`${file} is no mapping`)
  return value
}

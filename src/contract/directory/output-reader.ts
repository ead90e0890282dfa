/**
 * Reads the output directory of an untrusted program. The whole directory is rejected if anything in it violates the
 * contract: a link, a device, a limit exceeded, metadata that contradicts its path. A part of a broken output is not
 * what the operator wanted.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from '../../system/error-code.ts'
import { contractErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { cutText, type Hide } from '../../kube/text/hidden-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { parseApiVersion } from '../../kube/kind.ts'
import { checkDnsLabel, checkPathSegment } from '../../kube/meta/name.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { type ControllerResult, readResults } from './controller-results.ts'
import {
  actionOf,
  type ClusterFolder,
  clusterFolders,
  parseAction,
  type RecordedMutation,
  unspecifiedFolder,
} from '../declaration/mutation.ts'
import { escaped, orderFile, resultsFile } from './output-directory.ts'
import { scalarText } from '../text/scalar-text.ts'

interface OutputLimits {
  /** @default 20_000 */
  readonly files: number
  /** The size limit of a file; an API server accepts no more. @default 3 MiB */
  readonly fileBytes: number
  /** The size limit of all files. @default 128 MiB */
  readonly bytes: number
}

export const defaultOutputLimits: OutputLimits = { files: 20_000, fileBytes: 3 * 2 ** 20, bytes: 128 * 2 ** 20 }

export interface ReadMutation {
  readonly folder: ClusterFolder | typeof unspecifiedFolder
  readonly mutation: RecordedMutation
  /** The parsed body. */
  readonly content: Json | undefined
  /** Its position in the recorded order, if known. */
  readonly sequence: number | undefined
  /** Relative to the directory. */
  readonly file: string
}

export interface ReadOutput {
  readonly mutations: readonly ReadMutation[]
  /** Undefined without the file: the run did not complete. */
  readonly results: readonly ControllerResult[] | undefined
  /** Unknown entries beside the known folders. */
  readonly unknown: readonly string[]
}

const folders: ReadonlySet<string> = new Set([...clusterFolders, unspecifiedFolder])
const known: ReadonlySet<string> = new Set([...folders, resultsFile, 'stdout.log', 'stderr.log'])
/** The depth limit of folders. */
const deepest = 8

/**
 * Error messages quote the output: redacted by `hide`, then truncated.
 * @throws OutputRefused
 */
export function readOutput(
  folder: string,
  limits: OutputLimits = defaultOutputLimits,
  hide: Hide = (text) => text,
): ReadOutput {
  try {
    return readFolder(folder, limits)
  } catch (error) {
    if (!isMusterError(error, contractErrors.OutputRefused)) throw error
    // Without a cause, which would hold the original text.
    throw new MusterError(contractErrors.OutputRefused, `${cutText(error.message.slice(0, -1), longestProblem, hide)}.`)
  }
}

function readFolder(folder: string, limits: OutputLimits): ReadOutput {
  const reader = createReader(folder, limits)
  const top = reader.entries('')
  const results = top.find(({ name }) => name === resultsFile)
  const mutations = top
    .filter(({ name, isFolder }) => folders.has(name) && isFolder)
    .flatMap(({ name }) => mutationsIn(name as ReadMutation['folder'], reader))
  return {
    mutations,
    results: results && readResults(document(reader, resultsFile)),
    unknown: top.filter(({ name }) => !known.has(name)).map(({ name }) => name),
  }
}

interface Entry {
  readonly name: string
  readonly isFolder: boolean
}

interface Reader {
  entries(folder: string): readonly Entry[]
  /** All files below, by path. */
  files(folder: string): readonly string[]
  text(file: string): string
  /** Parses the text of a file. */
  value(text: string, file: string): Json
}

function createReader(root: string, limits: OutputLimits): Reader {
  let bytes = 0
  let count = 0
  const entries = (folder: string): readonly Entry[] => {
    try {
      return readdirSync(path.join(root, folder), { withFileTypes: true })
        .map((entry) => {
          const place = path.posix.join(folder, entry.name)
          if (++count > limits.files) throw refused(`it holds more than ${limits.files} files`)
          if (!entry.isFile() && !entry.isDirectory()) throw refused(`${place} is neither a file nor a folder`)
          return { name: entry.name, isFolder: entry.isDirectory() }
        })
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    } catch (error) {
      throw isMusterError(error) ? error : refused(`${folder || root} cannot be read (${errorCode(error)})`)
    }
  }
  const files = (folder: string, depth = 0): readonly string[] => {
    if (depth > deepest) throw refused(`${folder} lies too deep`)
    return entries(folder).flatMap(({ name, isFolder }) => {
      const place = path.posix.join(folder, name)
      return isFolder ? files(place, depth + 1) : [place]
    })
  }
  const take = (more: number): void => {
    bytes += more
    if (bytes > limits.bytes) throw refused(`it holds more than ${limits.bytes} bytes`)
  }
  return {
    entries,
    files: (folder) => files(folder),
    value(text, file) {
      const value = parsed(text, file)
      const weight = weightOf(value, file)
      // YAML aliases share their target until it is serialized for a server, a log or a message.
      if (weight > limits.fileBytes) throw refused(`${file}: its aliases stand for more than ${limits.fileBytes} bytes`)
      take(Math.max(0, weight - text.length))
      return value
    },
    text(file) {
      // Opened without following links, and checked against a file swapped in meanwhile.
      const handle = opened(path.join(root, file), file)
      try {
        const { size, isFile } = statOf(handle)
        if (!isFile) throw refused(`${file} is no file`)
        if (size > limits.fileBytes) throw refused(`${file} is larger than ${limits.fileBytes} bytes`)
        take(size)
        const buffer = Buffer.alloc(size)
        const read = readSync(handle, buffer, 0, size, 0)
        return buffer.toString('utf8', 0, read)
      } finally {
        closeSync(handle)
      }
    },
  }
}

function opened(file: string, shown: string): number {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    throw refused(`${shown} cannot be read (${errorCode(error)})`)
  }
}

function statOf(handle: number): { readonly size: number; readonly isFile: boolean } {
  const about = fstatSync(handle)
  return { size: about.size, isFile: about.isFile() }
}

function mutationsIn(folder: ReadMutation['folder'], reader: Reader): readonly ReadMutation[] {
  const files = new Set(reader.files(folder))
  const order = orderIn(path.posix.join(folder, orderFile), files, reader)
  return [...files].flatMap((file) => {
    // The first of these words is the type of the file; an object's name may contain them, too.
    const own = file.lastIndexOf('/') + 1
    const extension = '.yaml'
    if (!file.endsWith(extension)) return []
    const parts = /-(body|metadata|options)-(.+)/s.exec(file.slice(own, -extension.length))
    if (parts?.[1] !== 'body') return []
    const name = parts[2]
    const before = file.slice(0, own + parts.index)
    const sibling = (part: string): string => `${before}-${part}-${name}.yaml`
    if (!files.has(sibling('metadata'))) throw refused(`${file} has no metadata beside it`)
    const metadata = document(reader, sibling('metadata'))
    const options = files.has(sibling('options')) ? document(reader, sibling('options')) : {}
    const body = reader.text(file)
    const mutation = mutationOf(metadata, options, body, file)
    checkPlace(mutation, folder, file)
    const content = body === '' ? undefined : reader.value(body, file)
    checkBody(mutation, content, file)
    return [{ folder, mutation, content, file, sequence: order.get(file) }]
  })
}

function orderIn(file: string, files: ReadonlySet<string>, reader: Reader): ReadonlyMap<string, number> {
  if (!files.has(file)) return new Map()
  const order = document(reader, file)['order'] ?? []
  if (!Array.isArray(order)) throw refused(`${file}: its order is no list`)
  return new Map(
    (order as readonly Json[]).map((entry) => {
      const { file: name, sequence } = isJsonObject(entry) ? entry : {}
      if (typeof name !== 'string' || typeof sequence !== 'number') {
        throw refused(`${file}: an entry has no file or no sequence`)
      }
      const folder = path.posix.dirname(file)
      const place = path.posix.join(folder, name)
      if (!place.startsWith(`${folder}/`)) throw refused(`${file} names ${name}, which is not below it`)
      return [place, sequence] as const
    }),
  )
}

function mutationOf(metadata: JsonObject, options: JsonObject, body: string, file: string): RecordedMutation {
  const text = (member: string): string => {
    const value = metadata[member] ?? ''
    if (typeof value !== 'string') throw refused(`${file}: ${member} of its metadata is no text`)
    return value
  }
  const type: JsonObject = isJsonObject(metadata['resourceType']) ? metadata['resourceType'] : {}
  const action = parseAction(text('action'))
  if (!action) throw refused(`${file}: there is no action "${text('action')}"`)
  const optional = (member: string): string | undefined => text(member) || undefined
  // A subresource of more than one word is in the metadata.
  const subresource = optional('subresource') ?? action.subresource
  // It becomes a part of a URL: `..` would lead to other objects.
  if (subresource !== undefined && !/^[a-z][a-z0-9-]*$/.test(subresource)) {
    throw refused(`${file}: "${subresource}" is no subresource`)
  }
  // Upstream libraries before September 2025 misspell it.
  const name = text('name') || text('mame')
  // Upstream tools write a Namespace as being in itself.
  const isInItself = type['Resource'] === 'namespaces' && scalarText(type['Group']) === '' && text('namespace') === name
  return {
    verb: action.verb,
    ...(subresource !== undefined && { subresource }),
    type: {
      group: scalarText(type['Group']),
      version: scalarText(type['Version']),
      resource: scalarText(type['Resource']),
    },
    namespace: isInItself ? undefined : optional('namespace'),
    name,
    generateName: text('generateName'),
    controller: text('controllerInstanceName'),
    fieldManager: managerIn(options, optional('fieldManager'), file),
    patchType: optional('patchType'),
    body,
    options,
  }
}

/** The field manager may be in the options, in the metadata, or in both. */
function managerIn(options: JsonObject, said: string | undefined, file: string): string | undefined {
  const asked = options['fieldManager'] ?? ''
  if (typeof asked !== 'string') throw refused(`${file}: fieldManager of its options is no text`)
  if (said === undefined || asked === '' || asked === said) return said
  throw refused(`${file}: its field manager is "${asked}" by its options, by its metadata "${said}"`)
}

/** Checks that the path matches the metadata, and is valid in a cluster. */
function checkPlace(mutation: RecordedMutation, folder: string, file: string): void {
  const { type, namespace, name, generateName } = mutation
  const scope = namespace === undefined ? 'cluster-scoped-resources' : `namespaces/${namespace}`
  const place = escaped(path.posix.join(actionOf(mutation), scope, type.group || 'core', type.resource))
  // Upstream tools put a patch of a Namespace into that namespace.
  const isOfNamespace = type.group === '' && type.resource === 'namespaces'
  const inside = escaped(path.posix.join(actionOf(mutation), 'namespaces', name, 'core/namespaces'))
  const is = path.posix.relative(folder, path.posix.dirname(file))
  if (is !== place && !(isOfNamespace && is === inside)) {
    throw refused(`${file} lies in ${is}, but is about ${place} by its metadata`)
  }
  const words = [type.version, type.resource, ...(type.group === '' ? [] : [type.group])]
  const isCreation = mutation.verb === 'Create' && mutation.subresource === undefined
  const [problem] = [
    ...words.flatMap((word) => (/^[a-z0-9][a-z0-9.-]*$/.test(word) ? [] : [`"${word}" is no part of a URL`])),
    ...(namespace === undefined || isOfNamespace ? [] : checkDnsLabel(namespace).map((each) => `namespace ${each}`)),
    ...[name, generateName].flatMap((each) => checkPathSegment(each).map((why) => `its name "${each}" ${why}`)),
    ...(name === '' && !(isCreation && generateName !== '') ? ['it has no name'] : []),
  ]
  if (problem !== undefined) throw refused(`${file}: ${problem}`)
}

/** Checks that the body matches the metadata. */
function checkBody(mutation: RecordedMutation, content: Json | undefined, file: string): void {
  const { verb, type, namespace, name, generateName, subresource, patchType } = mutation
  if (verb === 'Delete') {
    if (content !== undefined && !isJsonObject(content)) throw refused(`${file} is no DeleteOptions`)
    return
  }
  const isPatch = verb === 'Patch'
  if (isPatch && patchType === 'application/json-patch+json') {
    if (!Array.isArray(content)) throw refused(`${file} is no ${patchType}`)
    return
  }
  if (!isJsonObject(content)) throw refused(isPatch ? `${file} is no ${patchType}` : `${file} is no object`)
  const metadata: JsonObject = isJsonObject(content['metadata']) ? content['metadata'] : {}
  // The body of a subresource is often of another kind, and without a name: a Scale, an Eviction, a TokenRequest.
  const isOther = subresource !== undefined && subresource !== 'status'
  // A partial object may leave out its identity, but must not contradict it.
  const isPart = isPatch || isOther
  const { group, version } = parseApiVersion(scalarText(content['apiVersion']))
  const said: readonly (readonly [string, Json | undefined, string])[] = [
    ...(isOther || (isPatch && content['apiVersion'] === undefined)
      ? []
      : ([
          ['group', group, type.group],
          ['version', version, type.version],
        ] as const)),
    ['name', metadata['name'] ?? (isPart ? name : ''), name],
    ['generateName', name === '' ? (metadata['generateName'] ?? '') : generateName, generateName],
    ['namespace', metadata['namespace'] ?? namespace ?? '', namespace ?? ''],
  ]
  for (const [what, is, should] of said) {
    if (is !== should) throw refused(`${file}: its ${what} is "${scalarText(is)}", by its metadata "${should}"`)
  }
}

function document(reader: Reader, file: string): JsonObject {
  const value = reader.value(reader.text(file), file)
  if (value !== null && !isJsonObject(value)) throw refused(`${file} is no mapping`)
  return value ?? {}
}

function parsed(text: string, file: string): Json {
  try {
    return readYaml(text, { source: file })
  } catch (error) {
    throw new MusterError(
      contractErrors.OutputRefused,
      isMusterError(error) ? error.message : `${file} cannot be read.`,
    )
  }
}

/** Deeper than any object, but safe for the stack. */
const deepestValue = 1000

/** The length of a value with its aliases expanded. Without aliases it is never longer than the text. */
function weightOf(value: Json | undefined, file: string): number {
  const weighed = new Map<object, number>()
  const weigh = (part: Json | undefined, depth: number): number => {
    if (typeof part === 'string') return part.length
    if (typeof part !== 'object' || part === null) return 1
    if (depth > deepestValue) throw refused(`${file}: its values are nested too deep`)
    const seen = weighed.get(part)
    if (seen !== undefined) return seen
    const sum = Array.isArray(part)
      ? (part as readonly Json[]).reduce<number>((all, item) => all + weigh(item, depth + 1), 1)
      : Object.entries(part).reduce((all, [key, item]) => all + key.length + weigh(item, depth + 1), 1)
    weighed.set(part, sum)
    return sum
  }
  return weigh(value, 0)
}

const longestProblem = 1000

/** It quotes the program's output in full: `readOutput` redacts and truncates it. */
function refused(problem: string): MusterError {
  return new MusterError(contractErrors.OutputRefused, `${problem}.`)
}

/** The default order: prerequisites first, deletions last. */
const ranks: readonly ((read: ReadMutation) => boolean)[] = [
  ({ mutation: { verb, type } }) => verb !== 'Delete' && type.resource === 'namespaces' && type.group === '',
  ({ mutation: { verb, type } }) => verb !== 'Delete' && type.resource === 'customresourcedefinitions',
  ({ mutation: { verb, subresource } }) => verb === 'Create' && subresource === undefined,
  ({ mutation: { verb, subresource } }) => verb === 'Apply' && subresource === undefined,
  ({ mutation: { verb, subresource } }) => verb === 'Update' && subresource === undefined,
  ({ mutation: { verb, subresource } }) => verb !== 'Patch' && subresource !== undefined,
  ({ mutation: { verb } }) => verb === 'Patch',
  () => true,
]

/** In the recorded order, or in the default order. */
export function inOrder(mutations: readonly ReadMutation[]): readonly ReadMutation[] {
  const isRecorded = mutations.every(({ sequence }) => sequence !== undefined)
  const rank = (read: ReadMutation): number => read.sequence ?? 0
  const usual = (read: ReadMutation): number => ranks.findIndex((isIt) => isIt(read))
  const by = isRecorded ? rank : usual
  return mutations.toSorted((a, b) => by(a) - by(b) || (a.file < b.file ? -1 : 1))
}

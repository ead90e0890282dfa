/**
 * The declared inputs and outputs of an operator: the output of `input-resources` and `output-resources`. Resources are
 * named as in a URL, so that the format is independent of the language.
 *
 * `kindResources` is our extension: all objects of a kind. Upstream tools ignore it; for reading, an empty label
 * selector means the same.
 */
import { contractErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { compileJsonPath } from '../../kube/json-path.ts'
import type { ClusterFolder, RecordedMutation, ResourceType } from './mutation.ts'
import { scalarText } from '../text/scalar-text.ts'

export interface ExactResource extends ResourceType {
  /** Absent for cluster-scoped resources. */
  readonly namespace?: string
  readonly name: string
}

/** Objects whose names the API server generates from this prefix. */
type GeneratedNameResource = ExactResource

interface LabelSelectedResource extends ResourceType {
  /** Absent: all namespaces, or cluster scope. */
  readonly namespace?: string
  readonly labelSelector: { readonly matchLabels?: Readonly<Record<string, string>> }
}

export interface KindResource extends ResourceType {
  readonly namespace?: string
}

type ReferenceType = 'ImplicitNamespacedReference' | 'ExplicitNamespacedReference' | 'ClusterScopedReference'

/** Objects that other objects refer to. */
export interface ResourceReference {
  readonly referringResource: ExactResource | KindResource
  readonly type: ReferenceType
  /** In a fixed namespace. */
  readonly implicitNamespacedReference?: ResourceType & { readonly namespace: string; readonly nameJSONPath: string }
  /** In a namespace that the reference names. */
  readonly explicitNamespacedReference?: ResourceType & {
    readonly namespaceJSONPath: string
    readonly nameJSONPath: string
  }
  readonly clusterScopedReference?: ResourceType & { readonly nameJSONPath: string }
}

export interface ResourceList {
  readonly exactResources?: readonly ExactResource[]
  readonly generatedNameResources?: readonly GeneratedNameResource[]
  readonly labelSelectedResources?: readonly LabelSelectedResource[]
  readonly resourceReferences?: readonly ResourceReference[]
  readonly kindResources?: readonly KindResource[]
  /** Namespaces that Events may be written to; `*`: all. */
  readonly eventingNamespaces?: readonly string[]
}

export interface InputResources {
  readonly applyConfigurationResources: ResourceList
  readonly operandResources?: OutputResources
}

export interface OutputResources {
  readonly configurationResources: ResourceList
  readonly managementResources: ResourceList
  readonly userWorkloadResources: ResourceList
}

const listOfFolder: Readonly<Record<ClusterFolder, keyof OutputResources>> = {
  Configuration: 'configurationResources',
  Management: 'managementResources',
  UserWorkload: 'userWorkloadResources',
}

/** @throws InvalidResourceList with every invalid entry */
export function readInputResources(value: Json, source: string): InputResources {
  const problems: string[] = []
  const at = 'applyConfigurationResources'
  const document = objectIn(value, 'the document', problems)
  const list = readList(document[at] ?? {}, at, problems)
  refuse(problems, source)
  return { applyConfigurationResources: list }
}

/** @throws InvalidResourceList */
export function readOutputResources(value: Json, source: string): OutputResources {
  const problems: string[] = []
  const document = objectIn(value, 'the document', problems)
  const [configurationResources, managementResources, userWorkloadResources] = Object.values(listOfFolder).map((at) =>
    readList(document[at] ?? {}, at, problems),
  )
  refuse(problems, source)
  return {
    configurationResources: configurationResources!,
    managementResources: managementResources!,
    userWorkloadResources: userWorkloadResources!,
  }
}

function refuse(problems: readonly string[], source: string): void {
  if (problems.length > 0)
    throw new MusterError(contractErrors.InvalidResourceList, `${source}: ${problems.join('; ')}.`)
}

function readList(value: Json, at: string, problems: string[]): ResourceList {
  const list = objectIn(value, at, problems)
  const entries = (member: keyof ResourceList): readonly JsonObject[] => {
    const found = list[member] ?? []
    if (Array.isArray(found)) {
      return (found as readonly Json[]).map((entry, index) => objectIn(entry, `${at}.${member}[${index}]`, problems))
    }
    problems.push(`${at}.${member}: must be a list`)
    return []
  }
  const each = <T>(member: keyof ResourceList, read: (entry: JsonObject, place: string) => T): readonly T[] =>
    entries(member).map((entry, index) => read(entry, `${at}.${member}[${index}]`))
  const exact = (entry: JsonObject, place: string): ExactResource => ({
    ...typeIn(entry, place, problems),
    ...namespaceIn(entry),
    name: textIn(entry, 'name', place, problems),
  })
  const namespaces = list['eventingNamespaces'] ?? []
  return {
    exactResources: each('exactResources', exact),
    generatedNameResources: each('generatedNameResources', exact),
    labelSelectedResources: each('labelSelectedResources', (entry, place) => {
      const selector = objectIn(entry['labelSelector'] ?? {}, `${place}.labelSelector`, problems)
      if (selector['matchExpressions'] !== undefined) {
        problems.push(`${place}.labelSelector.matchExpressions: Forbidden: only matchLabels may be used`)
      }
      return { ...typeIn(entry, place, problems), ...namespaceIn(entry), labelSelector: selector }
    }),
    resourceReferences: each('resourceReferences', (entry, place) => referenceIn(entry, place, problems)),
    kindResources: each('kindResources', (entry, place) => ({
      ...typeIn(entry, place, problems),
      ...namespaceIn(entry),
    })),
    eventingNamespaces: Array.isArray(namespaces) ? namespaces.map(String) : [],
  }
}

const references = {
  ImplicitNamespacedReference: 'implicitNamespacedReference',
  ExplicitNamespacedReference: 'explicitNamespacedReference',
  ClusterScopedReference: 'clusterScopedReference',
} as const satisfies Readonly<Record<ReferenceType, keyof ResourceReference>>

function referenceIn(entry: JsonObject, place: string, problems: string[]): ResourceReference {
  const referring = objectIn(entry['referringResource'] ?? {}, `${place}.referringResource`, problems)
  const type = scalarText(entry['type'])
  const referringResource = {
    ...typeIn(referring, `${place}.referringResource`, problems),
    ...namespaceIn(referring),
    ...(typeof referring['name'] === 'string' && { name: referring['name'] }),
  }
  if (!Object.hasOwn(references, type)) {
    problems.push(`${place}.type: Unsupported value: "${type}"`)
    return { referringResource, type: 'ClusterScopedReference' }
  }
  const member = references[type as ReferenceType]
  const target = objectIn(entry[member] ?? {}, `${place}.${member}`, problems)
  const at = `${place}.${member}`
  const pathIn = (name: string): string => {
    const text = textIn(target, name, at, problems)
    try {
      if (text !== '') compileJsonPath(text)
    } catch (error) {
      problems.push(`${at}.${name}: Invalid value: ${isMusterError(error) ? error.message : String(error)}`)
    }
    return text
  }
  const common = { ...typeIn(target, at, problems), nameJSONPath: pathIn('nameJSONPath') }
  const namespace = member === references.ImplicitNamespacedReference && {
    namespace: textIn(target, 'namespace', at, problems),
  }
  const namespaceJSONPath = member === references.ExplicitNamespacedReference && {
    namespaceJSONPath: pathIn('namespaceJSONPath'),
  }
  return {
    referringResource,
    type: type as ReferenceType,
    [member]: { ...common, ...namespace, ...namespaceJSONPath },
  }
}

/** Used in URLs and file paths. */
const wordPattern = /^(?:[a-z0-9]+(?:[.-][a-z0-9]+)*)?$/

function typeIn(entry: JsonObject, place: string, problems: string[]): ResourceType {
  const type = {
    group: typeof entry['group'] === 'string' ? entry['group'] : '',
    version: textIn(entry, 'version', place, problems),
    resource: textIn(entry, 'resource', place, problems),
  }
  for (const [member, word] of Object.entries(type)) {
    if (!wordPattern.test(word)) problems.push(`${place}.${member}: Invalid value: "${word}"`)
  }
  return type
}

function namespaceIn(entry: JsonObject): { readonly namespace?: string } {
  const namespace = entry['namespace']
  return typeof namespace === 'string' && namespace !== '' ? { namespace } : {}
}

function textIn(entry: JsonObject, member: string, place: string, problems: string[]): string {
  const value = entry[member]
  if (typeof value === 'string' && value !== '') return value
  problems.push(`${place}.${member}: Required value: must be present`)
  return ''
}

function objectIn(value: Json, place: string, problems: string[]): JsonObject {
  if (isJsonObject(value)) return value
  if (value !== null) problems.push(`${place}: must be a mapping`)
  return {}
}

/** The clusters that a mutation was declared for; empty if it was not declared. The version does not matter. */
export function foldersOf(declared: OutputResources, mutation: RecordedMutation): readonly ClusterFolder[] {
  const folders = Object.keys(listOfFolder) as readonly ClusterFolder[]
  return folders.filter((folder) => mayWrite(declared[listOfFolder[folder]], mutation))
}

function mayWrite(list: ResourceList, { type, namespace, name, generateName }: RecordedMutation): boolean {
  const isOfType = (entry: ResourceType): boolean => entry.group === type.group && entry.resource === type.resource
  // Upstream tools treat a Namespace as being in itself.
  const isNamespaces = type.group === '' && type.resource === 'namespaces'
  const isThere = (entry: { readonly namespace?: string }): boolean =>
    isNamespaces || (entry.namespace ?? '') === (namespace ?? '')
  const isEvent = type.resource === 'events' && (type.group === '' || type.group === 'events.k8s.io')
  const { exactResources = [], generatedNameResources = [], kindResources = [], eventingNamespaces = [] } = list
  return (
    (isEvent && (eventingNamespaces.includes('*') || eventingNamespaces.includes(namespace ?? ''))) ||
    kindResources.some((entry) => isOfType(entry) && (entry.namespace === undefined || isThere(entry))) ||
    (name !== ''
      ? exactResources.some((entry) => isOfType(entry) && isThere(entry) && entry.name === name) ||
        // An object with a generated name belongs to its prefix in later writes, too.
        generatedNameResources.some((entry) => isOfType(entry) && isThere(entry) && isGenerated(name, entry.name))
      : generatedNameResources.some((entry) => isOfType(entry) && isThere(entry) && entry.name === generateName))
  )
}

/** The API server appends five characters. */
function isGenerated(name: string, prefix: string): boolean {
  return name.startsWith(prefix) && /^[a-z0-9]{5}$/.test(name.slice(prefix.length))
}

/**
 * What kustomize knows about kinds: which are cluster-scoped, and which lists a strategic merge patch merges by key.
 *
 * It carries the OpenAPI document of Kubernetes 1.21, and so must the result: a newer kind counts as namespaced, and its lists
 * are replaced. The table here is the one of Muster with the differences between the two listed.
 */
import { builtinDefinitions, builtinResource, builtinSchema } from '../../../kube/builtin.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../kube/json.ts'
import type { GroupVersionKind } from '../../../kube/kind.ts'
import { type Definitions, resolveSchema, type Schema } from '../../../kube/schema.ts'

export interface KindTable {
  isClusterScoped(this: void, kind: GroupVersionKind): boolean
  schemaOf(this: void, kind: GroupVersionKind): SchemaPlace | undefined
}

/** A value of an object, in its schema. */
export interface SchemaPlace {
  readonly schema: Schema
  readonly definitions: Definitions
}

/** Groups and kinds that came after Kubernetes 1.21. */
const newerGroups = new Set([
  'internal.apiserver.k8s.io',
  'lifecycle.k8s.io',
  'resource.k8s.io',
  'storagemigration.k8s.io',
])
const newerKinds = new Set([
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'SelfSubjectReview',
  'ClusterTrustBundle',
  'PodCertificateRequest',
  'LeaseCandidate',
  'IPAddress',
  'ServiceCIDR',
  'CompositePodGroup',
  'PodGroup',
  'Workload',
  'VolumeAttributesClass',
  'autoscaling/v2/HorizontalPodAutoscaler',
  'flowcontrol.apiserver.k8s.io/v1/FlowSchema',
  'flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration',
  'storage.k8s.io/v1/CSIStorageCapacity',
])

/** Newer kinds whose scope was added by hand. */
const newerClusterScoped = new Set(['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'])

/** Versions that Kubernetes no longer serves, and the version that has the same lists. */
const formerVersions: Readonly<Record<string, string>> = {
  'admissionregistration.k8s.io/v1beta1': 'v1',
  'apiextensions.k8s.io/v1beta1': 'v1',
  'apiregistration.k8s.io/v1beta1': 'v1',
  'autoscaling/v2beta1': 'v1',
  'autoscaling/v2beta2': 'v1',
  'batch/v1beta1': 'v1',
  'certificates.k8s.io/v1beta1': 'v1',
  'coordination.k8s.io/v1beta1': 'v1',
  'discovery.k8s.io/v1beta1': 'v1',
  'events.k8s.io/v1beta1': 'v1',
  'flowcontrol.apiserver.k8s.io/v1beta1': 'v1',
  'networking.k8s.io/v1beta1': 'v1',
  'node.k8s.io/v1beta1': 'v1',
  'policy/v1beta1': 'v1',
  'rbac.authorization.k8s.io/v1beta1': 'v1',
  'scheduling.k8s.io/v1beta1': 'v1',
  'storage.k8s.io/v1beta1': 'v1',
}

export const builtinKinds: KindTable = {
  isClusterScoped(kind) {
    if (kind.group === 'admissionregistration.k8s.io' && kind.version === 'v1' && newerClusterScoped.has(kind.kind)) {
      return true
    }
    if (kind.group === 'policy' && kind.version === 'v1beta1' && kind.kind === 'PodSecurityPolicy') return true
    const known = knownKind(kind)
    const resource = known && builtinResource(known)
    return resource !== undefined && !resource.namespaced && resource.verbs.includes('get')
  },
  schemaOf(kind) {
    const known = knownKind(kind)
    const schema = known && builtinSchema(known)
    return schema && { schema: resolveSchema(schema, builtinDefinitions()), definitions: builtinDefinitions() }
  },
}

/** The kind in the version that is in Muster's table; undefined if it is newer than kustomize's. */
function knownKind(kind: GroupVersionKind): GroupVersionKind | undefined {
  const former = formerVersions[`${kind.group}/${kind.version}`]
  if (former !== undefined) return { ...kind, version: former }
  const isNewer =
    newerGroups.has(kind.group) ||
    newerKinds.has(kind.kind) ||
    newerKinds.has(`${kind.group}/${kind.version}/${kind.kind}`)
  return isNewer && isBuiltin(kind) ? undefined : kind
}

function isBuiltin(kind: GroupVersionKind): boolean {
  return builtinSchema(kind) !== undefined
}

/** Merged lists that came after Kubernetes 1.21: kustomize replaces them. */
const newerMergedFields = new Set([
  'evictionResponders',
  'resourceClaims',
  'schedulingGates',
  'matchConditions',
  'x-kubernetes-validations',
  'allocatedResourcesStatus',
  'resourceClaimStatuses',
  'nodeAllocatableResourceClaimStatuses',
  'hostIPs',
])

export function memberPlace(place: SchemaPlace | undefined, name: string): SchemaPlace | undefined {
  if (place === undefined) return undefined
  const { schema, definitions } = place
  const { properties, additionalProperties } = schema
  const member = properties && Object.hasOwn(properties, name) ? properties[name] : additionalProperties
  if (typeof member !== 'object') return undefined
  const resolved = resolveSchema(member, definitions)
  if (!newerMergedFields.has(name) || resolved['x-kubernetes-patch-strategy'] === undefined) {
    return { schema: resolved, definitions }
  }
  const { 'x-kubernetes-patch-strategy': _strategy, ...rest } = resolved
  return { schema: rest, definitions }
}

export function itemPlace(place: SchemaPlace | undefined): SchemaPlace | undefined {
  const items = place?.schema.type === 'array' ? place.schema.items : undefined
  return items && place && { schema: resolveSchema(items, place.definitions), definitions: place.definitions }
}

/** The keys by which the items of a list are merged; empty for a list of scalars; undefined if the list is replaced. */
export function mergeKeysOf(place: SchemaPlace | undefined): readonly string[] | undefined {
  const strategies = place?.schema['x-kubernetes-patch-strategy']?.split(',') ?? []
  if (!place || !strategies.includes('merge')) return undefined
  const key = place.schema['x-kubernetes-patch-merge-key']
  return place.schema['x-kubernetes-list-map-keys'] ?? (key === undefined ? [] : [key])
}

/**
 * The kinds of an OpenAPI document, which takes the place of the built-in one (`openapi.path`). Definitions name their kinds in
 * `x-kubernetes-group-version-kind`; paths tell which are namespaced.
 */
export function openApiKinds(document: JsonObject): KindTable {
  const definitions = (isJsonObject(document['definitions']) ? document['definitions'] : {}) as Definitions
  const schemas = new Map<string, Schema>()
  for (const schema of Object.values(definitions)) {
    for (const kind of kindsIn(schema)) schemas.set(kindKey(kind), schema)
  }
  const namespaced = namespacedKinds(document)
  return {
    isClusterScoped: (kind) =>
      isPrecomputed(kind) ? builtinKinds.isClusterScoped(kind) : namespaced.get(kindKey(kind)) === false,
    schemaOf(kind) {
      const schema = schemas.get(kindKey(kind))
      return schema && { schema: resolveSchema(schema, definitions), definitions }
    },
  }
}

/** The scope of built-in kinds does not depend on the document. */
function isPrecomputed(kind: GroupVersionKind): boolean {
  const known = knownKind(kind)
  return newerClusterScoped.has(kind.kind) || (known !== undefined && builtinResource(known) !== undefined)
}

function kindKey({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`
}

function kindsIn(schema: Schema): readonly GroupVersionKind[] {
  const listed = (schema as { readonly 'x-kubernetes-group-version-kind'?: Json })['x-kubernetes-group-version-kind']
  return Array.isArray(listed) ? listed.flatMap((one: Json) => readKind(one) ?? []) : []
}

function readKind(value: Json | undefined): GroupVersionKind | undefined {
  if (!isJsonObject(value)) return undefined
  const { group = '', version, kind } = value
  if (typeof group !== 'string' || typeof version !== 'string' || typeof kind !== 'string') return undefined
  return { group, version, kind }
}

/** From the paths that serve single objects: `/apis/GROUP/VERSION/namespaces/{namespace}/PLURAL/{name}`. */
function namespacedKinds(document: JsonObject): ReadonlyMap<string, boolean> {
  const found = new Map<string, boolean>()
  const paths = isJsonObject(document['paths']) ? document['paths'] : {}
  for (const [path, item] of Object.entries(paths)) {
    const get = isJsonObject(item) ? item['get'] : undefined
    const kind = readKind(isJsonObject(get) ? get['x-kubernetes-group-version-kind'] : undefined)
    if (!kind) continue
    const isNamespaced = path.includes('namespaces/{namespace}')
    found.set(kindKey(kind), isNamespaced || found.get(kindKey(kind)) === true)
  }
  return found
}

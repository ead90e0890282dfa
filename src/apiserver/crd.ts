/**
 * A CustomResourceDefinition as the server sees it: an object like any other, and a description of resources to serve.
 * Its names are taken or refused, its conditions say so, and from then on its versions are in the catalog.
 */
import { builtinDefinitions } from '../kube/builtin.ts'
import { type Condition, isConditionTrue, setCondition } from '../kube/condition.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { Schema } from '../kube/schema.ts'
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '../kube/types/apiextensions/v1.ts'
import { type Catalog, compareVersions, type Served } from './catalog.ts'
import { type Cause, cause, invalid } from './refusal.ts'
import { parseScalePath } from './scale.ts'

export const crdTable = 'customresourcedefinitions.apiextensions.k8s.io'

/** Keeps a CRD until its objects are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io'

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

/** The CRD with its defaults, and with the status that follows from it. Raises what makes no sense. */
export function acceptCrd(object: UntypedObject, catalog: Catalog, now: number): UntypedObject {
  const crd = object as unknown as CustomResourceDefinition
  check(crd)
  const { kind, plural } = crd.spec.names
  const names = {
    ...crd.spec.names,
    singular: crd.spec.names.singular ?? kind.toLowerCase(),
    listKind: crd.spec.names.listKind ?? `${kind}List`,
  }
  const spec = { ...crd.spec, names, conversion: crd.spec.conversion ?? { strategy: 'None' } }
  const taken = takenName({ ...crd, spec }, catalog)
  const before = (crd.status?.conditions ?? []) as readonly Condition[]
  const accepted = setCondition(
    before,
    taken === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', reason: taken.reason, message: taken.message },
    now,
  )
  // Once established a CRD stays so: clients rely on it.
  const isEstablished = taken === undefined || isConditionTrue(before, 'Established')
  const conditions = setCondition(
    accepted,
    isEstablished
      ? {
          type: 'Established',
          status: 'True',
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        }
      : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
    now,
  )
  const stored = crd.spec.versions.find(({ storage }) => storage)?.name ?? ''
  const storedVersions = [...new Set([...(crd.status?.storedVersions ?? []), stored])]
  const acceptedNames = taken === undefined ? names : (crd.status?.acceptedNames ?? { plural, kind: '' })
  const finalizers = object.metadata.deletionTimestamp
    ? object.metadata.finalizers
    : [...new Set([...(object.metadata.finalizers ?? []), cleanupFinalizer])]
  return {
    ...object,
    metadata: { ...object.metadata, ...(finalizers && { finalizers }) },
    spec,
    status: { ...crd.status, conditions, acceptedNames, storedVersions },
  }
}

/** What the catalog shall hold for a CRD; nothing while its names are not accepted. */
export function servedBy(object: UntypedObject): readonly Served[] {
  const crd = object as unknown as CustomResourceDefinition
  if (!isConditionTrue((crd.status?.conditions ?? []) as readonly Condition[], 'Established')) return []
  return crd.spec.versions
    .filter(({ served }) => served)
    .map((version) => serveVersion(crd, version))
    .toSorted((a, b) => compareVersions(a.version, b.version))
}

function serveVersion({ spec }: CustomResourceDefinition, version: CustomResourceDefinitionVersion): Served {
  const { group, names } = spec
  const identity = { group, version: version.name, kind: names.kind }
  const { status, scale } = version.subresources ?? {}
  return {
    ...identity,
    plural: names.plural,
    namespaced: spec.scope === 'Namespaced',
    listKind: names.listKind ?? `${names.kind}List`,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    verbs,
    subresources: [
      ...(status ? [{ ...identity, name: 'status', verbs: ['get', 'patch', 'update'] }] : []),
      ...(scale
        ? [{ group: 'autoscaling', version: 'v1', kind: 'Scale', name: 'scale', verbs: ['get', 'patch', 'update'] }]
        : []),
    ],
    table: `${names.plural}.${group}`,
    hasStatus: status !== undefined,
    scale: scale && {
      replicas: parseScalePath(scale.specReplicasPath),
      statusReplicas: parseScalePath(scale.statusReplicasPath),
      selector: scale.labelSelectorPath === undefined ? undefined : parseScalePath(scale.labelSelectorPath),
    },
    selectable: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.replace(/^\./, '')),
    schema: version.schema?.openAPIV3Schema as Schema | undefined,
    definitions: builtinDefinitions(),
    custom: true,
  }
}

function check(crd: CustomResourceDefinition): void {
  const name = crd.metadata?.name ?? ''
  const { group = '', names, versions = [], scope } = (crd.spec ?? {}) as Partial<CustomResourceDefinition['spec']>
  const causes: Cause[] = []
  const plural = names?.plural ?? ''
  if (name !== `${plural}.${group}`) {
    causes.push(cause.invalid('metadata.name', `"${name}"`, 'must be spec.names.plural+"."+spec.group'))
  }
  if (group === '') causes.push(cause.required('spec.group', ''))
  if (scope !== 'Namespaced' && scope !== 'Cluster') {
    causes.push(cause.unsupported('spec.scope', scope ?? '', ['Cluster', 'Namespaced']))
  }
  if (!names?.plural) causes.push(cause.required('spec.names.plural', ''))
  if (!names?.kind) causes.push(cause.required('spec.names.kind', ''))
  if (versions.filter(({ storage }) => storage).length !== 1) {
    causes.push(cause.invalid('spec.versions', '[]', 'must have exactly one version marked as storage version'))
  }
  for (const [index, version] of versions.entries()) {
    if (!version.schema?.openAPIV3Schema) {
      causes.push(cause.required(`spec.versions[${index}].schema.openAPIV3Schema`, 'schemas are required'))
    }
  }
  if (causes.length > 0)
    throw invalid({ group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' }, name, causes)
}

/** The first name that another resource of the group has already. */
function takenName(
  { spec }: CustomResourceDefinition,
  catalog: Catalog,
): { readonly reason: string; readonly message: string } | undefined {
  const { plural, singular = '', kind, listKind = '', shortNames = [] } = spec.names
  const others = catalog.all().filter((served) => served.group === spec.group && served.plural !== plural)
  const words = new Set(others.flatMap((other) => [other.plural, other.singular, ...other.shortNames]))
  const kinds = new Set(others.flatMap((other) => [other.kind, other.listKind]))
  const refuse = (reason: string, word: string): { readonly reason: string; readonly message: string } => ({
    reason,
    message: `"${word}" is already in use`,
  })
  if (words.has(plural)) return refuse('PluralConflict', plural)
  if (words.has(singular)) return refuse('SingularConflict', singular)
  const short = shortNames.find((word) => words.has(word))
  if (short !== undefined) return refuse('ShortNamesConflict', short)
  if (kinds.has(kind)) return refuse('KindConflict', kind)
  if (kinds.has(listKind)) return refuse('ListKindConflict', listKind)
  return undefined
}

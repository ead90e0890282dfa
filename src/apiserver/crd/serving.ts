/** What a CRD adds to the catalog: each version that it serves, with its schema and its conversion. */
import { builtinDefinitions } from '../../kube/builtin.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Schema } from '../../kube/schema.ts'
import { type StructuralSchema, structuralSchema } from '../../kube/structural/structural.ts'
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '../../kube/types/apiextensions/v1.ts'
import { compareVersions, type ServedResource } from '../catalog/catalog.ts'
import { parseScalePath } from '../catalog/scale-paths.ts'
import { isEstablished } from './controller.ts'
import { type ConversionContext, conversionOf, type ConversionSchemas } from './conversion.ts'
import { embeddedChecks } from '../../kube/structural/embedded-checks.ts'

/** The catalog entries of a CRD; none while its names are not accepted. */
export function servedBy(object: UntypedObject, context: ConversionContext): readonly ServedResource[] {
  const crd = object as unknown as CustomResourceDefinition
  if (!isEstablished(crd)) return []
  const { group, versions } = crd.spec
  const schemas: ConversionSchemas = new Map(
    versions.map((version) => [`${group}/${version.name}`, structuralOf(version)]),
  )
  const convert = conversionOf(crd, schemas, context)
  return versions
    .filter(({ served }) => served)
    .map((version) => serveVersion(crd, version, { structural: schemas.get(`${group}/${version.name}`), convert }))
    .toSorted((a, b) => compareVersions(a.version, b.version))
}

/** Cached as long as the definition lives: forked clusters share definitions, and compile each schema once. */
const structurals = new WeakMap<CustomResourceDefinitionVersion, StructuralSchema>()

function structuralOf(version: CustomResourceDefinitionVersion): StructuralSchema {
  const { schema, subresources } = version
  const known =
    structurals.get(version) ??
    structuralSchema(schema?.openAPIV3Schema ?? {}, { scale: subresources?.scale, embedded: embeddedChecks })
  structurals.set(version, known)
  return known
}

const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']

function serveVersion(
  { metadata, spec, status }: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  behaviour: Pick<ServedResource, 'structural' | 'convert'>,
): ServedResource {
  const { group } = spec
  // Until new names are accepted the old ones stay in effect.
  const names = status?.acceptedNames ?? spec.names
  const identity = { group, version: version.name, kind: names.kind }
  const { status: statusEndpoint, scale } = version.subresources ?? {}
  return {
    ...identity,
    ...behaviour,
    plural: names.plural,
    namespaced: spec.scope === 'Namespaced',
    listKind: names.listKind ?? `${names.kind}List`,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    verbs,
    subresources: [
      ...(statusEndpoint ? [{ ...identity, name: 'status', verbs: ['get', 'patch', 'update'] }] : []),
      ...(scale
        ? [{ group: 'autoscaling', version: 'v1', kind: 'Scale', name: 'scale', verbs: ['get', 'patch', 'update'] }]
        : []),
    ],
    table: `${names.plural}.${group}`,
    storedAs: `${group}/${spec.versions.find(({ storage }) => storage)?.name ?? version.name}`,
    hasStatus: statusEndpoint !== undefined,
    scale: scale && {
      replicas: parseScalePath(scale.specReplicasPath),
      needed: scale.specReplicasPath,
      statusReplicas: parseScalePath(scale.statusReplicasPath),
      selector: scale.labelSelectorPath === undefined ? undefined : parseScalePath(scale.labelSelectorPath),
    },
    selectable: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.replace(/^\./, '')),
    columns: version.additionalPrinterColumns,
    schema: version.schema?.openAPIV3Schema as Schema | undefined,
    definitions: builtinDefinitions(),
    custom: true,
    deprecation: deprecationOf(version, spec),
    definedBy: metadata.uid,
    isTerminating: metadata.deletionTimestamp !== undefined,
  }
}

function deprecationOf(
  { name, deprecated, deprecationWarning }: CustomResourceDefinitionVersion,
  { group, names, versions }: CustomResourceDefinition['spec'],
): string | undefined {
  if (!deprecated) return undefined
  if (deprecationWarning !== undefined) return deprecationWarning
  const [better] = versions
    .filter((one) => one.served && !one.deprecated && compareVersions(one.name, name) < 0)
    .toSorted((a, b) => compareVersions(a.name, b.name))
  const instead = better ? `; use ${group}/${better.name} ${names.kind}` : ''
  return `${group}/${name} ${names.kind} is deprecated${instead}`
}

/**
 * A custom kind: TypeScript types, the CRD with its schema, defaults, rules and columns, validation and documentation
 * from one definition.
 */
import { embeddedChecks } from '../../kube/structural/embedded-checks.ts'
import type { Cause } from '../../kube/validation/cause.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { Condition } from '../../kube/meta/condition.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import { assertName, checkDnsSubdomain } from '../../kube/meta/name.ts'
import type { KubeObject, Named, ObjectMeta } from '../../kube/object.ts'
import { pluralOf } from '../../kube/plural.ts'
import { type StructuralSchema, structuralSchema } from '../../kube/structural/structural.ts'
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
  JSONSchemaProps,
  ValidationRule,
} from '../../kube/types/apiextensions/v1.ts'
import { type Fields, objectSchema, type ReadObject, type WriteObject } from './field.ts'
import type { ObjectOf, TypedResource } from '../../kube/typed-resource.ts'

export interface VersionDefinition<Spec extends Fields = Fields, Status extends Fields = Fields> {
  /** `v1`, `v1beta1`. */
  readonly version: string
  readonly spec: Spec
  /** The status beside conditions and `observedGeneration`, which every kind has. */
  readonly status?: Status
  /** CEL rules about the object as a whole. */
  readonly rules?: readonly ValidationRule[]
  /** What `kubectl get` shows beside name and age. */
  readonly columns?: readonly CustomResourceColumnDefinition[]
  readonly scale?: CustomResourceSubresourceScale
  readonly description?: string
  /** The deprecation warning for clients of this version. */
  readonly deprecationWarning?: string
}

export interface KindOptions<Spec extends Fields, Status extends Fields> extends VersionDefinition<Spec, Status> {
  readonly group: string
  readonly kind: string
  /** @default the English plural of the kind, in lower case: `Policy` → `policies` */
  readonly plural?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  /** Annotations of the CRD. @default none */
  readonly annotations?: Readonly<Record<string, string>>
  /** @default 'Namespaced' */
  readonly scope?: 'Namespaced' | 'Cluster'
  /**
   * The only allowed name: one object of the kind in the cluster, or in each namespace; the API server rejects others.
   */
  readonly singleton?: string
  /** Further served versions; the one above is the storage version. */
  readonly otherVersions?: readonly VersionDefinition[]
}

/** A kind is an API resource: `client` and `cache` accept it. */
export interface Kind<Spec extends Fields = Fields, Status extends Fields = Fields> extends TypedResource<
  KindObject<Spec, Status>
> {
  readonly definition: KindOptions<Spec, Status>
  /** The CustomResourceDefinition to install. */
  crd(): CustomResourceDefinition
  /** An object of the kind, as it may be written: `Memcached.draft({ name: 'm', namespace: 'default' }, { size: 2 })`. */
  draft(metadata: ObjectMeta, spec: WriteObject<Spec>): DraftOf<Kind<Spec, Status>> & KubeObject
  /** The object with the defaults that the API server would set. */
  withDefaults(draft: DraftOf<Kind<Spec, Status>>): ObjectOf<Kind<Spec, Status>>
  /** The validation errors that the API server would return; empty when it would store the object. */
  validate(object: DraftOf<Kind<Spec, Status>>, old?: ObjectOf<Kind<Spec, Status>>): readonly Cause[]
}

/** The status of every kind. */
export interface StandardStatus {
  readonly conditions?: readonly Condition[]
  /** The `metadata.generation` that the operator last reconciled. */
  readonly observedGeneration?: number
}

/** An object of the kind as it is read from a cluster. */
export type KindObject<Spec extends Fields, Status extends Fields> = Named & {
  readonly spec: ReadObject<Spec>
  /** Partial: the operator may have reported only some of it. */
  readonly status?: Partial<ReadObject<Status>> & StandardStatus
}

/** An object of the kind as it may be written. */
export type DraftOf<K> =
  K extends Kind<infer Spec, infer Status>
    ? {
        readonly apiVersion: string
        readonly kind: string
        readonly metadata: ObjectMeta
        readonly spec: WriteObject<Spec>
        readonly status?: Partial<WriteObject<Status>> & StandardStatus
      }
    : never

export function defineKind<const Spec extends Fields, const Status extends Fields = Fields>(
  options: KindOptions<Spec, Status>,
): Kind<Spec, Status> {
  const definition = withSingletonRule(options)
  const { group, version, kind, plural = pluralOf(kind), scope = 'Namespaced', scale } = definition
  let compiled: StructuralSchema | undefined
  const schema = (): StructuralSchema =>
    (compiled ??= structuralSchema(schemaOf(definition), { scale, embedded: embeddedChecks }))
  return {
    group,
    version,
    kind,
    plural,
    namespaced: scope === 'Namespaced',
    definition,
    crd: () => crdOf(definition, plural, scope),
    draft: (metadata, spec) => ({ apiVersion: formatApiVersion({ group, version }), kind, metadata, spec }),
    withDefaults: (draft) =>
      schema().applyDefaults(draft as unknown as JsonObject) as unknown as ObjectOf<Kind<Spec, Status>>,
    validate: (object, old) =>
      schema().validate(object as unknown as JsonObject, { old: old as unknown as JsonObject | undefined }),
  }
}

/** A CEL rule, so that the API server rejects every write that breaks it. */
function withSingletonRule<Spec extends Fields, Status extends Fields>(
  definition: KindOptions<Spec, Status>,
): KindOptions<Spec, Status> {
  const { kind, singleton, scope = 'Namespaced', otherVersions } = definition
  if (singleton === undefined) return definition
  assertName(checkDnsSubdomain, singleton, `${kind}: singleton`)
  const reach = scope === 'Cluster' ? 'a cluster' : 'a namespace'
  const rule: ValidationRule = {
    rule: `self.metadata.name == '${singleton}'`,
    message: `there is only one ${kind} in ${reach}, and its name is ${singleton}`,
    reason: 'FieldValueForbidden',
  }
  const ruled = <V extends VersionDefinition>(version: V): V => ({
    ...version,
    rules: [...(version.rules ?? []), rule],
  })
  return ruled({ ...definition, ...(otherVersions && { otherVersions: otherVersions.map(ruled) }) })
}

function crdOf(definition: KindOptions<Fields, Fields>, plural: string, scope: string): CustomResourceDefinition {
  const { group, kind, shortNames, categories, annotations, otherVersions = [] } = definition
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, ...(annotations && { annotations }) },
    spec: {
      group,
      scope,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames && { shortNames }),
        ...(categories && { categories }),
      },
      versions: [versionOf(definition, true), ...otherVersions.map((other) => versionOf(other, false))],
    },
  }
}

function versionOf(definition: VersionDefinition, storage: boolean): CustomResourceDefinitionVersion {
  const { version, scale, columns, deprecationWarning } = definition
  const subresources = { status: {}, ...(scale && { scale }) }
  return {
    name: version,
    served: true,
    storage,
    ...(deprecationWarning !== undefined && { deprecated: true, deprecationWarning }),
    schema: { openAPIV3Schema: schemaOf(definition) },
    subresources,
    ...(columns && { additionalPrinterColumns: withAge(columns) }),
  }
}

/** With custom columns, the API server shows no age by itself; an author who declares it has it where they want it. */
function withAge(columns: readonly CustomResourceColumnDefinition[]): CustomResourceColumnDefinition[] {
  return columns.some(({ name }) => name.toLowerCase() === 'age') ? [...columns] : [...columns, ageColumn]
}

const ageColumn: CustomResourceColumnDefinition = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
}

function schemaOf({ spec, status, rules, description }: VersionDefinition): JSONSchemaProps {
  const specSchema = objectSchema(spec)
  // A spec without required fields may be left out; its defaults still apply.
  const isOptional = specSchema.required === undefined
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    properties: {
      spec: isOptional ? { ...specSchema, default: {} } : specSchema,
      status: statusSchema(status ?? {}),
    },
    ...(!isOptional && { required: ['spec'] }),
    ...(rules && { 'x-kubernetes-validations': rules }),
  }
}

/** No field is required: a status is written in parts, possibly by several operators. */
function statusSchema(status: Fields): JSONSchemaProps {
  const { required: _, properties, ...rest } = objectSchema(status)
  return { ...rest, properties: { ...standardStatus, ...properties } }
}

const standardStatus: NonNullable<JSONSchemaProps['properties']> = {
  conditions: {
    type: 'array',
    description: 'What is known about the object, one observation a type.',
    items: {
      type: 'object',
      required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
      properties: {
        type: { type: 'string', maxLength: 316, minLength: 1 },
        status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
        reason: { type: 'string', minLength: 1, maxLength: 1024 },
        message: { type: 'string', maxLength: 32_768 },
        lastTransitionTime: { type: 'string', format: 'date-time' },
        observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
      },
    },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  },
  observedGeneration: {
    type: 'integer',
    format: 'int64',
    description: 'The generation of the object that the operator saw last.',
  },
}

/**
 * A kind: what its objects look like, and all that follows from that. The TypeScript types, the CRD with its schema,
 * defaults, rules and columns, validation and documentation come from this one definition.
 */
import { embeddedChecks } from '../kube/validation/embedded-checks.ts'
import type { Cause } from '../kube/validation/cause.ts'
import type { JsonObject } from '../kube/json.ts'
import type { Condition } from '../kube/condition.ts'
import { formatApiVersion } from '../kube/kind.ts'
import { assertName, checkDnsSubdomain } from '../kube/name.ts'
import type { KubeObject, ObjectMeta } from '../kube/object.ts'
import { type StructuralSchema, structuralSchema } from '../kube/structural/structural.ts'
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
  JSONSchemaProps,
  ValidationRule,
} from '../kube/types/apiextensions/v1.ts'
import { type Fields, objectSchema, type ReadObject, type WriteObject } from './field.ts'
import type { ObjectOf, TypedResource } from './typed-resource.ts'

export interface VersionDefinition<Spec extends Fields = Fields, Status extends Fields = Fields> {
  /** `v1`, `v1beta1`. */
  readonly version: string
  readonly spec: Spec
  /** What the operator reports, beside conditions and the generation that was seen last, which every kind has. */
  readonly status?: Status
  /** CEL rules about the object as a whole. */
  readonly rules?: readonly ValidationRule[]
  /** What `kubectl get` shows beside name and age. */
  readonly columns?: readonly CustomResourceColumnDefinition[]
  readonly scale?: CustomResourceSubresourceScale
  readonly description?: string
  /** A warning to all who still use this version. */
  readonly deprecationWarning?: string
}

export interface KindOptions<Spec extends Fields, Status extends Fields> extends VersionDefinition<Spec, Status> {
  readonly group: string
  readonly kind: string
  /** @default the kind in lower case with an s */
  readonly plural?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  /** @default 'Namespaced' */
  readonly scope?: 'Namespaced' | 'Cluster'
  /**
   * The only name that an object may have: there is one of the kind in the cluster, or in each namespace, and a server
   * refuses the second.
   */
  readonly singleton?: string
  /** Versions that are served beside the one above, which is the one that is stored. */
  readonly otherVersions?: readonly VersionDefinition[]
}

/** A kind is a resource, too: `client` and `cache` take it as it is. */
export interface Kind<Spec extends Fields = Fields, Status extends Fields = Fields> extends TypedResource<
  KindObject<Spec, Status>
> {
  readonly definition: KindOptions<Spec, Status>
  /** The CustomResourceDefinition to install. */
  crd(): CustomResourceDefinition
  /** An object of the kind, as it may be written: `Memcached.draft({ name: 'm', namespace: 'default' }, { size: 2 })`. */
  draft(metadata: ObjectMeta, spec: WriteObject<Spec>): DraftOf<Kind<Spec, Status>> & KubeObject
  /** What a server would fill in. */
  withDefaults(draft: DraftOf<Kind<Spec, Status>>): ObjectOf<Kind<Spec, Status>>
  /** What a server would refuse about an object, in its words; nothing when it would be stored. */
  validate(object: DraftOf<Kind<Spec, Status>>, old?: ObjectOf<Kind<Spec, Status>>): readonly Cause[]
}

/** What every kind reports. */
export interface StandardStatus {
  readonly conditions?: readonly Condition[]
  /** The `metadata.generation` that the operator saw last. */
  readonly observedGeneration?: number
}

/** An object of the kind as it is read from a cluster. */
export type KindObject<Spec extends Fields, Status extends Fields> = KubeObject & {
  readonly spec: ReadObject<Spec>
  /** Part by part: an operator that has only begun has reported only a part. */
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
  const { group, version, kind, plural = `${kind.toLowerCase()}s`, scope = 'Namespaced', scale } = definition
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

/** By construction: whoever writes, and by whatever means, is refused by the server itself. */
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
  const { group, kind, shortNames, categories, otherVersions = [] } = definition
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
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
    // With columns of one's own, a server shows no age by itself.
    ...(columns && { additionalPrinterColumns: [...columns, ageColumn] }),
  }
}

const ageColumn: CustomResourceColumnDefinition = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
}

function schemaOf({ spec, status, rules, description }: VersionDefinition): JSONSchemaProps {
  const specSchema = objectSchema(spec)
  // A spec in which nothing is required may be left out; then its defaults still hold.
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

/** Nothing in it is required: an operator reports as it goes, and several may report to one object. */
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

/** Validation of ObjectMeta, which is the same for all kinds. */
import type { ObjectMeta, OwnerReference, UntypedObject } from '../object.ts'
import { labelValue, qualifiedNameProblems } from './name-validation.ts'
import {
  eachInvalid,
  forbiddenField,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
  tooLong,
} from './field-error.ts'

/** Size limit of all annotations of an object. */
const maxAnnotationBytes = 256 * 1024

/**
 * All errors of labels, annotations, owner references and finalizers, in the order of the real server. `isFree`: finalizers
 * need no domain.
 */
export function metadataProblems(metadata: ObjectMeta, isFree: boolean): Problems {
  return [...commonProblems(metadata), ...ownFinalizerProblems(metadata, isFree)]
}

function commonProblems({ labels, annotations, ownerReferences }: ObjectMeta): Problems {
  return [
    ...labelProblems(labels ?? {}, 'metadata.labels'),
    ...annotationProblems(annotations ?? {}),
    ...ownerProblems(ownerReferences ?? []),
  ]
}

function ownFinalizerProblems({ finalizers = [] }: ObjectMeta, isFree: boolean): Problems {
  const field = 'metadata.finalizers'
  const isTorn = finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')
  return [
    ...finalizers.flatMap((one) => eachInvalid(field, one, qualifiedNameProblems(one))),
    ...(isTorn ? [invalidField(field, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set')] : []),
    ...(isFree ? [] : finalizers.flatMap((one, index) => unqualified(one, `${field}[${index}]`))),
  ]
}

interface MetadataRules {
  /** A custom object: the API server validates its metadata once for all kinds and twice more for this one. */
  readonly isCustom: boolean
  /** Whether finalizers need no domain. */
  readonly hasFreeFinalizers: boolean
}

/** The same for an update, including immutable fields. */
export function changedMetadataProblems(
  live: UntypedObject,
  { metadata }: UntypedObject,
  { isCustom, hasFreeFinalizers }: MetadataRules,
): Problems {
  const [before, after] = [live.metadata, metadata]
  const fixed = [...newFinalizerProblems(before, after), ...immutableProblems(before, after)]
  const common = commonProblems(after)
  const told = [...common, ...fixed]
  return [...told, ...(isCustom ? [...told, ...common] : []), ...ownFinalizerProblems(after, hasFreeFinalizers)]
}

function immutableProblems(before: ObjectMeta, after: ObjectMeta): Problems {
  return (['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const).flatMap((field) => {
    const value = after[field]
    return value === before[field] ? [] : [invalidField(`metadata.${field}`, value ?? null, immutableDetail)]
  })
}

/** An object that is being deleted may only lose finalizers. */
function newFinalizerProblems(before: ObjectMeta, after: ObjectMeta): Problems {
  if (before.deletionTimestamp === undefined) return []
  const known = new Set(before.finalizers)
  const added = (after.finalizers ?? []).filter((finalizer) => !known.has(finalizer))
  if (added.length === 0) return []
  const found = `[]string{${added.map((one) => `"${one}"`).join(', ')}}`
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${found}`
  return [forbiddenField('metadata.finalizers', why)]
}

const standardFinalizers = new Set(['kubernetes', 'orphan', 'foregroundDeletion'])

export function finalizerProblems(finalizers: readonly string[], field: string): Problems {
  return finalizers.flatMap((finalizer, index) => [
    ...eachInvalid(field, finalizer, qualifiedNameProblems(finalizer)),
    ...unqualified(finalizer, `${field}[${index}]`),
  ])
}

function unqualified(finalizer: string, field: string): Problems {
  if (finalizer.includes('/') || standardFinalizers.has(finalizer)) return []
  return [invalidField(field, finalizer, 'name is neither a standard finalizer name nor is it fully qualified')]
}

function labelProblems(labels: Readonly<Record<string, string>>, field: string): Problems {
  return Object.entries(labels).flatMap(([key, value]) =>
    eachInvalid(field, key, qualifiedNameProblems(key)).concat(eachInvalid(field, value, labelValue(value))),
  )
}

function annotationProblems(annotations: Readonly<Record<string, string>>): Problems {
  const field = 'metadata.annotations'
  // Case-insensitive here.
  const wrong = Object.keys(annotations).flatMap((key) =>
    eachInvalid(field, key, qualifiedNameProblems(key.toLowerCase())),
  )
  let size = 0
  for (const [key, value] of Object.entries(annotations)) size += Buffer.byteLength(key) + Buffer.byteLength(value)
  return size <= maxAnnotationBytes ? wrong : [...wrong, tooLong(field, maxAnnotationBytes)]
}

function ownerProblems(owners: readonly OwnerReference[]): Problems {
  const field = 'metadata.ownerReferences'
  const problems = owners.flatMap((owner, index) => {
    const at = `${field}[${index}]`
    const version = owner.apiVersion ?? ''
    return [
      ...(version === '' || version.endsWith('/')
        ? [invalidField(`${at}.apiVersion`, version, 'version must not be empty')]
        : []),
      ...(owner.kind ? [] : [invalidField(`${at}.kind`, '', 'must not be empty')]),
      ...(owner.name ? [] : [invalidField(`${at}.name`, '', 'must not be empty')]),
      ...(owner.uid ? [] : [requiredField(`${at}.uid`, 'must not be empty')]),
    ]
  })
  const [first, second] = owners.filter(({ controller }) => controller === true)
  if (!first || !second) return problems
  const found = `Only one reference can have Controller set to true. Found "true" in references for ${first.name} and ${second.name}`
  return [...problems, invalidField(field, owners, found)]
}

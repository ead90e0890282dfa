/** Metadata is the same for all kinds, and so is what may be wrong with it. */
import type { ObjectMeta, OwnerReference, UntypedObject } from '../kube/object.ts'
import type { Served } from './catalog.ts'
import { labelValue, qualifiedName } from './kinds/name-format.ts'
import { eachInvalid, forbidden, immutableDetail, invalid, type Problems, required, tooLong } from './kinds/problem.ts'
import { hasFreeFinalizers } from './strategy.ts'

/** All annotations of an object together. */
const maxAnnotationBytes = 256 * 1024

/**
 * Everything wrong with labels, annotations, owners and finalizers, in the order the real server tells it. Where they are
 * free, finalizers need no domain.
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
    ...finalizers.flatMap((one) => eachInvalid(field, one, qualifiedName(one))),
    ...(isTorn ? [invalid(field, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set')] : []),
    ...(isFree ? [] : finalizers.flatMap((one, index) => unqualified(one, `${field}[${index}]`))),
  ]
}

/**
 * The same for a change, with what nobody may change. Of a custom object it is told as often as the real server looks at
 * it: once for all kinds, and twice for this one.
 */
export function changedMetadataProblems(live: UntypedObject, { metadata }: UntypedObject, served: Served): Problems {
  const isCustom = served.custom
  const [before, after] = [live.metadata, metadata]
  const fixed = [...newFinalizerProblems(before, after), ...immutableProblems(before, after)]
  const common = commonProblems(after)
  const told = [...common, ...fixed]
  return [...told, ...(isCustom ? [...told, ...common] : []), ...ownFinalizerProblems(after, hasFreeFinalizers(served))]
}

function immutableProblems(before: ObjectMeta, after: ObjectMeta): Problems {
  return (['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const).flatMap((field) => {
    const value = after[field]
    return value === before[field] ? [] : [invalid(`metadata.${field}`, value ?? null, immutableDetail)]
  })
}

/** Who is on the way out can only be let go. */
function newFinalizerProblems(before: ObjectMeta, after: ObjectMeta): Problems {
  if (before.deletionTimestamp === undefined) return []
  const known = new Set(before.finalizers)
  const added = (after.finalizers ?? []).filter((finalizer) => !known.has(finalizer))
  if (added.length === 0) return []
  const found = `[]string{${added.map((one) => `"${one}"`).join(', ')}}`
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${found}`
  return [forbidden('metadata.finalizers', why)]
}

const standardFinalizers = new Set(['kubernetes', 'orphan', 'foregroundDeletion'])

export function finalizerProblems(finalizers: readonly string[], field: string): Problems {
  return finalizers.flatMap((finalizer, index) => [
    ...eachInvalid(field, finalizer, qualifiedName(finalizer)),
    ...unqualified(finalizer, `${field}[${index}]`),
  ])
}

function unqualified(finalizer: string, field: string): Problems {
  if (finalizer.includes('/') || standardFinalizers.has(finalizer)) return []
  return [invalid(field, finalizer, 'name is neither a standard finalizer name nor is it fully qualified')]
}

function labelProblems(labels: Readonly<Record<string, string>>, field: string): Problems {
  return Object.entries(labels).flatMap(([key, value]) =>
    eachInvalid(field, key, qualifiedName(key)).concat(eachInvalid(field, value, labelValue(value))),
  )
}

function annotationProblems(annotations: Readonly<Record<string, string>>): Problems {
  const field = 'metadata.annotations'
  // Case does not matter here.
  const wrong = Object.keys(annotations).flatMap((key) => eachInvalid(field, key, qualifiedName(key.toLowerCase())))
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
        ? [invalid(`${at}.apiVersion`, version, 'version must not be empty')]
        : []),
      ...(owner.kind ? [] : [invalid(`${at}.kind`, '', 'must not be empty')]),
      ...(owner.name ? [] : [invalid(`${at}.name`, '', 'must not be empty')]),
      ...(owner.uid ? [] : [required(`${at}.uid`, 'must not be empty')]),
    ]
  })
  const [first, second] = owners.filter(({ controller }) => controller === true)
  if (!first || !second) return problems
  const found = `Only one reference can have Controller set to true. Found "true" in references for ${first.name} and ${second.name}`
  return [...problems, invalid(field, owners, found)]
}

/** Metadata is the same for all kinds, and so is what may be wrong with it. */
import type { ObjectMeta, OwnerReference } from '../kube/object.ts'
import { labelValue, qualifiedName } from './kinds/name-format.ts'
import { eachInvalid, invalid, type Problems, required, tooLong } from './kinds/problem.ts'

/** All annotations of an object together. */
const maxAnnotationBytes = 256 * 1024

/**
 * Everything wrong with labels, annotations, owners and finalizers, in the order the real server tells it. Custom objects
 * may have finalizers of no domain.
 */
export function metadataProblems(
  { labels, annotations, ownerReferences, finalizers = [] }: ObjectMeta,
  isCustom = false,
): Problems {
  return [
    ...labelProblems(labels ?? {}, 'metadata.labels'),
    ...annotationProblems(annotations ?? {}),
    ...ownerProblems(ownerReferences ?? []),
    ...(isCustom
      ? finalizers.flatMap((one) => eachInvalid('metadata.finalizers', one, qualifiedName(one)))
      : finalizerProblems(finalizers, 'metadata.finalizers')),
  ]
}

const standardFinalizers = new Set(['kubernetes', 'orphan', 'foregroundDeletion'])

export function finalizerProblems(finalizers: readonly string[], field: string): Problems {
  return finalizers.flatMap((finalizer, index) => [
    ...eachInvalid(field, finalizer, qualifiedName(finalizer)),
    ...(finalizer.includes('/') || standardFinalizers.has(finalizer)
      ? []
      : [
          invalid(
            `${field}[${index}]`,
            finalizer,
            'name is neither a standard finalizer name nor is it fully qualified',
          ),
        ]),
  ])
}

function labelProblems(labels: Readonly<Record<string, string>>, field: string): Problems {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...eachInvalid(field, key, qualifiedName(key)),
    ...eachInvalid(field, value, labelValue(value)),
  ])
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

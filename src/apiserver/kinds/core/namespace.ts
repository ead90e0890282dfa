/**
 * Namespaces start as Active, with a label of their name, and with a finalizer that the server removes once they are
 * empty.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type { Namespace } from '../../../kube/types/core/v1.ts'
import { draftOf, finished, ensurePart } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import { eachInvalid, invalidField, type Problems } from '../../../kube/validation/field-error.ts'

const nameLabel = 'kubernetes.io/metadata.name'
const holder = 'kubernetes'

/** A generated name is not known when defaults are set, so the label is set with the initial state as well. */
function labelled(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  const { name } = object.metadata
  ensurePart(draft, 'spec')
  if (name) ensurePart(ensurePart(draft, 'metadata'), 'labels')[nameLabel] = name
  return finished(draft)
}

const standardFinalizers = new Set([holder, 'orphan', 'foregroundDeletion'])

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { finalizers = [] } = (object as unknown as Namespace).spec ?? {}
  const field = 'spec.finalizers'
  for (const finalizer of finalizers) {
    yield* eachInvalid(field, finalizer, qualifiedNameProblems(finalizer))
    if (finalizer.includes('/') || standardFinalizers.has(finalizer)) continue
    yield invalidField(field, finalizer, 'name is neither a standard finalizer name nor is it fully qualified')
  }
}

export const namespaceRules: KindRules = {
  defaults: labelled,
  prepareCreate(object) {
    const draft = draftOf(labelled(object))
    const { finalizers = [] } = (object as unknown as Namespace).spec ?? {}
    draft['spec'] = { finalizers: finalizers.includes(holder) ? finalizers : [...finalizers, holder] }
    draft['status'] = { phase: 'Active' }
    return finished(draft)
  },
  // `spec` holds only finalizers, which are changed through `/finalize` alone.
  prepareUpdate: (object, live) => ({ ...object, spec: live['spec'] }),
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object) => [...check(object)],
  validateStatus(object) {
    const { status, metadata } = object as unknown as Namespace
    const expected = metadata?.deletionTimestamp ? 'Terminating' : 'Active'
    if (status?.phase === expected) return []
    const why = `may only be '${expected}' if \`deletionTimestamp\` is ${metadata?.deletionTimestamp ? 'not ' : ''}empty`
    return [invalidField('status.Phase', status?.phase ?? '', why)]
  },
}

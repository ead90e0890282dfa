/** Leases: the holder of a lock, and until when. Coordinated leader election is disabled, so its fields are dropped. */
import type { UntypedObject } from '../../../kube/object.ts'
import type { Lease } from '../../../kube/types/coordination/v1.ts'
import { draftOf, finished, part } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { invalidField, type Problems } from '../../../kube/validation/field-error.ts'

function prepare(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  const spec = part(draft, 'spec')
  delete spec?.['strategy']
  delete spec?.['preferredHolder']
  return finished(draft)
}

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { leaseDurationSeconds: duration = 1, leaseTransitions: count = 0 } = (object as unknown as Lease).spec ?? {}
  if (duration <= 0) yield invalidField('spec.leaseDurationSeconds', duration, 'must be greater than 0')
  if (count < 0) yield invalidField('spec.leaseTransitions', count, 'must be greater than or equal to 0')
}

export const leaseRules: KindRules = {
  defaults: (object) => finished(draftOf(object)),
  prepareCreate: prepare,
  prepareUpdate: prepare,
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object) => [...check(object)],
}

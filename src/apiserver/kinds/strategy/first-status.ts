/** The initial status of a new object: the zero value of its struct, which for most kinds is `{}`. */
import type { UntypedObject } from '../../../kube/object.ts'
import { zeroOf } from '../../codec/struct-form.ts'

export function withFirstStatus(object: UntypedObject): UntypedObject {
  return { ...object, status: zeroOf(object.apiVersion, object.kind, 'status') }
}

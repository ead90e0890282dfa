/** The status of what nobody has looked at yet: the zero of its struct, which for most kinds is `{}`. */
import type { UntypedObject } from '../../kube/object.ts'
import { zeroOf } from '../codec/struct-form.ts'

export function withFirstStatus(object: UntypedObject): UntypedObject {
  return { ...object, status: zeroOf(object.apiVersion, object.kind, 'status') }
}

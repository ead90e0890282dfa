/** Names of CSI drivers. */
import { dnsSubdomain } from '../../../kube/validation/name-validation.ts'
import { eachInvalid, type Problems, requiredField, tooLong } from '../../../kube/validation/field-error.ts'

const longest = 63

export function checkCsiDriverName(name: string | undefined, field: string): Problems {
  if (!name) return [requiredField(field)]
  return [
    ...(Buffer.byteLength(name) > longest ? [tooLong(field, longest)] : []),
    ...eachInvalid(field, name, dnsSubdomain(name.toLowerCase())),
  ]
}

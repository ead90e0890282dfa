/** Validation of port numbers and names. */
import type { IntOrString } from '../../../kube/types/meta/v1.ts'
import { portName } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  noErrors,
  invalidField,
  unsupportedField,
  type Problems,
} from '../../../kube/validation/field-error.ts'

const highest = 65535

export function checkPortNumber(port: number | undefined, field: string): Problems {
  const number = port ?? 0
  if (number >= 1 && number <= highest) return noErrors
  return [invalidField(field, number, `must be between 1 and ${highest}, inclusive`)]
}

/** A port number, or the name of a container port. */
export function checkPort(port: IntOrString | undefined, field: string): Problems {
  return typeof port === 'string' ? eachInvalid(field, port, portName(port)) : checkPortNumber(port, field)
}

export function checkProtocol(protocol: string | undefined, field: string): Problems {
  return unsupportedField(field, protocol, ['SCTP', 'TCP', 'UDP'])
}

/** Validation of the addresses of a load balancer in a status. */
import type { LoadBalancerIngress } from '../../../kube/types/core/v1.ts'
import { checkIp, parseIp } from '../../errors/ip-address.ts'
import { dnsSubdomain } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  noErrors,
  forbiddenField,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'

const field = 'status.loadBalancer.ingress'
const modes = ['Proxy', 'VIP']

export function checkLoadBalancerStatus(ingress: readonly LoadBalancerIngress[], isBalanced: boolean): Problems {
  if (!isBalanced && ingress.length > 0) {
    return [forbiddenField(field, "may only be used when `spec.type` is 'LoadBalancer'")]
  }
  return ingress.flatMap(({ ip, ipMode, hostname }, index) => [
    ...(ip ? checkIp(ip, `${field}[${index}].ip`) : []),
    ...checkMode(ip, ipMode, `${field}[${index}].ipMode`),
    ...checkHostname(hostname, `${field}[${index}].hostname`),
  ])
}

function checkMode(ip: string | undefined, mode: string | undefined, at: string): Problems {
  if (mode === undefined) return ip ? [requiredField(at, 'must be specified when `ip` is set')] : noErrors
  if (!ip) return [forbiddenField(at, 'may not be specified when `ip` is not set')]
  return modes.includes(mode) ? noErrors : [unsupported(at, mode, modes)]
}

export function checkHostname(hostname: string | undefined, at: string): Problems {
  if (!hostname) return noErrors
  return [
    ...eachInvalid(at, hostname, dnsSubdomain(hostname)),
    ...(parseIp(hostname) ? [invalidField(at, hostname, 'must be a DNS name, not an IP address')] : []),
  ]
}

/**
 * Validation of `clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` of a Service: they must be consistent, and
 * the primary address is immutable.
 */
import type { ServiceSpec } from '../../../kube/types/core/v1.ts'
import { checkIp, parseIp } from '../../errors/ip-address.ts'
import {
  duplicate,
  noErrors,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { isHeadless } from './service-type.ts'
import { repeatedValues } from '../../../kube/validation/repetition.ts'

type Addressed = Pick<ServiceSpec, 'type' | 'clusterIP' | 'clusterIPs' | 'ipFamilies' | 'ipFamilyPolicy'>

const families = ['IPv4', 'IPv6']
const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack']
const at = 'spec.clusterIPs'

export function checkClusterIps(spec: Addressed, live: Addressed | undefined): Problems {
  if (spec.type === 'ExternalName') return noErrors
  const { clusterIP = '', clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec
  const problems = [...agreement(clusterIP, clusterIPs)]
  const repeated = repeatedValues(ipFamilies)
  for (const [index, family] of ipFamilies.entries()) {
    const field = `spec.ipFamilies[${index}]`
    if (!families.includes(family)) problems.push(unsupported(field, family, families))
    if (repeated.has(index)) problems.push(duplicate(field, family))
  }
  if (ipFamilyPolicy !== undefined && !policies.includes(ipFamilyPolicy)) {
    problems.push(unsupported('spec.ipFamilyPolicy', ipFamilyPolicy, policies))
  }
  const own = clusterIPs.flatMap((address, index) => {
    if (index > 0 || address !== 'None') return checkIp(address, `${at}[${index}]`, live?.clusterIPs)
    return clusterIPs.length > 1 ? [invalidField(at, clusterIPs, "'None' must be the first and only value")] : noErrors
  })
  for (const one of own) problems.push(one)
  if (clusterIPs.length > 2) problems.push(invalidField(at, clusterIPs, 'may only hold up to 2 values'))
  if (own.length > 0 || isHeadless(spec)) return problems
  const found = clusterIPs.map((address) => parseIp(address)?.family)
  if (clusterIPs.length > 1 && (clusterIPs.length > 2 || found[0] === found[1])) {
    problems.push(invalidField(at, clusterIPs, 'may specify no more than one IP for each IP family'))
  }
  for (const [index, address] of clusterIPs.entries()) {
    const expected = ipFamilies[index]
    if (expected === undefined || !families.includes(expected) || expected === found[index]) continue
    problems.push(
      invalidField(
        `${at}[${index}]`,
        address,
        `expected an ${expected} value as indicated by \`ipFamilies[${index}]\``,
      ),
    )
  }
  return problems
}

function* agreement(clusterIP: string, clusterIPs: readonly string[]): Iterable<Problems[number]> {
  if (clusterIP === '') {
    if (clusterIPs.length > 0) yield invalidField(at, clusterIPs, 'must be empty when `clusterIP` is not specified')
  } else if (clusterIPs.length === 0) yield requiredField(at)
  else if (clusterIPs[0] !== clusterIP) yield invalidField(at, clusterIPs, 'first value must match `clusterIP`')
}

/** The primary address is immutable; a secondary one may be added and removed. */
export function checkAddressChange(spec: Addressed, live: Addressed): Problems {
  if (spec.type === 'ExternalName' || live.type === 'ExternalName') return noErrors
  const isNow = isHeadless(spec)
  const was = isHeadless(live)
  const once = 'may not change once set'
  const { clusterIPs = [], ipFamilies = [] } = spec
  const { clusterIPs: addressesBefore = [], ipFamilies: familiesBefore = [] } = live
  const problems: Problems[number][] = []
  if (!isNow || !was) {
    if (clusterIPs.length === 0 && addressesBefore.length > 0) {
      problems.push(invalidField(`${at}[0]`, clusterIPs, 'primary clusterIP can not be unset'))
    }
    for (const [index, address] of addressesBefore.entries()) {
      if (index > 0 && clusterIPs.length !== addressesBefore.length) break
      if (clusterIPs[index] !== undefined && clusterIPs[index] !== address) {
        problems.push(invalidField(`${at}[${index}]`, clusterIPs, once))
      }
    }
  }
  if (!isNow && !was && familiesBefore.length === ipFamilies.length) {
    for (const [index, family] of familiesBefore.entries()) {
      if (ipFamilies[index] !== family) problems.push(invalidField('spec.ipFamilies[0]', ipFamilies, once))
    }
  }
  return problems
}

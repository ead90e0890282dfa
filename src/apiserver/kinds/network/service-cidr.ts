/** ServiceCIDR, a range of cluster IPs, and IPAddress, an allocated one. */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { IPAddress, ParentReference, ServiceCIDR } from '../../../kube/types/networking/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import { checkCanonicalCidr, parseCidr } from '../../errors/ip-address.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { dnsSubdomain, pathSegment } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
} from '../../../kube/validation/field-error.ts'

const field = 'spec.cidrs'
const rangesOf = (object: UntypedObject): readonly string[] => (object as unknown as ServiceCIDR).spec?.cidrs ?? []

function* check(ranges: readonly string[]): Iterable<Problems[number]> {
  if (ranges.length === 0) yield requiredField(field, 'at least one CIDR required')
  else if (ranges.length > 2) yield invalidField(field, { CIDRs: ranges }, 'may only hold up to 2 values')
  else {
    for (const [index, range] of ranges.entries()) yield* checkCanonicalCidr(range, `${field}[${index}]`)
    const [first, second] = ranges.map((range) => parseCidr(range)?.address.family)
    if (ranges.length === 2 && first !== undefined && first === second) {
      const why = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'
      yield invalidField(field, ranges, why)
    }
  }
}

function* checkChange(ranges: readonly string[], before: readonly string[]): Iterable<Problems[number]> {
  if (ranges.length === before.length) {
    for (const [index, range] of ranges.entries()) {
      if (range !== before[index]) yield invalidField(`${field}[${index}]`, range, immutableDetail)
    }
  } else if (before.length === 1 && ranges.length === 2) {
    if (ranges[0] !== before[0]) yield invalidField(`${field}[0]`, ranges[0], immutableDetail)
    yield* check(ranges)
  } else yield invalidField(field, ranges, immutableDetail)
}

export const serviceCidrRules: KindRules = {
  defaults: structForm,
  prepareCreate: structForm,
  validateCreate: (object) => [...check(rangesOf(object))],
  validateUpdate: (object, live) => [...checkChange(rangesOf(object), rangesOf(live))],
}

const parentOf = (object: UntypedObject): ParentReference | undefined =>
  (object as unknown as IPAddress).spec?.parentRef

function* checkParent(parent: ParentReference | undefined): Iterable<Problems[number]> {
  const at = 'spec.parentRef'
  if (!parent) {
    yield requiredField(at)
    return
  }
  if (parent.group) yield* eachInvalid(`${at}.group`, parent.group, dnsSubdomain(parent.group))
  for (const member of ['resource', 'name', 'namespace'] as const) {
    const text = parent[member]
    if (text) yield* eachInvalid(`${at}.${member}`, text, pathSegment(text))
    else if (member !== 'namespace') yield requiredField(`${at}.${member}`)
  }
}

/** Its name is the address, and is validated with the metadata. */
export const ipAddressRules: KindRules = {
  defaults: structForm,
  validateCreate: (object) => [...checkParent(parentOf(object))],
  validateUpdate: (object, live) =>
    equalJson(parentOf(object) as unknown as Json, parentOf(live) as unknown as Json)
      ? []
      : [invalidField('spec.parentRef', null, immutableDetail)],
}

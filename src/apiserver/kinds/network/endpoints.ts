/** Endpoints: the addresses behind a Service, predecessor of EndpointSlices. */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { EndpointAddress, EndpointPort, Endpoints } from '../../../kube/types/core/v1.ts'
import { draftOf, fillZeros, finished, parts } from '../strategy/draft.ts'
import { checkIp, checkReachableIp } from '../../errors/ip-address.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { dnsLabel, dnsSubdomain, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import { checkPortNumber, checkProtocol } from '../values/port.ts'
import { eachInvalid, noErrors, type Problems, requiredField } from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  for (const subset of parts(draft, 'subsets')) {
    for (const port of parts(subset, 'ports')) fillZeros(port, { protocol: 'TCP' })
  }
  return finished(draft)
}

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { subsets = [] } = object as unknown as SentObject<Endpoints>
  for (const [index, { addresses = [], notReadyAddresses = [], ports = [] }] of subsets.entries()) {
    const at = `subsets[${index}]`
    if (addresses.length + notReadyAddresses.length === 0) {
      yield requiredField(at, 'must specify `addresses` or `notReadyAddresses`')
    }
    for (const [place, address] of addresses.entries()) yield* checkAddress(address, `${at}.addresses[${place}]`)
    for (const [place, address] of notReadyAddresses.entries()) {
      yield* checkAddress(address, `${at}.notReadyAddresses[${place}]`)
    }
    for (const [place, port] of ports.entries()) {
      yield* checkEndpointPort(port, ports.length > 1, `${at}.ports[${place}]`)
    }
  }
}

function checkAddress({ ip = '', hostname, nodeName }: SentObject<EndpointAddress>, at: string): Problems {
  return [
    ...checkIp(ip, `${at}.ip`),
    ...(hostname ? eachInvalid(`${at}.hostname`, hostname, dnsLabel(hostname)) : noErrors),
    ...(nodeName === undefined ? noErrors : eachInvalid(`${at}.nodeName`, nodeName, dnsSubdomain(nodeName))),
    ...checkReachableIp(ip, `${at}.ip`),
  ]
}

function checkEndpointPort(
  { name, port, protocol, appProtocol }: SentObject<EndpointPort>,
  isOneOfMany: boolean,
  at: string,
): Problems {
  return [
    ...(!name && isOneOfMany ? [requiredField(`${at}.name`)] : noErrors),
    ...(name ? eachInvalid(`${at}.name`, name, dnsLabel(name)) : noErrors),
    ...checkPortNumber(port, `${at}.port`),
    ...checkProtocol(protocol, `${at}.protocol`),
    ...(appProtocol === undefined
      ? noErrors
      : eachInvalid(`${at}.appProtocol`, appProtocol, qualifiedNameProblems(appProtocol))),
  ]
}

export const endpointsRules: KindRules = {
  defaults,
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object, live) =>
    equalJson(object['subsets'] as Json | undefined, live['subsets'] as Json | undefined)
      ? noErrors
      : [...check(object)],
}

/** EndpointSlices: addresses of one family behind a Service. */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { Endpoint, EndpointPort, EndpointSlice } from '../../../kube/types/discovery/v1.ts'
import { draftOf, fillAbsent, finished, parts } from '../strategy/draft.ts'
import { checkCanonicalIp, checkIp, checkReachableIp, parseIp } from '../../errors/ip-address.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { dnsLabel, dnsSubdomain, labelValue, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import { checkProtocol } from '../values/port.ts'
import {
  duplicate,
  eachInvalid,
  noErrors,
  immutableDetail,
  invalidField,
  unsupportedField,
  type Problems,
  requiredField,
  tooMany,
} from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  for (const port of parts(draft, 'ports')) fillAbsent(port, { name: '', protocol: 'TCP' })
  return finished(draft)
}

/** Drops `deprecatedTopology`, which clients can no longer set. */
function prepare(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  for (const endpoint of parts(draft, 'endpoints')) delete endpoint['deprecatedTopology']
  return finished(draft)
}

const maxEndpoints = 1000
const maxPorts = 20_000
const maxAddresses = 100

function check(object: UntypedObject, live: UntypedObject | undefined): Problems {
  const slice = object as unknown as SentObject<EndpointSlice>
  const isUnchanged = live && equalJson(object['endpoints'] as Json, live['endpoints'] as Json)
  const endpoints = isUnchanged ? [] : (slice.endpoints ?? [])
  return [
    ...checkPorts(slice.ports ?? []),
    ...(endpoints.length > maxEndpoints
      ? [tooMany('endpoints', endpoints.length, maxEndpoints)]
      : endpoints.flatMap((endpoint, index) => [
          ...checkEndpoint(endpoint, slice.addressType ?? '', `endpoints[${index}]`),
        ])),
    ...(live?.['addressType'] === slice.addressType
      ? noErrors
      : unsupportedField('addressType', slice.addressType, ['FQDN', 'IPv4', 'IPv6'])),
    ...endpoints.flatMap(({ addresses = [] }, index) => countProblems(addresses, `endpoints[${index}].addresses`)),
  ]
}

function countProblems(addresses: readonly string[], field: string): Problems {
  if (addresses.length === 0) return [requiredField(field)]
  return addresses.length > maxAddresses ? [tooMany(field, addresses.length, maxAddresses)] : noErrors
}

function* checkPorts(ports: readonly SentObject<EndpointPort>[]): Iterable<Problems[number]> {
  if (ports.length > maxPorts) {
    yield tooMany('ports', ports.length, maxPorts)
    return
  }
  const names = ports.map(({ name = '' }) => name)
  for (const [index, { name = '', protocol, appProtocol }] of ports.entries()) {
    const at = `ports[${index}]`
    if (name !== '') yield* eachInvalid(`${at}.name`, name, dnsLabel(name))
    if (names.indexOf(name) < index) yield duplicate(`${at}.name`, name)
    yield* checkProtocol(protocol, `${at}.protocol`)
    if (appProtocol !== undefined)
      yield* eachInvalid(`${at}.appProtocol`, appProtocol, qualifiedNameProblems(appProtocol))
  }
}

function* checkEndpoint(endpoint: SentObject<Endpoint>, type: string, at: string): Iterable<Problems[number]> {
  const { addresses = [], nodeName, hostname, hints } = endpoint
  for (const [index, address] of addresses.entries()) yield* checkAddress(address, type, `${at}.addresses`, index)
  if (nodeName !== undefined) yield* eachInvalid(`${at}.nodeName`, nodeName, dnsSubdomain(nodeName))
  if (hostname !== undefined) yield* eachInvalid(`${at}.hostname`, hostname, dnsLabel(hostname))
  yield* checkHints(hints?.forZones ?? [], `${at}.hints.forZones`, labelValue)
  yield* checkHints(hints?.forNodes ?? [], `${at}.hints.forNodes`, dnsSubdomain)
}

function* checkHints(
  hints: readonly { readonly name?: string }[],
  field: string,
  format: (name: string) => readonly string[],
): Iterable<Problems[number]> {
  const most = 8
  if (hints.length > most) yield tooMany(field, hints.length, most)
  else {
    for (const [index, { name = '' }] of hints.entries()) {
      const at = `${field}[${index}].name`
      if (hints.findIndex((other) => other.name === name) < index) yield duplicate(at, name)
      yield* eachInvalid(at, name, format(name))
    }
  }
}

function* checkAddress(address: string, type: string, field: string, index: number): Iterable<Problems[number]> {
  const at = `${field}[${index}]`
  if (type === 'FQDN') {
    const host = address.replace(/\.$/, '')
    if (address === '') yield requiredField(at)
    else if (dnsSubdomain(host).length > 0) yield invalidField(at, host, dnsSubdomain(host).join(','))
    else if (!host.includes('.')) {
      yield invalidField(at, host, 'should be a domain with at least two segments separated by dots')
    }
    return
  }
  if (type !== 'IPv4' && type !== 'IPv6') return
  const problems = type === 'IPv4' ? checkIp(address, at) : checkCanonicalIp(address, at)
  if (problems.length > 0) {
    yield* problems
    return
  }
  if (parseIp(address)!.family !== type) yield invalidField(field, address, `must be an ${type} address`)
  yield* checkReachableIp(address, at)
}

export const endpointSliceRules: KindRules = {
  defaults,
  prepareCreate: prepare,
  prepareUpdate: prepare,
  validateCreate: (object) => check(object, undefined),
  validateUpdate: (object, live) => [
    ...check(object, live),
    ...(object['addressType'] === live['addressType']
      ? noErrors
      : [invalidField('addressType', null, immutableDetail)]),
  ],
  warnings: (object, live) =>
    !live && object['addressType'] === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : [],
}

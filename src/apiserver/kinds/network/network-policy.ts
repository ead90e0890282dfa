/** NetworkPolicies: which pods may communicate. A policy without `policyTypes` applies to ingress. */
import type { UntypedObject } from '../../../kube/object.ts'
import type {
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../../kube/types/networking/v1.ts'
import { draftOf, fillAbsent, finished, ensurePart, parts } from '../strategy/draft.ts'
import { checkCidr, isInRange, parseCidr } from '../../errors/ip-address.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkLabelSelector } from '../values/label-selector.ts'
import { portName } from '../../../kube/validation/name-validation.ts'
import { checkPortNumber } from '../values/port.ts'
import {
  eachInvalid,
  forbiddenField,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'

const specOf = (object: UntypedObject): Partial<NetworkPolicySpec> => (object as unknown as NetworkPolicy).spec ?? {}

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  const spec = ensurePart(draft, 'spec')
  for (const rule of [...parts(spec, 'ingress'), ...parts(spec, 'egress')]) {
    for (const port of parts(rule, 'ports')) fillAbsent(port, { protocol: 'TCP' })
  }
  if (parts(spec, 'egress').length > 0) fillAbsent(spec, { policyTypes: ['Ingress', 'Egress'] })
  else fillAbsent(spec, { policyTypes: ['Ingress'] })
  return finished(draft)
}

const types = ['Ingress', 'Egress']
const protocols = ['TCP', 'UDP', 'SCTP']

function* check(object: UntypedObject, known: readonly string[]): Iterable<Problems[number]> {
  const { podSelector, ingress = [], egress = [], policyTypes = [] } = specOf(object)
  yield* checkLabelSelector(podSelector, 'spec.podSelector')
  for (const [index, { ports = [], from = [] }] of ingress.entries()) {
    yield* checkRule(ports, from, `spec.ingress[${index}]`, 'from', known)
  }
  for (const [index, { ports = [], to = [] }] of egress.entries()) {
    yield* checkRule(ports, to, `spec.egress[${index}]`, 'to', known)
  }
  if (policyTypes.length > types.length) {
    yield invalidField('spec.policyTypes', policyTypes, 'may not specify more than two policyTypes')
    return
  }
  for (const [index, type] of policyTypes.entries()) {
    if (!types.includes(type)) yield unsupported(`spec.policyTypes[${index}]`, type, types)
  }
}

function* checkRule(
  ports: readonly NetworkPolicyPort[],
  peers: readonly NetworkPolicyPeer[],
  at: string,
  direction: string,
  known: readonly string[],
): Iterable<Problems[number]> {
  for (const [index, port] of ports.entries()) yield* checkPolicyPort(port, `${at}.ports[${index}]`)
  for (const [index, peer] of peers.entries()) yield* checkPeer(peer, `${at}.${direction}[${index}]`, known)
}

function* checkPolicyPort({ protocol, port, endPort }: NetworkPolicyPort, at: string): Iterable<Problems[number]> {
  if (protocol !== undefined && !protocols.includes(protocol)) yield unsupported(`${at}.protocol`, protocol, protocols)
  const last = `${at}.endPort`
  if (port === undefined) {
    if (endPort !== undefined) yield invalidField(last, endPort, 'may not be specified when `port` is not specified')
  } else if (typeof port === 'string') {
    if (endPort !== undefined) yield invalidField(last, endPort, 'may not be specified when `port` is non-numeric')
    yield* eachInvalid(`${at}.port`, port, portName(port))
  } else {
    yield* checkPortNumber(port, `${at}.port`)
    if (endPort === undefined) return
    if (endPort < port) yield invalidField(last, endPort, 'must be greater than or equal to `port`')
    yield* checkPortNumber(endPort, last)
  }
}

function* checkPeer(peer: NetworkPolicyPeer, at: string, known: readonly string[]): Iterable<Problems[number]> {
  const { podSelector, namespaceSelector, ipBlock } = peer
  yield* checkLabelSelector(podSelector, `${at}.podSelector`)
  yield* checkLabelSelector(namespaceSelector, `${at}.namespaceSelector`)
  if (ipBlock) yield* checkBlock(ipBlock, `${at}.ipBlock`, known)
  if (!podSelector && !namespaceSelector && !ipBlock) yield requiredField(at, 'must specify a peer')
  else if (ipBlock && (podSelector || namespaceSelector)) {
    yield forbiddenField(at, 'may not specify both ipBlock and another peer')
  }
}

function* checkBlock({ cidr, except = [] }: IPBlock, at: string, known: readonly string[]): Iterable<Problems[number]> {
  if (!cidr) {
    yield requiredField(`${at}.cidr`)
    return
  }
  yield* checkCidr(cidr, `${at}.cidr`, known)
  const range = parseCidr(cidr)
  if (!range) return
  for (const [index, part] of except.entries()) {
    const field = `${at}.except[${index}]`
    yield* checkCidr(part, field, known)
    const inner = parseCidr(part)
    if (!inner) continue
    if (!isInRange(inner.address, range) || range.prefix >= inner.prefix) {
      yield invalidField(field, part, 'must be a strict subset of `cidr`')
    }
  }
}

/** Invalid ranges that are stored already may stay. */
function rangesOf(object: UntypedObject): readonly string[] {
  const { ingress = [], egress = [] } = specOf(object)
  const peers = [...ingress.flatMap(({ from = [] }) => from), ...egress.flatMap(({ to = [] }) => to)]
  const blocks = peers.flatMap(({ ipBlock }) => (ipBlock ? [ipBlock] : []))
  return [...blocks.map(({ cidr }) => cidr), ...blocks.flatMap(({ except = [] }) => except)]
}

export const networkPolicyRules: KindRules = {
  defaults,
  validateCreate: (object) => [...check(object, [])],
  validateUpdate: (object, live) => [...check(object, rangesOf(live))],
}

/**
 * What a Service is given: addresses in the cluster and ports on the nodes. The server keeps no list of what it gave:
 * whatever no stored Service has is free, so nothing can leak, and an address is free again once its Service is gone.
 *
 * A cluster has one family of addresses here, IPv4. What a client asks for beyond that is refused as on a real cluster
 * of one family.
 */
import type { UntypedObject } from '../../kube/object.ts'
import type { ServicePort, ServiceSpec } from '../../kube/types/core/v1.ts'
import { internal, invalid as refuse } from '../errors/status-error.ts'
import type { KindContext } from './kind-rules.ts'
import { formatIp, isInRange, parseCidr, parseIp } from '../errors/ip-address.ts'
import { invalidField, type Problems } from '../../kube/validation/field-error.ts'
import { checkClusterIps } from './service-address.ts'
import { isHeadless, needsClusterIp, needsHealthCheck, needsNodePort } from './service-type.ts'

type Mutable<T> = { -readonly [Member in keyof T]: T[Member] }
export type ServiceDraft = Mutable<Omit<ServiceSpec, 'ports'>> & { ports?: Mutable<ServicePort>[] }

const clusterRange = '10.0.0.0/16'
const firstNodePort = 30000
const lastNodePort = 32767
/** The first addresses and ports are left to those who ask for one of them. */
const askedAddresses = 256
const askedNodePorts = 86

interface Taken {
  readonly addresses: ReadonlySet<string>
  readonly ports: Set<number>
}

function takenByOthers(context: KindContext, name: string, namespace: string | undefined): Taken {
  const addresses = new Set<string>()
  const ports = new Set<number>()
  for (const other of context.objects('services')) {
    if (other.metadata.name === name && other.metadata.namespace === namespace) continue
    const spec = other['spec'] as ServiceSpec | undefined
    for (const address of spec?.clusterIPs ?? []) addresses.add(address)
    for (const { nodePort } of spec?.ports ?? []) if (nodePort) ports.add(nodePort)
    if (spec?.healthCheckNodePort) ports.add(spec.healthCheckNodePort)
  }
  return { addresses, ports }
}

interface Allocation {
  readonly spec: ServiceDraft
  readonly live: ServiceSpec | undefined
  readonly context: KindContext
  readonly taken: Taken
  readonly refuse: (problems: Problems) => void
}

/** Gives `spec`, a draft of one's own, everything it needs; `live` is what it had. */
export function allocate(
  object: UntypedObject,
  spec: ServiceDraft,
  live: ServiceSpec | undefined,
  context: KindContext,
): void {
  const { name = '', namespace } = object.metadata
  const allocation: Allocation = {
    spec,
    live,
    context,
    taken: takenByOthers(context, name, namespace),
    refuse(problems) {
      if (problems.length > 0) throw refuse({ group: '', kind: 'Service' }, name, problems)
    },
  }
  if (live) keepAllocated(spec, live)
  alignAddresses(spec, live)
  settleFamilies(allocation)
  allocateAddress(allocation)
  if (needsNodePort(spec)) (live ? updateNodePorts : allocateNodePorts)(allocation)
  if (needsHealthCheck(spec) && !(live && needsHealthCheck(live))) allocateHealthCheck(allocation)
}

/** Who sends the manifest of yesterday again means what was allocated then. */
function keepAllocated(spec: ServiceDraft, live: ServiceSpec): void {
  if (needsClusterIp(spec) && needsClusterIp(live)) {
    if (!spec.clusterIP && live.clusterIP) spec.clusterIP = live.clusterIP
    if (!spec.clusterIPs?.length && live.clusterIPs?.length) spec.clusterIPs = live.clusterIPs
  }
  if (needsNodePort(spec) && needsNodePort(live)) {
    const before = new Map((live.ports ?? []).map(({ name = '', nodePort = 0 }) => [name, nodePort]))
    const wanted = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort))
    for (const port of spec.ports ?? []) {
      const known = before.get(port.name ?? '')
      if (!port.nodePort && known && !wanted.has(known)) port.nodePort = known
    }
  }
  if (needsHealthCheck(spec) && needsHealthCheck(live) && !spec.healthCheckNodePort && live.healthCheckNodePort) {
    spec.healthCheckNodePort = live.healthCheckNodePort
  }
}

/** `clusterIP` and `clusterIPs` say the same; old clients know only the first. */
function alignAddresses(spec: ServiceDraft, live: ServiceSpec | undefined): void {
  const { clusterIP = '', clusterIPs = [] } = spec
  if (!live) {
    if (clusterIP !== '' && clusterIPs.length === 0) spec.clusterIPs = [clusterIP]
    return
  }
  const before = live.clusterIP ?? ''
  const unchanged = String(clusterIPs) === String(live.clusterIPs ?? [])
  if (before === clusterIP || !unchanged) return
  if (clusterIP === '') delete spec.clusterIPs
  else spec.clusterIPs = [clusterIP]
}

function settleFamilies({ spec, live, refuse: refuseAll }: Allocation): void {
  if (spec.type === 'ExternalName') return
  const isLoose = spec.clusterIP === 'None' && Object.keys(spec.selector ?? {}).length === 0
  spec.ipFamilyPolicy ??= live?.ipFamilyPolicy ?? (isLoose ? 'RequireDualStack' : 'SingleStack')
  refuseAll(checkClusterIps(spec, live))
  const policy = spec.ipFamilyPolicy
  const problems = [...policyProblems(spec, live, policy)]
  const families = [...(spec.ipFamilies ?? [])]
  for (const [index, address] of (spec.clusterIPs ?? []).entries()) {
    if (address === 'None' || index < families.length) continue
    const family = parseIp(address)?.family ?? 'IPv4'
    if (family === 'IPv4') families.push(family)
    else
      problems.push(
        invalidField(`spec.clusterIPs[${index}]`, spec.clusterIPs, `${family} is not configured on this cluster`),
      )
  }
  refuseAll(problems)
  if (isLoose) {
    if (families.length === 0) families.push('IPv4')
    if (families.length === 1 && policy !== 'SingleStack') families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4')
  } else {
    refuseAll([
      ...(policy === 'RequireDualStack'
        ? [invalidField('spec.ipFamilyPolicy', policy, 'this cluster is not configured for dual-stack services')]
        : []),
      ...families.flatMap((family, index) =>
        family === 'IPv4' ? [] : [invalidField(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster')],
      ),
    ])
    if (families.length === 0) families.push('IPv4')
  }
  spec.ipFamilies = families
}

function* policyProblems(
  spec: ServiceDraft,
  live: ServiceSpec | undefined,
  policy: string,
): Iterable<Problems[number]> {
  const addresses = spec.clusterIPs?.length ?? 0
  const families = spec.ipFamilies?.length ?? 0
  const field = 'spec.ipFamilyPolicy'
  if (policy === 'SingleStack') {
    const many = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
    if (addresses === 2) yield invalidField(field, policy, `${many} cluster IPs are specified`)
    if (families === 2) yield invalidField(field, policy, `${many} IP families are specified`)
    return
  }
  if (addresses > 0 && addresses < (live?.clusterIPs?.length ?? 0)) {
    yield invalidField(field, policy, "must be 'SingleStack' to release the secondary cluster IP")
  }
  if (families > 0 && families < (live?.ipFamilies?.length ?? 0)) {
    yield invalidField(field, policy, "must be 'SingleStack' to release the secondary IP family")
  }
}

function allocateAddress({ spec, live, context, taken, refuse: refuseAll }: Allocation): void {
  if (spec.type === 'ExternalName' || isHeadless(spec)) return
  if (live && live.type !== 'ExternalName') return
  const [wanted] = spec.clusterIPs ?? []
  if (wanted) {
    const why = taken.addresses.has(wanted)
      ? 'provided IP is already allocated'
      : isInRange(parseIp(wanted)!, parseCidr(clusterRange)!)
        ? undefined
        : `the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${clusterRange}`
    if (why) refuseAll([invalidField('spec.clusterIPs', spec.clusterIPs, `failed to allocate IP ${wanted}: ${why}`)])
    return
  }
  const { address: first, prefix } = parseCidr(clusterRange)!
  // Neither the first (the network) nor the last (its broadcast) is an address.
  const last = 2 ** (32 - prefix) - 2
  const at = (offset: number): string => formatIp({ family: 'IPv4', bits: first.bits + BigInt(offset) })
  const found = pickFree(
    context,
    [askedAddresses + 1, last],
    [1, askedAddresses],
    (offset) => !taken.addresses.has(at(offset)),
  )
  if (found === undefined) throw internal('failed to allocate a serviceIP: range is full')
  spec.clusterIP = at(found)
  spec.clusterIPs = [at(found)]
}

/** Ports that serve the same port number by several protocols share a node port. */
function allocateNodePorts(allocation: Allocation): void {
  const { spec, taken } = allocation
  const given = new Map<number, number>()
  const wanted = new Map<number, number>()
  for (const { port, nodePort } of spec.ports ?? []) if (nodePort && !wanted.has(port)) wanted.set(port, nodePort)
  for (const [index, port] of (spec.ports ?? []).entries()) {
    if (!port.nodePort && !allocatesNodePorts(spec)) continue
    const known = given.get(port.port)
    if (known === undefined) {
      const asked = wanted.get(port.port)
      if (asked) claim(allocation, index, asked)
      const granted = asked ?? pickNodePort(allocation)
      port.nodePort = granted
      given.set(port.port, granted)
    } else if (!port.nodePort) port.nodePort = known
    else if (port.nodePort !== known) claim(allocation, index, port.nodePort)
    taken.ports.add(port.nodePort)
  }
}

function updateNodePorts(allocation: Allocation): void {
  const { spec, live, taken } = allocation
  const before = new Set((live?.ports ?? []).map(({ nodePort }) => nodePort))
  const own = new Set<number>()
  for (const [index, port] of (spec.ports ?? []).entries()) {
    if (port.nodePort) {
      if (!before.has(port.nodePort) && !own.has(port.nodePort)) claim(allocation, index, port.nodePort)
    } else if (allocatesNodePorts(spec)) port.nodePort = pickNodePort(allocation)
    else continue
    own.add(port.nodePort)
    taken.ports.add(port.nodePort)
  }
}

function allocateHealthCheck(allocation: Allocation): void {
  const { spec, taken } = allocation
  const asked = spec.healthCheckNodePort
  const why = asked ? claimProblem(allocation, asked) : undefined
  if (why) throw internal(`failed to allocate requested HealthCheck NodePort ${asked}: ${why}`)
  spec.healthCheckNodePort = asked || pickNodePort(allocation)
  taken.ports.add(spec.healthCheckNodePort)
}

function allocatesNodePorts({ type, allocateLoadBalancerNodePorts }: ServiceDraft): boolean {
  return type === 'NodePort' || allocateLoadBalancerNodePorts !== false
}

function claimProblem({ taken }: Allocation, port: number): string | undefined {
  if (port < firstNodePort || port > lastNodePort) {
    return `provided port is not in the valid range. The range of valid ports is ${firstNodePort}-${lastNodePort}`
  }
  return taken.ports.has(port) ? 'provided port is already allocated' : undefined
}

function claim(allocation: Allocation, index: number, port: number): void {
  const why = claimProblem(allocation, port)
  if (why) allocation.refuse([invalidField(`spec.ports[${index}].nodePort`, port, why)])
}

function pickNodePort({ context, taken }: Allocation): number {
  const dynamic = firstNodePort + askedNodePorts
  const found = pickFree(
    context,
    [dynamic, lastNodePort],
    [firstNodePort, dynamic - 1],
    (port) => !taken.ports.has(port),
  )
  if (found === undefined) throw internal('failed to allocate a nodePort: range is full')
  return found
}

type Span = readonly [first: number, last: number]

/** A free number of the first span, beginning anywhere in it; of the second when that one is full. */
function pickFree(
  context: KindContext,
  first: Span,
  second: Span,
  isFree: (number: number) => boolean,
): number | undefined {
  for (const [low, high] of [first, second]) {
    const size = high - low + 1
    const start = Math.floor(context.random.next() * size)
    for (let step = 0; step < size; step++) {
      const number = low + ((start + step) % size)
      if (isFree(number)) return number
    }
  }
  return undefined
}

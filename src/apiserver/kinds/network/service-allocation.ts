/**
 * Allocation of cluster IPs and node ports. The server keeps no separate record: an address is free if no stored
 * Service has it, so addresses cannot leak, and are released with their Service.
 *
 * A cluster is single-stack here, IPv4. Requests for IPv6 are rejected as on a real single-stack cluster.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type { ServicePort, ServiceSpec } from '../../../kube/types/core/v1.ts'
import type { ServiceCIDR } from '../../../kube/types/networking/v1.ts'
import { internal, invalid as refuse } from '../../errors/status-error.ts'
import type { KindContext } from '../strategy/kind-rules.ts'
import { formatIp, isInRange, parseCidr, parseIp } from '../../errors/ip-address.ts'
import { invalidField, type Problems } from '../../../kube/validation/field-error.ts'
import { checkClusterIps } from './service-address.ts'
import { isHeadless, needsClusterIp, needsHealthCheck, needsNodePort } from './service-type.ts'

type Mutable<T> = { -readonly [Member in keyof T]: T[Member] }
export type ServiceDraft = Mutable<Omit<ServiceSpec, 'ports'>> & { ports?: Mutable<ServicePort>[] }

/** Of a cluster that has no ServiceCIDR `kubernetes`. */
const defaultRange = '10.0.0.0/16'
const firstNodePort = 30000
const lastNodePort = 32767
/** The lowest addresses and ports are allocated only on request, or when all others are used. */
const staticNodePorts = 86

/** A sixteenth of the range, but at least 16 and at most 256; none of a range that small. */
function staticAddresses(size: number): number {
  return size <= 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 16)), 256)
}

function rangeOf(context: KindContext): string {
  const found = context.find('servicecidrs.networking.k8s.io', undefined, 'kubernetes') as ServiceCIDR | undefined
  return found?.spec?.cidrs?.find((range) => !range.includes(':')) ?? defaultRange
}

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

/** Allocates everything that `spec`, a draft, needs; `live` is the stored spec. */
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
  defaultFamilies(allocation)
  allocateAddress(allocation)
  if (needsNodePort(spec)) (live ? updateNodePorts : allocateNodePorts)(allocation)
  if (needsHealthCheck(spec) && !(live && needsHealthCheck(live))) allocateHealthCheck(allocation)
}

/** A client that applies its original manifest again keeps the allocated values. */
function keepAllocated(spec: ServiceDraft, live: ServiceSpec): void {
  if (needsClusterIp(spec) && needsClusterIp(live)) {
    if (!spec.clusterIP && live.clusterIP) spec.clusterIP = live.clusterIP
    if (!spec.clusterIPs?.length && live.clusterIPs?.length) spec.clusterIPs = live.clusterIPs
  }
  if (needsNodePort(spec) && needsNodePort(live)) {
    const before = new Map((live.ports ?? []).map(({ name = '', nodePort = 0 }) => [name, nodePort]))
    const requested = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort))
    for (const port of spec.ports ?? []) {
      const known = before.get(port.name ?? '')
      if (!port.nodePort && known && !requested.has(known)) port.nodePort = known
    }
  }
  if (needsHealthCheck(spec) && needsHealthCheck(live) && !spec.healthCheckNodePort && live.healthCheckNodePort) {
    spec.healthCheckNodePort = live.healthCheckNodePort
  }
}

/** `clusterIP` duplicates the first item of `clusterIPs`; old clients know only `clusterIP`. */
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

function defaultFamilies({ spec, live, refuse: refuseAll }: Allocation): void {
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
  const clusterRange = rangeOf(context)
  const [requested] = spec.clusterIPs ?? []
  if (requested) {
    const why = taken.addresses.has(requested)
      ? 'provided IP is already allocated'
      : isInRange(parseIp(requested)!, parseCidr(clusterRange)!)
        ? undefined
        : `the provided IP (${requested}) is not in the valid range. The range of valid IPs is ${clusterRange}`
    if (why) refuseAll([invalidField('spec.clusterIPs', spec.clusterIPs, `failed to allocate IP ${requested}: ${why}`)])
    return
  }
  const { address: first, prefix } = parseCidr(clusterRange)!
  // The first (network) and last (broadcast) address of the range are not used.
  const size = 2 ** (32 - prefix)
  const last = size - 2
  const reserved = staticAddresses(size)
  const at = (offset: number): string => formatIp({ family: 'IPv4', bits: first.bits + BigInt(offset) })
  const found = pickFree(context, [reserved + 1, last], [1, reserved], (offset) => !taken.addresses.has(at(offset)))
  if (found === undefined) throw internal('failed to allocate a serviceIP: range is full')
  spec.clusterIP = at(found)
  spec.clusterIPs = [at(found)]
}

/** Ports with the same number and different protocols share a node port. */
function allocateNodePorts(allocation: Allocation): void {
  const { spec, taken } = allocation
  const given = new Map<number, number>()
  const requested = new Map<number, number>()
  for (const { port, nodePort } of spec.ports ?? []) if (nodePort && !requested.has(port)) requested.set(port, nodePort)
  for (const [index, port] of (spec.ports ?? []).entries()) {
    if (!port.nodePort && !allocatesNodePorts(spec)) continue
    const known = given.get(port.port)
    if (known === undefined) {
      const asked = requested.get(port.port)
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
  const dynamic = firstNodePort + staticNodePorts
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

/** A free number of the first span, starting at a random one; of the second span if the first is full. */
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

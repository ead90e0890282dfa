/**
 * Services. The type of a Service decides which fields apply: creating one allocates what its type needs; changing the
 * type releases what the new one does not use.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type { Service, ServicePort, ServiceSpec } from '../../../kube/types/core/v1.ts'
import { draftOf, fillAbsent, fillZeros, finished, ensurePart, part, parts } from '../strategy/draft.ts'
import { checkCidr, checkIp, checkReachableIp } from '../../errors/ip-address.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkLabels } from '../values/label-selector.ts'
import { checkLoadBalancerStatus } from './load-balancer-status.ts'
import { dnsLabel, dnsSubdomain, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import { checkPort, checkPortNumber, checkProtocol } from '../values/port.ts'
import {
  duplicate,
  eachInvalid,
  noErrors,
  forbiddenField,
  immutableDetail,
  invalidField,
  unsupportedField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkAddressChange, checkClusterIps } from './service-address.ts'
import { allocate, type ServiceDraft } from './service-allocation.ts'
import { isExternal, isHeadless, needsClusterIp, needsHealthCheck, needsNodePort } from './service-type.ts'
import { repeatedValues, repetitions } from '../../../kube/validation/repetition.ts'

const specOf = (object: UntypedObject): ServiceSpec => object['spec'] ?? {}

const draftSpecOf = (draft: ReturnType<typeof draftOf>): ServiceDraft => ensurePart(draft, 'spec')

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  const spec = ensurePart(draft, 'spec')
  fillZeros(spec, { sessionAffinity: 'None', type: 'ClusterIP' })
  if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig']
  if (spec['sessionAffinity'] === 'ClientIP') {
    const timeout = part(part(spec, 'sessionAffinityConfig'), 'clientIP')?.['timeoutSeconds']
    if (timeout === undefined) spec['sessionAffinityConfig'] = { clientIP: { timeoutSeconds: 10_800 } }
  }
  for (const port of parts(spec, 'ports')) {
    fillZeros(port, { protocol: 'TCP', targetPort: port['port'] ?? 0 })
  }
  if (isExternal(spec)) fillZeros(spec, { externalTrafficPolicy: 'Cluster' })
  if (spec['type'] !== 'ExternalName' && types.includes(spec['type'] as string)) {
    fillAbsent(spec, { internalTrafficPolicy: 'Cluster' })
  }
  if (spec['type'] === 'LoadBalancer') {
    fillAbsent(spec, { allocateLoadBalancerNodePorts: true })
    for (const ingress of parts(part(part(draft, 'status'), 'loadBalancer'), 'ingress')) {
      if (ingress['ip']) fillAbsent(ingress, { ipMode: 'VIP' })
    }
  }
  ensurePart(ensurePart(draft, 'status'), 'loadBalancer')
  return finished(draft)
}

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']

/** Drops fields that only the former type used, unless the client changed them too: then validation reports them. */
function dropUnusedFields(spec: ServiceDraft, live: ServiceSpec): void {
  if (needsClusterIp(live) && !needsClusterIp(spec)) {
    if (spec.clusterIP === live.clusterIP && String(spec.clusterIPs) === String(live.clusterIPs)) {
      delete spec.clusterIP
      delete spec.clusterIPs
    }
    if (String(spec.ipFamilies) === String(live.ipFamilies)) delete spec.ipFamilies
    if (spec.ipFamilyPolicy === live.ipFamilyPolicy) delete spec.ipFamilyPolicy
  }
  if (needsNodePort(live) && !needsNodePort(spec)) {
    const before = new Set((live.ports ?? []).map(({ nodePort = 0 }) => nodePort))
    const ports = spec.ports ?? []
    if (ports.every(({ nodePort }) => !nodePort || before.has(nodePort))) for (const port of ports) delete port.nodePort
  }
  if (needsHealthCheck(live) && !needsHealthCheck(spec) && spec.healthCheckNodePort === live.healthCheckNodePort) {
    delete spec.healthCheckNodePort
  }
  if (live.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    if (spec.allocateLoadBalancerNodePorts === live.allocateLoadBalancerNodePorts) {
      delete spec.allocateLoadBalancerNodePorts
    }
    if (spec.loadBalancerClass === live.loadBalancerClass) delete spec.loadBalancerClass
  }
  if (isExternal(live) && !isExternal(spec) && spec.externalTrafficPolicy === live.externalTrafficPolicy) {
    delete spec.externalTrafficPolicy
  }
}

function check(object: UntypedObject, live: ServiceSpec | undefined): Problems {
  const spec = specOf(object)
  const ports = spec.ports ?? []
  const annotations = object.metadata.annotations ?? {}
  const repeatedNames = repetitions(ports, ({ name }) => name)
  return [
    ...(ports.length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName' ? [requiredField('spec.ports')] : []),
    ...checkType(spec),
    ...ports.flatMap((port, index) => checkServicePort(port, index, { isOnly: ports.length === 1, repeatedNames })),
    ...checkLabels(spec.selector, 'spec.selector'),
    ...checkAffinity(spec),
    ...checkClusterIps(spec, live),
    ...checkExternalIps(spec.externalIPs ?? [], live?.externalIPs),
    ...unsupportedField('spec.type', spec.type, types),
    ...(spec.type === 'ClusterIP'
      ? ports.flatMap(({ nodePort }, index) =>
          nodePort
            ? [forbiddenField(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'")]
            : [],
        )
      : []),
    ...checkDuplicatePorts(ports),
    ...checkSourceRanges(spec, live, annotations),
    ...(spec.allocateLoadBalancerNodePorts !== undefined && spec.type !== 'LoadBalancer'
      ? [forbiddenField('spec.allocateLoadBalancerNodePorts', onlyBalanced)]
      : []),
    ...checkClass(spec),
    ...checkExternalTraffic(spec),
    ...checkTrafficPolicies(spec),
  ]
}

const onlyBalanced = "may only be used when `type` is 'LoadBalancer'"

function* checkType(spec: ServiceSpec): Iterable<Problems[number]> {
  if (needsNodePort(spec) && isHeadless(spec)) {
    yield invalidField('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${spec.type} services`)
  }
  if (spec.type !== 'ExternalName') return
  const why = 'may not be set for ExternalName services'
  if (spec.clusterIPs?.length) yield forbiddenField('spec.clusterIPs', why)
  if (spec.ipFamilies?.length) yield forbiddenField('spec.ipFamilies', why)
  if (spec.ipFamilyPolicy !== undefined) yield forbiddenField('spec.ipFamilyPolicy', why)
  const host = (spec.externalName ?? '').replace(/\.$/, '')
  if (host === '') yield requiredField('spec.externalName')
  else yield* eachInvalid('spec.externalName', host, dnsSubdomain(host))
}

function checkServicePort(
  port: ServicePort,
  index: number,
  { isOnly, repeatedNames }: { readonly isOnly: boolean; readonly repeatedNames: ReadonlySet<number> },
): Problems {
  const at = `spec.ports[${index}]`
  const { name } = port
  return [
    ...(!name && !isOnly ? [requiredField(`${at}.name`)] : []),
    ...(name ? eachInvalid(`${at}.name`, name, dnsLabel(name)) : []),
    ...(name && repeatedNames.has(index) ? [duplicate(`${at}.name`, name)] : []),
    ...checkPortNumber(port.port, `${at}.port`),
    ...checkProtocol(port.protocol, `${at}.protocol`),
    ...checkPort(port.targetPort, `${at}.targetPort`),
    ...(port.appProtocol === undefined
      ? []
      : eachInvalid(`${at}.appProtocol`, port.appProtocol, qualifiedNameProblems(port.appProtocol))),
  ]
}

function* checkAffinity({ sessionAffinity, sessionAffinityConfig }: ServiceSpec): Iterable<Problems[number]> {
  const at = 'spec.sessionAffinityConfig'
  yield* unsupportedField('spec.sessionAffinity', sessionAffinity, ['ClientIP', 'None'])
  if (sessionAffinity === 'None' && sessionAffinityConfig !== undefined) {
    yield forbiddenField(at, 'must not be set when session affinity is None')
  }
  const timeout = sessionAffinityConfig?.clientIP?.timeoutSeconds
  if (sessionAffinity !== 'ClientIP' || timeout === undefined) return
  const longest = 86_400
  if (timeout <= 0 || timeout > longest) {
    yield invalidField(`${at}.clientIP.timeoutSeconds`, timeout, `must be greater than 0 and less than ${longest}`)
  }
}

function checkExternalIps(addresses: readonly string[], known: readonly string[] | undefined): Problems {
  return addresses.flatMap((address, index) => {
    const field = `spec.externalIPs[${index}]`
    const problems = checkIp(address, field, known)
    return problems.length > 0 ? problems : checkReachableIp(address, field)
  })
}

function checkDuplicatePorts(ports: readonly ServicePort[]): Problems {
  const repeats = (key: (port: ServicePort) => unknown): readonly number[] => {
    const keys = ports.map((port) => `${port.protocol}/${String(key(port))}`)
    return [...repeatedValues(keys)].filter((index) => key(ports[index]!))
  }
  return [
    ...repeats(({ nodePort }) => nodePort).map((index) =>
      duplicate(`spec.ports[${index}].nodePort`, ports[index]!.nodePort),
    ),
    ...repeats(({ port }) => port).map((index) => {
      const { protocol: Protocol, port: Port } = ports[index]!
      return duplicate(`spec.ports[${index}]`, {
        Name: '',
        Protocol,
        AppProtocol: null,
        Port,
        TargetPort: 0,
        NodePort: 0,
      })
    }),
  ]
}

const rangesAnnotation = 'service.beta.kubernetes.io/load-balancer-source-ranges'

function checkSourceRanges(
  spec: ServiceSpec,
  live: ServiceSpec | undefined,
  annotations: Readonly<Record<string, string>>,
): Problems {
  const { loadBalancerSourceRanges: ranges = [], type } = spec
  const annotation = Object.hasOwn(annotations, rangesAnnotation) ? annotations[rangesAnnotation]! : undefined
  if (ranges.length === 0 && annotation === undefined) return noErrors
  const field = ranges.length > 0 ? 'spec.LoadBalancerSourceRanges' : `metadata.annotations[${rangesAnnotation}]`
  const known = (live?.loadBalancerSourceRanges ?? []).map((range) => range.trim())
  const listed = (annotation ?? '').trim() === '' ? [] : annotation!.split(',')
  return [
    ...(type === 'LoadBalancer' ? [] : [forbiddenField(field, onlyBalanced)]),
    ...(ranges.length > 0
      ? ranges.flatMap((range, index) => checkCidr(range.trim(), `${field}[${index}]`, known))
      : listed.flatMap((range) => checkCidr(range.trim(), field))),
  ]
}

function checkClass({ type, loadBalancerClass }: ServiceSpec): Problems {
  const field = 'spec.loadBalancerClass'
  if (loadBalancerClass === undefined) return noErrors
  if (type !== 'LoadBalancer') return [forbiddenField(field, onlyBalanced)]
  return eachInvalid(field, loadBalancerClass, qualifiedNameProblems(loadBalancerClass))
}

const trafficPolicies = ['Cluster', 'Local']

function* checkExternalTraffic(spec: ServiceSpec): Iterable<Problems[number]> {
  const { externalTrafficPolicy, healthCheckNodePort } = spec
  const policy = 'spec.externalTrafficPolicy'
  if (isExternal(spec)) yield* unsupportedField(policy, externalTrafficPolicy, trafficPolicies)
  else if (externalTrafficPolicy) {
    yield invalidField(policy, externalTrafficPolicy, 'may only be set for externally-accessible services')
  }
  const port = 'spec.healthCheckNodePort'
  if (needsHealthCheck(spec)) {
    if (healthCheckNodePort) yield* checkPortNumber(healthCheckNodePort, port)
    else yield requiredField(port)
  } else if (healthCheckNodePort) {
    const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
    yield invalidField(port, healthCheckNodePort, why)
  }
}

const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode']

function* checkTrafficPolicies(spec: ServiceSpec): Iterable<Problems[number]> {
  const { internalTrafficPolicy: policy, trafficDistribution: distribution } = spec
  const field = 'spec.internalTrafficPolicy'
  if (policy !== undefined && !trafficPolicies.includes(policy)) yield unsupported(field, policy, trafficPolicies)
  if (distribution !== undefined && !distributions.includes(distribution)) {
    yield unsupported('spec.trafficDistribution', distribution, distributions)
  }
}

function* checkChange(spec: ServiceSpec, live: ServiceSpec): Iterable<Problems[number]> {
  yield* checkAddressChange(spec, live)
  const { type, loadBalancerClass, healthCheckNodePort } = spec
  if (type === 'LoadBalancer' && live.type === 'LoadBalancer' && loadBalancerClass !== live.loadBalancerClass) {
    yield invalidField('spec.loadBalancerClass', loadBalancerClass, 'may not change once set')
  }
  // The real server validates the class both as a change and as a value, and reports an error twice.
  yield* checkClass(spec)
  if (needsHealthCheck(live) && needsHealthCheck(spec) && healthCheckNodePort !== live.healthCheckNodePort) {
    yield forbiddenField('spec.healthCheckNodePort', immutableDetail)
  }
}

function* warnings(object: UntypedObject): Iterable<string> {
  const {
    clusterIP,
    externalIPs = [],
    loadBalancerIP,
    sessionAffinity,
    trafficDistribution,
    type,
    externalName,
  } = specOf(object)
  const isExternalName = type === 'ExternalName'
  const useless = 'is ignored for headless services'
  const isWithoutHead = type === 'ClusterIP' && clusterIP === 'None'
  if (object.metadata.annotations?.['service.kubernetes.io/topology-aware-hints'] !== undefined) {
    yield 'annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead'
  }
  if (isWithoutHead) {
    if (loadBalancerIP) yield `spec.loadBalancerIP ${useless}`
    if (externalIPs.length > 0) yield `spec.externalIPs ${useless}`
    if (sessionAffinity !== 'None') yield `spec.SessionAffinity ${useless}`
  } else if (externalIPs.length > 0 && !isExternalName) {
    yield 'spec.externalIPs is deprecated and may no longer be implemented in some clusters'
  }
  if (isExternalName && externalIPs.length > 0) yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
  if (!isExternalName && externalName) yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
  if (trafficDistribution === 'PreferClose') {
    yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
  }
}

export const serviceRules: KindRules = {
  defaults,
  prepareCreate(object, context) {
    const draft = draftOf(object)
    const spec = draftSpecOf(draft)
    draft['status'] = { loadBalancer: {} }
    allocate(object, spec, undefined, context)
    if (spec.type === 'ExternalName') delete spec.internalTrafficPolicy
    return finished(draft)
  },
  prepareUpdate(object, live, context) {
    const draft = draftOf(object)
    const spec = draftSpecOf(draft)
    allocate(object, spec, specOf(live), context)
    dropUnusedFields(spec, specOf(live))
    if (spec.type === 'ExternalName') delete spec.internalTrafficPolicy
    if (spec.type !== 'LoadBalancer') ensurePart(draft, 'status')['loadBalancer'] = {}
    return finished(draft)
  },
  validateCreate: (object) => check(object, undefined),
  validateUpdate: (object, live) => [...checkChange(specOf(object), specOf(live)), ...check(object, specOf(live))],
  validateStatus: (object) => {
    const { status, spec } = object as unknown as Service
    return checkLoadBalancerStatus(status?.loadBalancer?.ingress ?? [], spec?.type === 'LoadBalancer')
  },
  warnings: (object) => [...warnings(object)],
}

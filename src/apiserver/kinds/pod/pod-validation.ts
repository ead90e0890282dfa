/** Validation of a pod's spec, in a pod or in the template of a workload. */
import type { UntypedObject } from '../../../kube/object.ts'
import type { PodSpec, PodTemplateSpec } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { checkAnnotations } from '../volume/claim-validation.ts'
import {
  checkContainers,
  checkEphemeralContainers,
  checkImageSpace,
  checkInitContainers,
  type ContainerFacts,
} from '../container/container-validation.ts'
import { goStruct } from '../values/go-struct.ts'
import { checkIp } from '../../errors/ip-address.ts'
import { checkLabels } from '../values/label-selector.ts'
import {
  dnsLabel,
  dnsSubdomain,
  type FormatCheck,
  patternRemark,
  qualifiedNameProblems,
} from '../../../kube/validation/name-validation.ts'
import { allContainers, containersOf } from '../container/pod-containers.ts'
import { checkPodResources } from './pod-resources.ts'
import {
  duplicate,
  eachInvalid,
  forbiddenField,
  invalidField,
  notFoundField,
  unsupportedField,
  requiredField,
  tooLong,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkContainerResourceName, checkRequirements } from '../container/resource-validation.ts'
import { checkAffinity, checkSpread, checkTolerations } from './scheduling-validation.ts'
import { checkPodSecurity } from '../container/security-validation.ts'
import { checkNotNegative, checkRange, maxInt32 } from '../values/value-validation.ts'
import { checkVolumes } from '../volume/volume-validation.ts'

type Metadata = UntypedObject['metadata']

/** Validation of a pod, except for general metadata. */
export function* checkPod({
  metadata,
  spec,
}: {
  readonly metadata: Metadata
  readonly spec: PodSpec
}): Iterable<Cause> {
  const { initContainers = [] } = spec
  yield* checkPodAnnotations(metadata, spec, 'metadata.annotations')
  yield* checkPodSpec(spec, 'spec', metadata)
  if (!spec.serviceAccountName) {
    for (const [index, { projected }] of (spec.volumes ?? []).entries()) {
      for (const [place, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
        if (!serviceAccountToken) continue
        const at = `spec.volumes[${index}].projected.sources[${place}].serviceAccountToken`
        yield forbiddenField(at, 'must not be specified when serviceAccountName is not set')
      }
    }
  }
  yield* checkNotNegative(spec.terminationGracePeriodSeconds, 'spec.terminationGracePeriodSeconds')
  for (const [index, container] of containersOf(spec).entries())
    yield* checkImageSpace(container, `spec.containers[${index}]`)
  for (const [index, container] of initContainers.entries()) {
    yield* checkImageSpace(container, `spec.initContainers[${index}]`)
  }
}

/** Fields that a new pod must not set. */
export function* checkNewPod({ ephemeralContainers = [], nodeName, schedulingGates = [] }: PodSpec): Iterable<Cause> {
  if (ephemeralContainers.length > 0) yield forbiddenField('spec.ephemeralContainers', 'cannot be set on create')
  if (nodeName && schedulingGates.length > 0) {
    yield forbiddenField('spec.nodeName', 'cannot be set until all schedulingGates have been cleared')
  }
}

/** Templates without errors: they stay the same object much longer than the objects around them. */
const validTemplates = new WeakSet<PodTemplateSpec>()

export function* checkTemplate(template: PodTemplateSpec, field: string): Iterable<Cause> {
  if (validTemplates.has(template)) return
  let isValid = true
  for (const cause of templateProblems(template, field)) {
    isValid = false
    yield cause
  }
  if (isValid) validTemplates.add(template)
}

function* templateProblems(template: PodTemplateSpec, field: string): Iterable<Cause> {
  const { metadata = {}, spec = { containers: [] } } = template
  yield* checkLabels(metadata.labels, `${field}.labels`)
  yield* checkAnnotations(metadata.annotations, `${field}.annotations`)
  yield* checkPodAnnotations(metadata, spec, `${field}.annotations`)
  yield* checkPodSpec(spec, `${field}.spec`)
  if ((spec.ephemeralContainers ?? []).length > 0) {
    yield forbiddenField(`${field}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template')
  }
}

const mirror = 'kubernetes.io/config.mirror'
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost'

function* checkPodAnnotations({ annotations = {} }: Metadata, { nodeName }: PodSpec, field: string): Iterable<Cause> {
  const mirrored = annotations[mirror]
  if (mirrored !== undefined && !nodeName) {
    yield invalidField(`${field}[${mirror}]`, mirrored, 'must set spec.nodeName if mirror pod annotation is set')
  }
  const cost = annotations[deletionCost]
  if (cost !== undefined && !isInt32(cost))
    yield invalidField(`${field}[${deletionCost}]`, cost, 'must be a 32bit integer')
}

/** As Go formats it: no plus sign, no leading zero. */
function isInt32(text: string): boolean {
  return /^(?:0|-?[1-9]\d*)$/.test(text) && Number(text) <= maxInt32 && Number(text) >= -maxInt32 - 1
}

const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']
const restartPolicies = ['Always', 'OnFailure', 'Never']

function* checkPodSpec(spec: PodSpec, field: string, podMetadata?: Metadata): Iterable<Cause> {
  const { volumes, problems } = checkVolumes(spec.volumes ?? [], `${field}.volumes`, podMetadata?.name)
  yield* problems
  yield* checkClaims(spec, `${field}.resourceClaims`)
  const facts: ContainerFacts = {
    volumes,
    claimNames: new Set((spec.resourceClaims ?? []).map(({ name }) => name).filter(Boolean)),
    restartPolicy: spec.restartPolicy,
    hostUsers: spec.hostUsers !== false,
    gracePeriod: spec.terminationGracePeriodSeconds,
  }
  yield* checkContainers(containersOf(spec), facts, `${field}.containers`)
  yield* checkInitContainers(spec, facts, `${field}.initContainers`)
  yield* checkEphemeralContainers(spec, facts, `${field}.ephemeralContainers`)
  yield* checkPodResources(spec, facts.claimNames, `${field}.resources`)
  yield* checkHostNetwork(spec, field, podMetadata !== undefined)
  yield* unsupportedField(`${field}.restartPolicy`, spec.restartPolicy, restartPolicies)
  yield* unsupportedField(`${field}.dnsPolicy`, spec.dnsPolicy, dnsPolicies)
  yield* checkLabels(spec.nodeSelector, `${field}.nodeSelector`)
  yield* checkPodSecurity(spec.securityContext ?? {}, spec, `${field}.securityContext`)
  if (spec.shareProcessNamespace && spec.hostPID) {
    yield invalidField(
      `${field}.shareProcessNamespace`,
      true,
      'ShareProcessNamespace and HostPID cannot both be enabled',
    )
  }
  yield* checkAffinity(spec.affinity ?? {}, `${field}.affinity`)
  yield* checkDnsConfig(spec, `${field}.dnsConfig`)
  yield* checkGates(spec, field)
  yield* checkSpread(spec.topologySpreadConstraints ?? [], `${field}.topologySpreadConstraints`)
  yield* checkHostUsers(spec, field)
  yield* checkHostName(spec, field)
  yield* checkNames(spec, field)
  yield* checkTolerations(spec.tolerations ?? [], `${field}.tolerations`)
  for (const [index, { ip, hostnames = [] }] of (spec.hostAliases ?? []).entries()) {
    yield* checkIp(ip, `${field}.hostAliases[${index}].ip`)
    for (const [place, name] of hostnames.entries()) {
      yield* eachInvalid(`${field}.hostAliases[${index}].hostnames[${place}]`, name, dnsSubdomain(name))
    }
  }
  yield* checkName(spec.priorityClassName, dnsSubdomain, `${field}.priorityClassName`)
  if (spec.runtimeClassName !== undefined) {
    yield* eachInvalid(`${field}.runtimeClassName`, spec.runtimeClassName, dnsSubdomain(spec.runtimeClassName))
  }
  if (spec.preemptionPolicy !== undefined) {
    yield* unsupportedField(`${field}.preemptionPolicy`, spec.preemptionPolicy, ['PreemptLowerPriority', 'Never'])
  }
  if (spec.overhead) {
    yield* checkRequirements({ limits: spec.overhead }, `${field}.overhead`, checkContainerResourceName, new Set())
  }
  yield* checkOs(spec, field)
  yield* checkVariableFiles(spec, field)
}

function* checkName(name: string | undefined, format: FormatCheck, field: string): Iterable<Cause> {
  if (name) yield* eachInvalid(field, name, format(name))
}

function* checkNames(spec: PodSpec, field: string): Iterable<Cause> {
  yield* checkName(spec.serviceAccountName, dnsSubdomain, `${field}.serviceAccountName`)
  yield* checkName(spec.nodeName, dnsSubdomain, `${field}.nodeName`)
  yield* checkRange(spec.activeDeadlineSeconds, 1, maxInt32, `${field}.activeDeadlineSeconds`)
  yield* checkName(spec.hostname, dnsLabel, `${field}.hostname`)
  yield* checkName(spec.subdomain, dnsLabel, `${field}.subdomain`)
}

/** Resource claims, by the names that containers refer to. */
function* checkClaims({ resourceClaims = [] }: PodSpec, field: string): Iterable<Cause> {
  const names = new Set<string>()
  for (const [index, claim] of resourceClaims.entries()) {
    const at = `${field}[${index}]`
    const { name, resourceClaimName, resourceClaimTemplateName } = claim
    if (!name) yield requiredField(`${at}.name`)
    else if (names.has(name)) yield duplicate(`${at}.name`, name)
    else yield* eachInvalid(`${at}.name`, name, dnsLabel(name))
    names.add(name)
    const shown = goStruct(claim, 'PodResourceClaim')
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      yield invalidField(
        at,
        shown,
        'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
      )
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      yield invalidField(at, shown, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`')
    }
    yield* checkName(resourceClaimName, dnsSubdomain, `${at}.resourceClaimName`)
    yield* checkName(resourceClaimTemplateName, dnsSubdomain, `${at}.resourceClaimTemplateName`)
  }
}

/** With `hostNetwork`, each container port must be the host port. */
function* checkHostNetwork(spec: PodSpec, field: string, isPod: boolean): Iterable<Cause> {
  if (!spec.hostNetwork) return
  for (const [index, { ports = [] }] of containersOf(spec).entries()) {
    for (const [place, { hostPort = 0, containerPort }] of ports.entries()) {
      if ((!isPod && hostPort === 0) || hostPort === containerPort) continue
      const at = `${field}.containers[${index}].ports[${place}].hostPort`
      yield invalidField(at, hostPort, 'must match `containerPort` when `hostNetwork` is true')
    }
  }
}

const searchPattern = String.raw`_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*`
const search = new RegExp(`^${searchPattern}$`)
const searchRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character"
const maxNameservers = 3
const maxSearches = 32
const longestSearches = 2048

function* checkDnsConfig({ dnsPolicy, dnsConfig }: PodSpec, field: string): Iterable<Cause> {
  if (dnsPolicy === 'None' && !dnsConfig) {
    yield requiredField(field, 'must provide `dnsConfig` when `dnsPolicy` is None')
    return
  }
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {}
  if (dnsPolicy === 'None' && nameservers.length === 0) {
    const why = 'must provide at least one DNS nameserver when `dnsPolicy` is None'
    yield requiredField(`${field}.nameservers`, why)
    return
  }
  if (nameservers.length > maxNameservers) {
    yield invalidField(`${field}.nameservers`, nameservers, `must not have more than ${maxNameservers} nameservers`)
  }
  for (const [index, server] of nameservers.entries()) yield* checkIp(server, `${field}.nameservers[${index}]`)
  if (searches.length > maxSearches) {
    yield invalidField(`${field}.searches`, searches, `must not have more than ${maxSearches} search paths`)
  }
  if (searches.join(' ').length > longestSearches) {
    const why = `must not have more than ${longestSearches} characters (including spaces) in the search list`
    yield invalidField(`${field}.searches`, searches, why)
  }
  for (const [index, text] of searches.entries()) {
    const name = text === '.' ? 'a' : text.replace(/\.$/, '')
    const wrong = search.test(name) ? [] : [patternRemark(searchRule, searchPattern, 'example.com')]
    yield* eachInvalid(`${field}.searches[${index}]`, name, wrong)
  }
  for (const [index, { name }] of options.entries()) {
    if (!name) yield requiredField(`${field}.options[${index}]`, 'must not be empty')
  }
}

function* checkGates({ readinessGates = [], schedulingGates = [] }: PodSpec, field: string): Iterable<Cause> {
  for (const [index, { conditionType }] of readinessGates.entries()) {
    yield* eachInvalid(
      `${field}.readinessGates[${index}].conditionType`,
      conditionType,
      qualifiedNameProblems(conditionType),
    )
  }
  const seen = new Set<string>()
  for (const [index, { name }] of schedulingGates.entries()) {
    const at = `${field}.schedulingGates[${index}]`
    yield* eachInvalid(at, name, qualifiedNameProblems(name))
    if (seen.has(name)) yield duplicate(at, name)
    seen.add(name)
  }
}

function* checkHostUsers({ hostUsers, hostPID, hostIPC }: PodSpec, field: string): Iterable<Cause> {
  if (hostUsers !== false) return
  if (hostPID) yield forbiddenField(`${field}.HostPID`, 'when `hostUsers` is false')
  if (hostIPC) yield forbiddenField(`${field}.HostIPC`, 'when `hostUsers` is false')
}

const longestHostname = 64

function* checkHostName(
  { hostnameOverride: name, setHostnameAsFQDN, hostNetwork }: PodSpec,
  field: string,
): Iterable<Cause> {
  if (name === undefined) return
  const at = `${field}.hostnameOverride`
  if (setHostnameAsFQDN) yield forbiddenField(at, 'may not be specified when setHostnameAsFQDN is true')
  if (hostNetwork) yield forbiddenField(at, 'may not be specified when hostNetwork is true')
  if (name.length > longestHostname) yield tooLong(at, longestHostname)
  yield* eachInvalid(at, name, dnsSubdomain(name))
}

/** Fields that are not allowed on Windows: of the pod, and of each container. */
const linuxOfPod = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const
const linuxOfSpec = ['hostUsers', 'hostPID', 'hostIPC', 'shareProcessNamespace'] as const
const linuxOfContainer = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const

function* checkOs(spec: PodSpec, field: string): Iterable<Cause> {
  const { os, securityContext = {} } = spec
  if (!os) return
  if (!os.name) yield requiredField(`${field}.os.name`)
  else if (os.name !== 'linux' && os.name !== 'windows') yield unsupported(`${field}.os`, os.name, ['linux', 'windows'])
  else if (os.name === 'linux') {
    const why = 'windows options cannot be set for a linux pod'
    if (securityContext.windowsOptions) yield forbiddenField(`${field}.securityContext.windowsOptions`, why)
    for (const [at, container] of allContainers(spec, field)) {
      if (container.securityContext?.windowsOptions) yield forbiddenField(`${at}.securityContext.windowsOptions`, why)
    }
  } else {
    const why = 'cannot be set for a windows pod'
    for (const member of linuxOfPod) {
      if (securityContext[member] !== undefined) yield forbiddenField(`${field}.securityContext.${member}`, why)
    }
    for (const member of linuxOfSpec) if (spec[member] !== undefined) yield forbiddenField(`${field}.${member}`, why)
    for (const [at, container] of allContainers(spec, field)) {
      for (const member of linuxOfContainer) {
        if (container.securityContext?.[member] !== undefined)
          yield forbiddenField(`${at}.securityContext.${member}`, why)
      }
    }
  }
}

/** Variables from a file that an init container wrote. */
function* checkVariableFiles(spec: PodSpec, field: string): Iterable<Cause> {
  const volumes = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]))
  for (const [at, { env = [] }] of allContainers(spec, field)) {
    for (const [index, { valueFrom }] of env.entries()) {
      if (!valueFrom?.fileKeyRef) continue
      const { volumeName } = valueFrom.fileKeyRef
      const where = `${at}.env[${index}].valueFrom.fileKeyRef.volumeName`
      const volume = volumes.get(volumeName)
      if (!volume) yield notFoundField(where, volumeName)
      else if (!volume.emptyDir) yield invalidField(where, volumeName, 'referenced volume must be of type emptyDir')
    }
  }
}

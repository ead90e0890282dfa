/** Validation of containers: image, ports, environment, mounts, resources. */
import type {
  Container,
  ContainerPort,
  EphemeralContainer,
  PodSpec,
  Volume,
  VolumeMount,
} from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { checkEnvironment } from './environment-validation.ts'
import { dnsLabel, portName } from '../../../kube/validation/name-validation.ts'
import { containersOf } from './pod-containers.ts'
import { checkPortNumber } from '../values/port.ts'
import { checkHooks, checkProbes, type PodFacts } from './probe-validation.ts'
import {
  duplicate,
  eachInvalid,
  forbiddenField,
  invalidField,
  notFoundField,
  unsupportedField,
  requiredField,
  tooMany,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkContainerResourceName, checkRequirements } from './resource-validation.ts'
import { checkContainerSecurity } from './security-validation.ts'
import { checkLocalDescendingPath } from '../values/value-validation.ts'

/** What the validation of containers needs to know of the pod. */
export interface ContainerFacts extends PodFacts {
  readonly volumes: ReadonlyMap<string, Volume>
  readonly claimNames: ReadonlySet<string>
  readonly restartPolicy: string | undefined
  readonly hostUsers: boolean
}

export function* checkContainers(list: readonly Container[], facts: ContainerFacts, field: string): Iterable<Cause> {
  if (list.length === 0) {
    yield requiredField(field)
    return
  }
  const names = new Set<string>()
  for (const [index, container] of list.entries()) {
    const at = `${field}[${index}]`
    yield* checkContainer(container, facts, at)
    if (names.has(container.name)) yield duplicate(`${at}.name`, container.name)
    names.add(container.name)
    yield* checkHooks(container, at, facts)
    yield* checkProbes(container, at, facts)
    yield* checkRestarts(container, at)
  }
  yield* checkHostPorts(list, field)
}

const onlySidecars = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const

export function* checkInitContainers(spec: PodSpec, facts: ContainerFacts, field: string): Iterable<Cause> {
  const names = new Set(containersOf(spec).map(({ name }) => name))
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const at = `${field}[${index}]`
    yield* checkContainer(container, facts, at)
    yield* checkRestarts(container, at)
    if (names.has(container.name)) yield duplicate(`${at}.name`, container.name)
    else if (container.name) names.add(container.name)
    yield* checkHostPorts([container], field)
    if (container.restartPolicy === 'Always') {
      yield* checkHooks(container, at, facts)
      yield* checkProbes(container, at, facts)
      continue
    }
    for (const member of onlySidecars) {
      if (container[member] === undefined) continue
      yield forbiddenField(`${at}.${member}`, 'may not be set for init containers without restartPolicy=Always')
    }
    for (const [place, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
      if (restartPolicy !== 'RestartContainer') continue
      const why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
      yield invalidField(`${at}.resizePolicy[${place}].restartPolicy`, restartPolicy, why)
    }
  }
}

/** Fields that an ephemeral container must not set, in the order of Go's struct. */
const notForDebugging = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const

export function* checkEphemeralContainers(spec: PodSpec, facts: ContainerFacts, field: string): Iterable<Cause> {
  const { ephemeralContainers = [], initContainers = [] } = spec
  const others = new Set([...containersOf(spec), ...initContainers].map(({ name }) => name))
  const names = new Set(others)
  for (const [index, container] of ephemeralContainers.entries()) {
    const at = `${field}[${index}]`
    yield* checkContainer(container, facts, at)
    yield* checkImageSpace(container, at)
    if (names.has(container.name)) yield duplicate(`${at}.name`, container.name)
    names.add(container.name)
    const { targetContainerName: target, volumeMounts = [] } = container
    if (target && !others.has(target)) yield notFoundField(`${at}.targetContainerName`, target)
    for (const member of notForDebugging) {
      if (!isSet(container, member)) continue
      yield forbiddenField(`${at}.${member}`, 'cannot be set for an Ephemeral Container')
    }
    for (const [place, mount] of volumeMounts.entries()) {
      for (const member of ['subPath', 'subPathExpr'] as const) {
        if (!mount[member]) continue
        yield forbiddenField(`${at}.volumeMounts[${place}].${member}`, 'cannot be set for an Ephemeral Container')
      }
    }
  }
}

function isSet(container: EphemeralContainer, member: (typeof notForDebugging)[number]): boolean {
  if (member !== 'resources') return container[member] !== undefined
  return Object.keys(container.resources ?? {}).length > 0
}

/** The image of a template may be set by another component later; that of a pod is used as it is. */
export function* checkImageSpace({ image = '' }: Container, field: string): Iterable<Cause> {
  if (image.trim() !== image)
    yield invalidField(`${field}.image`, image, 'must not have leading or trailing whitespace')
}

const pullPolicies = ['Always', 'IfNotPresent', 'Never']
const messagePolicies = ['File', 'FallbackToLogsOnError']

function* checkContainer(container: Container, facts: ContainerFacts, field: string): Iterable<Cause> {
  const { name, image, ports = [], resources, securityContext } = container
  yield* name ? eachInvalid(`${field}.name`, name, dnsLabel(name)) : [requiredField(`${field}.name`)]
  if (!image) yield requiredField(`${field}.image`)
  yield* unsupportedField(`${field}.terminationMessagePolicy`, container.terminationMessagePolicy, messagePolicies)
  yield* checkPorts(ports, `${field}.ports`)
  yield* checkEnvironment(container, field)
  yield* checkMounts(container, facts.volumes, `${field}.volumeMounts`)
  yield* checkDevices(container, facts.volumes, `${field}.volumeDevices`)
  yield* unsupportedField(`${field}.imagePullPolicy`, container.imagePullPolicy, pullPolicies)
  yield* checkRequirements(resources ?? {}, `${field}.resources`, checkContainerResourceName, facts.claimNames)
  yield* checkResizePolicy(container, facts.restartPolicy, `${field}.resizePolicy`)
  if (securityContext) yield* checkContainerSecurity(securityContext, `${field}.securityContext`, facts)
}

function* checkPorts(ports: readonly ContainerPort[], field: string): Iterable<Cause> {
  const names = new Set<string>()
  for (const [index, { name, containerPort, hostPort, protocol }] of ports.entries()) {
    const at = `${field}[${index}]`
    if (name) {
      const wrong = portName(name)
      if (wrong.length > 0) yield* eachInvalid(`${at}.name`, name, wrong)
      else if (names.has(name)) yield duplicate(`${at}.name`, name)
      else names.add(name)
    }
    if (containerPort) yield* checkPortNumber(containerPort, `${at}.containerPort`)
    else yield requiredField(`${at}.containerPort`)
    if (hostPort) yield* checkPortNumber(hostPort, `${at}.hostPort`)
    yield* unsupportedField(`${at}.protocol`, protocol, ['SCTP', 'TCP', 'UDP'])
  }
}

function* checkHostPorts(containers: readonly Container[], field: string): Iterable<Cause> {
  const taken = new Set<string>()
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [place, { protocol, hostIP = '', hostPort }] of ports.entries()) {
      if (!hostPort) continue
      const port = `${protocol}/${hostIP}/${hostPort}`
      if (taken.has(port)) yield duplicate(`${field}[${index}].ports[${place}].hostPort`, port)
      taken.add(port)
    }
  }
}

const propagations = ['Bidirectional', 'HostToContainer', 'None']
const recursions = ['Disabled', 'Enabled', 'IfPossible']

function* checkMounts(
  { volumeMounts = [], volumeDevices = [], securityContext }: Container,
  volumes: ReadonlyMap<string, Volume>,
  field: string,
): Iterable<Cause> {
  const devices = new Map(volumeDevices.map(({ name, devicePath }) => [name, devicePath]))
  const paths = new Set<string>()
  for (const [index, mount] of volumeMounts.entries()) {
    const at = `${field}[${index}]`
    const { name, mountPath, subPath, subPathExpr, mountPropagation } = mount
    if (!name) yield requiredField(`${at}.name`)
    if (!volumes.has(name)) yield notFoundField(`${at}.name`, name)
    if (!mountPath) yield requiredField(`${at}.mountPath`)
    if (paths.has(mountPath)) yield invalidField(`${at}.mountPath`, mountPath, 'must be unique')
    paths.add(mountPath)
    if (devices.has(name)) yield invalidField(`${at}.name`, name, 'must not already exist in volumeDevices')
    if ([...devices.values()].includes(mountPath)) {
      yield invalidField(`${at}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices')
    }
    if (subPath) yield* checkLocalDescendingPath(subPath, `${field}.subPath`)
    if (subPathExpr) {
      if (subPath)
        yield invalidField(`${at}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive')
      yield* checkLocalDescendingPath(subPathExpr, `${field}.subPathExpr`)
    }
    if (mountPropagation !== undefined) {
      const where = `${field}.mountPropagation`
      if (!propagations.includes(mountPropagation)) yield unsupported(where, mountPropagation, propagations)
      if (mountPropagation === 'Bidirectional' && !securityContext?.privileged) {
        yield forbiddenField(where, 'Bidirectional mount propagation is available only to privileged containers')
      }
    }
    yield* checkRecursion(mount, `${field}.recursiveReadOnly`)
  }
}

function* checkRecursion(
  { recursiveReadOnly, readOnly, mountPropagation }: VolumeMount,
  field: string,
): Iterable<Cause> {
  if (recursiveReadOnly === undefined || recursiveReadOnly === 'Disabled') return
  if (!recursions.includes(recursiveReadOnly)) {
    yield unsupported(field, recursiveReadOnly, recursions)
    return
  }
  if (!readOnly) yield forbiddenField(field, 'may only be specified when readOnly is true')
  if (mountPropagation !== undefined && mountPropagation !== 'None') {
    yield forbiddenField(field, 'may only be specified when mountPropagation is None or not specified')
  }
}

function* checkDevices(
  { volumeDevices = [], volumeMounts = [] }: Container,
  volumes: ReadonlyMap<string, Volume>,
  field: string,
): Iterable<Cause> {
  const mounts = new Map(volumeMounts.map(({ name, mountPath }) => [name, mountPath]))
  const names = new Set<string>()
  const paths = new Set<string>()
  for (const [index, { name, devicePath }] of volumeDevices.entries()) {
    const at = `${field}[${index}]`
    const volume = volumes.get(name)
    if (!name) yield requiredField(`${at}.name`)
    if (names.has(name)) yield invalidField(`${at}.name`, name, 'must be unique')
    if (!volume) yield notFoundField(`${at}.name`, name)
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      const why = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'
      yield invalidField(`${at}.name`, name, why)
    }
    if (!devicePath) yield requiredField(`${at}.devicePath`)
    if (paths.has(devicePath)) yield invalidField(`${at}.devicePath`, devicePath, 'must be unique')
    if (devicePath.split('/').includes('..')) {
      yield invalidField(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')")
    } else paths.add(devicePath)
    if (mounts.has(name)) yield invalidField(`${at}.name`, name, 'must not already exist in volumeMounts')
    if ([...mounts.values()].includes(devicePath)) {
      yield invalidField(`${at}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts')
    }
    if (name) names.add(name)
  }
}

function* checkResizePolicy(
  { resizePolicy = [] }: Container,
  podPolicy: string | undefined,
  field: string,
): Iterable<Cause> {
  const seen = new Set<string>()
  for (const [index, { resourceName, restartPolicy }] of resizePolicy.entries()) {
    if (seen.has(resourceName)) yield duplicate(`${field}[${index}]`, resourceName)
    seen.add(resourceName)
    yield* unsupportedField(field, resourceName, ['cpu', 'memory'])
    yield* unsupportedField(field, restartPolicy, ['NotRequired', 'RestartContainer'])
    if (podPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      yield invalidField(field, restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
    }
  }
}

const restartPolicies = ['Always', 'Never', 'OnFailure']
const maxRules = 20
const maxExitCodes = 255

/** The restart policy of a single container, which overrides that of the pod. */
function* checkRestarts({ restartPolicy, restartPolicyRules = [] }: Container, field: string): Iterable<Cause> {
  if (restartPolicy === undefined) {
    if (restartPolicyRules.length === 0) return
    yield requiredField(`${field}.restartPolicy`, 'must specify restartPolicy when restart rules are used')
  } else if (!restartPolicies.includes(restartPolicy)) {
    yield unsupported(`${field}.restartPolicy`, restartPolicy, restartPolicies)
  }
  const at = `${field}.restartPolicyRules`
  if (restartPolicyRules.length > maxRules) yield tooMany(at, restartPolicyRules.length, maxRules)
  for (const [index, { action, exitCodes }] of restartPolicyRules.entries()) {
    if (action !== 'Restart' && action !== 'RestartAllContainers') {
      yield unsupported(`${at}[${index}].action`, action, ['Restart', 'RestartAllContainers'])
    }
    if (!exitCodes) {
      yield requiredField(`${at}[${index}].exitCodes`, 'must be specified')
      continue
    }
    const { operator, values = [] } = exitCodes
    if (operator !== 'In' && operator !== 'NotIn') {
      yield unsupported(`${at}[${index}].exitCodes.operator`, operator, ['In', 'NotIn'])
    }
    if (values.length > maxExitCodes) yield tooMany(`${at}[${index}].exitCodes.values`, values.length, maxExitCodes)
  }
}

/** Warnings about a pod that is valid but may not work as expected. */
import type { UntypedObject } from '../../../kube/object.ts'
import { parseQuantity } from '../../../kube/units/quantity.ts'
import { trimEnd } from '../../../kube/text/trim-end.ts'
import type {
  Container,
  ContainerPort,
  PersistentVolumeClaimSpec,
  PodSpec,
  PodTemplateSpec,
  Volume,
  VolumeProjection,
} from '../../../kube/types/core/v1.ts'
import type { StoredObject } from '../../storage/storage.ts'
import { dnsLabel } from '../../../kube/validation/name-validation.ts'
import { allContainers } from '../container/pod-containers.ts'
import { isWholeNumber } from '../values/value-validation.ts'
import { repeatedValues } from '../../../kube/validation/repetition.ts'

type Metadata = UntypedObject['metadata']

/** Only for new pods: updates of pods are made by controllers, which ignore warnings. */
export function podWarnings(object: UntypedObject, live: StoredObject | undefined): readonly string[] {
  if (live) return []
  const { metadata, spec } = object
  const hostname =
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: "
  return [...nameWarnings(metadata.name, hostname), ...specWarnings(spec as PodSpec, metadata, '')]
}

const podNames =
  'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: '

function nameWarnings(name = '', text: string): readonly string[] {
  const wrong = dnsLabel(name)
  return wrong.length > 0 ? [`${text}[${wrong.join(' ')}]`] : []
}

/** Warnings about a workload with a template, when it is new or its spec changed. `naming`: pods are named after it. */
export function templateWarnings(
  object: UntypedObject,
  live: StoredObject | undefined,
  { naming = false, field = 'spec.template' }: { readonly naming?: boolean; readonly field?: string } = {},
): readonly string[] {
  if (live && live.metadata.generation === object.metadata.generation) return []
  const template = field
    .split('.')
    .reduce<unknown>((value, name) => (value as Readonly<Record<string, unknown>>)[name], object) as PodTemplateSpec
  const { spec = { containers: [] }, metadata = {} } = template
  return [
    ...(naming && !live ? nameWarnings(object.metadata.name, podNames) : []),
    ...specWarnings(spec, metadata, `${field}.`),
  ]
}

const deprecatedLabels: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ['failure-domain.beta.kubernetes.io/region', 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ['failure-domain.beta.kubernetes.io/zone', 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ['beta.kubernetes.io/instance-type', 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
])
const deprecatedAnnotations: ReadonlyMap<string, string> = new Map([
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
])
const deprecatedVolumes = new Map([
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
])

function* specWarnings(spec: PodSpec, metadata: Metadata, prefix: string): Iterable<string> {
  const at = `${prefix}spec`
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    const why = deprecatedLabels.get(key)
    if (why) yield `${at}.nodeSelector[${key}]: ${why}`
  }
  for (const [index, { topologyKey, labelSelector }] of (spec.topologySpreadConstraints ?? []).entries()) {
    const where = `${at}.topologySpreadConstraints[${index}]`
    const why = deprecatedLabels.get(topologyKey)
    if (why) yield `${where}.topologyKey: ${topologyKey} is ${why}`
    if (!labelSelector) yield `${where}.labelSelector: a null labelSelector results in matching no pod`
  }
  for (const [key, why] of deprecatedAnnotations) {
    if (metadata.annotations?.[key] !== undefined) yield `${prefix}metadata.annotations[${key}]: ${why}`
  }
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    for (const [source, why] of deprecatedVolumes) {
      if (Object.hasOwn(volume, source)) yield `${at}.volumes[${index}].${source}: ${why}`
    }
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec
    yield* claimWarnings(claim, `${at}.volumes[${index}].ephemeral.volumeClaimTemplate.spec`)
  }
  yield* overlapWarnings(spec.volumes ?? [])
  yield* repeated(
    (spec.hostAliases ?? []).map(({ ip }) => ip),
    `${at}.hostAliases`,
    'ip',
  )
  const secrets = (spec.imagePullSecrets ?? []).map(({ name = '' }) => name)
  yield* repeated(secrets, `${at}.imagePullSecrets`, 'name')
  for (const [index, name] of secrets.entries()) {
    if (name === '') yield `${at}.imagePullSecrets[${index}].name: invalid empty name ""`
  }
  for (const [field, container] of allContainers(spec, at)) {
    yield* fractionWarnings(container, field)
    yield* variableWarnings(container, field)
  }
  yield* portWarnings(spec, at)
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) {
    yield `${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`
  }
  yield* affinityWarnings(spec, `${at}.affinity`)
}

function* repeated(values: readonly string[], field: string, member: string): Iterable<string> {
  for (const index of repeatedValues(values)) {
    yield `${field}[${index}].${member}: duplicate ${member} "${values[index]}"`
  }
}

function* fractionWarnings({ resources }: Container, field: string): Iterable<string> {
  for (const name of ['memory', 'ephemeral-storage']) {
    for (const kind of ['limits', 'requests'] as const) {
      const amount = resources?.[kind]?.[name]
      if (amount === undefined || isWholeNumber(parseQuantity(amount))) continue
      yield `${field}.resources.${kind}[${name}]: fractional byte value "${amount}" is invalid, must be an integer`
    }
  }
}

/** Warnings about a claim's spec. */
export function* claimWarnings(spec: PersistentVolumeClaimSpec | undefined, field: string): Iterable<string> {
  for (const kind of ['requests', 'limits'] as const) {
    const amount = spec?.resources?.[kind]?.['storage']
    if (amount === undefined || isWholeNumber(parseQuantity(amount))) continue
    yield `${field}.resources.${kind}[storage]: fractional byte value "${amount}" is invalid, must be an integer`
  }
}

function* variableWarnings({ env = [] }: Container, field: string): Iterable<string> {
  const seen = new Set<string>()
  for (const [index, { name, value = '', valueFrom }] of env.entries()) {
    // A variable whose value refers to its predecessor extends it instead of hiding it.
    const goesOn = !valueFrom && value !== `$(${name})` && value.includes(`$(${name})`)
    if (seen.has(name) && !goesOn) {
      yield `${field}.env[${index}]: hides previous definition of "${name}", which may be dropped when using apply`
    }
    seen.add(name)
  }
}

function* portWarnings(spec: PodSpec, field: string): Iterable<string> {
  const known = new Map<string, { readonly at: string; readonly port: ContainerPort }[]>()
  const named = new Map<string, string>()
  const duplicates: string[] = []
  for (const [where, { ports = [] }] of allContainers(spec, field)) {
    for (const [index, port] of ports.entries()) {
      const at = `${where}.ports[${index}]`
      const { name = '', hostPort = 0, containerPort, protocol = '', hostIP = '' } = port
      if (hostIP !== '' && hostPort === 0) {
        const shown = `Name:${name} HostPort:0 ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}`
        yield `${at}: hostIP set without hostPort: {${shown}}`
      }
      const key = `${containerPort}/${protocol}`
      const others = known.get(key) ?? []
      for (const other of others) {
        const how = overlapOf(port, other.port)
        if (how) yield `${at}: ${how} port definition with ${other.at}`
      }
      known.set(key, [...others, { at, port }])
      if (!port.name) continue
      const first = named.get(port.name)
      if (first === undefined) named.set(port.name, at)
      else {
        duplicates.push(
          `${at}: duplicate port name "${port.name}" with ${first}, services and probes that select ports by name will use ${first}`,
        )
      }
    }
  }
  yield* duplicates
}

function overlapOf(a: ContainerPort, b: ContainerPort): string | undefined {
  const [aPort = 0, bPort = 0, aIp = '', bIp = ''] = [a.hostPort, b.hostPort, a.hostIP, b.hostIP]
  if (aIp === bIp && aPort === bPort) return 'duplicate'
  if (aPort === 0 || bPort === 0) return 'overlapping'
  return aPort === bPort && (aIp === '') !== (bIp === '') ? 'dangerously ambiguous' : undefined
}

function* affinityWarnings({ affinity }: PodSpec, field: string): Iterable<string> {
  const why = 'a null labelSelector results in matching no pod'
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const terms = affinity?.[kind]
    const at = `${field}.${kind}`
    for (const [index, term] of (terms?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
      const where = `${at}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`
      if (!term.labelSelector) yield `${where}.labelSelector: ${why}`
    }
    for (const [index, term] of (terms?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
      const where = `${at}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`
      if (!term.podAffinityTerm.labelSelector) yield `${where}.podAffinityTerm.labelSelector: ${why}`
    }
  }
}

interface FilePath {
  readonly path: string
  readonly source: string
}

/** Files of one volume whose paths overlap. */
function* overlapWarnings(volumes: readonly Volume[]): Iterable<string> {
  for (const { name, configMap, secret, downwardAPI, projected } of volumes) {
    const kinds = [
      [configMap?.items, `ConfigMap "${configMap?.name ?? ''}"`],
      [secret?.items, `Secret "${secret?.secretName ?? ''}"`],
      [downwardAPI?.items, 'DownwardAPI'],
    ] as const
    for (const [items = [], kind] of kinds) {
      for (const overlap of overlapsOf(items.map(({ path }) => ({ path, source: '' })))) {
        yield `volume "${name}" (${kind}): overlapping paths: ${overlap}`
      }
    }
    const paths: FilePath[] = []
    for (const source of projected?.sources ?? []) {
      if (Object.keys(source).length === 0) yield `volume "${name}" (Projected) has no sources provided`
      for (const path of pathsOf(source)) paths.push(path)
    }
    for (const overlap of overlapsOf(paths)) yield `volume "${name}" (Projected): overlapping paths: ${overlap}`
  }
}

function pathsOf({
  configMap,
  secret,
  downwardAPI,
  serviceAccountToken: token,
}: VolumeProjection): readonly FilePath[] {
  const named = (items: readonly { readonly path: string }[], source: string): readonly FilePath[] =>
    items.map(({ path }) => ({ path, source }))
  if (configMap?.items) return named(configMap.items, `ConfigMap "${configMap.name ?? ''}"`)
  if (secret?.items) return named(secret.items, `Secret "${secret.name ?? ''}"`)
  if (downwardAPI?.items) return named(downwardAPI.items, 'DownwardAPI')
  return token ? named([token], 'ServiceAccountToken') : []
}

/** All pairs are compared, for a warning only: in a volume with a huge number of files, the first ones are enough. */
const maxCompared = 100_000

function* overlapsOf(paths: readonly FilePath[]): Iterable<string> {
  const shown = ({ path, source }: FilePath): string => (source === '' ? `"${path}"` : `"${path}" (${source})`)
  const seen: FilePath[] = []
  let compared = 0
  for (const { path: written, source } of paths) {
    const own = { path: trimEnd(written, '/'), source }
    compared += seen.length
    if (compared > maxCompared) return
    for (const other of seen) {
      const [a, b] = [`${own.path}/`, `${other.path}/`]
      if (own.path !== '' && other.path !== '' && (a.startsWith(b) || b.startsWith(a))) {
        yield `${shown(own)} with ${shown(other)}`
      }
    }
    seen.push(own)
  }
}

/**
 * The Pod Security Standards baseline and restricted, as a list of checks. Each check names what violates it; they run
 * in the order of the real server.
 */
import type { Container, PodSpec } from '../../../kube/types/core/v1.ts'

export type PodSecurityLevel = 'privileged' | 'baseline' | 'restricted'

interface Check {
  /** Precedes the details in the message. */
  readonly reason: string
  /** The violation; empty when there is none. */
  readonly problem: (spec: PodSpec) => string
}

/** Why a pod violates the level, as text; empty when it does not. */
export function violations(spec: PodSpec, level: PodSecurityLevel): string {
  const checks = level === 'privileged' ? [] : level === 'baseline' ? baseline : [...kept, ...restricted]
  return checks
    .map(({ reason, problem }) => ({ reason, detail: problem(spec) }))
    .filter(({ detail }) => detail !== '')
    .map(({ reason, detail }) => `${reason} (${detail})`)
    .join(', ')
}

function all({ initContainers = [], containers, ephemeralContainers = [] }: PodSpec): readonly Container[] {
  return [...initContainers, ...containers, ...ephemeralContainers]
}

const quoted = (texts: readonly string[]): string => texts.map((text) => `"${text}"`).join(', ')
const sorted = (texts: Iterable<string>): readonly string[] => [...new Set(texts)].toSorted()
const plural = (word: string, count: number): string => (count === 1 ? word : `${word}s`)
const named = (bad: readonly Container[]): string =>
  `${plural('container', bad.length)} ${quoted(bad.map(({ name }) => name))}`
const uses = (count: number): string => (count === 1 ? 'uses' : 'use')

/** The message about all containers for which the predicate holds. */
function each(
  isBad: (container: Container) => boolean,
  describe: (subject: string, bad: readonly Container[]) => string,
): Check['problem'] {
  return (spec) => {
    const bad = all(spec).filter(isBad)
    return bad.length === 0 ? '' : describe(named(bad), bad)
  }
}

const usualCapabilities = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
])

const safeSysctls = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
  'net.ipv4.tcp_slow_start_after_idle',
  'net.ipv4.tcp_notsent_lowat',
])

const added = ({ securityContext }: Container): readonly string[] => securityContext?.capabilities?.add ?? []
const hostPorts = ({ ports = [] }: Container): readonly string[] =>
  ports
    .map(({ hostPort = 0 }) => hostPort)
    .filter((port) => port !== 0)
    .map(String)

const addsUnusual = (container: Container): boolean => added(container).some((one) => !usualCapabilities.has(one))

const capabilitiesBaseline: Check = {
  reason: 'non-default capabilities',
  problem: each(addsUnusual, (subject, bad) => {
    const which = sorted(bad.flatMap(added).filter((one) => !usualCapabilities.has(one)))
    return `${subject} must not include ${quoted(which)} in securityContext.capabilities.add`
  }),
}

const hostPathVolumes: Check = {
  reason: 'hostPath volumes',
  problem({ volumes = [] }) {
    const bad = volumes.filter(({ hostPath }) => hostPath).map(({ name }) => name)
    return bad.length === 0 ? '' : `${plural('volume', bad.length)} ${quoted(bad)}`
  },
}

const seccompBaseline: Check = {
  reason: 'seccompProfile',
  problem: (spec) => badSeccomp(spec, (type) => type !== 'Unconfined'),
}

/** The pod or containers that set a profile which is not allowed. */
function badSeccomp(spec: PodSpec, isAllowed: (type: string) => boolean): string {
  const own = spec.securityContext?.seccompProfile?.type
  const typeOf = ({ securityContext }: Container): string | undefined => securityContext?.seccompProfile?.type
  const isBad = (type: string | undefined): type is string => type !== undefined && !isAllowed(type)
  const bad = all(spec).filter((container) => isBad(typeOf(container)))
  const setters = [...(isBad(own) ? ['pod'] : []), ...(bad.length > 0 ? [named(bad)] : [])]
  const values = sorted([own, ...bad.map(typeOf)].filter(isBad))
  if (setters.length === 0) return ''
  return `${setters.join(' and ')} must not set securityContext.seccompProfile.type to ${quoted(values)}`
}

const hostNamespaces: Check = {
  reason: 'host namespaces',
  problem: ({ hostNetwork, hostPID, hostIPC }) =>
    [hostNetwork && 'hostNetwork=true', hostPID && 'hostPID=true', hostIPC && 'hostIPC=true']
      .filter(Boolean)
      .join(', '),
}

const hostPort: Check = {
  reason: 'hostPort',
  problem: each(
    (container) => hostPorts(container).length > 0,
    (subject, bad) => {
      const ports = sorted(bad.flatMap(hostPorts))
      return `${subject} ${uses(bad.length)} ${plural('hostPort', ports.length)} ${ports.join(', ')}`
    },
  ),
}

const privileged: Check = {
  reason: 'privileged',
  problem: each(
    ({ securityContext }) => securityContext?.privileged === true,
    (subject) => `${subject} must not set securityContext.privileged=true`,
  ),
}

const procMountOf = ({ securityContext }: Container): string => securityContext?.procMount ?? 'Default'

const procMount: Check = {
  reason: 'procMount',
  problem: each(
    (container) => procMountOf(container) !== 'Default',
    (subject, bad) => `${subject} must not set securityContext.procMount to ${quoted(sorted(bad.map(procMountOf)))}`,
  ),
}

const sysctls: Check = {
  reason: 'forbidden sysctls',
  problem: ({ securityContext }) =>
    (securityContext?.sysctls ?? [])
      .map(({ name }) => name)
      .filter((name) => !safeSysctls.has(name))
      .join(', '),
}

/** Checks of baseline that restricted uses unchanged. */
const kept: readonly Check[] = [hostNamespaces, hostPort, privileged, procMount, sysctls]
const baseline: readonly Check[] = [
  capabilitiesBaseline,
  hostNamespaces,
  hostPathVolumes,
  hostPort,
  privileged,
  procMount,
  seccompBaseline,
  sysctls,
]

const isWindows = ({ os }: PodSpec): boolean => os?.name === 'windows'
const elsewhere =
  (problem: Check['problem']): Check['problem'] =>
  (spec) =>
    isWindows(spec) ? '' : problem(spec)

/** A pod with a user namespace of its own may run as root. */
const unlessOwnUsers =
  (problem: Check['problem']): Check['problem'] =>
  (spec) =>
    spec.hostUsers === false ? '' : problem(spec)

const harmlessVolumes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

const restricted: readonly Check[] = [
  {
    reason: 'allowPrivilegeEscalation != false',
    problem: elsewhere(
      each(
        ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false,
        (subject) => `${subject} must set securityContext.allowPrivilegeEscalation=false`,
      ),
    ),
  },
  {
    reason: 'unrestricted capabilities',
    problem: elsewhere((spec) => {
      const keeps = all(spec).filter(({ securityContext }) => !securityContext?.capabilities?.drop?.includes('ALL'))
      const more = (container: Container): readonly string[] =>
        added(container).filter((one) => one !== 'NET_BIND_SERVICE')
      const adds = all(spec).filter((container) => more(container).length > 0)
      const which = quoted(sorted(adds.flatMap(more)))
      return [
        keeps.length > 0 && `${named(keeps)} must set securityContext.capabilities.drop=["ALL"]`,
        adds.length > 0 && `${named(adds)} must not include ${which} in securityContext.capabilities.add`,
      ]
        .filter(Boolean)
        .join('; ')
    }),
  },
  {
    reason: 'restricted volume types',
    problem({ volumes = [] }) {
      const bad = volumes.filter((volume) => !harmlessVolumes.some((kind) => Object.hasOwn(volume, kind)))
      if (bad.length === 0) return ''
      const types = sorted(bad.map((volume) => Object.keys(volume).find((key) => key !== 'name') ?? 'unknown'))
      const names = quoted(bad.map(({ name }) => name))
      return `${plural('volume', bad.length)} ${names} ${uses(bad.length)} ${plural('restricted volume type', types.length)} ${quoted(types)}`
    },
  },
  {
    reason: 'runAsNonRoot != true',
    problem: unlessOwnUsers((spec) => {
      const own = spec.securityContext?.runAsNonRoot
      const explicit = all(spec).filter(({ securityContext }) => securityContext?.runAsNonRoot === false)
      const setters = [...(own === false ? ['pod'] : []), ...(explicit.length > 0 ? [named(explicit)] : [])]
      if (setters.length > 0) return `${setters.join(' and ')} must not set securityContext.runAsNonRoot=false`
      const silent = all(spec).filter(({ securityContext }) => securityContext?.runAsNonRoot === undefined)
      if (own === true || silent.length === 0) return ''
      return `pod or ${named(silent)} must set securityContext.runAsNonRoot=true`
    }),
  },
  {
    reason: 'runAsUser=0',
    problem: unlessOwnUsers((spec) => {
      const bad = all(spec).filter(({ securityContext }) => securityContext?.runAsUser === 0)
      const setters = [
        ...(spec.securityContext?.runAsUser === 0 ? ['pod'] : []),
        ...(bad.length > 0 ? [named(bad)] : []),
      ]
      return setters.length === 0 ? '' : `${setters.join(' and ')} must not set runAsUser=0`
    }),
  },
  {
    reason: 'seccompProfile',
    problem: elsewhere((spec) => {
      const isAllowed = (type: string): boolean => type === 'RuntimeDefault' || type === 'Localhost'
      const bad = badSeccomp(spec, isAllowed)
      if (bad !== '') return bad
      const own = spec.securityContext?.seccompProfile
      const silent = all(spec).filter(({ securityContext }) => !securityContext?.seccompProfile)
      if (own || silent.length === 0) return ''
      return `pod or ${named(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`
    }),
  },
]

/**
 * Columns of Pods. The displayed status is derived from several fields: the phase, the status reason, the state of init
 * containers and that of containers, in increasing precedence.
 */
import { parseTime } from '../../kube/units/duration.ts'
import type { ContainerStatus, Pod, PodTemplate } from '../../kube/types/core/v1.ts'
import { formatAge } from './age.ts'
import { age, type Columns, containerImages, containerNames, labelText, nameCell, orNone } from './cells.ts'

export const pods: Columns<Pod> = {
  Name: nameCell,
  Ready(pod) {
    const { ready, total } = summaryOf(pod)
    return `${ready}/${total}`
  },
  Status: (pod) => summaryOf(pod).reason,
  Restarts(pod, { now }) {
    const { count, last } = summaryOf(pod).restarts
    return count !== 0 && last !== undefined ? `${count} (${formatAge(now - last)} ago)` : String(count)
  },
  Age: age,
  IP: ({ status }) => orNone(status?.podIPs?.[0]?.ip),
  Node: ({ spec }) => orNone(spec?.nodeName),
  'Nominated Node': ({ status }) => orNone(status?.nominatedNodeName),
  'Readiness Gates'({ spec, status }) {
    const gates = spec?.readinessGates ?? []
    const open = gates.filter(({ conditionType }) => hasCondition({ status }, conditionType))
    return gates.length === 0 ? '<none>' : `${open.length}/${gates.length}`
  },
}

export const podTemplates: Columns<PodTemplate> = {
  Name: nameCell,
  Containers: ({ template }) => containerNames(template),
  Images: ({ template }) => containerImages(template),
  'Pod Labels': ({ template }) => labelText(template?.metadata?.labels),
}

interface Restarts {
  readonly count: number
  /** The time of the last restart. */
  readonly last: number | undefined
}

interface Summary {
  readonly ready: number
  readonly total: number
  readonly reason: string
  readonly restarts: Restarts
}

function summaryOf(pod: Pod): Summary {
  const { spec, status } = pod
  const sidecars = new Set(
    (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always').map((one) => one.name),
  )
  const total = (spec?.containers ?? []).length + sidecars.size
  const initial = initialization(pod, sidecars)
  const isInitializing = initial.reason !== undefined && !hasCondition(pod, 'Initialized')
  const before = initial.reason ?? firstReason(pod)
  const { ready, reason } = isInitializing ? { ready: 0, reason: before } : runningState(pod, before)
  const counted = isInitializing
    ? initial.seen
    : [...initial.seen.filter((one) => sidecars.has(one.name)), ...(status?.containerStatuses ?? [])]
  return { ready: initial.ready + ready, total, reason: lastReason(pod) ?? reason, restarts: restartsOf(counted) }
}

function firstReason({ status }: Pod): string {
  const isGated = status?.conditions?.some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  )
  return isGated ? 'SchedulingGated' : status?.reason || (status?.phase ?? '')
}

/** The status of a Pod that is being deleted: Terminating, unless its node is lost or it has completed. */
function lastReason({ metadata, status }: Pod): string | undefined {
  if (metadata?.deletionTimestamp === undefined) return undefined
  if (status?.reason === 'NodeLost') return 'Unknown'
  return status?.phase === 'Succeeded' || status?.phase === 'Failed' ? undefined : 'Terminating'
}

interface Initialization {
  /** The statuses up to the first container that is not done. */
  readonly seen: readonly ContainerStatus[]
  /** The number of ready sidecars. */
  readonly ready: number
  /** Why initialization is blocked; undefined if it is not. */
  readonly reason: string | undefined
}

function initialization({ spec, status }: Pod, sidecars: ReadonlySet<string>): Initialization {
  const statuses = status?.initContainerStatuses ?? []
  let ready = 0
  for (const [index, container] of statuses.entries()) {
    const { state, started } = container
    if (state?.terminated?.exitCode === 0) continue
    if (sidecars.has(container.name) && started) {
      if (container.ready) ready++
      continue
    }
    const waiting = state?.waiting?.reason
    const reason = state?.terminated
      ? `Init:${endOf(state.terminated)}`
      : waiting && waiting !== 'PodInitializing'
        ? `Init:${waiting}`
        : `Init:${index}/${(spec?.initContainers ?? []).length}`
    return { seen: statuses.slice(0, index + 1), ready, reason }
  }
  return { seen: statuses, ready, reason: undefined }
}

function runningState(pod: Pod, before: string): { readonly ready: number; readonly reason: string } {
  let reason = before
  let failure: string | undefined
  let ready = 0
  // The first container takes precedence.
  for (const { state, ready: isReady } of (pod.status?.containerStatuses ?? []).toReversed()) {
    if (state?.waiting?.reason) reason = state.waiting.reason
    else if (state?.terminated) {
      reason = endOf(state.terminated)
      if (state.terminated.exitCode !== 0) failure = reason
    } else if (isReady && state?.running) ready++
  }
  if (reason !== 'Completed') return { ready, reason }
  // A completed container does not determine the status while another one is ready.
  if (ready > 0 && hasCondition(pod, 'Ready')) return { ready, reason: 'Running' }
  return { ready, reason: failure ?? (ready > 0 ? 'NotReady' : reason) }
}

interface Ending {
  readonly exitCode: number
  readonly reason?: string
  readonly signal?: number
}

function endOf({ exitCode, reason, signal }: Ending): string {
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`)
}

function restartsOf(containers: readonly ContainerStatus[]): Restarts {
  const ends = containers
    .map(({ lastState }) => parseTime(lastState?.terminated?.finishedAt ?? ''))
    .filter((time) => time !== undefined)
  return {
    count: containers.reduce((sum, { restartCount }) => sum + restartCount, 0),
    last: ends.length === 0 ? undefined : ends.reduce((latest, end) => Math.max(latest, end)),
  }
}

/** Only the first condition of a type counts. */
function hasCondition({ status }: { readonly status?: Pod['status'] | undefined }, type: string): boolean {
  return status?.conditions?.find((condition) => condition.type === type)?.status === 'True'
}
